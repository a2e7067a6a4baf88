//! Printing: the only place that does.

#![expect(clippy::print_stderr, reason = "the only place that prints")]

use std::io::{self, IsTerminal, Write};

use clap_complete::Shell;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::error::{CliError, Kind};

/// Prints a line. A reader that has gone, as `head` does, is no failure: then it
/// returns `false`.
pub(super) fn line(text: &str) -> bool {
    raw(&printable(text))
}

/// Prints a line that is kept as it is, for JSON. `false` when the reader has gone.
pub(super) fn raw(text: &str) -> bool {
    writeln!(io::stdout(), "{text}").is_ok()
}

/// Prints `value` as JSON over several lines.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::new(Kind::Unexpected, error.to_string()))?;
    raw(&text);
    Ok(())
}

/// Prints a remark beside the output.
pub(super) fn note(text: &str) {
    eprintln!("{}", printable(text));
}

/// Prints rows with aligned columns, under a header.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) {
    let columns = header.len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let print = |cells: Vec<&str>| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(at, (cell, width))| {
                    if at + 1 == columns { (*cell).to_owned() } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        line(padded.join("  ").trim_end());
    };
    print(header.to_vec());
    for row in rows {
        print(row.iter().map(String::as_str).collect());
    }
}

/// Prints a failed command.
pub(super) fn error(error: &CliError) {
    let (red, plain) =
        if io::stderr().is_terminal() { ("\u{1b}[31m", "\u{1b}[0m") } else { ("", "") };
    eprintln!("{red}error:{plain} {}", printable(&error.to_string()));
    if let Some(hint) = &error.hint {
        eprintln!("  {}", printable(hint));
    }
}

/// Prints what clap has to say.
pub(super) fn clap(error: &clap::Error) {
    // An error means that the reader has gone.
    let _reader_gone = error.print();
}

/// Prints a completion script.
pub(super) fn completions(shell: Shell, command: &mut clap::Command) {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "coffer", &mut script);
    let _reader_gone = io::stdout().write_all(&script);
}

/// Text of third parties without the control characters that rule a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// A bar that shows how far something is, on standard error and only where a
/// person looks.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg:30!} {bar:30} {percent:>3} %");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        } else {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self(bar)
    }

    /// Begins a step of so much work; 0 when nobody knows.
    pub(super) fn begin(&self, what: &str, total: u64) {
        self.0.set_length(total);
        self.0.set_position(0);
        self.0.set_message(what.to_owned());
    }

    pub(super) fn advance(&self, more: u64) {
        self.0.inc(more);
    }

    pub(super) fn finish(self) {
        self.0.finish_and_clear();
    }
}
