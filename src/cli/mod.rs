//! The command line: one file a command, printing, exit codes.

mod add;
mod arguments;
mod call;
mod config_show;
mod context;
mod curate;
mod error;
mod eval;
mod example;
mod index;
mod list;
mod log;
mod model;
mod output;
mod search;
mod serve;
mod show;
mod stdio;
mod test;
mod tools;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use arguments::{Cli, Command};
use context::Context;
use error::CliError;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let is_asked_for =
                matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            output::clap(&error);
            return if is_asked_for { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    if matches!(cli.command, Command::Guard) {
        crate::sys::run_guard(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    let context = Context::new(cli.log.as_deref());
    match cli.command {
        Command::Serve(arguments) => serve::run(&context, arguments),
        Command::Stdio(arguments) => stdio::run(&context, &arguments),
        Command::Add(arguments) => add::run(&context, arguments),
        Command::List { json } => list::run(&context, json),
        Command::Show { name, json } => show::run(&context, &name, json),
        Command::Remove { name } => curate::remove(&context, &name),
        Command::Enable { name } => curate::switch(&context, &name, true),
        Command::Disable { name } => curate::switch(&context, &name, false),
        Command::Tag { name, tags, remove } => curate::tag(&context, &name, &tags, &remove),
        Command::Test { name, json } => test::run(&context, &name, json),
        Command::Refresh { name } => test::refresh(&context, &name),
        Command::Tools(arguments) => tools::run(&context, &arguments),
        Command::Search(arguments) => search::run(&context, arguments),
        Command::Call(arguments) => call::run(&context, &arguments),
        Command::Log(arguments) => log::run(&context, &arguments),
        Command::Config { command: arguments::ConfigCommand::Show { json } } => {
            config_show::run(&context, json)
        }
        Command::Model { command } => model::run(&context, command),
        Command::Index { command } => index::run(&context, &command),
        Command::Eval(arguments) => eval::run(&context, &arguments),
        Command::ExampleServer { folder } => example::run(&context, folder),
        Command::Completions { shell } => {
            output::completions(shell, &mut Cli::command());
            Ok(())
        }
        Command::Guard => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, CommandFactory};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
