//! What a server offers: all pages of all its lists.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::connection::{Connection, Limits, error_code};
use super::error::RequestError;
use crate::domain::{EntryKind, Manifest};
use crate::gateway::settings::MOST_PAGES;
use crate::gateway::wire::{Reply, code};

/// Longest advice of a server that is kept.
const LONGEST_INSTRUCTIONS: usize = 4_000;

/// One page, its entries still text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    prompts: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    resources: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    resource_templates: Option<Vec<&'a RawValue>>,
    next_cursor: Option<String>,
}

/// Asks for every list that the server says it has. The list of tools has to come
/// whole; another that fails stays as it is `known`, and is named.
pub(super) async fn list_all(
    connection: &Arc<Connection>,
    limit: Duration,
    known: &Manifest,
) -> Result<Manifest, RequestError> {
    let greeting = connection.greeting();
    let mut manifest = Manifest {
        instructions: greeting.instructions.as_ref().map(|text| clipped(text)),
        ..Manifest::default()
    };
    if greeting.offers_tools {
        list_one(connection, EntryKind::Tool, limit, &mut manifest).await?;
    }
    let mut others = Vec::new();
    if greeting.offers_prompts {
        others.push(EntryKind::Prompt);
    }
    if greeting.offers_resources {
        others.extend([EntryKind::Resource, EntryKind::Template]);
    }
    for kind in others {
        if let Err(error) = list_one(connection, kind, limit, &mut manifest).await {
            *manifest.entries_mut(kind) = known.entries(kind).to_vec();
            manifest.refused.push(format!("the list of {}s is missing: it {error}", kind.noun()));
        }
    }
    Ok(manifest)
}

async fn list_one(
    connection: &Arc<Connection>,
    kind: EntryKind,
    limit: Duration,
    manifest: &mut Manifest,
) -> Result<(), RequestError> {
    let mut pages = Vec::new();
    let mut bytes = 0;
    let mut cursor: Option<String> = None;
    let mut cursors = HashSet::new();
    loop {
        let params = cursor
            .as_ref()
            .map(|cursor| format!("{{\"cursor\":{}}}", Value::from(cursor.as_str())));
        let limits = Limits { silence: limit, total: limit };
        let text = match connection.request(method(kind), |_| params, None, limits).await? {
            Reply::Result(text) => text,
            Reply::Error(error) => {
                let code = error_code(&error);
                // Many servers declare a capability and lack one of its methods.
                if code != i64::from(code::METHOD_NOT_FOUND) {
                    return Err(RequestError::Refused { code });
                }
                break;
            }
        };
        let next = serde_json::from_slice::<Page<'_>>(&text)
            .map(|page| page.next_cursor.filter(|next| !next.is_empty()));
        bytes += text.len();
        let is_small = bytes < connection.largest_message();
        pages.push(text);
        let noun = kind.noun();
        match next {
            Err(_) => return Err(RequestError::Empty),
            Ok(None) => break,
            Ok(Some(next))
                if pages.len() < MOST_PAGES && is_small && cursors.insert(next.clone()) =>
            {
                cursor = Some(next);
            }
            Ok(Some(_)) => {
                let read = pages.len();
                manifest.refused.push(format!("the list of {noun}s goes in a circle, or is too long, after {read} pages; the rest is left out"));
                break;
            }
        }
    }
    let parsed: Vec<Page<'_>> =
        pages.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect();
    let entries = parsed.iter().flat_map(|page| page.entries(kind));
    manifest.take(kind, entries.copied());
    Ok(())
}

impl<'a> Page<'a> {
    fn entries(&self, kind: EntryKind) -> &[&'a RawValue] {
        match kind {
            EntryKind::Tool => &self.tools,
            EntryKind::Prompt => &self.prompts,
            EntryKind::Resource => &self.resources,
            EntryKind::Template => &self.resource_templates,
        }
        .as_deref()
        .unwrap_or_default()
    }
}

fn method(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Tool => "tools/list",
        EntryKind::Prompt => "prompts/list",
        EntryKind::Resource => "resources/list",
        EntryKind::Template => "resources/templates/list",
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(LONGEST_INSTRUCTIONS).collect()
}
