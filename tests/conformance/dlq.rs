//! usp_ListDLQ, usp_GetDLQJob, usp_GetJob, usp_UpdateJobData and usp_UpdateDLQJobData.

use chokaq_tests::{Args, Code, Db, Result, Scenario, Session, Value, args, assert_refused, scenarios, values};
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    the_dlq_is_listed_newest_first_and_page_by_page,
    each_filter_leaves_what_it_says,
    from_is_inclusive_and_to_is_exclusive,
    a_search_is_a_plain_substring_of_five_columns,
    a_list_shows_previews_and_the_length,
    a_page_needs_the_time_that_its_id_belongs_to,
    an_unknown_job_is_no_row,
    a_job_is_found_wherever_it_is,
    a_pending_job_is_edited,
    only_a_pending_job_is_edited,
    a_dead_job_is_edited_where_it_stays,
    an_edit_keeps_what_it_does_not_name,
    an_edit_clears_what_it_is_told_to,
    malformed_json_is_refused_with_its_place_unless_allowed,
    an_edit_of_a_state_no_longer_there_is_refused,
    a_revision_is_never_used_twice,
    an_edit_of_nothing_is_refused,
    clearing_and_giving_at_once_is_refused,
    every_edit_is_in_the_history_with_what_was_before,
];

async fn list(s: &mut Session, args: Args) -> Result<Vec<String>> {
    Ok(s.call("ListDLQ", args).await?.texts("JobId"))
}

async fn the_dlq_is_listed_newest_first_and_page_by_page(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 7);
    /* One sweep, so one FailedAtUtc: the id breaks the tie. */
    arrange::many_dead(&mut s, "q", &ids).await?;
    arrange::dead(&mut s, "q", "newest").await?;
    let mut seen = Vec::new();
    let mut page = args! { Limit: 3 };
    loop {
        let rows = s.call("ListDLQ", page).await?;
        let Some(last) = rows.rows.last() else { break };
        page = args! { Limit: 3, BeforeFailedAtUtc: last["FailedAtUtc"].clone(), BeforeJobId: last["JobId"].clone() };
        seen.extend(rows.texts("JobId"));
    }
    let expected: Vec<String> = ["newest".to_owned()].into_iter().chain(ids.into_iter().rev()).collect();
    assert_eq!(seen, expected);
    Ok(())
}

async fn each_filter_leaves_what_it_says(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, queue, kind, reason) in
        [("a", "q1", "t1", 6), ("b", "q1", "t2", 7), ("c", "q2", "t1", 6), ("d", "Q1", "T1", 2)]
    {
        s.call("Enqueue", args! { Queue: queue, Type: kind, JobId: id }).await?;
        s.call("MoveToDLQ", args! { JobId: id, FailureReason: reason }).await?;
    }
    for (args, expected) in [
        (args! {}, vec!["d", "c", "b", "a"]),
        (args! { Queue: "q1" }, vec!["b", "a"]),
        (args! { Type: "t1" }, vec!["c", "a"]),
        (args! { FailureReason: 6 }, vec!["c", "a"]),
        (args! { Queue: "q1", Type: "t1", FailureReason: 6 }, vec!["a"]),
        (args! { Queue: "nowhere" }, vec![]),
    ] {
        assert_eq!(list(&mut s, args.clone()).await?, expected, "{args:?}");
    }
    Ok(())
}

async fn from_is_inclusive_and_to_is_exclusive(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let at = time::macros::datetime!(2026-03-01 12:00:00.5 UTC);
    for (id, offset) in [("before", -1), ("at", 0), ("after", 1)] {
        arrange::dead(&mut s, "q", id).await?;
        let when = at + Duration::microseconds(offset);
        s.sql("UPDATE chokaq.JobsDLQ SET FailedAtUtc = @P1 WHERE Id = @P2", &values![when, id]).await?;
    }
    assert_eq!(list(&mut s, args! { FromUtc: at }).await?, ["after", "at"]);
    assert_eq!(list(&mut s, args! { ToUtc: at }).await?, ["before"]);
    assert_eq!(list(&mut s, args! { FromUtc: at, ToUtc: at + Duration::MICROSECOND }).await?, ["at"]);
    Ok(())
}

