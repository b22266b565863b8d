//! Who may do what: `sql/<dialect>/permissions.sql` against the last field of `tests/contract.txt`.

use std::time::Duration;

use chokaq_tests::contract::{self, Kind, Procedure};
use chokaq_tests::names::snake_case;
use chokaq_tests::{Args, Db, Engine, Result, Rights, Scenario, Session, SqlError, args, scenario, values};

use crate::transactions::{joining, looping, names, world};
use crate::{arrange, snapshot};

/* Logins are made one at a time, as databases are. */
const LIMIT: Duration = Duration::from_secs(600);

pub const SCENARIOS: &[Scenario] = &[
    scenario!(each_login_has_the_rights_of_its_role_and_no_other).limit(LIMIT),
    scenario!(exactly_the_contracts_rights_are_granted).only(Engine::Postgres),
    scenario!(each_role_calls_its_procedures_and_no_other).limit(LIMIT),
    scenario!(no_role_reaches_a_table_but_through_a_procedure).limit(LIMIT),
    scenario!(the_history_shows_the_login_beside_the_name_that_was_given).limit(LIMIT),
];

/// Each role with the roles that it is, in the words of the contract; and somebody who has none.
const ROLES: [(&str, &[&str]); 5] = [
    ("nobody", &[]),
    ("chokaq_reader", &["reader"]),
    ("chokaq_worker", &["worker"]),
    ("chokaq_operator", &["operator", "reader"]),
    ("chokaq_admin", &["admin", "operator", "reader"]),
];

/// What looping procedures of PostgreSQL, which run with their callers' rights, call beside their partners, and whose they are.
const HELPERS_OF_THE_LOOPS: [(&str, &str); 2] = [("checked_ids", "operator"), ("is_busy", "admin")];

/// A session of a new login that has the role and nothing else.
async fn session_of(db: &Db<'_>, role: &str) -> Result<(String, Session)> {
    let roles: &[&str] = if role == "nobody" { &[] } else { &[role] };
    let login = db.login(Rights::Of(roles)).await?;
    let session = db.session_as(&login).await?;
    Ok((login, session))
}

fn may(roles: &[&str], procedure: &Procedure) -> bool {
    procedure.roles.iter().any(|role| roles.contains(&&**role))
}

/// `MoveToDLQ` as the engine's catalog has it, in small letters.
fn object(engine: Engine, procedure: &str) -> String {
    match engine {
        Engine::Postgres => snake_case(procedure),
        Engine::Mssql => format!("usp_{procedure}").to_lowercase(),
    }
}

async fn each_login_has_the_rights_of_its_role_and_no_other(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    for (role, roles) in ROLES {
        let (login, mut s) = session_of(db, role).await?;
        let mut held = rights(&mut owner, &mut s, &login).await?;
        held.sort();
        let procedures = contract::PROCEDURES.iter().filter(|procedure| may(roles, procedure));
        let mut expected: Vec<String> =
            procedures.map(|procedure| format!("{} EXECUTE", object(db.engine, &procedure.name))).collect();
        if db.engine == Engine::Postgres {
            let helpers = HELPERS_OF_THE_LOOPS.iter().filter(|(_, role)| roles.contains(role));
            expected.extend(helpers.map(|(helper, _)| format!("{helper} EXECUTE")));
        }
        expected.sort();
        assert_eq!(held, expected, "{role}");
    }
    Ok(())
}

