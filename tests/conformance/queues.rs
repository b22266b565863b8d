//! The usp_SetQueue procedures and usp_GetQueues: an operator sets how a queue is worked on.

use chokaq_tests::{
    Args, Code, Db, Engine, Result, Row, Scenario, Session, Value, args, assert_refused, scenarios, values,
};

use crate::arrange;

pub const SCENARIOS: &[Scenario] = scenarios![
    a_queue_not_there_yet_is_made_with_the_defaults,
    a_setting_is_changed_and_the_others_stay,
    the_same_setting_again_writes_nothing,
    every_setting_is_refused_just_beyond_its_range,
    no_number_is_no_limit_or_the_usual_timeout,
    a_policy_keeps_what_it_does_not_name,
    a_limit_of_age_is_removed_when_told_to,
    a_policy_of_nothing_is_refused,
    every_change_is_in_the_history_with_what_was_before,
    the_queues_are_listed_by_name,
];

/// Every setting, with its default.
fn defaults() -> [(&'static str, Value); 10] {
    [
        ("IsPaused", Value::Bool(false)),
        ("IsActive", Value::Bool(true)),
        ("MaxWorkers", Value::Null),
        ("ZombieTimeoutSeconds", Value::Null),
        ("MaxAttempts", Value::Int(3)),
        ("BaseDelaySeconds", Value::Int(5)),
        ("BackoffMultiplier", Value::Float(2.0)),
        ("MaxDelaySeconds", Value::Int(3_600)),
        ("JitterSeconds", Value::Int(0)),
        ("MaxJobAgeSeconds", Value::Null),
    ]
}

/// A new value of each setting, and the procedure that sets it.
fn changes() -> [(&'static str, &'static str, Value); 10] {
    let policy = "SetQueueRetryPolicy";
    [
        ("SetQueuePaused", "IsPaused", Value::Bool(true)),
        ("SetQueueActive", "IsActive", Value::Bool(false)),
        ("SetQueueMaxWorkers", "MaxWorkers", Value::Int(4)),
        ("SetQueueZombieTimeout", "ZombieTimeoutSeconds", Value::Int(120)),
        (policy, "MaxAttempts", Value::Int(7)),
        (policy, "BaseDelaySeconds", Value::Int(11)),
        (policy, "BackoffMultiplier", Value::Float(1.5)),
        (policy, "MaxDelaySeconds", Value::Int(77)),
        (policy, "JitterSeconds", Value::Int(3)),
        (policy, "MaxJobAgeSeconds", Value::Int(86_400)),
    ]
}

pub fn change(queue: &str, setting: &'static str, value: impl Into<Value>, by: &str) -> Args {
    let mut args = args! { Queue: queue, ModifiedBy: by };
    args.push((setting, value.into()));
    args
}

/// The row as usp_GetQueues has it.
pub async fn queue(s: &mut Session, queue: &str) -> Result<Row> {
    Ok(s.call_one("GetQueues", args! { Queue: queue }).await?)
}

/// What usp_SetQueue told is what there is.
pub async fn assert_told(s: &mut Session, told: &Row) -> Result<()> {
    let kept = queue(s, &told.text("Queue")).await?;
    for column in defaults().map(|(setting, _)| setting).into_iter().chain([
        "Queue",
        "CreatedAtUtc",
        "LastUpdatedUtc",
        "LastModifiedBy",
    ]) {
        assert_eq!(told[column], kept[column], "{column}");
    }
    Ok(())
}

async fn a_queue_not_there_yet_is_made_with_the_defaults(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, setting, value) in changes() {
        let name = format!("new {setting}");
        let row = s.call_one(procedure, change(&name, setting, value.clone(), "ann")).await?;
        assert_eq!(row["Outcome"], "created", "{setting}");
        assert_eq!(row["LastModifiedBy"], "ann", "{setting}");
        assert!(arrange::close(row.time("CreatedAtUtc"), s.now().await?), "{setting}");
        for (column, default) in defaults() {
            let expected = if column == setting { &value } else { &default };
            assert_eq!(row[column], *expected, "{setting}: {column}");
        }
        assert_told(&mut s, &row).await?;
        assert_eq!(arrange::stats(&mut s, &name).await?["EnqueuedTotal"], 0, "{setting}");
    }
    Ok(())
}