async fn a_search_is_a_plain_substring_of_five_columns(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (id, kind, payload, tags, error) in [
        ("needle-id", "t", "p", "x", "e"),
        ("type", "needle_v1", "p", "x", "e"),
        ("payload", "t", "a needle here", "x", "e"),
        ("tags", "t", "p", "one,needle", "e"),
        ("error", "t", "p", "x", "no needle found"),
        ("case", "t", "a Needle", "x", "e"),
        ("percent", "t", "100%_[done]", "x", "e"),
        ("almost", "t", "100xx1done1", "x", "e"),
    ] {
        s.call("Enqueue", args! { Queue: "q", Type: kind, JobId: id, Payload: payload, Tags: tags }).await?;
        s.call("MoveToDLQ", args! { JobId: id, FailureReason: 6, ErrorDetails: error }).await?;
    }
    for (search, expected) in [
        ("needle", vec!["error", "needle-id", "payload", "tags", "type"]),
        ("%", vec!["percent"]),
        ("100%_[d", vec!["percent"]),
        ("[done]", vec!["percent"]),
        ("_[", vec!["percent"]),
        ("\\", vec![]),
        ("'", vec![]),
    ] {
        let mut found = list(&mut s, args! { Search: search }).await?;
        found.sort();
        assert_eq!(found, expected, "{search}");
    }
    Ok(())
}

async fn a_list_shows_previews_and_the_length(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "long", Payload: "x".repeat(5_000) }).await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "emoji", Payload: "a🙂" }).await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "none" }).await?;
    for id in ["long", "emoji", "none"] {
        s.call("MoveToDLQ", args! { JobId: id, FailureReason: 6, ErrorDetails: "e".repeat(300) }).await?;
    }
    let rows = s.call("ListDLQ", args! {}).await?.rows;
    let row = |id: &str| rows.iter().find(|row| row["JobId"] == id).cloned().ok_or_else(|| anyhow::anyhow!("{id}"));
    assert_eq!(row("long")?["PayloadPreview"], "x".repeat(200));
    assert_eq!(row("long")?["PayloadLength"], 5_000);
    assert_eq!(row("long")?["ErrorPreview"], "e".repeat(200));
    assert_eq!(row("emoji")?["PayloadPreview"], "a🙂");
    /* UTF-16 code units; Babelfish's LEN counts the emoji as one. */
    assert_eq!(row("emoji")?["PayloadLength"], if s.is_babelfish() { 2 } else { 3 });
    assert_eq!(row("none")?["PayloadPreview"], Value::Null);
    assert_eq!(row("none")?["PayloadLength"], Value::Null);
    assert_eq!(row("none")?["FailureReasonName"], "FatalError");
    Ok(())
}

async fn a_page_needs_the_time_that_its_id_belongs_to(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let result = s.call("ListDLQ", args! { BeforeJobId: "a1" }).await;
    assert_refused(result, db.engine, Code::InvalidArgument, "BeforeFailedAtUtc");
    Ok(())
}

async fn an_unknown_job_is_no_row(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "hot").await?;
    assert!(s.call("GetDLQJob", args! { JobId: "hot" }).await?.rows.is_empty());
    assert!(s.call("GetJob", args! { JobId: "HOT" }).await?.rows.is_empty());
    Ok(())
}

async fn a_job_is_found_wherever_it_is(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::archived(&mut s, "q", "done").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    arrange::pending(&mut s, "q", "hot").await?;
    for (id, pillar, status) in
        [("hot", "Hot", Value::Int(0)), ("done", "Archive", Value::Null), ("dead", "DLQ", Value::Null)]
    {
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["Pillar"], pillar);
        assert_eq!(job["Status"], status);
        assert_eq!(job["JobId"], id);
    }
    assert_eq!(arrange::job(&mut s, "dead").await?["FailureReason"], 6);
    assert_eq!(arrange::job(&mut s, "dead").await?["ErrorDetails"], "it broke");
    Ok(())
}

