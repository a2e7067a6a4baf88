//! CSV tables: reading and writing them, describing their columns, and asking for rows.

mod cell;
mod csv_table;
mod description;
mod query;

pub(crate) use self::cell::Cell;
pub(crate) use self::csv_table::Table;
pub(crate) use self::csv_table::TableError;
pub(crate) use self::csv_table::append;
pub(crate) use self::description::ColumnDescription;
pub(crate) use self::description::describe;
pub(crate) use self::query::Filter;
pub(crate) use self::query::Order;
pub(crate) use self::query::Query;
