//! Repairing a job in the editor. Whatever is not saved is kept for its author.

use chokaq_tests::{Db, Engine, Result, Scenario, scenario};

use super::{LIMIT, failed};
use crate::transcript::Transcript;
use crate::{arrange, snapshot};

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_job_is_repaired_in_the_editor).limit(LIMIT),
    scenario!(what_the_editor_leaves_broken_is_told_with_its_place_and_not_saved).limit(LIMIT),
    scenario!(an_edit_of_a_job_that_changed_meanwhile_is_refused).only(Engine::Postgres),
    scenario!(an_edit_is_named_by_options_too).only(Engine::Postgres),
];

const BROKEN: &str = "{\n  \"subject\": \"Welcome\"\n  \"body\": \"Hello\"\n}";
const WHOLE: &str = "{\n  \"subject\": \"Welcome\",\n  \"body\": \"Hello\"\n}";

const PUTS_THE_COMMA: &str = r#"sed -i 's/"Welcome"$/"Welcome",/'"#;

async fn a_job_is_repaired_in_the_editor(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    for id in ["a1", "a2"] {
        failed(&mut s, ["mail", "t", id, BROKEN], 6, "a comma is missing", 60).await?;
    }
    arrange::pending(&mut s, "sms", "a3").await?;
    let mut t = Transcript::of(db)?;
    t.set("EDITOR", PUTS_THE_COMMA);
    t.run(0, "dlq edit a1 --yes").await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!((&job["Payload"], &job["Pillar"]), (&WHOLE.into(), &"DLQ".into()));

    t.remark("the comma is there already");
    t.run(1, "dlq edit a1 --yes").await?;
    t.remark("repaired and brought back in one step, with the editor of VISUAL");
    t.set("EDITOR", "false");
    t.set("VISUAL", PUTS_THE_COMMA);
    t.run(0, "--json dlq edit a2 --resurrect --priority 20 --yes").await?;
    let job = arrange::job(&mut s, "a2").await?;
    assert_eq!((&job["Payload"], &job["Pillar"], &job["Priority"]), (&WHOLE.into(), &"Hot".into(), &20.into()));

    t.remark("the tags of a pending job, which has none");
    t.set("VISUAL", "sed -i '$s/^$/urgent/'");
    t.run(0, "job edit a3 --yes").await?;
    assert_eq!(arrange::job(&mut s, "a3").await?["Tags"], "urgent");
    t.run(1, "dlq edit nobody").await?;
    assert!(t.drafts()?.is_empty());
    t.compare("edit")
}

async fn what_the_editor_leaves_broken_is_told_with_its_place_and_not_saved(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", WHOLE], 6, "no", 60).await?;
    let before = snapshot::take(&mut s).await?;
    let mut t = Transcript::of(db)?;
    t.set("EDITOR", r#"sed -i 's/",/"/'"#);
    let run = t.run(2, "dlq edit a1 --yes").await?;
    assert!(run.stderr.contains("at line 3, column 3"), "{}", run.stderr);
    assert_eq!(t.drafts()?, [BROKEN], "what was typed is kept");
    t.run(2, "dlq edit a1 --resurrect --yes").await?;
    t.remark("the line between payload and tags is gone");
    t.set("EDITOR", "sed -i /above/d");
    t.run(2, "dlq edit a1 --yes").await?;
    t.remark("nobody to agree");
    t.set("EDITOR", "sed -i s/Hello/Bye/");
    t.run(2, "dlq edit a1").await?;
    t.remark("editors that fail");
    t.set("EDITOR", "no-such-editor --wait");
    t.run(2, "dlq edit a1").await?;
    t.set("EDITOR", "false");
    t.run(2, "dlq edit a1").await?;
    t.remark("no editor");
    t.set("EDITOR", "");
    t.run(2, "dlq edit a1").await?;
    assert_eq!(snapshot::take(&mut s).await?, before);

    t.remark("to the letter, if that is meant");
    t.set("EDITOR", r#"sed -i 's/",/"/'"#);
    t.run(0, "dlq edit a1 --allow-invalid-json --yes").await?;
    assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], BROKEN);
    t.compare("edit_refused")
}

/// While one operator types, another saves.
async fn an_edit_of_a_job_that_changed_meanwhile_is_refused(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", "{}"], 6, "no", 60).await?;
    let mut t = Transcript::of(db)?;
    t.set("EDITOR", r#"sh -c 'sed -i s/{}/[1]/ "$0" && "$CHOKAQ" dlq edit a1 --tags mine --by bob >&2'"#);
    let refused = t.run(1, "dlq edit a1 --yes").await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!((&job["Payload"], &job["Tags"]), (&"{}".into(), &"mine".into()));
    t.run(1, "dlq edit a1 --resurrect --yes").await?;
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "DLQ");

    t.remark("what was typed is taken up again");
    let (_, kept) = refused.stderr.split_once("the same command with ").unwrap_or_default();
    let (kept, _) = kept.split_once(" takes it up again").unwrap_or_default();
    t.run(0, &format!("dlq edit a1 {kept}")).await?;
    let job = arrange::job(&mut s, "a1").await?;
    assert_eq!((&job["Payload"], &job["Tags"]), (&"[1]".into(), &"mine".into()));
    t.compare("edit_changed")
}

async fn an_edit_is_named_by_options_too(db: &Db<'_>) -> Result<()> {
    let mut s = db.session().await?;
    failed(&mut s, ["mail", "t", "a1", "{}"], 6, "no", 60).await?;
    let mut t = Transcript::of(db)?;
    t.run(0, "dlq edit a1 --payload '[1]' --tags seen").await?;
    t.feed("[\n  2\n]", 0, "--json dlq edit a1 --payload-file - --clear-tags").await?;
    t.run(1, "dlq edit a1 --payload '[3]' --expected-revision 1").await?;
    t.run(1, "dlq edit nobody --tags x").await?;
    t.run(2, "dlq edit a1 --payload '[1,]'").await?;
    t.run(2, "dlq edit a1 --payload-file no-such-file").await?;
    t.run(2, "dlq edit a1 --tags x --priority 5").await?;
    assert_eq!(arrange::job(&mut s, "a1").await?["Payload"], "[\n  2\n]");
    t.run(0, "dlq edit a1 --clear-payload").await?;
    t.run(0, "dlq edit a1 --tags back --resurrect --delay 1h").await?;
    assert_eq!(arrange::pillar(&mut s, "a1").await?, "Hot");
    t.run(0, "job edit a1 --priority -1 --payload null").await?;
    t.run(1, "job edit nobody --priority 1").await?;
    t.compare("edit_by_options")
}