async fn a_pending_job_is_edited(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a0").await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let before = arrange::job(&mut s, "a1").await?;
    let args = args! { JobId: "a1", Payload: r#"{"a":1}"#, Tags: "x", ModifiedBy: "ann", Priority: 11 };
    let row = s.call_one("UpdateJobData", args).await?;
    assert_eq!(row["Outcome"], "updated");
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!(job["Payload"], r#"{"a":1}"#);
    assert_eq!(job["Tags"], "x");
    assert_eq!(job["Priority"], 11);
    assert_eq!(job["LastModifiedBy"], "ann");
    assert_eq!(job["Revision"], row["Revision"]);
    assert_ne!(job["Revision"], before["Revision"]);
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1" }).await?, ["a1", "a0"]);
    Ok(())
}

async fn only_a_pending_job_is_edited(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::fetched(&mut s, "q", "fetched").await?;
    arrange::processing(&mut s, "q", "running").await?;
    arrange::dead(&mut s, "q", "dead").await?;
    for (id, outcome) in
        [("fetched", "not_pending"), ("running", "not_pending"), ("dead", "not_found"), ("nobody", "not_found")]
    {
        let args = args! { JobId: id, Payload: "1", ModifiedBy: "ann" };
        assert_eq!(s.outcome("UpdateJobData", args).await?, outcome, "{id}");
    }
    for id in ["running", "nobody"] {
        let args = args! { JobId: id, Payload: "1", ModifiedBy: "ann" };
        assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "not_found", "{id}");
    }
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.OperatorHistory", &[]).await?, 0);
    Ok(())
}

async fn a_dead_job_is_edited_where_it_stays(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::dead(&mut s, "q", "a1").await?;
    let before = s.call_one("GetDLQJob", args! { JobId: "a1" }).await?;
    let args = args! { JobId: "a1", Payload: "[1]", Tags: "fixed", ModifiedBy: "ann" };
    let row = s.call_one("UpdateDLQJobData", args).await?;
    assert_eq!(row["Outcome"], "updated");
    let job = s.call_one("GetDLQJob", args! { JobId: "a1" }).await?;
    assert_eq!(job["Payload"], "[1]");
    assert_eq!(job["Tags"], "fixed");
    assert_eq!(job["LastModifiedBy"], "ann");
    assert_eq!(job["Revision"], row["Revision"]);
    for column in ["ErrorDetails", "FailureReason", "FailedAtUtc", "AttemptCount", "Priority"] {
        assert_eq!(job[column], before[column], "{column}");
    }
    Ok(())
}

/// The same edit of a pending and of a dead job, each with payload `{}` and tags `x`.
async fn editable(s: &mut Session) -> Result<[(&'static str, &'static str); 2]> {
    for id in ["hot", "dead"] {
        s.call("Enqueue", args! { Queue: id, Type: "t", JobId: id, Payload: "{}", Tags: "x" }).await?;
    }
    arrange::kill(s, "dead").await?;
    Ok([("UpdateJobData", "hot"), ("UpdateDLQJobData", "dead")])
}

async fn an_edit_keeps_what_it_does_not_name(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        s.call(procedure, args! { JobId: id, Payload: "1", ModifiedBy: "ann" }).await?;
        s.call(procedure, args! { JobId: id, Tags: "", ModifiedBy: "ann" }).await?;
        let job = arrange::job(&mut s, id).await?;
        assert_eq!(job["Payload"], "1");
        assert_eq!(job["Tags"], "");
        assert_eq!(job["Priority"], 10);
    }
    Ok(())
}

async fn an_edit_clears_what_it_is_told_to(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        s.call(procedure, args! { JobId: id, ClearPayload: true, ModifiedBy: "ann" }).await?;
        assert_eq!(arrange::job(&mut s, id).await?["Payload"], Value::Null);
        assert_eq!(arrange::job(&mut s, id).await?["Tags"], "x");
        s.call(procedure, args! { JobId: id, ClearTags: true, ModifiedBy: "ann" }).await?;
        assert_eq!(arrange::job(&mut s, id).await?["Tags"], Value::Null);
    }
    Ok(())
}

