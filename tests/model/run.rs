//! The system under test: a database, three sessions that call, and the owner's that lets time pass.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail, ensure};
use chokaq_tests::contract::{self, Kind};
use chokaq_tests::{Args, Code, Db, Engine, Row, Rows, Session, SqlError, Value};
use futures_util::FutureExt;

use crate::check::Seen;
use crate::model::Model;
use crate::settings::Trial;
use crate::steps::{Act, How, Step};
use crate::term::{Answer, Call, Line, Term};

/// A sequence that took longer says nothing when it fails: its seconds are no longer small beside the model's.
const TOO_SLOW: Duration = Duration::from_secs(50);

/// Seconds, more than a sequence lets pass.
const FAR: i64 = 100_000_000;

/// The columns that hold instants; their values go back when time passes.
const TIMES: [(&str, &[&str]); 8] = [
    (
        "JobsHot",
        &[
            "DueAtUtc",
            "FirstDueAtUtc",
            "ScheduledAtUtc",
            "FetchedAtUtc",
            "StartedAtUtc",
            "HeartbeatUtc",
            "CreatedAtUtc",
            "LastUpdatedUtc",
        ],
    ),
    ("JobsArchive", &["ScheduledAtUtc", "StartedAtUtc", "FinishedAtUtc", "CreatedAtUtc"]),
    ("JobsDLQ", &["FailedAtUtc", "ScheduledAtUtc", "StartedAtUtc", "HeartbeatUtc", "CreatedAtUtc", "LastUpdatedUtc"]),
    ("Queues", &["CreatedAtUtc", "LastUpdatedUtc"]),
    ("OperatorHistory", &["AtUtc", "FailedAtUtc"]),
    ("CounterDeltas", &["AtUtc"]),
    ("QueueTotals", &["LastActivityUtc"]),
    ("MetricBuckets", &["BucketUtc"]),
];

pub struct System {
    pub engine: Engine,
    pub owner: Session,
    pub sessions: [Session; 3],
    pub model: Model,
    pub seen: Seen,
    /// The last row that each procedure answered, for those that are told where to go on.
    last: HashMap<&'static str, Row>,
    trace: Vec<String>,
    /// Under which every step is tried before it is made.
    pub trial: Option<&'static Trial>,
    /// What is sent after a call outside a transaction.
    pub afterwards: &'static str,
    /// How often each procedure answered what.
    pub answers: BTreeMap<(&'static str, String), u64>,
    /// How many sequences there were, and how many were too slow to tell anything.
    pub count: u64,
    pub too_slow: u64,
}

impl System {
    pub async fn new(db: &Db<'_>) -> Result<Self> {
        let mut owner = db.session().await?;
        let epoch = owner.now().await?;
        Ok(Self {
            engine: db.engine,
            owner,
            sessions: db.sessions().await?,
            model: Model::new(epoch),
            seen: Seen::new(false),
            last: HashMap::new(),
            trace: vec![],
            trial: None,
            afterwards: "",
            answers: BTreeMap::new(),
            count: 0,
            too_slow: 0,
        })
    }

    /// One sequence, from an empty database.
    pub async fn sequence(&mut self, steps: &[Step]) -> Result<()> {
        self.count += 1;
        if self.count.is_multiple_of(100) {
            println!("{}: {} sequences", self.engine, self.count);
        }
        let began = Instant::now();
        let result = match AssertUnwindSafe(self.follow(steps)).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => Err(anyhow!("{}", chokaq_tests::runner::message(&*panic))),
        };
        if result.is_err() {
            for session in &mut self.sessions {
                session.rollback().await?;
            }
        }
        if result.is_err() && began.elapsed() > TOO_SLOW {
            self.too_slow += 1;
            return Ok(());
        }
        result.map_err(|error| anyhow!("{error:#}\n{}", self.trace.join("\n")))
    }

    async fn follow(&mut self, steps: &[Step]) -> Result<()> {
        self.empty().await?;
        let epoch = self.owner.now().await?.replace_nanosecond(0)?;
        self.model = Model::new(epoch);
        self.seen = Seen::new(self.owner.is_babelfish());
        self.last.clear();
        self.trace.clear();
        for step in steps {
            self.model.tick();
            match step.act {
                Act::TimePasses(seconds) => self.let_pass(seconds).await?,
                _ => {
                    if let Some(trial) = self.trial {
                        self.attempt(step, trial).await?;
                    }
                    self.step(step, None).await?;
                }
            }
        }
        self.check_state().await
    }