async fn a_setting_is_changed_and_the_others_stay(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    arrange::pending(&mut s, "Q", "a2").await?;
    let other = format!("{:?}", queue(&mut s, "Q").await?);
    for (procedure, setting, value) in changes() {
        let before = queue(&mut s, "q").await?;
        let row = s.call_one(procedure, change("q", setting, value.clone(), setting)).await?;
        assert_eq!(row["Outcome"], "updated", "{setting}");
        assert_eq!(row["LastModifiedBy"], setting);
        assert!(row.time("LastUpdatedUtc") > before.time("LastUpdatedUtc"), "{setting}");
        assert_eq!(row["CreatedAtUtc"], before["CreatedAtUtc"], "{setting}");
        for (column, _) in defaults() {
            let expected = if column == setting { &value } else { &before[column] };
            assert_eq!(row[column], *expected, "{setting}: {column}");
        }
        assert_told(&mut s, &row).await?;
    }
    assert_eq!(format!("{:?}", queue(&mut s, "Q").await?), other);
    Ok(())
}

async fn the_same_setting_again_writes_nothing(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    arrange::pending(&mut s, "q", "a1").await?;
    for (procedure, setting, value) in changes() {
        s.call(procedure, change("q", setting, value, "ann")).await?;
    }
    let before = format!("{:?}", queue(&mut s, "q").await?);
    for (procedure, setting, value) in changes() {
        let row = s.call_one(procedure, change("q", setting, value, "bob")).await?;
        assert_eq!(row["Outcome"], "unchanged", "{setting}");
        assert_eq!(row["LastModifiedBy"], "ann", "{setting}");
        assert_told(&mut s, &row).await?;
    }
    assert_eq!(format!("{:?}", queue(&mut s, "q").await?), before);
    let sql = "SELECT COUNT(*) AS N FROM chokaq.OperatorHistory WHERE Actor = @P1";
    assert_eq!(s.count(sql, &values!["bob"]).await?, 0);
    assert_eq!(s.count(sql, &values!["ann"]).await?, 10);
    Ok(())
}

async fn every_setting_is_refused_just_beyond_its_range(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let most = Value::Int(i32::MAX.into());
    for (procedure, setting, _) in changes() {
        let (allowed, refused) = match setting {
            "IsPaused" | "IsActive" => (vec![false.into(), true.into()], vec![Value::Null]),
            "MaxWorkers" => (vec![0.into(), most.clone(), Value::Null], vec![(-1).into()]),
            "ZombieTimeoutSeconds" => (vec![1.into(), most.clone(), Value::Null], vec![0.into(), (-1).into()]),
            "MaxAttempts" | "MaxJobAgeSeconds" => (vec![1.into(), most.clone()], vec![0.into(), (-1).into()]),
            "BackoffMultiplier" => {
                let beyond = [0.999_999_999, 1_000.000_000_1, 0.0, -2.0].map(Value::Float);
                (vec![Value::Float(1.0), Value::Float(1_000.0)], beyond.into())
            }
            _ => (vec![0.into(), most.clone()], vec![(-1).into()]),
        };
        for value in allowed {
            let row = s.call_one(procedure, change("q", setting, value.clone(), "ann")).await?;
            assert_eq!(row[setting], value);
        }
        let before = format!("{:?}", queue(&mut s, "q").await?);
        for value in refused {
            let result = s.call(procedure, change("q", setting, value, "ann")).await;
            assert_refused(result, db.engine, Code::InvalidArgument, setting);
        }
        assert_eq!(format!("{:?}", queue(&mut s, "q").await?), before);
    }
    /* T-SQL's float has no such values. */
    if db.engine == Engine::Postgres {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let result = s.call("SetQueueRetryPolicy", change("q", "BackoffMultiplier", value, "ann")).await;
            assert_refused(result, db.engine, Code::InvalidArgument, "BackoffMultiplier");
        }
    }
    /* One bad number among good ones changes nothing at all. */
    let before = format!("{:?}", queue(&mut s, "q").await?);
    let args = args! { Queue: "q", MaxAttempts: 9, JitterSeconds: -1, ModifiedBy: "ann" };
    assert_refused(s.call("SetQueueRetryPolicy", args).await, db.engine, Code::InvalidArgument, "JitterSeconds");
    assert_eq!(format!("{:?}", queue(&mut s, "q").await?), before);
    Ok(())
}

