//! Which rows and columns of a table a question asks for.

use std::cmp::Ordering;

use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use crate::example_server::table::cell::Cell;
use crate::example_server::table::csv_table::Table;
use crate::example_server::table::csv_table::TableError;

/// How a filter compares a row's value with its own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Operator {
    Equals,
    NotEquals,
    LessThan,
    AtMost,
    GreaterThan,
    AtLeast,
    Contains,
    StartsWith,
}

/// One condition that a row must meet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Filter {
    /// Column to look at, as `describe_table` names it.
    pub(crate) column: String,
    /// How to compare. Numbers compare by number and everything else as text; `contains`,
    /// `starts_with` and the two equalities ignore case.
    pub(crate) op: Operator,
    /// Value to compare with, for example "1972" or "food". An empty string finds empty cells
    /// together with `equals`.
    pub(crate) value: Cell,
}

/// Direction of a sort.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Order {
    #[default]
    Ascending,
    Descending,
}

/// A question to one table.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) filters: Vec<Filter>,
    pub(crate) sort: Option<(String, Order)>,
    /// Columns to answer with; none means all.
    pub(crate) columns: Vec<String>,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Selection {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Rows that met the filters, before offset and limit.
    pub(crate) matched: usize,
}

impl Query {
    /// Answers from `table`; rows that sort alike keep the order of the file.
    pub(crate) fn select(&self, table: &Table) -> Result<Selection, TableError> {
        let filters: Vec<(usize, &Filter)> = self
            .filters
            .iter()
            .map(|filter| Ok((table.column(&filter.column)?, filter)))
            .collect::<Result<_, TableError>>()?;
        let shown: Vec<usize> = if self.columns.is_empty() {
            (0..table.columns.len()).collect()
        } else {
            self.columns.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?
        };
        let meets_all =
            |row: &&Vec<String>| filters.iter().all(|(index, filter)| filter.accepts(&row[*index]));
        let mut rows: Vec<&Vec<String>> = table.rows.iter().filter(meets_all).collect();
        if let Some((column, order)) = &self.sort {
            let index = table.column(column)?;
            rows.sort_by(|a, b| match order {
                Order::Ascending => compare(&a[index], &b[index]),
                Order::Descending => compare(&b[index], &a[index]),
            });
        }
        let pick = |values: &[String]| shown.iter().map(|index| values[*index].clone()).collect();
        Ok(Selection {
            columns: pick(&table.columns),
            matched: rows.len(),
            rows: rows.iter().skip(self.offset).take(self.limit).map(|row| pick(row)).collect(),
        })
    }
}

impl Filter {
    fn accepts(&self, value: &str) -> bool {
        let wanted = self.value.0.as_str();
        let (folded, wanted_folded) = (value.to_lowercase(), wanted.to_lowercase());
        let order = compare(&folded, &wanted_folded);
        match self.op {
            Operator::Equals => order == Ordering::Equal,
            Operator::NotEquals => order != Ordering::Equal,
            // An empty cell is unknown, which is neither less nor more than anything.
            Operator::LessThan => !value.is_empty() && order == Ordering::Less,
            Operator::AtMost => !value.is_empty() && order != Ordering::Greater,
            Operator::GreaterThan => !value.is_empty() && order == Ordering::Greater,
            Operator::AtLeast => !value.is_empty() && order != Ordering::Less,
            Operator::Contains => folded.contains(&wanted_folded),
            Operator::StartsWith => folded.starts_with(&wanted_folded),
        }
    }
}

/// Orders two values: by number where both are numbers, else as text, numbers before text.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    match (number(a), number(b)) {
        // Equal numbers may be spelled differently, and -0 equals 0, so not by `total_cmp` alone.
        (Some(a), Some(b)) if a == b => Ordering::Equal,
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKS: &str = "title,year,pages\nB,1972,165\nA,1969,304\nC,1972,\nD,2001,90\n";

    #[track_caller]
    fn check_filter(column: &str, op: Operator, value: &str, expected: &str) {
        let filter = Filter { column: column.to_owned(), op, value: Cell(value.to_owned()) };
        let query = Query { filters: vec![filter], ..everything() };
        assert_eq!(titles(&query), expected);
    }

    fn everything() -> Query {
        Query { filters: Vec::new(), sort: None, columns: Vec::new(), offset: 0, limit: 100 }
    }

    fn titles(query: &Query) -> String {
        let selection = query.select(&Table::parse("books", BOOKS).unwrap()).unwrap();
        selection.rows.iter().map(|row| row[0].as_str()).collect()
    }

    #[test]
    fn each_operator_keeps_the_rows_it_says() {
        check_filter("year", Operator::Equals, "1972.0", "BC");
        check_filter("year", Operator::NotEquals, "1972", "AD");
        check_filter("pages", Operator::LessThan, "165", "D");
        check_filter("pages", Operator::AtMost, "165", "BD");
        check_filter("pages", Operator::GreaterThan, "90", "BA");
        check_filter("pages", Operator::AtLeast, "165", "BA");
        check_filter("year", Operator::Contains, "97", "BC");
        check_filter("Title", Operator::StartsWith, "d", "D");
        check_filter("pages", Operator::Equals, "", "C");
    }

    #[test]
    fn rows_sort_by_number_and_ties_keep_the_order_of_the_file() {
        let sort = |order| Query { sort: Some(("year".to_owned(), order)), ..everything() };
        assert_eq!(titles(&sort(Order::Ascending)), "ABCD");
        assert_eq!(titles(&sort(Order::Descending)), "DBCA");
    }

    #[test]
    fn a_window_of_chosen_columns_still_counts_all_matches() {
        let columns = vec!["pages".to_owned(), "title".to_owned()];
        let query = Query { columns, offset: 1, limit: 1, ..everything() };
        let selection = query.select(&Table::parse("books", BOOKS).unwrap()).unwrap();
        assert_eq!(selection.columns, ["pages", "title"]);
        assert_eq!(selection.rows, [["304", "A"]]);
        assert_eq!(selection.matched, 4);
    }

    #[test]
    fn an_unknown_column_is_named_together_with_the_known_ones() {
        let query = Query { columns: vec!["isbn".to_owned()], ..everything() };
        let error = query.select(&Table::parse("books", BOOKS).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "there is no column `isbn`");
        assert_eq!(error.mend(), "Use one of: title, year, pages.");
    }
}
