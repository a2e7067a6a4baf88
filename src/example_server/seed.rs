//! The notes and tables a new folder begins with.

use crate::example_server::folder::Kind;

/// Names and texts of the first entries of a kind.
pub(crate) fn entries(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Note => &[("welcome", WELCOME), ("reading-list", READING_LIST), ("packing", PACKING)],
        Kind::Table => &[("books", BOOKS), ("expenses", EXPENSES)],
    }
}

const WELCOME: &str = "\
# Welcome

These notes belong to Coffer's example server.
They are plain Markdown files, so any editor can change them.

- `search_notes` finds a line by its words.
- `write_note` adds a note, `delete_note` removes one.
- The tables beside them are `books` and `expenses`.
";

const READING_LIST: &str = "\
# Reading list

1. The Left Hand of Darkness, for the winter journey
2. Invisible Cities, one city an evening
3. The Peregrine, because of the fields

The table `books` says which of them are finished.
";

const PACKING: &str = "\
# Packing for the coast

- rain jacket and a second pair of shoes
- binoculars
- charger, adapter
- tickets: leave on Friday at 07:40, return on Monday
";

const BOOKS: &str = "\
title,author,year,pages,finished
The Left Hand of Darkness,Ursula K. Le Guin,1969,304,yes
Invisible Cities,Italo Calvino,1972,165,yes
The Peregrine,J. A. Baker,1967,191,no
The Rings of Saturn,W. G. Sebald,1995,296,no
Beloved,Toni Morrison,1987,324,yes
The Summer Book,Tove Jansson,1972,172,yes
Austerlitz,W. G. Sebald,2001,415,no
A Wizard of Earthsea,Ursula K. Le Guin,1968,205,yes
";

const EXPENSES: &str = "\
date,category,what,amount
2025-01-04,food,market,38.20
2025-01-07,travel,train to Porto,24.50
2025-01-07,travel,hotel,91.00
2025-01-09,books,The Summer Book,11.90
2025-01-12,food,\"bread, cheese, apples\",16.75
2025-01-15,home,lamp,42.00
2025-01-19,food,market,41.05
2025-01-23,travel,bus pass,30.00
2025-01-28,books,Austerlitz,13.50
2025-01-30,home,window repair,120.00
";

#[cfg(test)]
mod tests {
    use crate::example_server::entry_name::EntryName;
    use crate::example_server::table::Table;

    use super::*;

    #[test]
    fn seeded_names_are_valid_and_seeded_tables_can_be_read() {
        for kind in [Kind::Note, Kind::Table] {
            assert!(entries(kind).iter().all(|(name, _)| name.parse::<EntryName>().is_ok()));
        }
        for (name, text) in entries(Kind::Table) {
            assert!(!Table::parse(name, text).unwrap().rows.is_empty());
        }
    }
}
