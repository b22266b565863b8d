//! What happened to users of similar systems, and must not happen here.

use chokaq_tests::{Args, Db, Engine, Result, Scenario, Session, SqlError, Value, args, scenarios, values};
use time::Duration;

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_job_edited_and_failed_five_times_keeps_what_it_is,
    only_the_edited_message_runs,
    a_retry_of_something_gone_is_told_so,
    payloads_of_any_length_survive_to_the_letter,
    errors_of_any_length_survive_to_the_letter,
    a_poison_row_never_stops_a_sweep,
    a_purge_does_not_stop_after_the_first_batch,
    a_resurrection_of_thousands_does_not_stop_after_the_first_batch,
    every_character_survives,
    every_character_of_an_id_survives_in_a_set,
    ids_keys_queues_and_types_compare_to_the_letter,
    the_sessions_time_zone_moves_nothing,
    the_totals_add_up_after_a_purge,
    the_row_exactly_at_the_cut_off_stays,
];

async fn a_job_edited_and_failed_five_times_keeps_what_it_is(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", Payload: "v0", Tags: "x,y" }).await?;
    arrange::take(&mut s, "q", "a1", true).await?;
    arrange::kill(&mut s, "a1").await?;
    for round in 1..=5 {
        let args = args! { JobId: "a1", NewPayload: format!("v{round}"), ResurrectedBy: "ann", AllowInvalidJson: true };
        assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
        let row = s.call_one("FetchNextBatch", args! { WorkerId: "w1" }).await?;
        assert_eq!(row["Payload"], format!("v{round}"));
        assert_eq!(row["ResurrectCount"], round);
        assert_eq!(s.outcome("MarkAsProcessing", args! { JobId: "a1", WorkerId: "w1" }).await?, "started");
        arrange::kill(&mut s, "a1").await?;
    }
    let job = arrange::job(&mut s, "a1").await?;
    for (column, value) in [("Payload", "v5"), ("Queue", "q"), ("Type", "t"), ("Tags", "x,y")] {
        assert_eq!(job[column], value);
    }
    let stats = arrange::stats(&mut s, "q").await?;
    assert_eq!((stats.int("DeadLetteredTotal"), stats.int("FailedTotal")), (6, 1));
    Ok(())
}

async fn only_the_edited_message_runs(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: "a1", Payload: "\"old\"" }).await?;
    arrange::kill(&mut s, "a1").await?;
    s.call("Resurrect", args! { JobId: "a1", NewPayload: "\"new\"", ResurrectedBy: "ann" }).await?;
    let rows = s.call("FetchNextBatch", args! { WorkerId: "w1" }).await?;
    assert_eq!(rows.texts("Payload"), ["\"new\""]);
    assert_eq!(arrange::history(&mut s, "a1").await?[0]["OldPayload"], "\"old\"");
    Ok(())
}

async fn a_retry_of_something_gone_is_told_so(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "hot").await?;
    let before = format!("{:?}", arrange::stats(&mut s, "q").await?);
    for id in ["hot", "nobody"] {
        assert_eq!(s.outcome("Resurrect", args! { JobId: id, ResurrectedBy: "ann" }).await?, "not_found");
        assert_eq!(s.outcome("ResurrectJobs", args! { JobIds: [id], ResurrectedBy: "ann" }).await?, "not_found");
        let args = args! { JobId: id, Tags: "x", ModifiedBy: "ann" };
        assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "not_found");
        assert_eq!(s.outcome("PurgeDLQJobs", args! { JobIds: [id], PurgedBy: "ann" }).await?, "not_found");
        let row = s.call_one("ResurrectBatch", args! { JobIds: [id], ResurrectedBy: "ann" }).await?;
        assert_eq!((row.int("ResurrectedCount"), row.int("NotFoundCount")), (0, 1));
        let row = s.call_one("PurgeDLQ", args! { JobIds: [id], PurgedBy: "ann" }).await?;
        assert_eq!((row.int("PurgedCount"), row.int("NotFoundCount")), (0, 1));
    }
    assert_eq!(format!("{:?}", arrange::stats(&mut s, "q").await?), before);
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.OperatorHistory", &[]).await?, 0);
    Ok(())
}

