//! On a server of a case-sensitive collation a name is found only as it was written, and on a Turkish one an I is no i: so
//! the T-SQL spells each name, variable and parameter with the same letters everywhere.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::dialect::MsSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::source::{Dialect, sources};

/// Words that belong to two owners: ours, and the columns of OPENJSON and of the catalog or a keyword.
const SHARED: [&[&str]; 5] =
    [&["KEY", "key"], &["Name", "name"], &["SCHEMA_ID", "schema_id"], &["Type", "type"], &["VALUE", "Value", "value"]];

/// Of the timetable, where procedures of the server's own have parameters in small letters.
const FOREIGN: &str = "agent-jobs";

#[test]
fn every_name_in_t_sql_is_spelled_with_the_same_letters_everywhere() {
    let mut spellings: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for folder in ["procedures", "migrations", "sql"] {
        for source in sources(folder, Dialect::Mssql).into_iter().filter(|source| source.name != FOREIGN) {
            let place = source.path.display().to_string();
            let tokens = Tokenizer::new(&MsSqlDialect {}, &source.text).tokenize();
            for token in tokens.unwrap_or_else(|error| panic!("{place}: {error}")) {
                let Token::Word(word) = token else { continue };
                let found = spellings.entry(word.value.to_lowercase()).or_default();
                found.entry(word.value).or_insert_with(|| place.clone());
            }
        }
    }
    assert!(spellings.contains_key("@jobid") && spellings.contains_key("jobshot"), "names and variables are words");
    for (word, found) in spellings {
        let letters: BTreeSet<&str> = found.keys().map(String::as_str).collect();
        let is_shared = SHARED.iter().any(|shared| letters.iter().all(|one| shared.contains(one)));
        assert!(letters.len() == 1 || is_shared, "{word} is written as {found:?}");
    }
}
