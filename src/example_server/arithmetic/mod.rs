//! Arithmetic as one writes it: numbers, operators, parentheses and functions.

mod evaluation;
mod function;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use self::evaluation::CalculateError;
pub(crate) use self::evaluation::calculate;
