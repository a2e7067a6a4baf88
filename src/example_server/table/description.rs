//! What the columns of a table hold.

use std::collections::BTreeSet;

use jiff::civil::Date;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Serialize;

use crate::example_server::table::csv_table::Table;
use crate::example_server::table::query::compare;

/// What all values of a column are.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum ColumnKind {
    Number,
    Date,
    Text,
    Empty,
}

/// One column in numbers.
#[derive(Debug, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(crate) struct ColumnDescription {
    /// Name in the header row.
    pub(crate) name: String,
    /// What all its filled values are.
    pub(crate) kind: ColumnKind,
    /// How many different filled values it has.
    pub(crate) distinct: usize,
    /// How many rows leave it empty.
    pub(crate) empty: usize,
    /// Smallest value, by number where the values are numbers; absent in an empty column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) smallest: Option<String>,
    /// Largest value, by number where the values are numbers; absent in an empty column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) largest: Option<String>,
}

/// Describes each column, in the order of the table.
pub(crate) fn describe(table: &Table) -> Vec<ColumnDescription> {
    let columns = table.columns.iter().enumerate();
    columns.map(|(index, name)| describe_column(name, table, index)).collect()
}

fn describe_column(name: &str, table: &Table, index: usize) -> ColumnDescription {
    let all = table.rows.iter().map(|row| row[index].as_str());
    let filled: Vec<&str> = all.filter(|value| !value.is_empty()).collect();
    let distinct: BTreeSet<&str> = filled.iter().copied().collect();
    let smallest = filled.iter().min_by(|a, b| compare(a, b));
    let largest = filled.iter().max_by(|a, b| compare(a, b));
    ColumnDescription {
        name: name.to_owned(),
        kind: kind_of(&filled),
        distinct: distinct.len(),
        empty: table.rows.len() - filled.len(),
        smallest: smallest.map(|value| (*value).to_owned()),
        largest: largest.map(|value| (*value).to_owned()),
    }
}

fn kind_of(filled: &[&str]) -> ColumnKind {
    if filled.is_empty() {
        ColumnKind::Empty
    } else if filled.iter().all(|value| value.parse::<f64>().is_ok_and(f64::is_finite)) {
        ColumnKind::Number
    } else if filled.iter().all(|value| value.parse::<Date>().is_ok()) {
        ColumnKind::Date
    } else {
        ColumnKind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_column_is_compared_by_number_and_a_date_column_is_recognised() {
        let table = Table::parse("t", "n,d,w,x\n9,2025-01-02,b,\n10,2024-12-31,,\n").unwrap();
        let columns = describe(&table);
        let kinds: Vec<ColumnKind> = columns.iter().map(|column| column.kind).collect();
        assert_eq!(
            kinds,
            [ColumnKind::Number, ColumnKind::Date, ColumnKind::Text, ColumnKind::Empty]
        );
        assert_eq!(columns[0].largest.as_deref(), Some("10"));
        assert_eq!(columns[1].smallest.as_deref(), Some("2024-12-31"));
        assert_eq!((columns[2].distinct, columns[2].empty), (1, 1));
        assert_eq!(columns[3].smallest, None);
    }
}
