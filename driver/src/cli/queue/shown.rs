//! Queues as people see them: one word for what they do, and spans of time with their units.

use std::io;

use chokaq::{Queue, SetQueueOutcome, SetQueueResult};
use serde::Serialize;

use crate::cli::Output;
use crate::cli::when::span;

/// What pipes get, as the procedures name it.
const PLAIN: [&str; 12] = [
    "Queue",
    "IsPaused",
    "IsActive",
    "MaxWorkers",
    "ZombieTimeoutSeconds",
    "MaxAttempts",
    "BaseDelaySeconds",
    "BackoffMultiplier",
    "MaxDelaySeconds",
    "JitterSeconds",
    "MaxJobAgeSeconds",
    "LastModifiedBy",
];

const TERMINAL: [&str; 11] = [
    "Queue",
    "State",
    "MaxWorkers",
    "ZombieTimeout",
    "MaxAttempts",
    "BaseDelay",
    "BackoffMultiplier",
    "MaxDelay",
    "Jitter",
    "MaxJobAge",
    "LastModifiedBy",
];

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<SetQueueOutcome>,
    queue: &'a str,
    state: &'static str,
    max_workers: Option<i32>,
    zombie_timeout: Option<String>,
    max_attempts: i32,
    base_delay: String,
    backoff_multiplier: f64,
    max_delay: String,
    jitter: String,
    max_job_age: Option<String>,
    last_modified_by: Option<&'a str>,
}

/// Shows queues.
pub fn queues(output: Output, queues: &[Queue]) -> io::Result<()> {
    match output {
        Output::Terminal => {
            let shown = queues.iter().map(|queue| for_people(queue, None)).collect::<Vec<_>>();
            output.rows_under(heading, &shown, &TERMINAL)
        }
        Output::Json | Output::Plain => output.rows(queues, &PLAIN),
    }
}

/// Shows what changes of one queue answered.
pub fn changes(output: Output, results: &[SetQueueResult]) -> io::Result<()> {
    match output {
        Output::Terminal => {
            let shown = results.iter().map(|result| for_people(&result.queue, Some(result.outcome)));
            output.rows_under(heading, &shown.collect::<Vec<_>>(), &[&["Outcome"], &TERMINAL[..]].concat())
        }
        Output::Json | Output::Plain => output.rows(results, &[&["Outcome"], &PLAIN[..]].concat()),
    }
}

/// What a queue does, in a word.
pub fn state(is_active: bool, is_paused: bool) -> &'static str {
    match (is_active, is_paused) {
        (false, _) => "inactive",
        (true, true) => "paused",
        (true, false) => "active",
    }
}

fn for_people(queue: &Queue, outcome: Option<SetQueueOutcome>) -> Shown<'_> {
    let seconds = |seconds: i32| span(seconds.into());
    Shown {
        outcome,
        queue: &queue.queue,
        state: state(queue.is_active, queue.is_paused),
        max_workers: queue.max_workers,
        zombie_timeout: queue.zombie_timeout_seconds.map(seconds),
        max_attempts: queue.max_attempts,
        base_delay: seconds(queue.base_delay_seconds),
        backoff_multiplier: queue.backoff_multiplier,
        max_delay: seconds(queue.max_delay_seconds),
        jitter: seconds(queue.jitter_seconds),
        max_job_age: queue.max_job_age_seconds.map(seconds),
        last_modified_by: queue.last_modified_by.as_deref(),
    }
}

/// So many whole names are too wide for most terminals.
fn heading(column: &str) -> &str {
    match column {
        "BackoffMultiplier" => "Backoff",
        "LastModifiedBy" => "ModifiedBy",
        column => column,
    }
}