async fn payloads_of_any_length_survive_to_the_letter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let payloads = [
        Value::Null,
        "".into(),
        " ".into(),
        "{\"to\": \"ann\" \"subject\"".into(),
        "x".repeat(4_000).into(),
        "x".repeat(4_001).into(),
        "ä🙂".repeat(524_288).into(),
        "0123456789abcdef".repeat(65_536).into(),
    ];
    for (payload, n) in payloads.into_iter().zip(1..) {
        let id = format!("a{n}");
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: &id, Payload: payload.clone() }).await?;
        for edit in [args! {}, args! { NewTags: "edited" }] {
            let row = s.call_one("FetchNextBatch", args! { WorkerId: "w1", StartNow: true }).await?;
            assert_eq!(row["JobId"], id);
            assert!(row["Payload"] == payload, "payload {n} as it was fetched");
            let args = args! { JobId: &id, WorkerId: "w1", Attempt: 1, FailureReason: 6, ErrorDetails: "e" };
            assert_eq!(s.outcome("FailJob", args).await?, "moved");
            assert!(
                s.call_one("GetDLQJob", args! { JobId: &id }).await?["Payload"] == payload,
                "payload {n} in the DLQ"
            );
            let args = args! { JobId: &id, ResurrectedBy: "ann" }.into_iter().chain(edit).collect();
            assert_eq!(s.outcome("Resurrect", args).await?, "resurrected");
            assert!(arrange::job(&mut s, &id).await?["Payload"] == payload, "payload {n} resurrected");
        }
        arrange::take(&mut s, "q", &id, true).await?;
        s.call("ArchiveSucceeded", args! { JobId: &id }).await?;
        assert!(arrange::job(&mut s, &id).await?["Payload"] == payload, "payload {n} in the Archive");
    }
    /* The same through an array of jobs, and through an operator's edit. */
    let long = "ä🙂\"\\\n".repeat(50_000);
    s.call(
        "EnqueueMany",
        args! { Jobs: serde_json::json!([{"queue": "q", "type": "t", "jobId": "m", "payload": long}]) },
    )
    .await?;
    assert!(arrange::job(&mut s, "m").await?["Payload"] == long);
    arrange::kill(&mut s, "m").await?;
    let long = long.replace('ä', "ß");
    let args = args! { JobId: "m", Payload: &long, ModifiedBy: "ann", AllowInvalidJson: true };
    assert_eq!(s.outcome("UpdateDLQJobData", args).await?, "updated");
    assert!(arrange::job(&mut s, "m").await?["Payload"] == long);
    Ok(())
}

async fn errors_of_any_length_survive_to_the_letter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let long = "at f(ü🙂) in x.rs:1\r\n\t".repeat(50_000);
    for (error, n) in [&*long, "", "  ", "'; DROP TABLE x; --"].into_iter().zip(1..) {
        let id = format!("a{n}");
        arrange::processing(&mut s, "q", &id).await?;
        s.call("RescheduleForRetry", args! { JobId: &id, ErrorDetails: error }).await?;
        assert!(arrange::job(&mut s, &id).await?["ErrorDetails"] == error, "error {n} of a retry");
        arrange::take(&mut s, "q", &id, true).await?;
        s.call("MoveToDLQ", args! { JobId: &id, FailureReason: 6, ErrorDetails: error }).await?;
        assert!(arrange::job(&mut s, &id).await?["ErrorDetails"] == error, "error {n} in the DLQ");
        s.call("Resurrect", args! { JobId: &id, ResurrectedBy: "ann" }).await?;
        assert!(arrange::history(&mut s, &id).await?[0]["ErrorDetails"] == error, "error {n} in the history");
        arrange::kill(&mut s, &id).await?;
    }
    Ok(())
}

