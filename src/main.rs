//! The `coffer` program: parses the command line, runs it, ends with its exit code.


fn main() {}