/// Every right that a login has, in whatever way, on an object of the kit.
async fn rights(owner: &mut Session, of_login: &mut Session, login: &str) -> Result<Vec<String>> {
    let rows = match (owner, of_login) {
        (Session::Postgres(owner), _) => {
            let sql = "
                SELECT p.proname || ' EXECUTE' AS held
                FROM pg_proc AS p
                WHERE p.pronamespace = 'chokaq'::regnamespace
                AND has_function_privilege($1::text::name, p.oid, 'EXECUTE')
                UNION ALL
                SELECT c.relname || ' ' || r.kind
                FROM pg_class AS c
                CROSS JOIN unnest(
                    ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
                ) AS r (kind)
                WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind IN ('r', 'v')
                AND (
                    has_table_privilege($1::text::name, c.oid, r.kind)
                    OR r.kind IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
                    AND has_any_column_privilege($1::text::name, c.oid, r.kind)
                )
                UNION ALL
                SELECT c.relname || ' ' || r.kind
                FROM pg_class AS c
                CROSS JOIN unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS r (kind)
                WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind = 'S'
                AND has_sequence_privilege($1::text::name, c.oid, r.kind)
                UNION ALL
                SELECT 'schema CREATE' WHERE has_schema_privilege($1::text::name, 'chokaq', 'CREATE')";
            owner.query(sql, &values![login]).await?
        }
        (owner, Session::Mssql(of_login)) => {
            let sql = "SELECT o.name AS Name FROM sys.objects AS o
                INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
                WHERE s.name = 'chokaq' AND o.type IN ('U', 'V', 'P', 'SO', 'FN', 'IF', 'TF')";
            let objects = owner.sql(sql, &[]).await?.texts("Name");
            assert!(objects.len() > contract::PROCEDURES.len(), "{objects:?}");
            let objects: Vec<String> = objects.iter().map(|name| format!("(N'{name}')")).collect();
            let sql = format!(
                "SELECT LOWER(o.Name) + N' ' + r.Kind AS Held
                FROM (VALUES {}) AS o (Name)
                CROSS JOIN (VALUES (N'EXECUTE'), (N'SELECT'), (N'INSERT'), (N'UPDATE'), (N'DELETE')) AS r (Kind)
                WHERE HAS_PERMS_BY_NAME(N'chokaq.' + o.Name, N'OBJECT', r.Kind) = 1",
                objects.join(", ")
            );
            of_login.query(&sql, &[]).await?
        }
        (Session::Mssql(_), Session::Postgres(_)) => unreachable!("both are of one engine"),
    };
    Ok(rows.texts("Held"))
}

async fn exactly_the_contracts_rights_are_granted(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let sql = "
        SELECT
            o.name || ': ' || COALESCE(g.rolname, 'PUBLIC') || ' ' || a.privilege_type
            || CASE WHEN a.is_grantable THEN ', and may pass it on' ELSE '' END AS granted
        FROM (
            SELECT p.proname, p.proowner, COALESCE(p.proacl, acldefault('f', p.proowner))
            FROM pg_proc AS p
            WHERE p.pronamespace = 'chokaq'::regnamespace
            UNION ALL
            SELECT c.relname, c.relowner, COALESCE(
                c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's'::\"char\" ELSE 'r' END, c.relowner)
            )
            FROM pg_class AS c
            WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind <> 'i'
            UNION ALL
            SELECT c.relname, c.relowner, t.attacl
            FROM pg_attribute AS t
            INNER JOIN pg_class AS c ON c.oid = t.attrelid
            WHERE c.relnamespace = 'chokaq'::regnamespace
            UNION ALL
            SELECT n.nspname, n.nspowner, COALESCE(n.nspacl, acldefault('n', n.nspowner))
            FROM pg_namespace AS n
            WHERE n.nspname = 'chokaq'
        ) AS o (name, owner, acl)
        CROSS JOIN LATERAL aclexplode(o.acl) AS a
        LEFT JOIN pg_roles AS g ON g.oid = a.grantee
        WHERE a.grantee <> o.owner";
    let mut granted = s.sql(sql, &[]).await?.texts("Granted");
    granted.sort();
    let mut expected: Vec<String> =
        HELPERS_OF_THE_LOOPS.iter().map(|(helper, role)| format!("{helper}: chokaq_{role} EXECUTE")).collect();
    for (role, _) in &ROLES[1..] {
        expected.push(format!("chokaq: {role} USAGE"));
    }
    for procedure in contract::PROCEDURES.iter() {
        for role in &procedure.roles {
            expected.push(format!("{}: chokaq_{role} EXECUTE", snake_case(&procedure.name)));
        }
    }
    expected.sort();
    assert_eq!(granted, expected);

    let powers = "SELECT COUNT(*) AS n FROM pg_roles AS r
        WHERE r.rolname IN ('chokaq_reader', 'chokaq_worker', 'chokaq_operator', 'chokaq_admin')
        AND NOT (r.rolcanlogin OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls)";
    assert_eq!(s.count(powers, &[]).await?, 4, "roles that can do nothing by themselves");
    Ok(())
}