async fn a_poison_row_never_stops_a_sweep(db: &Db<'_>) -> Result<()> {
    db.expect_broken_accounts();
    let mut s = db.session().await?;
    for (table, queue) in [("JobsDLQ", "q"), ("JobsArchive", "r")] {
        let ids = arrange::ids(queue, 51);
        arrange::many_processing(&mut s, queue, &ids).await?;
        arrange::force(&mut s, &ids[20], table).await?;
        let row = s.call_one("ArchiveZombies", args! { TimeoutSeconds: 0, BatchSize: 10 }).await?;
        assert_eq!(row["MovedCount"], 50, "{table}");
        assert!(row.int("SkippedCount") >= 1, "{table}: the poison row is reported");
        assert_eq!(arrange::stats(&mut s, queue).await?["DeadLetteredTotal"], 50);
        let hot = "SELECT COUNT(*) AS N FROM chokaq.JobsHot WHERE Queue = @P1";
        assert_eq!(s.count(hot, &values![queue]).await?, 1, "{table}");

        /* Asked for by name it is an error, not a second copy and not a silent loss. */
        let error = match table {
            "JobsDLQ" => s.call("MoveToDLQ", args! { JobId: &ids[20], FailureReason: 6 }).await,
            _ => s.call("ArchiveSucceeded", args! { JobId: &ids[20] }).await,
        };
        let code = if db.engine == Engine::Postgres { "QC090" } else { "59090" };
        assert_eq!(error.expect_err("InvariantBroken").code, code, "{table}");
        assert_eq!(s.count(hot, &values![queue]).await?, 1, "{table}");
        s.sql("DELETE FROM chokaq.JobsHot WHERE Id = @P1", &values![&ids[20]]).await?;
    }
    /* Back from the DLQ into a table that has the id already. */
    arrange::pending(&mut s, "p", "a1").await?;
    arrange::force(&mut s, "a1", "JobsDLQ").await?;
    assert_eq!(s.outcome("ResurrectJobs", args! { JobIds: ["a1"], ResurrectedBy: "ann" }).await?, "id_conflict");
    let row = s.call_one("ResurrectBatch", args! { JobIds: ["a1"], ResurrectedBy: "ann" }).await?;
    assert_eq!(row["ConflictCount"], 1);
    Ok(())
}

async fn a_purge_does_not_stop_after_the_first_batch(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(2_500);
    let [mut s, mut other] = db.sessions().await?;
    let at = s.now().await? - Duration::days(100);
    arrange::many_processing(&mut s, "q", &arrange::ids("j", 2_500)).await?;
    archive_all(&mut s).await?;
    s.sql("UPDATE chokaq.JobsArchive SET FinishedAtUtc = @P1", &values![at]).await?;
    let row = s.call_one("PurgeArchive", args! { OlderThanUtc: at + Duration::DAY }).await?;
    assert_eq!((row.int("DeletedCount"), row.int("BatchCount"), row.int("SkippedCount")), (2_500, 3, 0));
    assert_eq!(s.count("SELECT COUNT(*) AS N FROM chokaq.JobsArchive", &[]).await?, 0);
    let commits = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory WHERE Action = 'archive_purged'";
    assert_eq!(other.count(commits, &[]).await?, 3);
    Ok(())
}

