//! The functions and constants an expression may name.

use std::f64::consts;

/// Names of everything that [`apply`] and [`constant`] know, for messages.
pub(crate) const KNOWN_NAMES: &str = "abs, ceil, cos, exp, floor, ln, log10, log2, max, min, mod, \
    pow, round, sin, sqrt, tan, e, pi";

/// What a function made of its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Applied {
    /// A value, which may be no number where the function is not defined.
    Value(f64),
    /// The function takes another number of arguments.
    WrongCount { expected: &'static str },
    /// There is no such function.
    Unknown,
}

pub(crate) fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" => Some(consts::PI),
        "e" => Some(consts::E),
        _ => None,
    }
}

/// Applies a function by its lower-case name.
pub(crate) fn apply(name: &str, arguments: &[f64]) -> Applied {
    match (name, arguments) {
        ("min" | "max", []) => Applied::WrongCount { expected: "at least one value" },
        ("min", values) => Applied::Value(values.iter().copied().fold(f64::INFINITY, f64::min)),
        ("max", values) => Applied::Value(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ("pow", [base, exponent]) => Applied::Value(base.powf(*exponent)),
        ("mod", [value, divisor]) => Applied::Value(value.rem_euclid(*divisor)),
        ("round", [value, digits]) => Applied::Value(round_to(*value, *digits)),
        ("pow" | "mod", _) => Applied::WrongCount { expected: "two values" },
        (_, [value]) => match unary(name) {
            Some(function) => Applied::Value(function(*value)),
            None => Applied::Unknown,
        },
        ("round", _) => Applied::WrongCount { expected: "a value and perhaps a number of digits" },
        _ if unary(name).is_some() => Applied::WrongCount { expected: "one value" },
        _ => Applied::Unknown,
    }
}

fn unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "round" => f64::round,
        "sin" => f64::sin,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        _ => return None,
    })
}

fn round_to(value: f64, digits: f64) -> f64 {
    // Beyond these a double has no digits left to round, and the factor would overflow.
    let factor = 10f64.powf(digits.round().clamp(-300.0, 300.0));
    let scaled = value * factor;
    if scaled.is_finite() { scaled.round() / factor } else { value }
}