async fn no_number_is_no_limit_or_the_usual_timeout(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, setting) in
        [("SetQueueMaxWorkers", "MaxWorkers"), ("SetQueueZombieTimeout", "ZombieTimeoutSeconds")]
    {
        for (value, outcome) in
            [(Value::Null, "created"), (5.into(), "updated"), (Value::Null, "updated"), (Value::Null, "unchanged")]
        {
            let row = s.call_one(procedure, change(setting, setting, value.clone(), "ann")).await?;
            assert_eq!(row["Outcome"], outcome, "{setting} = {value:?}");
            assert_eq!(row[setting], value);
        }
    }
    Ok(())
}

async fn a_policy_keeps_what_it_does_not_name(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let args = args! {
        Queue: "q", MaxAttempts: 9, BaseDelaySeconds: 8, BackoffMultiplier: 7.5, MaxDelaySeconds: 6, JitterSeconds: 4,
        MaxJobAgeSeconds: 3, ModifiedBy: "ann",
    };
    s.call("SetQueueRetryPolicy", args).await?;
    let args = args! {
        Queue: "q", MaxAttempts: Value::Null, BaseDelaySeconds: 80, BackoffMultiplier: Value::Null,
        JitterSeconds: 0, MaxJobAgeSeconds: Value::Null, ModifiedBy: "ann",
    };
    let row = s.call_one("SetQueueRetryPolicy", args).await?;
    assert_eq!(row["Outcome"], "updated");
    for (column, value) in [
        ("MaxAttempts", Value::Int(9)),
        ("BaseDelaySeconds", Value::Int(80)),
        ("BackoffMultiplier", Value::Float(7.5)),
        ("MaxDelaySeconds", Value::Int(6)),
        ("JitterSeconds", Value::Int(0)),
        ("MaxJobAgeSeconds", Value::Int(3)),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    Ok(())
}

async fn a_limit_of_age_is_removed_when_told_to(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    let clear = || args! { Queue: "q", ClearMaxJobAge: true, ModifiedBy: "ann" };
    s.call("SetQueueRetryPolicy", change("q", "MaxJobAgeSeconds", 100, "ann")).await?;
    let mut both = clear();
    both.extend(args! { MaxJobAgeSeconds: 50 });
    assert_refused(s.call("SetQueueRetryPolicy", both).await, db.engine, Code::InvalidArgument, "ClearMaxJobAge");
    assert_eq!(queue(&mut s, "q").await?["MaxJobAgeSeconds"], 100);
    let mut with_more = clear();
    with_more.extend(args! { MaxAttempts: 9 });
    let row = s.call_one("SetQueueRetryPolicy", with_more).await?;
    assert_eq!(row["Outcome"], "updated");
    assert_eq!(row["MaxJobAgeSeconds"], Value::Null);
    assert_eq!(row["MaxAttempts"], 9);
    assert_eq!(s.outcome("SetQueueRetryPolicy", clear()).await?, "unchanged");
    Ok(())
}

async fn a_policy_of_nothing_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for args in [
        args! { Queue: "q", ModifiedBy: "ann" },
        args! { Queue: "q", MaxJobAgeSeconds: Value::Null, ClearMaxJobAge: false, ModifiedBy: "ann" },
    ] {
        let result = s.call("SetQueueRetryPolicy", args).await;
        assert_refused(result, db.engine, Code::InvalidArgument, "MaxAttempts");
    }
    assert!(s.call("GetQueues", args! {}).await?.rows.is_empty());
    Ok(())
}

