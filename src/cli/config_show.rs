//! `coffer config show`

use super::context::Context;
use super::error::CliError;
use super::output;

pub(super) fn run(context: &Context, json: bool) -> Result<(), CliError> {
    let config = context.config()?;
    if json {
        return output::json(&config.settings);
    }
    let rows: Vec<Vec<String>> = config
        .settings
        .iter()
        .map(|setting| vec![setting.name.clone(), setting.value.clone(), setting.origin.clone()])
        .collect();
    output::table(&["SETTING", "VALUE", "ORIGIN"], &rows);
    output::line(&format!("settings file: {}", config.folders.settings().display()));
    output::line(&format!("data folder:   {}", config.folders.data.display()));
    Ok(())
}
