//! Splits an expression into numbers, names and signs.

use crate::example_server::arithmetic::evaluation::CalculateError;

/// One piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Number(f64),
    Name(String),
    /// An operator, a parenthesis or a comma.
    Sign(char),
    End,
}

impl Token {
    /// Names the token for a message.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("`{number}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// A token and the place of its first character, counted from 1.
pub(crate) type Placed = (Token, usize);

/// Splits `expression`; the last token is always [`Token::End`].
pub(crate) fn tokenize(expression: &str) -> Result<Vec<Placed>, CalculateError> {
    let characters: Vec<char> = expression.chars().collect();
    let mut tokens = Vec::new();
    let mut index = 0;
    while let Some(&character) = characters.get(index) {
        let start = index;
        index += 1;
        match character {
            _ if character.is_whitespace() => {}
            '0'..='9' | '.' => {
                index = end_of_number(&characters, start);
                let text: String = characters[start..index].iter().collect();
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                let position = start + 1;
                let number = number.ok_or(CalculateError::Number { text, position })?;
                tokens.push((Token::Number(number), position));
            }
            'a'..='z' | 'A'..='Z' => {
                let is_part = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
                index += characters[index..].iter().take_while(is_part).count();
                let name: String = characters[start..index].iter().collect();
                tokens.push((Token::Name(name.to_ascii_lowercase()), start + 1));
            }
            '+' | '-' | '/' | '^' | '%' | '(' | ')' | ',' => {
                tokens.push((Token::Sign(character), start + 1));
            }
            // Programs write `**` for a power, people `×`, `÷` and a true minus.
            '*' if characters.get(index) == Some(&'*') => {
                index += 1;
                tokens.push((Token::Sign('^'), start + 1));
            }
            '*' | '×' | '·' => tokens.push((Token::Sign('*'), start + 1)),
            '÷' => tokens.push((Token::Sign('/'), start + 1)),
            '−' => tokens.push((Token::Sign('-'), start + 1)),
            _ => return Err(CalculateError::Character { character, position: start + 1 }),
        }
    }
    tokens.push((Token::End, characters.len() + 1));
    Ok(tokens)
}

/// Finds where digits, a point and an exponent stop.
fn end_of_number(characters: &[char], start: usize) -> usize {
    let digits_from = |from: usize| {
        from + characters[from..].iter().take_while(|c| c.is_ascii_digit() || **c == '.').count()
    };
    let end = digits_from(start);
    if !matches!(characters.get(end), Some('e' | 'E')) {
        return end;
    }
    let has_sign = matches!(characters.get(end + 1), Some('+' | '-'));
    let exponent = end + 1 + usize::from(has_sign);
    match characters.get(exponent) {
        Some(character) if character.is_ascii_digit() => digits_from(exponent),
        _ => end,
    }
}
