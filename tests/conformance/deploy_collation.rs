//! The kit on databases that compare names in a way of their own.

use std::time::Duration;

use chokaq_tests::{Db, Engine, Result, Scenario, args, scenario};

use crate::deployed::is_whole;

pub const SCENARIOS: &[Scenario] = &[scenario!(a_case_sensitive_database_and_a_turkish_one_are_deployed_to)
    .limit(Duration::from_secs(900))
    .only(Engine::Mssql)];

/// The clusters of the suite's own PostgreSQL are Turkish already; there names are not compared by the collation.
async fn a_case_sensitive_database_and_a_turkish_one_are_deployed_to(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let collations = ["Latin1_General_100_CS_AS", "Turkish_100_CI_AS"];
    if db.session().await?.is_babelfish() {
        /* It has one collation for all databases; when it takes others, they are tried here. */
        for collation in collations {
            let error = db.empty_database_of(collation).await.expect_err(collation);
            assert!(error.to_string().contains("supported for default collation"), "{error}");
        }
        return Ok(());
    }
    for collation in collations {
        let database = db.empty_database_of(collation).await?;
        chokaq_tests::deploy::up(&db.url_of(&database)?).await?;
        is_whole(db, &database).await?;
        let mut s = db.connect(&database).await?;
        for id in ["i", "I"] {
            assert_eq!(
                s.outcome("Enqueue", args! { Queue: id, Type: "t", JobId: id }).await?,
                "enqueued",
                "{collation}"
            );
        }
        let fetched = s.call("FetchNextBatch", args! { WorkerId: "w1", Queues: ["I"], StartNow: true }).await?;
        assert_eq!(fetched.texts("JobId"), ["I"], "{collation}");
        let failed = args! {
            JobId: "I", WorkerId: "w1", Attempt: 1, FailureReason: 6, ErrorDetails: "it broke"
        };
        assert_eq!(s.outcome("FailJob", failed).await?, "moved", "{collation}");
        assert_eq!(s.call("ListDLQ", args! { Search: "IT" }).await?.rows.len(), 0, "{collation}");
        let back = args! { JobId: "I", ResurrectedBy: "ann" };
        assert_eq!(s.outcome("Resurrect", back).await?, "resurrected", "{collation}");
    }
    Ok(())
}
