//! Two deployments of one database: the first is held in its first migration.

use std::time::Duration;

use chokaq::{Client, Deploy, ErrorKind};
use chokaq_tests::{Db, Result, Scenario, Session, scenario, until};

use crate::arrange;
use crate::ended::end;

/* The deployers of other cases are waited for. */
pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_deployer_comes_while_another_is_at_work).limit(Duration::from_secs(600))];

const MIGRATIONS: [(&str, &str); 2] =
    [("V1__one", "CREATE TABLE chokaq_one (n int);"), ("V2__two", "CREATE TABLE chokaq_two (n int);")];

/// The second waits for the first and finds nothing to do; if the first was ended before it was done, it does all.
async fn a_deployer_comes_while_another_is_at_work(db: &Db<'_>) -> Result<()> {
    let _alone = db.deploy_alone().await?;
    let mut observer = db.session().await?;
    for is_ended in [false, true] {
        let database = db.empty_database().await?;
        let [a, b] = ["first", "second"].map(|it| format!("{it} {database}"));
        let (first, second) = (deployer(db, &database, &a).await?, deployer(db, &database, &b).await?);
        /* Who would make a table waits for the one that is making it. */
        let mut gate = db.connect(&database).await?;
        gate.begin().await?;
        gate.batch(MIGRATIONS[0].1, MIGRATIONS[0].1).await?;

        let then = async {
            let holder = until_waits(&mut observer, &a).await?;
            let let_go = async {
                until_waits(&mut observer, &b).await?;
                if is_ended {
                    end(&mut observer, holder).await?;
                }
                Ok(gate.rollback().await?)
            };
            let up = async { Ok::<_, anyhow::Error>(second.up().await?) };
            Ok(tokio::try_join!(up, let_go)?.0)
        };
        let up = async { Ok::<_, anyhow::Error>(first.up().await) };
        let (done_first, done_second) = tokio::try_join!(up, then)?;
        if is_ended {
            assert_eq!(done_first.expect_err("its session was ended").kind(), ErrorKind::Connection);
            assert_eq!(done_second.len(), MIGRATIONS.len());
        } else {
            assert_eq!((done_first?.len(), done_second.len()), (MIGRATIONS.len(), 0));
        }
        for (table, count) in [("chokaq_schema_history", 2), ("chokaq_one", 0), ("chokaq_two", 0)] {
            assert_eq!(gate.count(&format!("SELECT COUNT(*) AS N FROM {table}"), &[]).await?, count, "{table}");
        }
    }
    Ok(())
}

async fn deployer(db: &Db<'_>, database: &str, program: &str) -> Result<Deploy> {
    let url = format!("{}&application_name={}", db.url_of(database)?, program.replace(' ', "%20"));
    Ok(Client::connect(&url).await?.deploy().with_migrations(&MIGRATIONS)?)
}

/// Until a session of the program of that name is there and waits for a lock: its number.
async fn until_waits(s: &mut Session, program: &str) -> Result<i64> {
    until(&format!("{program} waits for a lock"), async || {
        for id in arrange::sessions_of(s, program).await? {
            if s.is_blocked(id).await? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    })
    .await
}
