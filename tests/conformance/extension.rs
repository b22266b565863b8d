//! `CREATE EXTENSION chokaq`: the same as a deployment, its jobs are the user's data, and only it changes itself.

use anyhow::ensure;
use chokaq::{Client, Dialect, ErrorKind, Extension, migration_script};
use chokaq_tests::programs::{pg_dump, psql};
use chokaq_tests::{Db, Engine, Result, Rights, Scenario, args, migrations, recount, scenario};

use crate::deployed::is_whole;
use crate::upgrade::{OLDEST, older};
use crate::{arrange, contents};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(an_extension_is_what_a_deployment_makes).about_extensions(),
    scenario!(an_extension_needs_no_superuser).about_extensions(),
    scenario!(a_dump_of_an_extension_has_every_job).about_extensions(),
    scenario!(an_older_extension_is_updated_around_its_jobs).about_extensions(),
    scenario!(the_script_of_an_extension_is_not_for_psql).about_extensions(),
];

async fn an_extension_is_what_a_deployment_makes(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let mut s = db.connect(&name).await?;
    s.batch("CREATE EXTENSION chokaq", "").await?;
    /* The program sees its own work, and has nothing to add. */
    is_whole(db, &name).await?;

    /* It is whole: it goes as one, the history too, and can come back. */
    s.batch("DROP EXTENSION chokaq", "").await?;
    let left =
        "SELECT (to_regnamespace('chokaq') IS NOT NULL OR to_regclass('public.chokaq_schema_history') IS NOT NULL)
            ::integer AS n";
    assert_eq!(s.count(left, &[]).await?, 0);
    Ok(s.batch("CREATE EXTENSION chokaq", "").await?)
}

async fn an_extension_needs_no_superuser(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let login = db.login(Rights::Of(&[])).await?;
    let mut admin = db.connect(&name).await?;
    admin.batch(&format!("ALTER ROLE {login} CREATEROLE; ALTER DATABASE {name} OWNER TO {login}"), "").await?;
    let output = psql(&db.url_of_as(&name, &login)?, "\\set ON_ERROR_STOP on\nCREATE EXTENSION chokaq;").await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Client::connect(&db.url_of_as(&name, &login)?).await?.deploy().up().await?.is_empty());
    /* What runs with its owner's rights has no more than that login has. */
    let owners = "SELECT DISTINCT pg_get_userbyid(p.proowner)::text AS name FROM pg_proc AS p
        WHERE p.pronamespace = 'chokaq'::regnamespace";
    assert_eq!(admin.sql(owners, &[]).await?.texts("Name"), [login]);
    Ok(())
}

async fn a_dump_of_an_extension_has_every_job(db: &Db<'_>) -> Result<()> {
    let (name, copy) = (db.empty_database().await?, db.empty_database().await?);
    let mut s = db.connect(&name).await?;
    s.batch("CREATE EXTENSION chokaq", "").await?;
    contents::furnish(&mut s).await?;

    let dump = pg_dump(&db.url_of(&name)?).await?;
    assert!(dump.contains("CREATE EXTENSION") && !dump.contains("CREATE TABLE"), "the tables are the extension's");
    let restored = psql(&db.url_of(&copy)?, &format!("\\set ON_ERROR_STOP on\n{dump}")).await?;
    ensure!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let mut there = db.connect(&copy).await?;
    assert_eq!(contents::take(&mut there).await?, contents::take(&mut s).await?);
    is_whole(db, &copy).await?;
    /* The numbers go on where they were. */
    let sequences = "SELECT s.sequencename || ' ' || s.last_value AS name FROM pg_sequences AS s
        WHERE s.schemaname = 'chokaq' AND s.last_value IS NOT NULL ORDER BY 1";
    let numbers = s.sql(sequences, &[]).await?.texts("Name");
    assert_eq!(there.sql(sequences, &[]).await?.texts("Name"), numbers);
    assert!(numbers.len() >= 2, "{numbers:?}");

    /* And the jobs live on. */
    assert_eq!(arrange::fetch(&mut there, args! { WorkerId: "w2" }).await?, ["waits", "last"]);
    arrange::kill(&mut there, "runs").await?;
    assert_eq!(there.outcome("Resurrect", args! { JobId: "dead", ResurrectedBy: "ann" }).await?, "resurrected");
    recount::check(&mut there, 0).await
}

async fn an_older_extension_is_updated_around_its_jobs(db: &Db<'_>) -> Result<()> {
    let older = Extension::with_migrations("0.0.1", &migrations::pairs(&older(Engine::Postgres, OLDEST)?))?;
    for (file, text) in [older.install(), Extension::new().update("0.0.1", OLDEST)?] {
        std::fs::write(db.extensions()?.join(file), text)?;
    }
    let name = db.empty_database().await?;
    let mut s = db.connect(&name).await?;
    s.batch("CREATE EXTENSION chokaq VERSION '0.0.1'", "").await?;
    contents::furnish(&mut s).await?;
    let before = contents::take(&mut s).await?;

    /* What `up` added beside the extension no dump would have. */
    let deploy = Client::connect(&db.url_of(&name)?).await?.deploy();
    let error = deploy.up().await.expect_err("it is the extension's to change");
    assert_eq!(error.kind(), ErrorKind::Deployment);
    assert!(error.message().contains("0.0.1") && error.message().contains("ALTER EXTENSION chokaq UPDATE"), "{error}");
    assert_eq!(deploy.plan().await?[0].version, OLDEST + 1);
    let script = psql(&db.url_of(&name)?, &migration_script(Dialect::Postgres, ..)?).await?;
    assert!(String::from_utf8(script.stderr)?.contains("ALTER EXTENSION chokaq UPDATE"));

    s.batch("ALTER EXTENSION chokaq UPDATE", "").await?;
    assert_eq!(contents::again(&mut s, &before).await?, before);
    is_whole(db, &name).await?;
    let forgotten = "SELECT COUNT(*) AS n FROM pg_class AS c
        WHERE c.relnamespace = 'chokaq'::regnamespace AND c.relkind IN ('r', 'S') AND c.relname <> 'failure_reasons'
        AND NOT EXISTS (SELECT 1 FROM pg_extension AS e WHERE e.extname = 'chokaq' AND c.oid = ANY (e.extconfig))";
    assert_eq!(s.count(forgotten, &[]).await?, 0, "tables whose rows a dump leaves out");
    assert_eq!(arrange::fetch(&mut s, args! { WorkerId: "w2" }).await?, ["waits", "last"]);
    recount::check(&mut s, 0).await
}

async fn the_script_of_an_extension_is_not_for_psql(db: &Db<'_>) -> Result<()> {
    let name = db.empty_database().await?;
    let (_, script) = Extension::new().install();
    let output = psql(&db.url_of(&name)?, &script).await?;
    let told = String::from_utf8(output.stdout)?;
    assert_eq!(told.trim(), "Use \"CREATE EXTENSION chokaq\" to load this file.");
    let schemas = "SELECT COUNT(*) AS n FROM pg_namespace AS n WHERE n.nspname = 'chokaq'";
    assert_eq!(db.connect(&name).await?.count(schemas, &[]).await?, 0);
    Ok(())
}
