//! The driver's prepared statements on PostgreSQL: which calls are, how many, and what becomes of one that is gone.

use chokaq::{Client, DlqFilter, Enqueue, EnqueueOutcome, ListDlq};
use chokaq_tests::{Db, Engine, Result, Scenario, Session, scenario};
use time::macros::datetime;

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_call_is_prepared_when_it_is_made_again_unless_that_is_switched_off).only(Engine::Postgres),
    scenario!(of_many_calls_a_connection_keeps_a_hundred).only(Engine::Postgres),
    scenario!(a_call_whose_statement_the_session_has_lost_is_made_once).only(Engine::Postgres),
    scenario!(a_prepared_call_follows_a_procedure_that_answers_otherwise).only(Engine::Postgres).about_deployments(),
];

/// From now on GetVersion says as KitVersion how many statements its session has prepared.
async fn count_in_get_version(s: &mut Session) -> Result<()> {
    let sql = "CREATE OR REPLACE FUNCTION chokaq.get_version()
        RETURNS TABLE (kit_version text, contract_version integer, dialect text, server_time_utc timestamptz)
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        AS 'SELECT (SELECT count(*) FROM pg_prepared_statements)::text, 1, ''postgres'', clock_timestamp()'";
    Ok(s.batch(sql, "").await?)
}

async fn counts<const N: usize>(client: &Client) -> Result<[String; N]> {
    let mut counts = Vec::new();
    for _ in 0..N {
        counts.push(client.get_version().await?.kit_version);
    }
    Ok(counts.try_into().expect("N of them"))
}

async fn a_call_is_prepared_when_it_is_made_again_unless_that_is_switched_off(db: &Db<'_>) -> Result<()> {
    count_in_get_version(&mut db.session().await?).await?;
    let url = db.url()?;
    let one = || Client::builder().pool_size(1).check_version(false);
    assert_eq!(counts(&one().connect(&url).await?).await?, ["0", "1", "1"]);
    assert_eq!(counts(&one().prepared(false).connect(&url).await?).await?, ["0", "0", "0"]);
    assert_eq!(counts(&one().connect(&format!("{url}&prepared=false")).await?).await?, ["0", "0", "0"]);
    Ok(())
}

async fn of_many_calls_a_connection_keeps_a_hundred(db: &Db<'_>) -> Result<()> {
    count_in_get_version(&mut db.session().await?).await?;
    let client = Client::builder().pool_size(1).connect(&db.url()?).await?;
    for number in 0..128 {
        let given = |bit: i32| number >> bit & 1 == 1;
        let at = datetime!(2026-01-31 8:00 UTC);
        let filter = DlqFilter {
            queue: given(0).then_some("q"),
            r#type: given(1).then_some("t"),
            search: given(2).then_some("x"),
            from: given(3).then_some(at),
            to: given(4).then_some(at),
            ..DlqFilter::default()
        };
        let before_job_id = given(5).then_some("a");
        let list = ListDlq {
            filter,
            limit: given(6).then_some(1),
            before_failed_at: before_job_id.map(|_| at),
            before_job_id,
        };
        for _ in 0..2 {
            assert_eq!(client.list_dlq(&list).await?, []);
        }
    }
    let [_, kept] = counts(&client).await?;
    assert_eq!(kept, "100");
    Ok(())
}

/// As behind a proxy that tidies up: whoever writes a job finds no statement afterwards.
async fn a_call_whose_statement_the_session_has_lost_is_made_once(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    count_in_get_version(&mut s).await?;
    for statement in [
        "CREATE FUNCTION public.tidy_up() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$",
        "CREATE TRIGGER tidy_up AFTER INSERT ON chokaq.jobs_hot EXECUTE FUNCTION public.tidy_up()",
    ] {
        s.batch(statement, "").await?;
    }
    let client = Client::builder().pool_size(1).connect(&db.url()?).await?;
    for number in 1..=4 {
        let payload = number.to_string();
        let job = Enqueue { payload: Some(&payload), ..Enqueue::new("q", "t") };
        assert_eq!(client.enqueue(&job).await?.outcome, EnqueueOutcome::Enqueued, "{number}");
    }
    let sql = "SELECT h.Payload FROM chokaq.JobsHot AS h ORDER BY h.Payload";
    assert_eq!(s.sql(sql, &[]).await?.texts("Payload"), ["1", "2", "3", "4"]);
    assert_eq!(counts(&client).await?, ["0", "0", "0"], "such a session is not asked to keep anything any more");
    Ok(())
}

async fn a_prepared_call_follows_a_procedure_that_answers_otherwise(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    count_in_get_version(&mut s).await?;
    let client = Client::builder().pool_size(1).check_version(false).connect(&db.url()?).await?;
    assert_eq!(counts(&client).await?, ["0", "1"]);
    for statement in [
        "DROP FUNCTION chokaq.get_version()",
        "CREATE FUNCTION chokaq.get_version()
        RETURNS TABLE (news text, kit_version text, contract_version integer, dialect text, server_time_utc timestamptz)
        LANGUAGE sql VOLATILE
        AS 'SELECT ''news'', (SELECT count(*) FROM pg_prepared_statements)::text, 1, ''postgres'', clock_timestamp()'",
    ] {
        s.batch(statement, "").await?;
    }
    assert_eq!(counts(&client).await?, ["0", "1", "1"], "it is prepared anew");
    Ok(())
}
