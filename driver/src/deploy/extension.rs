//! The kit as an extension of PostgreSQL, made of the same migrations as a deployment.

use std::fmt::Write;

use refinery_core::Migration;

use super::postgres;
use super::run::from_refinery;
use crate::error::{Error, ErrorKind, Result};

/// The files that `CREATE EXTENSION chokaq` and `ALTER EXTENSION chokaq UPDATE` need in the folder `extension` of a
/// server's `pg_config --sharedir`.
///
/// The extension is the schema `chokaq` and the history of its migrations: what [`Deploy::status`](crate::Deploy::status)
/// says is the same as after [`Deploy::up`](crate::Deploy::up), which applies nothing to such a database. Whoever
/// creates it owns its objects; a superuser is not needed. The tables of jobs are marked as the user's data, so that
/// `pg_dump` takes their rows along.
#[derive(Debug, Clone)]
pub struct Extension {
    version: String,
    migrations: Vec<Migration>,
}

impl Default for Extension {
    fn default() -> Self {
        Self::new()
    }
}

impl Extension {
    /// This program's release.
    pub fn new() -> Self {
        Self::of(env!("CARGO_PKG_VERSION"), postgres::embedded().get_migrations().clone())
    }

    /// A release of that version with these migrations, names such as `V1__schema` and their texts: so the suite has one
    /// to update from.
    ///
    /// # Errors
    /// [`Deployment`](ErrorKind::Deployment) for a name that is none.
    #[doc(hidden)]
    pub fn with_migrations(version: &str, migrations: &[(&str, &str)]) -> Result<Self> {
        let read = migrations.iter().map(|(name, sql)| Migration::unapplied(name, sql));
        Ok(Self::of(version, read.collect::<std::result::Result<_, _>>().map_err(from_refinery)?))
    }

    fn of(version: &str, mut migrations: Vec<Migration>) -> Self {
        migrations.sort();
        Self { version: version.to_owned(), migrations }
    }

    /// The control file, `chokaq.control`.
    ///
    /// Not `superuser`: the script needs nothing that only a superuser may do, and what a superuser created would run
    /// with a superuser's rights for every caller. `pg_catalog` is where nothing is created: the schema `chokaq` is a
    /// member of the extension, so that it goes with it.
    pub fn control(&self) -> String {
        format!(
            "comment = 'ChokaQ SQL: a job queue, its dead letters and their repair, in stored procedures'\n\
            default_version = '{}'\n\
            encoding = 'UTF8'\n\
            relocatable = false\n\
            requires = 'plpgsql'\n\
            schema = 'pg_catalog'\n\
            superuser = false\n",
            self.version
        )
    }

    /// The name of the script of `CREATE EXTENSION`, and its text.
    pub fn install(&self) -> (String, String) {
        let name = format!("chokaq--{}.sql", self.version);
        let mut script = head("CREATE EXTENSION chokaq");
        script.push_str(&postgres::history_table(postgres::HISTORY));
        script.push('\n');
        (name, self.script(script, &self.migrations))
    }

    /// The name of the script of `ALTER EXTENSION chokaq UPDATE` from an older version, and its text; the newest
    /// migration of that version had the number `newest`.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) when there is no such migration, or the version is this one.
    pub fn update(&self, version: &str, newest: i32) -> Result<(String, String)> {
        let refused = |why: String| Err(Error::new(ErrorKind::InvalidArgument, why));
        if version == self.version || version.is_empty() || version.contains("--") || version.contains(['/', '\\']) {
            return refused(format!("{version:?} is no older version of {}", self.version));
        }
        if !self.migrations.iter().any(|migration| migration.version() == newest) {
            return refused(format!("there is no migration V{newest:04}"));
        }
        let name = format!("chokaq--{version}--{}.sql", self.version);
        let later: Vec<_> = self.migrations.iter().filter(|it| it.version() > newest).cloned().collect();
        Ok((name, self.script(head("ALTER EXTENSION chokaq UPDATE"), &later)))
    }

    fn script(&self, mut script: String, migrations: &[Migration]) -> String {
        for migration in migrations {
            let sql = migration.sql().unwrap_or_default().trim_end();
            // Writing to a text does not fail. refinery's own row, but for the time.
            let _ = write!(
                script,
                "\n/* V{:04}__{name} */\n{sql}\n\n\
                INSERT INTO {history} (version, name, applied_on, checksum)\n\
                VALUES ({version}, '{name}', {NOW}, '{checksum}');\n",
                migration.version(),
                name = migration.name(),
                history = postgres::HISTORY,
                version = migration.version(),
                checksum = migration.checksum(),
            );
        }
        script.push_str(USER_DATA);
        script
    }
}

/// psql stops here, told what to say instead; the server passes the line over.
fn head(command: &str) -> String {
    format!("\\echo Use \"{command}\" to load this file. \\quit\n\n")
}

const NOW: &str = "to_char(timezone('UTC', clock_timestamp()), 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

/// `pg_dump` leaves out the rows of an extension's tables unless it is told that they are the user's. The failure reasons
/// and the history of migrations are the extension's: a restore has them from `CREATE EXTENSION`.
const USER_DATA: &str = "
/* Without this a dump would leave out every job. */
DO $user_data$
DECLARE
    v_table regclass;
BEGIN
    FOR v_table IN
        SELECT c.oid
        FROM pg_class AS c
        WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind IN ('r', 'S') AND c.relname <> 'failure_reasons'
        ORDER BY c.relname
    LOOP
        PERFORM pg_extension_config_dump(v_table, '');
    END LOOP;
END;
$user_data$;
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_leaves_the_text_of_a_migration_as_it_is() {
        // What CREATE EXTENSION would replace in a script, and the lines that it would leave out.
        let (_, script) = Extension::new().install();
        for word in ["@extschema", "@extowner@", "MODULE_PATHNAME"] {
            assert!(!script.contains(word), "{word}");
        }
        assert_eq!(script.lines().filter(|line| line.to_lowercase().starts_with("\\echo")).count(), 1);
        for migration in Extension::new().migrations {
            assert!(script.contains(migration.sql().unwrap().trim_end()), "{migration}");
        }
    }

    #[test]
    fn an_update_brings_what_is_newer() {
        let new = Extension::with_migrations("2.0", &[("V1__a", "SELECT 1;"), ("V2__b", "SELECT 2;")]).unwrap();
        let (name, script) = new.update("1.0", 1).unwrap();
        assert_eq!(name, "chokaq--1.0--2.0.sql");
        assert!(script.contains("SELECT 2;") && !script.contains("SELECT 1;"), "{script}");
        for (version, newest) in [("2.0", 1), ("1.0", 3), ("1--0", 1), ("../1.0", 1), ("", 1)] {
            assert_eq!(
                new.update(version, newest).unwrap_err().kind(),
                ErrorKind::InvalidArgument,
                "{version} {newest}"
            );
        }
    }
}