/// Every job in Processing ends well: what 2,500 calls of usp_ArchiveSucceeded would leave, in one statement each.
async fn archive_all(s: &mut Session) -> Result<()> {
    s.sql(
        "INSERT INTO chokaq.JobsArchive (Id, Queue, Type, Priority, AttemptCount, FinishedAtUtc, CreatedAtUtc,
            ResurrectCount, Revision)
        SELECT h.Id, h.Queue, h.Type, h.Priority, h.AttemptCount, h.CreatedAtUtc, h.CreatedAtUtc, h.ResurrectCount,
            h.Revision
        FROM chokaq.JobsHot AS h",
        &[],
    )
    .await?;
    s.sql("INSERT INTO chokaq.CounterDeltas (Queue, Succeeded) SELECT h.Queue, 1 FROM chokaq.JobsHot AS h", &[])
        .await?;
    s.sql("DELETE FROM chokaq.JobsHot", &[]).await?;
    Ok(())
}

async fn a_resurrection_of_thousands_does_not_stop_after_the_first_batch(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let mut ids = arrange::ids("j", 2_500);
    arrange::many_dead(&mut s, "q", &ids).await?;
    let repeated: Vec<String> = ids.iter().step_by(250).cloned().collect();
    ids.extend(repeated);
    let row = s.call_one("ResurrectBatch", args! { JobIds: &ids, ResurrectedBy: "ann" }).await?;
    for (column, value) in
        [("RequestedCount", 2_500), ("ResurrectedCount", 2_500), ("NotFoundCount", 0), ("BatchCount", 3)]
    {
        assert_eq!(row[column], value, "{column}");
    }
    let batches = "SELECT COUNT(DISTINCT BatchId) AS N FROM chokaq.OperatorHistory WHERE Action = 'resurrected'";
    assert_eq!(s.count(batches, &[]).await?, 3);
    Ok(())
}

async fn every_character_survives(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (text, n) in
        ["🙂👩‍👩‍👧‍👦", "Iıİi", "ß\u{1e9e}", "日本語", "e\u{301}é", "العربية", "a%_[]'\"\\b", "\u{feff}x", "\"quoted\"", "🏳️‍🌈"]
            .into_iter()
            .zip(1..)
    {
        let id = format!("{n}{text}");
        let args = args! {
            Queue: text, Type: text, JobId: &id, Payload: text, Tags: text, IdempotencyKey: text, CreatedBy: text,
        };
        assert_eq!(s.outcome("Enqueue", args).await?, "enqueued", "{text}");
        let row = s.call_one("FetchNextBatch", args! { WorkerId: text, Queues: [text], StartNow: true }).await?;
        for column in ["Queue", "Type", "Payload", "Tags", "IdempotencyKey", "CreatedBy"] {
            assert_eq!(row[column], text, "{column}");
        }
        assert_eq!(row["JobId"], id);
        let args = args! { JobId: &id, WorkerId: text, Attempt: 1, FailureReason: 6, ErrorDetails: text };
        assert_eq!(s.outcome("FailJob", args).await?, "moved");
        let rows = s.call("ListDLQ", args! { Queue: text, Search: text }).await?;
        assert_eq!(rows.texts("JobId"), [&*id]);
        let args = args! { JobIds: [&*id], ResurrectedBy: text };
        let rows = s.call("ResurrectJobs", args).await?;
        assert_eq!(rows.texts("JobId"), [&*id]);
        assert_eq!(arrange::history(&mut s, &id).await?[0]["Actor"], text);
        let jobs = serde_json::json!([{"queue": text, "type": text, "jobId": format!("m{id}"), "payload": text, "tags": text}]);
        s.call("EnqueueMany", args! { Jobs: jobs }).await?;
        let job = arrange::job(&mut s, &format!("m{id}")).await?;
        for column in ["Queue", "Type", "Payload", "Tags"] {
            assert_eq!(job[column], text, "{column} of many");
        }
    }
    Ok(())
}

