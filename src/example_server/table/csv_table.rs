//! A whole CSV table in memory, and its text.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::example_server::table::cell::Cell;

/// A table whose rows all have a value for each column.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Failure to read a table or to answer from it.
#[derive(Debug, Error)]
pub(crate) enum TableError {
    #[error("the file of table `{name}` is not valid CSV")]
    Malformed {
        name: String,
        #[source]
        source: csv::Error,
    },
    #[error("there is no column `{column}`")]
    UnknownColumn { column: String, known: Vec<String> },
    #[error("the row has no value for {}", columns.join(", "))]
    MissingValues { columns: Vec<String> },
    #[error("the row cannot be written as CSV")]
    Unwritable(#[source] csv::Error),
}

impl TableError {
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::Malformed { .. } => {
                "Ask the user to repair the file: a header row, then rows of the same length."
                    .to_owned()
            }
            Self::UnknownColumn { known, .. } => format!("Use one of: {}.", known.join(", ")),
            Self::MissingValues { .. } => {
                "Give each column a value; an empty string is allowed.".to_owned()
            }
            Self::Unwritable(_) => "Use plain text as values.".to_owned(),
        }
    }
}

impl Table {
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, TableError> {
        let malformed = |source| TableError::Malformed { name: name.to_owned(), source };
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().map_err(malformed)?;
        let columns = columns.iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            rows.push(record.map_err(malformed)?.iter().map(str::to_owned).collect());
        }
        Ok(Self { columns, rows })
    }

    /// Finds a column by its name, in any case.
    pub(crate) fn column(&self, name: &str) -> Result<usize, TableError> {
        let exact = self.columns.iter().position(|column| column == name);
        let similar = || self.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        exact.or_else(similar).ok_or_else(|| TableError::UnknownColumn {
            column: name.to_owned(),
            known: self.columns.clone(),
        })
    }

    /// Puts named values in the order of the columns; each column needs exactly one.
    pub(crate) fn row_of(
        &self,
        values: &BTreeMap<String, Cell>,
    ) -> Result<Vec<String>, TableError> {
        let mut row = vec![None; self.columns.len()];
        for (name, Cell(value)) in values {
            row[self.column(name)?] = Some(value.clone());
        }
        let unfilled = self.columns.iter().zip(&row).filter(|(_, value)| value.is_none());
        let columns: Vec<String> = unfilled.map(|(column, _)| column.clone()).collect();
        if columns.is_empty() {
            Ok(row.into_iter().flatten().collect())
        } else {
            Err(TableError::MissingValues { columns })
        }
    }
}

/// Adds a row to the text of a table and leaves what is there as it is.
pub(crate) fn append(text: &str, row: &[String]) -> Result<String, TableError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(row).map_err(TableError::Unwritable)?;
    let line = writer
        .into_inner()
        .map_err(|error| TableError::Unwritable(csv::Error::from(error.into_error())))?;
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{gap}{}", String::from_utf8_lossy(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, Cell> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Cell((*value).to_owned()))).collect()
    }

    #[test]
    fn an_appended_row_is_quoted_where_needed_and_read_back() {
        let text = "a,b\n1,2";
        let table = Table::parse("t", text).unwrap();
        let row = table.row_of(&values(&[("B", "x, \"y\"\nz"), ("a", "")])).unwrap();
        let text = append(text, &row).unwrap();
        assert_eq!(text, "a,b\n1,2\n,\"x, \"\"y\"\"\nz\"\n");
        assert_eq!(Table::parse("t", &text).unwrap().rows[1], row);
    }

    #[test]
    fn a_row_with_a_missing_or_an_unknown_column_is_refused() {
        let table = Table::parse("t", "a,b\n1,2\n").unwrap();
        let missing = table.row_of(&values(&[("a", "1")])).unwrap_err();
        assert_eq!(missing.to_string(), "the row has no value for b");
        let unknown = table.row_of(&values(&[("a", "1"), ("b", "2"), ("c", "3")])).unwrap_err();
        assert_eq!(unknown.mend(), "Use one of: a, b.");
    }

    #[test]
    fn rows_of_unequal_length_are_malformed() {
        let error = Table::parse("t", "a,b\n1\n").unwrap_err();
        assert!(matches!(error, TableError::Malformed { .. }));
    }
}
