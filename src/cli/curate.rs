//! `coffer remove`, `enable`, `disable`, `tag`

use super::context::Context;
use super::error::{CliError, Kind};
use super::{output, test};
use crate::app::kept_catalog;

pub(super) fn remove(context: &Context, name: &str) -> Result<(), CliError> {
    // By its text, so that a row that cannot be read can be removed too.
    if !context.database()?.remove_server(name)? {
        return Err(CliError::no_server(name));
    }
    output::note(&format!("removed `{name}`"));
    Ok(())
}

pub(super) fn switch(context: &Context, name: &str, is_enabled: bool) -> Result<(), CliError> {
    let word = if is_enabled { "enabled" } else { "disabled" };
    let mut database = context.database()?;
    if database.switch_server(name, is_enabled)? {
        output::note(&format!("{word} server `{name}`"));
        return Ok(());
    }
    let snapshot = context.snapshot()?;
    let view = kept_catalog(&snapshot, &[]).view();
    if let Some(route) = view.tool(name) {
        database.switch_tool(&route.server, &route.original, is_enabled)?;
        output::note(&format!("{word} tool `{name}`"));
        return Ok(());
    }
    // A tool that is gone at the moment can be switched by its own name.
    let mut servers = snapshot.registry.servers.keys();
    let gone = servers.find_map(|server| {
        let tool = name.strip_prefix(server.as_str())?.strip_prefix("__")?;
        (!tool.is_empty()).then_some((server, tool))
    });
    let Some((server, tool)) = gone else {
        let error = CliError::new(Kind::NotFound, format!("no server or tool is called `{name}`"));
        return Err(match view.resembling(name).first() {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`coffer list` shows the servers, `coffer tools` the tools"),
        });
    };
    database.switch_tool(server, tool, is_enabled)?;
    output::note(&format!(
        "server `{server}` has no tool `{tool}` now; it will be {word} when it comes"
    ));
    Ok(())
}

pub(super) fn tag(
    context: &Context,
    name: &str,
    add: &[String],
    remove: &[String],
) -> Result<(), CliError> {
    let name = test::registered(context, name)?;
    let mut database = context.database()?;
    let registry = database.registry()?;
    let mut tags =
        registry.servers.get(&name).map(|(server, _)| server.tags.clone()).unwrap_or_default();
    tags.extend(add.iter().cloned());
    tags.retain(|tag| !remove.contains(tag) && !tag.trim().is_empty());
    tags.sort_unstable();
    tags.dedup();
    database.set_tags(&name, &tags)?;
    let shown = if tags.is_empty() { "no tags".to_owned() } else { tags.join(", ") };
    output::line(&format!("`{name}`: {shown}"));
    Ok(())
}
