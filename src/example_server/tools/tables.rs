//! Tools that list, describe, query and extend CSV tables.

use std::collections::BTreeMap;

use rmcp::handler::server::wrapper::Json;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars;
use rmcp::schemars::JsonSchema;
use rmcp::tool;
use rmcp::tool_router;
use serde::Deserialize;
use serde::Serialize;

use crate::example_server::entry_name::EntryName;
use crate::example_server::failure::ToolFailure;
use crate::example_server::folder::Kind;
use crate::example_server::server::ExampleServer;
use crate::example_server::table;
use crate::example_server::table::Cell;
use crate::example_server::table::ColumnDescription;
use crate::example_server::table::Filter;
use crate::example_server::table::Order;
use crate::example_server::table::Query;
use crate::example_server::table::Table;

/// Rows of an answer when the model does not say how many.
const DEFAULT_ROWS: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TableName {
    /// Name of the table without extension, as `list_tables` gives it, for example "books".
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TableQuestion {
    /// Name of the table without extension, as `list_tables` gives it, for example "books".
    name: String,
    /// Conditions that a row must all meet; leave out for all rows.
    #[serde(default)]
    filters: Option<Vec<Filter>>,
    /// Column to sort by; leave out for the order of the file.
    #[serde(default)]
    sort_by: Option<String>,
    /// Direction of the sort; ascending when left out.
    #[serde(default)]
    order: Option<Order>,
    /// Columns to return, in this order; leave out for all columns.
    #[serde(default)]
    columns: Option<Vec<String>>,
    /// How many matching rows to pass over first; 0 when left out.
    #[serde(default)]
    offset: Option<usize>,
    /// Most rows to return; 100 when left out.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewRow {
    /// Name of the table without extension, as `list_tables` gives it, for example "expenses".
    name: String,
    /// One value for each column, by the name of the column, for example
    /// {"date": "2025-02-01", "category": "food", "what": "market", "amount": "12.50"}.
    values: BTreeMap<String, Cell>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct TableEntry {
    /// Name to call the other tools with.
    name: String,
    /// Size of the file in bytes.
    bytes: u64,
}

#[derive(JsonSchema, Serialize)]
struct TableList {
    /// All tables by name.
    tables: Vec<TableEntry>,
    /// How many tables there are.
    total: usize,
}

#[derive(JsonSchema, Serialize)]
struct TableDescription {
    /// Name of the table.
    name: String,
    /// How many rows it has, the header not counted.
    rows: usize,
    /// Its columns from left to right.
    columns: Vec<ColumnDescription>,
}

#[derive(JsonSchema, Serialize)]
struct TableAnswer {
    /// Names of the returned columns.
    columns: Vec<String>,
    /// Returned rows; each has one value a column, in the order of `columns`.
    rows: Vec<Vec<String>>,
    /// How many rows met the filters, the unreturned ones included.
    matched: usize,
}

#[derive(JsonSchema, Serialize)]
struct AppendedRow {
    /// Name of the table.
    name: String,
    /// How many rows it has now.
    rows: usize,
}

#[tool_router(router = table_tools, vis = "pub(crate)")]
impl ExampleServer {
    #[tool(
        title = "List tables",
        description = "Lists all CSV tables by name. Call describe_table next to learn the \
            columns of one.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn list_tables(&self) -> Result<Json<TableList>, ToolFailure> {
        let entries = self.folder.list(Kind::Table)?.into_iter();
        let tables: Vec<TableEntry> = entries
            .map(|entry| TableEntry { name: entry.name.to_string(), bytes: entry.bytes })
            .collect();
        Ok(Json(TableList { total: tables.len(), tables }))
    }

    #[tool(
        title = "Describe a table",
        description = "Says for each column of a table what it holds (number, date or text), how \
            many different and empty values it has, and its smallest and largest value.",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn describe_table(
        &self,
        Parameters(TableName { name }): Parameters<TableName>,
    ) -> Result<Json<TableDescription>, ToolFailure> {
        let table = self.table(&name)?;
        let columns = table::describe(&table);
        Ok(Json(TableDescription { name, rows: table.rows.len(), columns }))
    }

    #[tool(
        title = "Query a table",
        description = "Returns rows of a table: those that meet all filters, sorted, cut to a \
            window and to chosen columns. Example: table \"books\", filter {\"column\": \"year\", \
            \"op\": \"less_than\", \"value\": \"1970\"}, sort_by \"pages\".",
        annotations(read_only_hint = true, idempotent_hint = true, open_world_hint = false)
    )]
    fn query_table(
        &self,
        Parameters(question): Parameters<TableQuestion>,
    ) -> Result<Json<TableAnswer>, ToolFailure> {
        let table = self.table(&question.name)?;
        let order = question.order.unwrap_or_default();
        let query = Query {
            filters: question.filters.unwrap_or_default(),
            sort: question.sort_by.map(|column| (column, order)),
            columns: question.columns.unwrap_or_default(),
            offset: question.offset.unwrap_or(0),
            limit: question.limit.unwrap_or(DEFAULT_ROWS),
        };
        let selection = query.select(&table)?;
        Ok(Json(TableAnswer {
            columns: selection.columns,
            rows: selection.rows,
            matched: selection.matched,
        }))
    }

    #[tool(
        title = "Append a row",
        description = "Adds one row at the end of a table. Each column needs a value, which may \
            be an empty string; existing rows stay as they are.",
        annotations(
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    fn append_row(
        &self,
        Parameters(NewRow { name, values }): Parameters<NewRow>,
    ) -> Result<Json<AppendedRow>, ToolFailure> {
        let checked: EntryName = name.parse()?;
        let rows = self.folder.update(Kind::Table, &checked, |text| {
            let table = Table::parse(&name, text)?;
            let text = table::append(text, &table.row_of(&values)?)?;
            Ok::<_, ToolFailure>((text, table.rows.len() + 1))
        })?;
        Ok(Json(AppendedRow { name, rows }))
    }
}

impl ExampleServer {
    fn table(&self, name: &str) -> Result<Table, ToolFailure> {
        let text = self.folder.read(Kind::Table, &name.parse()?)?;
        Ok(Table::parse(name, &text)?)
    }
}