async fn malformed_json_is_refused_with_its_place_unless_allowed(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        for payload in ["", "{", r#"{"a": 1 "b": 2}"#, "{'a': 1}", "[1,]", "nonsense"] {
            let result = s.call(procedure, args! { JobId: id, Payload: payload, ModifiedBy: "ann" }).await;
            assert_refused(result, db.engine, Code::InvalidJson, "Payload");
            let args = args! { JobId: id, Payload: payload, ModifiedBy: "ann", AllowInvalidJson: true };
            assert_eq!(s.outcome(procedure, args).await?, "updated");
            assert_eq!(arrange::job(&mut s, id).await?["Payload"], payload);
        }
        for payload in ["{}", "[]", r#"{"a": [1, 2.5e3, null, true, "ü🙂"]}"#, " {\n\"a\": 1 }\n"] {
            let args = args! { JobId: id, Payload: payload, ModifiedBy: "ann" };
            assert_eq!(s.outcome(procedure, args).await?, "updated", "{payload}");
        }
    }
    Ok(())
}

async fn an_edit_of_a_state_no_longer_there_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        let read = arrange::job(&mut s, id).await?.int("Revision");
        let edit =
            |payload: &'static str| args! { JobId: id, Payload: payload, ModifiedBy: "ann", ExpectedRevision: read };
        let first = s.call_one(procedure, edit("1")).await?;
        assert_eq!(first["Outcome"], "updated");
        let second = s.call_one(procedure, edit("2")).await?;
        assert_eq!(second["Outcome"], "changed");
        assert_eq!(second["Revision"], first["Revision"]);
        assert_eq!(arrange::job(&mut s, id).await?["Payload"], "1");
    }
    Ok(())
}

async fn a_revision_is_never_used_twice(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    let mut revisions = vec![arrange::job(&mut s, "a1").await?.int("Revision")];
    for _ in 0..3 {
        s.call("UpdateJobData", args! { JobId: "a1", Priority: 10, ModifiedBy: "ann" }).await?;
        revisions.push(arrange::job(&mut s, "a1").await?.int("Revision"));
        arrange::kill(&mut s, "a1").await?;
        revisions.push(arrange::job(&mut s, "a1").await?.int("Revision"));
        s.call("UpdateDLQJobData", args! { JobId: "a1", Tags: "x", ModifiedBy: "ann" }).await?;
        revisions.push(arrange::job(&mut s, "a1").await?.int("Revision"));
        s.call("Resurrect", args! { JobId: "a1", ResurrectedBy: "ann" }).await?;
        revisions.push(arrange::job(&mut s, "a1").await?.int("Revision"));
    }
    let mut unique = revisions.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), revisions.len(), "{revisions:?}");
    Ok(())
}

async fn an_edit_of_nothing_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        let result = s.call(procedure, args! { JobId: id, ModifiedBy: "ann" }).await;
        assert_refused(result, db.engine, Code::InvalidArgument, "Payload");
    }
    Ok(())
}

async fn clearing_and_giving_at_once_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        let args = args! { JobId: id, Payload: "1", ClearPayload: true, ModifiedBy: "ann" };
        assert_refused(s.call(procedure, args).await, db.engine, Code::InvalidArgument, "ClearPayload");
        let args = args! { JobId: id, Tags: "1", ClearTags: true, ModifiedBy: "ann" };
        assert_refused(s.call(procedure, args).await, db.engine, Code::InvalidArgument, "ClearTags");
    }
    Ok(())
}

async fn every_edit_is_in_the_history_with_what_was_before(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, id) in editable(&mut s).await? {
        s.call(procedure, args! { JobId: id, Payload: "1", ModifiedBy: "ann" }).await?;
        s.call(procedure, args! { JobId: id, ClearTags: true, ModifiedBy: "bob" }).await?;
        let rows = arrange::history(&mut s, id).await?;
        assert_eq!(rows.len(), 2);
        for (row, actor, payload, tags) in
            [(&rows[0], "ann", Value::from("{}"), Value::Null), (&rows[1], "bob", Value::Null, Value::from("x"))]
        {
            assert_eq!(row["Action"], "edited");
            assert_eq!(row["Actor"], actor);
            assert_eq!(row["OldPayload"], payload);
            assert_eq!(row["OldTags"], tags);
        }
        let reason = if id == "dead" { Value::Int(6) } else { Value::Null };
        assert_eq!(rows[0]["FailureReason"], reason);
    }
    Ok(())
}
