//! Names: which are legal, and under which name Coffer exposes what a server offers.
//!
//! The only place that knows the separator.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::digest::base32_digest;

/// Stands between the server and the rest of an [`ExposedName`].
const SEPARATOR: &str = "__";

/// The name of Coffer itself; no server may take it.
pub const OWN_SERVER: &str = "coffer";

/// Longest legal server name: leaves 38 of 64 characters to the tool's own name.
const LONGEST_SERVER_NAME: usize = 24;

/// Longest exposed name that every known client accepts.
const LONGEST_EXPOSED_NAME: usize = 64;

/// Digits of the digest at the end of a changed name: 30 bits, so that two of
/// 1,000 changed names of a server meet with a chance of 1 in 2,000.
const DIGEST_DIGITS: usize = 6;

/// Digits for the names that still meet.
const LONG_DIGEST_DIGITS: usize = 16;

/// A name that breaks its rule.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error("`{name}` is not a legal {kind} name: {rule}")]
pub struct InvalidName {
    /// What the name is for, e.g. `server`.
    pub kind: &'static str,
    /// The name as given, clipped.
    pub name: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// Name the user gave to an upstream MCP server.
///
/// Invariant: `^[a-z][a-z0-9-]{0,23}$` and not `coffer`. It has no underscore,
/// so the first separator of an exposed name always ends the server's part.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

impl ServerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let broken = |rule| InvalidName { kind: "server", name: clipped(name), rule };
        if name.eq_ignore_ascii_case(OWN_SERVER) {
            return Err(broken("it is reserved for Coffer's own tools; choose another"));
        }
        let mut characters = name.chars();
        let starts_well = characters.next().is_some_and(|first| first.is_ascii_lowercase());
        let goes_on_well =
            characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !starts_well || !goes_on_well || name.len() > LONGEST_SERVER_NAME {
            return Err(broken(
                "use 1 to 24 characters of a-z, 0-9 and `-`, the first of them a letter",
            ));
        }
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<String> for ServerName {
    type Error = InvalidName;

    fn try_from(name: String) -> Result<Self, InvalidName> {
        name.parse()
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.0
    }
}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Name under which Coffer offers a tool or prompt to its clients.
///
/// Invariant: matches `^[A-Za-z0-9_-]{1,64}$`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ExposedName(String);

impl ExposedName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of one of Coffer's own tools.
    pub fn own(tool: &str) -> Self {
        Self(format!("{OWN_SERVER}{SEPARATOR}{}", legal(tool)))
    }
}

impl Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExposedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An original name of a server beside the name under which it is exposed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exposed {
    /// The name that goes upstream.
    pub original: String,
    /// The name that clients see.
    pub name: ExposedName,
}

/// Gives each distinct name of one server's listing its exposed name, in the
/// order of first appearance.
///
/// A name that had to be changed or cut ends in `_` and six base32 digits of the
/// SHA-256 of `<server>__<original>`; names that would still be equal get sixteen.
/// The outcome for a name depends on the set of names alone, not on their order.
pub fn expose<'a>(
    server: &ServerName,
    originals: impl IntoIterator<Item = &'a str>,
) -> Vec<Exposed> {
    let mut seen = BTreeSet::new();
    let originals: Vec<&str> = originals.into_iter().filter(|name| seen.insert(*name)).collect();
    let mut takers: BTreeMap<String, usize> = BTreeMap::new();
    for original in &originals {
        *takers.entry(candidate(server, original)).or_default() += 1;
    }
    originals
        .into_iter()
        .map(|original| {
            let candidate = candidate(server, original);
            let name = if takers.get(&candidate).copied().unwrap_or(0) > 1 {
                with_digest(server, original, LONG_DIGEST_DIGITS)
            } else {
                candidate
            };
            Exposed { original: original.to_owned(), name: ExposedName(name) }
        })
        .collect()
}

fn candidate(server: &ServerName, original: &str) -> String {
    let plain = format!("{server}{SEPARATOR}{original}");
    let is_legal = plain.len() <= LONGEST_EXPOSED_NAME && legal(original) == original;
    if is_legal { plain } else { with_digest(server, original, DIGEST_DIGITS) }
}

fn with_digest(server: &ServerName, original: &str, digits: usize) -> String {
    let full = format!("{server}{SEPARATOR}{original}");
    let mut name = format!("{server}{SEPARATOR}{}", legal(original));
    name.truncate(LONGEST_EXPOSED_NAME - digits - 1);
    format!("{name}_{}", base32_digest(&full, digits))
}

/// `name` with every character that a client may refuse replaced by `_`.
fn legal(name: &str) -> String {
    let keeps = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if keeps(c) { c } else { '_' }).collect()
}

/// The URI under which Coffer exposes a server's resource or resource template.
pub fn resource_uri(server: &ServerName, original: &str) -> String {
    format!("{OWN_SERVER}://{server}/{original}")
}

/// The server and the original URI behind an exposed one.
pub fn split_resource_uri(uri: &str) -> Option<(ServerName, &str)> {
    let rest = uri.strip_prefix(OWN_SERVER)?.strip_prefix("://")?;
    let (server, original) = rest.split_once('/')?;
    Some((server.parse().ok()?, original))
}

