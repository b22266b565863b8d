//! PostgreSQL: procedures run with the rights of their owner, so nothing that a caller puts in the way may be used.

use chokaq_tests::contract::{self, Kind};
use chokaq_tests::names::snake_case;
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, Session, Value, args, scenario};

use crate::roles::{reading, works};
use crate::snapshot;
use crate::transactions::{joining, looping};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(every_function_with_its_owners_rights_pins_its_search_path).only(Engine::Postgres),
    scenario!(a_hostile_search_path_changes_nothing).only(Engine::Postgres),
    scenario!(temporary_tables_of_the_same_names_are_not_used).only(Engine::Postgres),
    scenario!(a_loop_leaves_the_search_path_as_it_was).only(Engine::Postgres),
    scenario!(a_text_that_the_client_cannot_spell_changes_nothing).only(Engine::Postgres),
];

async fn every_function_with_its_owners_rights_pins_its_search_path(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let sql = "SELECT p.proname::text AS name, p.prosecdef AS is_definer,
            COALESCE('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false) AS is_pinned
        FROM pg_proc AS p WHERE p.pronamespace = 'chokaq'::regnamespace";
    let functions = s.sql(sql, &[]).await?.rows;
    for function in functions.iter().filter(|function| function["IsDefiner"] == true) {
        assert_eq!(function["IsPinned"], true, "{}", function.text("Name"));
    }
    /* What commits cannot have its owner's rights; every other procedure that is granted has them. */
    for procedure in contract::PROCEDURES.iter() {
        let name = snake_case(&procedure.name);
        let is_definer: Vec<_> =
            functions.iter().filter(|row| row["Name"] == name).map(|row| row["IsDefiner"].clone()).collect();
        assert_eq!(is_definer, [Value::from(procedure.kind != Kind::Looping)], "{name}");
    }
    Ok(())
}

/// A session that may call every procedure and create a schema.
async fn hostile(db: &Db<'_>, owner: &mut Session) -> Result<Session> {
    let login = db.login(Rights::Of(&["chokaq_admin", "chokaq_worker"])).await?;
    owner.batch(&format!("GRANT CREATE ON DATABASE {} TO {login}", db.name), "").await?;
    db.session_as(&login).await
}

/// Functions that the kit takes from PostgreSQL; in a caller's schema each raises TT666.
const TRAPS: [&str; 15] = [
    "cardinality(anyarray) RETURNS integer",
    "clock_timestamp() RETURNS timestamptz",
    "current_setting(text) RETURNS text",
    "gen_random_uuid() RETURNS uuid",
    "isfinite(timestamptz) RETURNS boolean",
    "nextval(regclass) RETURNS bigint",
    "now() RETURNS timestamptz",
    "octet_length(text) RETURNS integer",
    "pg_try_advisory_xact_lock(bigint) RETURNS boolean",
    "random() RETURNS double precision",
    "strpos(text, text) RETURNS integer",
    "next_count(bigint) RETURNS bigint",
    "text_eq(text, text) RETURNS boolean",
    "status_eq(smallint, integer) RETURNS boolean",
    "time_le(timestamptz, timestamptz) RETURNS boolean",
];

/// What is made of the last of these, and types that hold nothing.
const MORE_TRAPS: &str = "
    CREATE AGGREGATE evil.count(*) (SFUNC = evil.next_count, STYPE = bigint, INITCOND = '0');
    CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.text_eq);
    CREATE OPERATOR evil.= (LEFTARG = smallint, RIGHTARG = integer, FUNCTION = evil.status_eq);
    CREATE OPERATOR evil.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = evil.time_le);
    CREATE DOMAIN evil.text AS pg_catalog.text CHECK (VALUE = 'never');
    CREATE DOMAIN evil.timestamptz AS pg_catalog.timestamptz CHECK (VALUE = 'epoch')";