async fn every_change_is_in_the_history_with_what_was_before(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for (procedure, args) in [
        ("SetQueuePaused", args! { Queue: "q", IsPaused: true, ModifiedBy: "ann" }),
        ("SetQueuePaused", args! { Queue: "q", IsPaused: false, ModifiedBy: "bob" }),
        ("SetQueueActive", args! { Queue: "q", IsActive: false, ModifiedBy: "bob" }),
        ("SetQueueMaxWorkers", args! { Queue: "q", MaxWorkers: 4, ModifiedBy: "bob" }),
        ("SetQueueMaxWorkers", args! { Queue: "q", MaxWorkers: Value::Null, ModifiedBy: "bob" }),
        ("SetQueueZombieTimeout", args! { Queue: "q", ZombieTimeoutSeconds: 30, ModifiedBy: "bob" }),
        (
            "SetQueueRetryPolicy",
            args! {
                Queue: "q", MaxJobAgeSeconds: 86_400, JitterSeconds: 1, MaxDelaySeconds: 60, BackoffMultiplier: 1.5,
                BaseDelaySeconds: 2, MaxAttempts: 5, ModifiedBy: "eve",
            },
        ),
        ("SetQueueRetryPolicy", args! { Queue: "q", MaxAttempts: 5, BaseDelaySeconds: 3, ModifiedBy: "eve" }),
        ("SetQueueRetryPolicy", args! { Queue: "q", ClearMaxJobAge: true, ModifiedBy: "eve" }),
    ] {
        s.call(procedure, args).await?;
    }
    let sql = "SELECT Action, JobId, Queue, Type, Actor, Login, AtUtc, OldSettings, NewSettings
        FROM chokaq.OperatorHistory ORDER BY HistoryId";
    let rows = s.sql(sql, &[]).await?.rows;
    let expected = [
        ("ann", r#"{"isPaused": false}"#, r#"{"isPaused": true}"#),
        ("bob", r#"{"isPaused": true}"#, r#"{"isPaused": false}"#),
        ("bob", r#"{"isActive": true}"#, r#"{"isActive": false}"#),
        ("bob", r#"{"maxWorkers": null}"#, r#"{"maxWorkers": 4}"#),
        ("bob", r#"{"maxWorkers": 4}"#, r#"{"maxWorkers": null}"#),
        ("bob", r#"{"zombieTimeoutSeconds": null}"#, r#"{"zombieTimeoutSeconds": 30}"#),
        (
            "eve",
            r#"{"maxAttempts": 3, "baseDelaySeconds": 5, "backoffMultiplier": 2, "maxDelaySeconds": 3600, "jitterSeconds": 0, "maxJobAgeSeconds": null}"#,
            r#"{"maxAttempts": 5, "baseDelaySeconds": 2, "backoffMultiplier": 1.5, "maxDelaySeconds": 60, "jitterSeconds": 1, "maxJobAgeSeconds": 86400}"#,
        ),
        ("eve", r#"{"baseDelaySeconds": 2}"#, r#"{"baseDelaySeconds": 3}"#),
        ("eve", r#"{"maxJobAgeSeconds": 86400}"#, r#"{"maxJobAgeSeconds": null}"#),
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, (actor, old, new)) in rows.iter().zip(expected) {
        for (column, value) in
            [("Action", "queue_changed"), ("Queue", "q"), ("Actor", actor), ("OldSettings", old), ("NewSettings", new)]
        {
            assert_eq!(row[column], value, "{column}");
        }
        assert_eq!((&row["JobId"], &row["Type"]), (&Value::Null, &Value::Null));
        assert!(!row.text("Login").is_empty());
        assert!(arrange::close(row.time("AtUtc"), s.now().await?));
    }
    Ok(())
}

async fn the_queues_are_listed_by_name(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    assert!(s.call("GetQueues", args! {}).await?.rows.is_empty());
    for name in ["b", "a", "B", "ä"] {
        arrange::pending(&mut s, name, name).await?;
    }
    s.call("SetQueuePaused", change("c", "IsPaused", true, "ann")).await?;
    let rows = s.call("GetQueues", args! {}).await?;
    assert_eq!(rows.texts("Queue"), ["B", "a", "b", "c", "ä"]);
    for row in &rows.rows[..3] {
        assert_eq!(row["LastModifiedBy"], Value::Null);
        for (column, default) in defaults() {
            assert_eq!(row[column], default, "{column}");
        }
    }
    assert_eq!(s.call("GetQueues", args! { Queue: "b" }).await?.texts("Queue"), ["b"]);
    assert!(s.call("GetQueues", args! { Queue: "C" }).await?.rows.is_empty());
    Ok(())
}