/// For each reading procedure a call that finds something in the world of `transactions.rs`.
pub fn reading() -> Vec<(&'static str, Args)> {
    let calls = vec![
        ("ListDLQ", args! {}),
        ("GetDLQJob", args! { JobId: "dead" }),
        ("GetJob", args! { JobId: "pending" }),
        ("GetJobHistory", args! { JobId: "pending" }),
        ("SummarizeDLQ", args! {}),
        ("GetQueues", args! {}),
        ("GetQueueStats", args! {}),
        ("GetSummaryStats", args! {}),
        ("GetHealth", args! {}),
        ("GetVersion", args! {}),
    ];
    let listed: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, names(Kind::Reading), "a reading procedure without a case here");
    calls
}

/// A call in a fresh world, which must do what it is there for.
pub async fn works(owner: &mut Session, caller: &mut Session, procedure: &str, args: Args) -> Result<()> {
    owner.empty_tables().await?;
    world(owner).await?;
    let before = snapshot::take(owner).await?;
    assert!(!caller.call(procedure, args).await?.rows.is_empty(), "{procedure}: no rows");
    let changed = snapshot::take(owner).await? != before;
    assert_eq!(changed, contract::procedure(procedure).kind != Kind::Reading, "{procedure}");
    Ok(())
}

async fn each_role_calls_its_procedures_and_no_other(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    let calls = [reading(), joining(&mut owner).await?, looping(&mut owner).await?].concat();
    for (role, roles) in ROLES {
        let (_, mut s) = session_of(db, role).await?;
        let is_granted = |procedure| may(roles, contract::procedure(procedure));
        /* The version is in no table. */
        let (done, refused): (Vec<_>, Vec<_>) = calls.iter().cloned().partition(|(procedure, _)| {
            is_granted(procedure) && (owner.chains_ownership() || *procedure == "GetVersion")
        });
        owner.empty_tables().await?;
        world(&mut owner).await?;
        let before = snapshot::take(&mut owner).await?;
        for (procedure, args) in refused {
            let error = s.call(procedure, args).await.expect_err(procedure);
            /* Refused at the door; where ownership is not chained, one that is granted gets as far as its first table. */
            let at_the_door = names_object(&error, &object(db.engine, procedure)) || names_object(&error, "chokaq");
            assert!(is_denied(&error) && at_the_door != is_granted(procedure), "{role} calls {procedure}: {error}");
        }
        assert_eq!(snapshot::take(&mut owner).await?, before, "{role}");
        for (procedure, args) in done {
            works(&mut owner, &mut s, procedure, args).await?;
        }
    }
    Ok(owner.empty_tables().await?)
}

/// True for PostgreSQL's error, SQL Server's, and Babelfish's, which has one number for many errors.
fn is_denied(error: &SqlError) -> bool {
    match &*error.code {
        "42501" | "229" => true,
        "33557097" => error.message.starts_with("permission denied"),
        _ => false,
    }
}

/// True for `permission denied for function enqueue` and `The EXECUTE permission was denied on the object 'usp_Enqueue'`.
fn names_object(error: &SqlError, object: &str) -> bool {
    let message = error.message.to_lowercase();
    message.ends_with(&format!(" {object}")) || message.contains(&format!("'{object}'"))
}