/// Sets of ids are taken apart, put together and passed on, and come back as they were.
async fn every_character_of_an_id_survives_in_a_set(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in [
        "🙂👩‍👩‍👧‍👦",
        "ß日本\u{feff}İ",
        r#"a"b\c/d'e%_[]{}"#,
        "\"quoted\"",
        "\\u00e4",
        "a\tb\u{1}c\u{7f}d",
        "é e\u{301}",
        "🏳️‍🌈",
    ] {
        arrange::pending(&mut s, "q", id).await?;
        let by = |who: &'static str| vec![("JobIds", Value::from([id])), (who, Value::from("ann"))];
        let outcome = async |s: &mut Session, procedure: &str, args: Args, outcome: &str| {
            let row = s.call_one(procedure, args).await?;
            assert_eq!((row.text("JobId"), row.text("Outcome")), (id.to_owned(), outcome.to_owned()), "{procedure}");
            Ok::<_, SqlError>(())
        };
        let count = async |s: &mut Session, procedure: &str, args: Args, column: &str| {
            assert_eq!(s.call_one(procedure, args).await?[column], 1, "{procedure} of {id}");
            Ok::<_, SqlError>(())
        };
        let filter = |who: &'static str| {
            vec![("Queue", Value::from("q")), (who, Value::from("ann")), ("WhatIf", Value::from(false))]
        };
        outcome(&mut s, "CancelJobs", by("CancelledBy"), "cancelled").await?;
        outcome(&mut s, "ResurrectJobs", by("ResurrectedBy"), "resurrected").await?;
        count(&mut s, "ArchiveCancelledBatch", by("CancelledBy"), "CancelledCount").await?;
        count(&mut s, "ResurrectBatch", by("ResurrectedBy"), "ResurrectedCount").await?;
        arrange::kill(&mut s, id).await?;
        count(&mut s, "ResurrectByFilter", filter("ResurrectedBy"), "ResurrectedCount").await?;
        arrange::take(&mut s, "q", id, false).await?;
        let worker = || args! { JobIds: [id], WorkerId: "w1" };
        outcome(&mut s, "KeepAlive", worker(), "alive").await?;
        outcome(&mut s, "MarkJobsAsProcessing", worker(), "started").await?;
        let jobs = serde_json::json!([{"jobId": id, "attempt": 1}]);
        outcome(&mut s, "ArchiveSucceededJobs", args! { Jobs: jobs, WorkerId: "w1" }, "archived").await?;
        assert_eq!(arrange::pillar(&mut s, id).await?, "Archive");

        let id = &*format!("{id}2");
        let purge = || args! { JobIds: [id], PurgedBy: "ann" };
        arrange::dead(&mut s, "q", id).await?;
        assert_eq!(s.outcome("PurgeDLQJobs", purge()).await?, "purged", "{id}");
        arrange::dead(&mut s, "q", id).await?;
        count(&mut s, "PurgeDLQ", purge(), "PurgedCount").await?;
        arrange::dead(&mut s, "q", id).await?;
        count(&mut s, "PurgeDLQByFilter", filter("PurgedBy"), "PurgedCount").await?;
        assert_eq!(arrange::pillar(&mut s, id).await?, "");
    }
    Ok(())
}

async fn ids_keys_queues_and_types_compare_to_the_letter(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let names = ["a", "A", "á", "i", "I", "ı", "İ", "e\u{301}", "é", "ss", "ß", "🙂", "🙃", "ａ", "1", "¹"];
    for name in names {
        let args = args! { Queue: name, Type: name, JobId: name, IdempotencyKey: name };
        assert_eq!(s.outcome("Enqueue", args).await?, "enqueued", "{name}");
    }
    let mut queues = s.call("GetQueueStats", args! {}).await?.texts("Queue");
    queues.sort();
    let mut expected = names.map(str::to_owned);
    expected.sort();
    assert_eq!(queues, expected);
    for name in names {
        assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w1", Queues: [name] }).await?, [name]);
        assert_eq!(s.outcome("ReleaseJob", args! { JobId: name, WorkerId: "W1" }).await?, "not_owner");
        arrange::kill(&mut s, name).await?;
        assert_eq!(s.call("ListDLQ", args! { Type: name }).await?.texts("JobId"), [name]);
    }
    Ok(())
}