async fn a_hostile_search_path_changes_nothing(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    let mut s = hostile(db, &mut owner).await?;
    s.batch("CREATE SCHEMA evil", "").await?;
    for trap in TRAPS {
        let sql = format!(
            "CREATE FUNCTION evil.{trap} LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'trapped' USING ERRCODE = 'TT666'; END $$"
        );
        s.batch(&sql, "").await?;
    }
    s.batch(MORE_TRAPS, "").await?;
    same_names(&mut owner, &mut s, "evil").await?;
    s.batch("SET search_path = evil, pg_catalog, chokaq", "").await?;
    for (procedure, args) in [reading(), joining(&mut owner).await?, looping(&mut owner).await?].concat() {
        works(&mut owner, &mut s, procedure, args).await?;
    }
    /* They are traps: for the caller's own words, and for a function that does not pin its path. */
    for sql in ["SELECT now()", "SELECT count(*) FROM evil.queues", "SELECT queue = queue FROM evil.queues"] {
        let error = s.batch(sql, "").await.expect_err(sql);
        assert_eq!(error.code, "TT666", "{sql}: {error}");
    }
    owner.batch("ALTER FUNCTION chokaq.get_queue_stats(text) RESET search_path", "").await?;
    let error = s.call("GetQueueStats", vec![]).await.expect_err("an unpinned function");
    assert_eq!(error.code, "TT666", "{error}");
    Ok(owner.empty_tables().await?)
}

async fn temporary_tables_of_the_same_names_are_not_used(db: &Db<'_>) -> Result<()> {
    let mut owner = db.session().await?;
    let mut s = hostile(db, &mut owner).await?;
    same_names(&mut owner, &mut s, "pg_temp").await?;
    let calls = [reading(), joining(&mut owner).await?, looping(&mut owner).await?].concat();
    for (procedure, args) in calls {
        works(&mut owner, &mut s, procedure, args).await?;
    }
    assert_eq!(s.count("SELECT count(*) AS n FROM jobs_hot WHERE queue = 'trap'", &[]).await?, 1);
    Ok(owner.empty_tables().await?)
}

/// A block that calls one goes on in the transaction that the loop has left.
async fn a_loop_leaves_the_search_path_as_it_was(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.batch("CREATE SCHEMA mine; SET search_path = mine", "").await?;
    let block = "DO $$
        DECLARE a bigint; b integer; c integer;
        BEGIN
            CALL chokaq.recover_abandoned(300, 1000, a, b, c);
            IF current_setting('search_path') <> 'mine' THEN
                RAISE EXCEPTION 'it is %', current_setting('search_path');
            END IF;
        END $$";
    Ok(s.batch(block, "").await?)
}

/// LATIN1 has no emoji: the server finds that out when it sends the answer, and undoes the call.
async fn a_text_that_the_client_cannot_spell_changes_nothing(db: &Db<'_>) -> Result<()> {
    let [mut owner, mut s] = db.sessions().await?;
    let args = args! { Queue: "q", Type: "t", JobId: "a", Payload: "😀" };
    owner.call("Enqueue", args).await?;
    let before = snapshot::take(&mut owner).await?;
    s.batch("SET client_encoding = 'LATIN1'", "").await?;
    let error = s.call("FetchNextBatch", args! { WorkerId: "w1" }).await.expect_err("an emoji in LATIN1");
    assert_eq!(error.code, "22P05", "{error}");
    assert_eq!(snapshot::take(&mut owner).await?, before);
    let moved = s.outcome("MoveToDLQ", args! { JobId: "a", FailureReason: 6, MovedBy: "ann" }).await?;
    assert_eq!(moved, "moved");
    let purged = s.call_one("PurgeDLQ", args! { JobIds: ["a"], PurgedBy: "ann" }).await?;
    assert_eq!(purged["PurgedCount"], 1);
    Ok(())
}

/// Tables of the caller, named as those of the kit, with a row each that nobody must see, let alone delete.
async fn same_names(owner: &mut Session, s: &mut Session, schema: &str) -> Result<()> {
    let sql = "SELECT relname::text AS name FROM pg_class
        WHERE relnamespace = 'chokaq'::regnamespace AND relkind IN ('r', 'v')";
    for table in owner.sql(sql, &[]).await?.texts("Name") {
        s.batch(&format!("CREATE TABLE {schema}.{table} (id text, queue text)"), "").await?;
        s.batch(&format!("INSERT INTO {schema}.{table} (id, queue) VALUES ('dead', 'trap')"), "").await?;
    }
    Ok(())
}