async fn no_role_reaches_a_table_but_through_a_procedure(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    world(&mut owner).await?;
    /* The first column of some is the server's to fill. */
    let sql = "SELECT t.TABLE_NAME AS TableName, t.TABLE_TYPE AS TableType, c.COLUMN_NAME AS ColumnName
        FROM INFORMATION_SCHEMA.TABLES AS t
        INNER JOIN INFORMATION_SCHEMA.COLUMNS AS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
        WHERE t.TABLE_SCHEMA = 'chokaq' AND c.ORDINAL_POSITION = 2";
    let tables = owner.sql(sql, &[]).await?.rows;
    assert!(tables.iter().any(|row| row.text("TableName").to_lowercase().starts_with("operator")), "{tables:?}");
    let before = snapshot::take(&mut owner).await?;
    for (role, _) in ROLES {
        let (_, mut s) = session_of(db, role).await?;
        for row in &tables {
            let (table, column) = (row.text("TableName"), row.text("ColumnName"));
            let mut statements = vec![format!("SELECT {column} FROM chokaq.{table}")];
            if row["TableType"] == "BASE TABLE" {
                statements.push(format!("INSERT INTO chokaq.{table} DEFAULT VALUES"));
                statements.push(format!("UPDATE chokaq.{table} SET {column} = {column}"));
                statements.push(format!("DELETE FROM chokaq.{table}"));
            }
            for statement in statements {
                let error = s.batch(&statement, &statement).await.expect_err(&statement);
                assert!(is_denied(&error), "{role}: {statement}: {error}");
            }
        }
        /* What procedures are made of does not ask who calls, so nobody may. */
        for (postgres, mssql) in [
            (
                "SELECT chokaq.purge_rows(ARRAY['dead'], 'eve')",
                "EXECUTE chokaq.usp_PurgeRows @JobIds = N'[\"dead\"]', @Revisions = NULL, @Actor = N'eve', @BatchId = NULL",
            ),
            ("SELECT chokaq.ensure_queues(ARRAY['new'])", "EXECUTE chokaq.usp_EnsureQueue @Queue = N'new'"),
            ("SELECT nextval('chokaq.job_numbers')", "SELECT NEXT VALUE FOR chokaq.JobNumbers AS N"),
        ] {
            let error = s.batch(postgres, mssql).await.expect_err(postgres);
            assert!(is_denied(&error), "{role}: {postgres}: {error}");
        }
    }
    assert_eq!(snapshot::take(&mut owner).await?, before);
    Ok(())
}

async fn the_history_shows_the_login_beside_the_name_that_was_given(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    let rights = match owner.chains_ownership() {
        true => Rights::Of(&["chokaq_admin"]),
        false => Rights::Everything,
    };
    let login = db.login(rights).await?;
    let mut s = db.session_as(&login).await?;
    for id in ["a1", "a2", "a3", "a4"] {
        arrange::dead(&mut owner, "q", id).await?;
    }
    s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
    s.call("CancelJobs", args! { JobIds: ["a1"], CancelledBy: "ann" }).await?;
    s.call("ResurrectBatch", args! { JobIds: ["a2"], ResurrectedBy: "ann" }).await?;
    s.call("PurgeDLQ", args! { JobIds: ["a3"], PurgedBy: "ann" }).await?;
    s.call("PurgeDLQByFilter", args! { Search: "a4", PurgedBy: "ann", WhatIf: false }).await?;
    s.call("SetQueuePaused", args! { Queue: "q", IsPaused: true, ModifiedBy: "ann" }).await?;
    let sql = "SELECT Action, Actor, Login FROM chokaq.OperatorHistory ORDER BY HistoryId";
    let rows = owner.sql(sql, &[]).await?;
    assert_eq!(rows.texts("Action"), ["resurrected", "cancelled", "resurrected", "purged", "purged", "queue_changed"]);
    for row in &rows.rows {
        assert_eq!((row.text("Actor"), row.text("Login")), ("ann".to_owned(), login.clone()), "{row:?}");
    }
    Ok(())
}