async fn the_sessions_time_zone_moves_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (zone, n) in [("Asia/Jakarta", 1), ("UTC", 2), ("America/St_Johns", 3)] {
        /* A T-SQL session has no time zone; the clock is the server's all the same. */
        s.batch(&format!("SET TIME ZONE '{zone}'"), "SET LANGUAGE us_english").await?;
        let id = format!("a{n}");
        let now = s.now().await?;
        s.call("Enqueue", args! { Queue: "q", Type: "t", JobId: &id, DelaySeconds: 90 }).await?;
        let due = arrange::job(&mut s, &id).await?.time("DueAtUtc");
        assert!(arrange::close(due, now + Duration::seconds(90)), "{zone}");
        let id = format!("m{n}");
        let at = (now + Duration::HOUR)
            .format(time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z"))?;
        let jobs = serde_json::json!([{"queue": "q", "type": "t", "jobId": &id, "scheduledAtUtc": at}]);
        s.call("EnqueueMany", args! { Jobs: jobs }).await?;
        let due = arrange::job(&mut s, &id).await?.time("DueAtUtc");
        assert!(arrange::close(due, now + Duration::HOUR), "{zone}");
        let id = format!("r{n}");
        arrange::processing(&mut s, "r", &id).await?;
        let row = s.call_one("RescheduleForRetry", args! { JobId: &id, DelaySeconds: 90 }).await?;
        assert!(arrange::close(row.time("ScheduledAtUtc"), now + Duration::seconds(90)), "{zone}");
    }
    Ok(())
}

async fn the_totals_add_up_after_a_purge(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let ids = arrange::ids("j", 120);
    arrange::many_processing(&mut s, "q", &ids).await?;
    for id in &ids[..100] {
        s.call("ArchiveSucceeded", args! { JobId: id }).await?;
    }
    for id in &ids[100..] {
        arrange::kill(&mut s, id).await?;
    }
    let back = &ids[100..105];
    s.call("ResurrectBatch", args! { JobIds: back, ResurrectedBy: "ann" }).await?;
    s.call("FetchNextBatch", args! { WorkerId: "w1", StartNow: true }).await?;
    for id in &back[..3] {
        s.call("ArchiveSucceeded", args! { JobId: id }).await?;
    }
    for id in &back[3..] {
        arrange::kill(&mut s, id).await?;
    }
    s.call("PurgeDLQ", args! { JobIds: &ids, PurgedBy: "ann" }).await?;
    let stats = arrange::stats(&mut s, "q").await?;
    for (column, value) in [
        ("SucceededTotal", 103),
        ("DeadLetteredTotal", 22),
        ("ResurrectedTotal", 5),
        ("FailedTotal", 0),
        ("PurgedTotal", 17),
    ] {
        assert_eq!(stats[column], value, "{column}");
    }
    Ok(())
}

async fn the_row_exactly_at_the_cut_off_stays(db: &Db<'_>) -> Result<()> {
    db.expect_archive_purged(1);
    let mut s = db.session().await?;
    let cut_off = time::macros::datetime!(2026-03-01 12:00:00.123456 UTC);
    for (id, offset) in [("before", -1), ("at", 0), ("after", 1)] {
        arrange::archived(&mut s, "q", id).await?;
        /* One tick that both engines keep: a microsecond. */
        let when = cut_off + Duration::microseconds(offset);
        s.sql("UPDATE chokaq.JobsArchive SET FinishedAtUtc = @P1 WHERE Id = @P2", &values![when, id]).await?;
    }
    assert_eq!(s.call_one("PurgeArchive", args! { OlderThanUtc: cut_off }).await?["DeletedCount"], 1);
    assert_eq!(arrange::pillar(&mut s, "before").await?, "");
    assert_eq!(arrange::pillar(&mut s, "at").await?, "Archive");
    assert_eq!(arrange::pillar(&mut s, "after").await?, "Archive");
    Ok(())
}