    async fn empty(&mut self) -> Result<()> {
        let tables = TIMES.iter().map(|(table, _)| *table).chain(["QueueClaims"]);
        let deletes: Vec<_> = tables.map(|table| format!("DELETE FROM chokaq.{table};")).collect();
        self.batch(&deletes.join("\n")).await
    }

    /// Everything that is recorded becomes older.
    async fn let_pass(&mut self, seconds: i64) -> Result<()> {
        let back = |column: &str, seconds: i64| match self.engine {
            Engine::Postgres => format!("{column} = {column} - interval '{seconds} seconds'"),
            Engine::Mssql => format!("{column} = DATEADD(SECOND, {}, {column})", -seconds),
        };
        let update = |table: &str, columns: &[&str], seconds: i64| {
            let columns: Vec<_> = columns.iter().map(|column| back(column, seconds)).collect();
            format!("UPDATE chokaq.{table} SET {};", columns.join(", "))
        };
        let updates: Vec<_> = TIMES
            .iter()
            .flat_map(|(table, columns)| match *table {
                /* By way of where no other bucket is: each row by itself must have a time of its own. */
                "MetricBuckets" => vec![update(table, columns, seconds + FAR), update(table, columns, -FAR)],
                _ => vec![update(table, columns, seconds)],
            })
            .collect();
        self.batch(&updates.join("\n")).await?;
        self.model.now.seconds += seconds;
        for row in self.last.values_mut() {
            row.set_back(time::Duration::seconds(seconds));
        }
        self.trace.push(format!("{seconds} seconds pass"));
        Ok(())
    }

    pub async fn batch(&mut self, sql: &str) -> Result<()> {
        Ok(self.owner.batch(&chokaq_tests::names::to_postgres(sql), sql).await?)
    }

    pub async fn step(&mut self, step: &Step, trial: Option<&Trial>) -> Result<()> {
        let before = self.model.clone();
        let mut call = self.model.call(&step.act);
        let how = if self.may_lag(&step.act, &before) { How::Alone } else { step.how };
        let is_looping = contract::procedure(call.procedure).kind == Kind::Looping;
        if how != How::Alone && is_looping {
            call.answer = Answer::Refused(Code::InTransaction, "");
        }
        let args = self.resolve(&call, &before).await?;
        let gone = self.count_gone(&call.answer).await?;
        let result = self.make(step.session, how, call.procedure, args, trial).await?;
        let told = match &result {
            Ok(rows) => format!("{:?}", rows.rows.iter().map(Row::values).collect::<Vec<_>>()),
            Err(error) => error.to_string(),
        };
        self.trace.push(format!("session {}, {how:?}: {} -> {told}", step.session, call));
        let code = result.as_ref().err().map(|error| error.code.clone());
        let failed = code.filter(|code| trial.is_some_and(|trial| trial.codes.contains(&&**code)));
        let is_undone = how == How::RolledBack || failed.is_some() || matches!(call.answer, Answer::Refused(..));
        if is_undone {
            self.model.undo(before);
        }
        if let Some(code) = failed {
            *self.answers.entry((call.procedure, code)).or_default() += 1;
            return Ok(());
        }
        if trial.is_some_and(|trial| trial.passes_over) && result.is_ok() {
            return Ok(());
        }
        match (&call.answer, result) {
            (Answer::Refused(code, parameter), Err(error)) => {
                let named = *code == Code::InTransaction || error.names(parameter, self.engine);
                ensure!(error.is(*code, self.engine) && named, "{code:?} of {parameter} was expected, not {error}");
                *self.answers.entry((call.procedure, format!("{code:?}"))).or_default() += 1;
            }
            (Answer::Refused(code, parameter), Ok(rows)) => {
                bail!("{}: {code:?} of {parameter} was expected, not {rows:?}", call.procedure)
            }
            (Answer::Rows(lines), Ok(rows)) => {
                self.take_away(&gone, is_undone).await?;
                self.seen.compare_rows(&self.model, lines, &rows, call.procedure)?;
                self.note(&call, &rows);
                self.learn(&call, lines, rows, is_undone);
            }
            (Answer::Rows(lines), Err(error)) => bail!("{}: {lines:?} was expected, not {error}", call.procedure),
        }
        Ok(())
    }

    /// A fetch lets only so many newly due jobs in when it is in a transaction of its caller's.
    fn may_lag(&self, act: &Act, model: &Model) -> bool {
        let is_newly_due = |due: crate::term::Time| due <= model.now;
        matches!(act, Act::FetchNextBatch { .. })
            && model.jobs.values().any(|job| job.scheduled.is_some() && job.due().is_some_and(is_newly_due))
    }