/// Gives the entries of a foreign configuration file legal server names.
///
/// A legal name stays. Another is lower-cased and its odd characters become `-`;
/// when that meets another entry's name it gets `-` and four base32 digits of the
/// digest of its own spelling. `None` stands for the reserved name.
pub fn slugs(names: &[&str]) -> Vec<Option<ServerName>> {
    let plain: Vec<String> = names.iter().map(|name| slug(name)).collect();
    names
        .iter()
        .zip(&plain)
        .map(|(name, slug)| {
            if name.trim().eq_ignore_ascii_case(OWN_SERVER) || slug == OWN_SERVER {
                return None;
            }
            let is_shared = plain.iter().filter(|other| *other == slug).count() > 1;
            let chosen = if is_shared && *name != slug {
                let mut head = slug.clone();
                head.truncate(LONGEST_SERVER_NAME - 5);
                format!("{head}-{}", base32_digest(name, 4))
            } else {
                slug.clone()
            };
            chosen.parse().ok()
        })
        .collect()
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches('-');
    let starts_well = slug.starts_with(|c: char| c.is_ascii_lowercase());
    let mut slug = if starts_well { slug.to_owned() } else { format!("s-{slug}") };
    if slug == "s-" {
        slug = format!("s-{}", base32_digest(name, 4));
    }
    slug.truncate(LONGEST_SERVER_NAME);
    slug.trim_end_matches('-').to_owned()
}

/// Keeps error messages short when somebody hands in a novel as a name.
fn clipped(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    if shown.len() < name.len() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::{ServerName, expose, resource_uri, slugs, split_resource_uri};
    use expect_test::{Expect, expect};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    #[track_caller]
    fn check_exposed(server: &str, originals: &[&str], expected: &Expect) {
        let server: ServerName = server.parse().unwrap();
        let lines: String = expose(&server, originals.iter().copied())
            .iter()
            .map(|exposed| format!("{:?} -> {}\n", exposed.original, exposed.name))
            .collect();
        expected.assert_eq(&lines);
    }

    #[test]
    fn a_legal_name_is_only_prefixed_and_another_ends_in_a_digest() {
        check_exposed(
            "db",
            &["query", "__init", "calendar.list", "a b", "größe", "工具", "query"],
            &expect![[r#"
                "query" -> db__query
                "__init" -> db____init
                "calendar.list" -> db__calendar_list_lr454g
                "a b" -> db__a_b_c3bzbe
                "größe" -> db__gr__e_um5uc4
                "工具" -> db_____t4lqse
            "#]],
        );
    }

    #[test]
    fn long_names_that_agree_at_both_ends_stay_apart() {
        let long = |verb: &str| {
            format!("{verb}-every-open-transfer-order-of-all-warehouses-and-its-lines")
        };
        let (create, delete) = (long("create"), long("delete"));
        let server: ServerName = "warehouse-planning".parse().unwrap();
        let names = expose(&server, [create.as_str(), delete.as_str()]);
        assert!(names.iter().all(|exposed| exposed.name.as_str().len() == 64));
        assert_ne!(names[0].name, names[1].name);
        let other_order = expose(&server, [delete.as_str(), create.as_str()]);
        assert_eq!(names[0].name, other_order[1].name);
    }

    #[test]
    fn a_name_that_imitates_a_digest_does_not_take_the_place_of_its_twin() {
        let server: ServerName = "db".parse().unwrap();
        let changed = expose(&server, ["a b"]);
        let imitation = changed[0].name.as_str().strip_prefix("db__").unwrap();
        let both = expose(&server, ["a b", imitation]);
        assert_ne!(both[0].name, both[1].name);
    }

    #[test]
    fn illegal_and_reserved_server_names_are_refused() {
        let long = "x".repeat(25);
        for name in ["", " ", "my__db", "Db", "9a", "-a", "a b", "a/b", "../x", "🔥", &long] {
            assert!(name.parse::<ServerName>().is_err(), "{name}");
        }
        for name in ["coffer", "COFFER", "Coffer"] {
            let error = name.parse::<ServerName>().unwrap_err();
            assert!(error.to_string().contains("reserved"), "{error}");
        }
    }

    #[test]
    fn foreign_spellings_become_legal_names_that_differ() {
        let named: Vec<String> = slugs(&["my__db", "db", "db_", "DB", "coffer", "工具", "9lives"])
            .into_iter()
            .map(|name| name.map_or_else(|| "(reserved)".to_owned(), String::from))
            .collect();
        assert_eq!(named[..2], ["my-db", "db"]);
        assert_eq!(named[4], "(reserved)");
        assert_eq!(named[6], "s-9lives");
        let distinct: BTreeSet<&String> = named.iter().collect();
        assert_eq!(distinct.len(), named.len(), "{named:?}");
    }

    proptest! {
        #[test]
        fn every_exposed_name_is_legal_unique_and_independent_of_order(
            names in proptest::collection::hash_set(".{0,80}", 0..20),
        ) {
            let server: ServerName = "some-server".parse().unwrap();
            let listed: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut reversed = listed.clone();
            reversed.reverse();
            let exposed = expose(&server, listed);
            let mut again = expose(&server, reversed);
            again.reverse();
            prop_assert_eq!(&exposed, &again);
            let unique: BTreeSet<_> = exposed.iter().map(|one| &one.name).collect();
            prop_assert_eq!(unique.len(), exposed.len());
            for one in &exposed {
                let name = one.name.as_str();
                prop_assert!(name.len() <= 64 && name.starts_with("some-server__"));
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
            }
        }

        #[test]
        fn a_resource_uri_survives_the_round_trip(original in ".{0,60}") {
            let server: ServerName = "files".parse().unwrap();
            let uri = resource_uri(&server, &original);
            prop_assert_eq!(split_resource_uri(&uri), Some((server, original.as_str())));
        }
    }
}
