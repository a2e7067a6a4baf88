//! Text to tokens: words, parts of compounds, pairs of CJK characters.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// What a token is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A whole word.
    Word,
    /// A part of a compound such as `createIssue` or `s3`.
    Part,
    /// A compound joined again; comes after its parts.
    Joined,
    /// Two neighbouring CJK characters, or a lone one.
    Cjk,
}

/// One token, in lower case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// `text` in one spelling: NFKC, Chinese in simplified characters, lower case.
pub fn normalize(text: &str) -> String {
    unified(text).to_lowercase()
}

/// The words of `text` in one spelling, compounds whole.
pub fn words(text: &str) -> Vec<String> {
    runs(&unified(text)).map(str::to_lowercase).collect()
}

/// Full-width and compatibility forms, and Traditional characters, made one.
fn unified(text: &str) -> Cow<'_, str> {
    let text: Cow<'_, str> =
        if is_nfkc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) };
    if text.chars().any(is_cjk) { Cow::Owned(fast2s::convert(&text)) } else { text }
}

/// The tokens of `text`, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let text = unified(text);
    let mut tokens = Vec::new();
    for run in runs(&text) {
        if run.starts_with(is_cjk) {
            add_pairs(run, &mut tokens);
            continue;
        }
        let parts = parts(run);
        if parts.len() == 1 {
            tokens.push(Token { text: run.to_lowercase(), kind: Kind::Word });
            continue;
        }
        for part in parts {
            tokens.push(Token { text: part.to_lowercase(), kind: Kind::Part });
        }
        tokens.push(Token { text: run.to_lowercase(), kind: Kind::Joined });
    }
    tokens
}

/// A name in words: `createIssue` is `create Issue`.
pub(super) fn readable(name: &str) -> String {
    let words: Vec<&str> = runs(name).flat_map(parts).collect();
    words.join(" ")
}

/// The runs of CJK characters in `text`, in one spelling.
pub(super) fn cjk_runs(text: &str) -> Vec<String> {
    let text = unified(text);
    runs(&text).filter(|run| run.starts_with(is_cjk)).map(ToOwned::to_owned).collect()
}

/// Whether `text` holds anything that can be looked up.
pub(super) fn has_words(text: &str) -> bool {
    runs(&unified(text)).next().is_some()
}

/// Runs of letters and digits, of CJK characters or of others.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(char::is_alphanumeric)?..];
        let is_run_of_cjk = rest.starts_with(is_cjk);
        let end = rest
            .find(|c: char| !c.is_alphanumeric() || is_cjk(c) != is_run_of_cjk)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

fn add_pairs(run: &str, tokens: &mut Vec<Token>) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let width = starts.len().min(3) - 1;
    for pair in starts.windows(width + 1) {
        tokens.push(Token { text: run[pair[0]..pair[width]].to_owned(), kind: Kind::Cjk });
    }
}

/// Splits `createHTTPServer2` into `create`, `HTTP`, `Server`, `2`. A plural of
/// capitals, `IDs`, stays whole.
fn parts(run: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = run.char_indices().collect();
    let class = |at: usize| characters.get(at).map(|(_, c)| Class::of(*c));
    let mut parts = Vec::new();
    let mut start = 0;
    while start < characters.len() {
        let first = class(start);
        let mut end = start + 1;
        while class(end) == first {
            end += 1;
        }
        if first == Some(Class::Upper) && class(end) == Some(Class::Lower) {
            let is_plural =
                end - start > 1 && characters[end].1 == 's' && class(end + 1) != Some(Class::Lower);
            if is_plural {
                end += 1;
            } else if end - start > 1 {
                // The last capital begins the next word.
                end -= 1;
            } else {
                while class(end) == Some(Class::Lower) {
                    end += 1;
                }
            }
        }
        let until = characters.get(end).map_or(run.len(), |(at, _)| *at);
        parts.push(&run[characters[start].0..until]);
        start = end;
    }
    parts
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            'A'..='Z' => Self::Upper,
            'a'..='z' => Self::Lower,
            '0'..='9' => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// Han, kana and Hangul: scripts without blanks between words, or with particles
/// joined to them.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::{Kind, normalize, tokens, words};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = tokens(text)
            .iter()
            .map(|token| match token.kind {
                Kind::Word | Kind::Cjk => token.text.clone(),
                Kind::Part => format!("{}+", token.text),
                Kind::Joined => format!("={}", token.text),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn compounds_are_split_and_kept_joined() {
        check("create_issue", "create issue");
        check("createHTTPServer2", "create+ http+ server+ 2+ =createhttpserver2");
        check("userIDs IDs", "user+ ids+ =userids ids");
        check("S3 k8s", "s+ 3+ =s3 k+ 8+ s+ =k8s");
        check("it's größe", "it s gr+ öß+ e+ =größe");
    }

    #[test]
    fn chinese_becomes_pairs_in_one_spelling() {
        check("数据表备份", "数据 据表 表备 备份");
        check("ＰｏｓｔｇｒｅＳＱＬ　數據表備份", "postgre+ sql+ =postgresql 数据 据表 表备 备份");
        check("查", "查");
        check("查询DNS记录", "查询 dns 记录");
    }

    #[test]
    fn signs_and_emoji_hold_no_tokens() {
        check("🔥🔥 !!! \u{200b}\u{200b}", "");
        check("C++ repo:owner/name", "c repo owner name");
    }

    #[test]
    fn words_are_whole_and_in_one_spelling() {
        assert_eq!(words("Open gitHub__createIssue!"), ["open", "github", "createissue"]);
        assert_eq!(normalize("ＡＢＣ"), "abc");
    }
}
