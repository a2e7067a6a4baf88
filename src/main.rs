//! The `coffer` program: runs the command line and ends with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    coffer::cli::main()
}
