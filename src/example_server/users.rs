//! Ten thousand made-up users, the same on every machine: a large answer to try a gateway with.

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// How many users there are.
pub(crate) const USER_COUNT: u32 = 10_000;

/// Where users live.
pub(crate) const CITIES: [&str; 12] = [
    "Amsterdam",
    "Bergen",
    "Cusco",
    "Dakar",
    "Edinburgh",
    "Fukuoka",
    "Ghent",
    "Hobart",
    "Istanbul",
    "Jaipur",
    "Kyoto",
    "Lisbon",
];

/// A made-up person.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(crate) struct User {
    /// 1 to 10000.
    pub(crate) id: u32,
    /// One of twelve cities.
    pub(crate) city: &'static str,
    /// Years, 18 to 80.
    pub(crate) age: u32,
    /// Points with two decimals, 0 to 100.
    pub(crate) score: f64,
}

/// Makes the user with this id.
///
/// With `x = (id * 2654435761) mod 2^32`, in whole numbers:
/// - `city` is number `(x / 65536) mod 12` of [`CITIES`], counted from 0,
/// - `age` is `18 + (x / 1024) mod 63`,
/// - `score` is `(x mod 10001) / 100`, with its two decimals.
///
/// The factor is a prime close to 2^32 divided by the golden ratio, which spreads neighbouring
/// ids.
pub(crate) fn user(id: u32) -> User {
    let x = id.wrapping_mul(2_654_435_761);
    let city = CITIES[(x / 65_536) as usize % CITIES.len()];
    User { id, city, age: 18 + x / 1024 % 63, score: f64::from(x % 10_001) / 100.0 }
}

/// All users by id, or those of one city, named in any case.
pub(crate) fn users(city: Option<&str>) -> Result<Vec<User>, UnknownCity> {
    let all = (1..=USER_COUNT).map(user);
    let Some(name) = city else { return Ok(all.collect()) };
    let Some(city) = CITIES.iter().find(|known| known.eq_ignore_ascii_case(name.trim())) else {
        return Err(UnknownCity { name: name.to_owned() });
    };
    Ok(all.filter(|user| user.city == *city).collect())
}

/// A city in which no user lives.
#[derive(Debug, Error)]
#[error("no user lives in `{name}`")]
pub(crate) struct UnknownCity {
    name: String,
}

impl UnknownCity {
    pub(crate) fn mend() -> String {
        format!("Use one of: {}.", CITIES.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_are_those_of_the_written_formula() {
        let users = users(None).unwrap();
        assert_eq!(users.len(), 10_000);
        assert_eq!(user(1), User { id: 1, city: "Dakar", age: 42, score: 3.44 });
        let hundredths: u64 = users.iter().map(|user| (user.score * 100.0).round() as u64).sum();
        let ages: u32 = users.iter().map(|user| user.age).sum();
        assert_eq!((hundredths, ages), (49_994_311, 490_075));
    }

    #[test]
    fn the_cities_share_all_users_among_them() {
        let total: usize = CITIES.iter().map(|city| users(Some(city)).unwrap().len()).sum();
        assert_eq!(total, 10_000);
        assert_eq!(users(Some(" lisbon ")).unwrap().len(), 860);
        assert!(users(Some("Atlantis")).is_err() && UnknownCity::mend().contains("Kyoto"));
    }
}
