//! A password is in nothing that is said about a failure: no error, no `Debug`, no log, no output of the program.

use std::error::Error;
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use chokaq::{Client, Config};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario};
use tracing::instrument::WithSubscriber;

use crate::program::{command, finish};

pub const SCENARIOS: &[Scenario] =
    &[scenario!(a_password_is_in_nothing_that_is_said).limit(std::time::Duration::from_secs(300))];

/// Any part of it would be found.
const PASSWORD: &str = "Hush4711Hush";
const PART: &str = "Hush";

/// Whether nothing of a password is in the error, in either form, nor in what it comes from.
pub fn is_kept(part: &str, error: &chokaq::Error) -> Result<()> {
    let mut said = vec![format!("{error}"), format!("{error:?}"), error.message().to_owned()];
    let mut source = error.source();
    while let Some(cause) = source {
        said.push(format!("{cause} {cause:?}"));
        source = cause.source();
    }
    ensure!(!said.iter().any(|text| text.contains(part)), "{said:?}");
    Ok(())
}

/// Hears everything, and remembers what has the password in it.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    events: usize,
    secrets: Vec<String>,
}

impl Ear {
    fn hear(&self, text: String) {
        let mut heard = self.0.lock().expect("nobody panics with it");
        heard.events += 1;
        if text.contains(PART) {
            heard.secrets.push(text);
        }
    }
}

impl tracing::Subscriber for Ear {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.hear(format!("{span:?}"));
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        self.hear(format!("{values:?}"));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.hear(format!("{event:?}"));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

impl log::Log for Ear {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.hear(record.args().to_string());
    }

    fn flush(&self) {}
}

/// URLs that go wrong in each of the ways there are, all with the password.
fn wrong_urls(db: &Db<'_>) -> Result<Vec<String>> {
    let right = url::Url::parse(&db.url()?)?;
    let (scheme, host) = (right.scheme(), right.host_str().context("a host")?);
    let port = right.port().context("a port")?;
    let plain = if db.engine == Engine::Postgres { "sslmode=disable" } else { "encrypt=false" };
    let tls = if db.engine == Engine::Postgres { "sslmode=require" } else { "encrypt=true" };
    let user = right.username();
    let closed = chokaq_tests::server::free_port()?;
    Ok(vec![
        format!("{scheme}://nobody:{PASSWORD}@{host}:{port}/{}?{plain}", db.name),
        format!("{scheme}://{user}:{PASSWORD}@{host}:{port}/no_such_database?{plain}"),
        format!("{scheme}://{user}:{PASSWORD}@{host}:{port}/{}?{tls}", db.name),
        format!("{scheme}://{user}:{PASSWORD}@{host}:{closed}/{}?{plain}", db.name),
        format!("{scheme}://{user}:{PASSWORD}@no-such-host.invalid:{port}/{}?{plain}", db.name),
        format!("{scheme}://{user}:{PASSWORD}@{host}:{port}/{}?password2={PASSWORD}", db.name),
        format!("{scheme}://{user}:{PASSWORD}@{host}:{port}port/{}", db.name),
        format!("{scheme}://{user}:{PASSWORD}/@{host}/{}", db.name),
        format!("{scheme}://{user}:{PASSWORD}#@{host}/{}", db.name),
        format!("{scheme}://{user}:{PASSWORD}"),
        format!("mysql://{user}:{PASSWORD}@{host}/{}", db.name),
        format!("{scheme}://{user}:?{PASSWORD}@{host}/{}", db.name),
        format!("postgres://app@{host}:{closed}/shop?password={PASSWORD}&sslmode=disable"),
        format!("postgres://app@{host}:{closed}/shop?password=a&{PASSWORD}"),
        format!("Server={host},{closed};Database=shop;User ID=app;Password={PASSWORD}"),
        format!("Server={host};Password={PASSWORD};Encrypt={PASSWORD};\"'"),
    ])
}

async fn a_password_is_in_nothing_that_is_said(db: &Db<'_>) -> Result<()> {
    let ear = Ear::default();
    /* The one of this process; others' words are heard too. */
    let _ = log::set_boxed_logger(Box::new(ear.clone()));
    log::set_max_level(log::LevelFilter::Trace);
    for (number, url) in wrong_urls(db)?.into_iter().enumerate() {
        let connecting = Client::builder().connect_timeout(std::time::Duration::from_secs(5)).connect(&url);
        /* A server of the suite's own may take any password. */
        match connecting.with_subscriber(ear.clone()).await {
            Err(error) => is_kept(PART, &error)?,
            Ok(client) => ensure!(!format!("{client:?} {}", client.config()).contains(PART)),
        }
        if let Ok(config) = url.parse::<Config>() {
            ensure!(!format!("{config} {config:?}").contains(PART));
        }
        /* In the wrong place it is quoted as an argument that was not expected. */
        let places: [(Option<&str>, &[&str]); 3] =
            [(Some(&url), &["stats"]), (None, &["--database-url", &url, "stats"]), (None, &["stats", &url])];
        let (environment, arguments) = places[number % places.len()];
        let mut command = command(environment, arguments)?;
        command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
        let run = finish(command).await?;
        let said = format!("{:?} {}", run.lines, run.stderr);
        ensure!(run.code != Some(101) && !said.contains(PART), "{arguments:?}: {said}");
    }
    log::set_max_level(log::LevelFilter::Off);
    let heard = ear.0.lock().expect("nobody panics with it");
    ensure!(heard.events > 0, "the drivers say what they do");
    ensure!(heard.secrets.is_empty(), "{:?}", heard.secrets);
    Ok(())
}