    async fn make(
        &mut self,
        session: usize,
        how: How,
        procedure: &str,
        args: Args,
        trial: Option<&Trial>,
    ) -> Result<Result<Rows, SqlError>> {
        let session = &mut self.sessions[session];
        if how == How::Alone {
            let result = session.call(procedure, args).await;
            session.batch(self.afterwards, self.afterwards).await?;
            return Ok(result);
        }
        session.begin().await?;
        if let Some(touch) = trial.and_then(|trial| trial.after_a_look) {
            session.count("SELECT COUNT(*) AS N FROM chokaq.JobsHot", &[]).await?;
            self.owner.batch(&chokaq_tests::names::to_postgres(touch), touch).await?;
        }
        let result = session.call(procedure, args).await;
        if how == How::Committed && result.is_ok() {
            session.commit().await?;
        } else {
            session.rollback().await?;
        }
        Ok(result)
    }

    /// The arguments as values.
    async fn resolve(&mut self, call: &Call, before: &Model) -> Result<Args> {
        let mut args = vec![];
        for (name, term) in &call.args {
            let value = match term {
                Term::Is(value) => value.clone(),
                Term::At(time) => self.model.real(*time).into(),
                Term::Last(column) => self.last[call.procedure][column].clone(),
                Term::Revision(token) => self.revision(*token, before).await?.into(),
                other => bail!("{other:?} is no argument"),
            };
            args.push((*name, value));
        }
        Ok(args)
    }

    /// The number of a revision; looked up when no call has told it yet.
    async fn revision(&mut self, token: u64, before: &Model) -> Result<i64> {
        if let Some(number) = self.seen.revision(token) {
            return Ok(number);
        }
        let id = before.jobs.iter().find(|(_, job)| job.revision == token).map(|(id, _)| id.clone());
        let id = Value::from(id.as_ref());
        let sql = "SELECT Revision FROM chokaq.JobsHot WHERE Id = @P1
            UNION ALL SELECT Revision FROM chokaq.JobsArchive WHERE Id = @P1
            UNION ALL SELECT Revision FROM chokaq.JobsDLQ WHERE Id = @P1";
        let number = self.owner.sql(sql, &[id]).await?.one().int("Revision");
        self.seen.bind_revision(token, number)?;
        Ok(number)
    }

    async fn count_gone(&mut self, answer: &Answer) -> Result<Vec<&'static str>> {
        self.seen.gone.clear();
        let Answer::Rows(lines) = answer else { return Ok(vec![]) };
        let tables: Vec<_> = lines.iter().flatten().filter_map(|(_, term)| gone(term)).collect();
        for table in &tables {
            let count = self.owner.count(&format!("SELECT COUNT(*) AS N FROM chokaq.{table}"), &[]).await?;
            self.seen.gone.insert(table, count);
        }
        Ok(tables)
    }

    /// What was rolled back cannot be counted.
    async fn take_away(&mut self, tables: &[&'static str], is_undone: bool) -> Result<()> {
        if is_undone {
            self.seen.gone.clear();
            return Ok(());
        }
        for table in tables {
            let count = self.owner.count(&format!("SELECT COUNT(*) AS N FROM chokaq.{table}"), &[]).await?;
            *self.seen.gone.entry(table).or_default() -= count;
        }
        Ok(())
    }

    fn note(&mut self, call: &Call, rows: &Rows) {
        let has_outcome = rows.columns.iter().any(|column| column == "Outcome");
        for row in &rows.rows {
            let outcome = if has_outcome { row.text("Outcome") } else { "a row".to_owned() };
            *self.answers.entry((call.procedure, outcome)).or_default() += 1;
        }
        if rows.rows.is_empty() {
            *self.answers.entry((call.procedure, "no row".to_owned())).or_default() += 1;
        }
    }

    /// What only the server can say: the ids that it made, and where the next batch goes on.
    fn learn(&mut self, call: &Call, lines: &[Line], rows: Rows, is_undone: bool) {
        if is_undone {
            return;
        }
        for (line, row) in lines.iter().zip(&rows.rows) {
            for (column, term) in line {
                if let Term::Made(made) = term {
                    self.model.rename(made, &row.text(column));
                }
            }
        }
        if let Some(row) = rows.rows.last() {
            self.last.insert(call.procedure, row.clone());
        }
    }
}

fn gone(term: &Term) -> Option<&'static str> {
    match term {
        Term::Gone(table) => Some(table),
        _ => None,
    }
}
