//! Reads an expression from left to right and computes its value on the way.

use thiserror::Error;

use crate::example_server::arithmetic::function;
use crate::example_server::arithmetic::function::Applied;
use crate::example_server::arithmetic::token::Placed;
use crate::example_server::arithmetic::token::Token;
use crate::example_server::arithmetic::token::tokenize;

/// Longest expression, in bytes.
const LONGEST_EXPRESSION: usize = 2000;

/// Deepest nesting of parentheses, signs and powers, so that no input exhausts the stack.
const DEEPEST_NESTING: usize = 100;

/// Why an expression has no value. Positions count characters from 1.
#[derive(Debug, Error, PartialEq)]
pub(crate) enum CalculateError {
    #[error("the expression is longer than {LONGEST_EXPRESSION} characters")]
    TooLong,
    #[error("the expression is nested too deeply at position {position}")]
    TooDeep { position: usize },
    #[error("`{character}` at position {position} has no meaning in an expression")]
    Character { character: char, position: usize },
    #[error("`{text}` at position {position} is not a number")]
    Number { text: String, position: usize },
    #[error("expected {expected} at position {position}, found {found}")]
    Unexpected { expected: &'static str, found: String, position: usize },
    #[error("there is no function or constant `{name}` (position {position})")]
    UnknownName { name: String, position: usize },
    #[error("`{name}` at position {position} takes {expected}, not {given}")]
    ArgumentCount { name: String, expected: &'static str, given: usize, position: usize },
    #[error("division by zero at position {position}")]
    DivisionByZero { position: usize },
    #[error("`{operation}` at position {position} has no finite value here")]
    Undefined { operation: String, position: usize },
}

impl CalculateError {
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::TooLong | Self::TooDeep { .. } => {
                "Calculate parts of it first and put their results in.".to_owned()
            }
            Self::Character { .. } | Self::Unexpected { .. } => {
                "Write numbers with a point, the operators + - * / % ^, parentheses and functions \
                 such as sqrt(2)."
                    .to_owned()
            }
            Self::Number { .. } => "Write numbers like 1234.5 or 1.2e3.".to_owned(),
            Self::UnknownName { .. } => format!("Use one of: {}.", function::KNOWN_NAMES),
            Self::ArgumentCount { .. } => "Separate the values by commas.".to_owned(),
            Self::DivisionByZero { .. } => "Change the divisor.".to_owned(),
            Self::Undefined { .. } => {
                "Use values for which it is defined and smaller than 1.7e308.".to_owned()
            }
        }
    }
}

/// Computes the value of an expression.
///
/// `^` binds tightest and to the right, then a leading sign, then `*`, `/` and `%`, then `+` and
/// `-`; so `-2^2` is -4.
pub(crate) fn calculate(expression: &str) -> Result<f64, CalculateError> {
    if LONGEST_EXPRESSION < expression.len() {
        return Err(CalculateError::TooLong);
    }
    let mut reader = Reader { tokens: &tokenize(expression)?, next: 0, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        (Token::End, _) => Ok(value),
        _ => Err(reader.unexpected("an operator or the end")),
    }
}

struct Reader<'a> {
    tokens: &'a [Placed],
    next: usize,
    depth: usize,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<f64, CalculateError> {
        let mut value = self.product()?;
        while let Some((sign, position)) = self.take_sign(&['+', '-']) {
            let right = self.product()?;
            let result = if sign == '+' { value + right } else { value - right };
            value = finite(result, &sign.to_string(), position)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, CalculateError> {
        let mut value = self.signed()?;
        while let Some((sign, position)) = self.take_sign(&['*', '/', '%']) {
            let right = self.signed()?;
            if sign != '*' && right == 0.0 {
                return Err(CalculateError::DivisionByZero { position });
            }
            let result = match sign {
                '*' => value * right,
                '/' => value / right,
                _ => value % right,
            };
            value = finite(result, &sign.to_string(), position)?;
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, CalculateError> {
        self.depth += 1;
        if DEEPEST_NESTING < self.depth {
            return Err(CalculateError::TooDeep { position: self.peek().1 });
        }
        let value = match self.take_sign(&['+', '-']) {
            Some(('-', _)) => -self.signed()?,
            Some(_) => self.signed()?,
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, CalculateError> {
        let base = self.atom()?;
        match self.take_sign(&['^']) {
            Some((_, position)) => finite(base.powf(self.signed()?), "^", position),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<f64, CalculateError> {
        let (token, position) = self.peek().clone();
        match token {
            Token::Number(number) => {
                self.next += 1;
                Ok(number)
            }
            Token::Sign('(') => {
                self.next += 1;
                let value = self.sum()?;
                self.expect(')', "`)`")?;
                Ok(value)
            }
            Token::Name(name) => {
                self.next += 1;
                self.named(name, position)
            }
            Token::Sign(_) | Token::End => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    fn named(&mut self, name: String, position: usize) -> Result<f64, CalculateError> {
        if let Some(value) = function::constant(&name) {
            return Ok(value);
        }
        if self.peek().0 != Token::Sign('(') {
            let is_known = function::apply(&name, &[]) != Applied::Unknown;
            return Err(if is_known {
                self.unexpected("`(` after the name of a function")
            } else {
                CalculateError::UnknownName { name, position }
            });
        }
        let arguments = self.arguments()?;
        match function::apply(&name, &arguments) {
            Applied::Value(value) => finite(value, &name, position),
            Applied::Unknown => Err(CalculateError::UnknownName { name, position }),
            Applied::WrongCount { expected } => {
                let given = arguments.len();
                Err(CalculateError::ArgumentCount { name, expected, given, position })
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<f64>, CalculateError> {
        self.expect('(', "`(`")?;
        if self.take_sign(&[')']).is_some() {
            return Ok(Vec::new());
        }
        let mut arguments = vec![self.sum()?];
        while self.take_sign(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(')', "`,` or `)`")?;
        Ok(arguments)
    }

    fn peek(&self) -> &Placed {
        // The last token is `End`, and nothing reads past it.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn take_sign(&mut self, wanted: &[char]) -> Option<(char, usize)> {
        match *self.peek() {
            (Token::Sign(sign), position) if wanted.contains(&sign) => {
                self.next += 1;
                Some((sign, position))
            }
            _ => None,
        }
    }

    fn expect(&mut self, sign: char, expected: &'static str) -> Result<(), CalculateError> {
        self.take_sign(&[sign]).map(|_| ()).ok_or_else(|| self.unexpected(expected))
    }

    fn unexpected(&self, expected: &'static str) -> CalculateError {
        let (token, position) = self.peek();
        CalculateError::Unexpected { expected, found: token.shown(), position: *position }
    }
}

fn finite(value: f64, operation: &str, position: usize) -> Result<f64, CalculateError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(CalculateError::Undefined { operation: operation.to_owned(), position })
    }
}
