//! The jobs of the story.

use std::time::{SystemTime, UNIX_EPOCH};

use chokaq::Enqueue;

use super::PREFIX;

/// The type of a mailing job.
pub const MAIL: &str = "email_v1";

/// The type of a reporting job.
pub const REPORT: &str = "report_v1";

/// Where the broken mail stands among the healthy ones.
pub const BROKEN: usize = 7;

const MAILS: usize = 25;
const REPORTS: usize = 25;

/// A comma is missing after the subject.
const BROKEN_PAYLOAD: &str = r#"{
  "to": "user@example.com",
  "subject": "Welcome!"
  "body": "Hello, World!"
}"#;

/// The queues of this run and their jobs' payloads.
#[derive(Debug)]
pub struct Cast {
    pub mail_queue: String,
    pub report_queue: String,
    pub mails: Vec<String>,
    pub reports: Vec<String>,
}

impl Cast {
    /// Queues that no run had before, and the payloads of their jobs.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut mails = (1..=MAILS).map(mail).collect::<Vec<_>>();
        mails[BROKEN] = BROKEN_PAYLOAD.to_owned();
        Self {
            mail_queue: format!("{PREFIX}mail-{now}"),
            report_queue: format!("{PREFIX}reports-{now}"),
            mails,
            reports: (1..=REPORTS).map(|month| format!(r#"{{"month": {month}}}"#)).collect(),
        }
    }

    /// The mailing jobs.
    pub fn mailing_jobs(&self) -> Vec<Enqueue<'_>> {
        jobs(&self.mail_queue, MAIL, &self.mails)
    }

    /// The reporting jobs.
    pub fn reporting_jobs(&self) -> Vec<Enqueue<'_>> {
        jobs(&self.report_queue, REPORT, &self.reports)
    }
}

fn jobs<'a>(queue: &'a str, r#type: &'a str, payloads: &'a [String]) -> Vec<Enqueue<'a>> {
    payloads
        .iter()
        .map(|payload| Enqueue { payload: Some(payload), created_by: Some("demo"), ..Enqueue::new(queue, r#type) })
        .collect()
}

fn mail(number: usize) -> String {
    format!(r#"{{"to": "user{number}@example.com", "subject": "Welcome!", "body": "Hello, World!"}}"#)
}

/// What the operator types: the comma.
pub fn repaired(payload: &str) -> String {
    payload.replacen("\"Welcome!\"\n", "\"Welcome!\",\n", 1)
}

#[cfg(test)]
mod tests {
    use super::super::worker::perform;
    use super::*;

    #[test]
    fn one_mail_is_broken_and_a_comma_repairs_it() {
        let cast = Cast::new();
        let broken = cast.mails.iter().filter(|payload| perform(MAIL, payload).is_err()).collect::<Vec<_>>();
        assert_eq!(broken, [BROKEN_PAYLOAD]);
        assert!(perform(MAIL, &repaired(BROKEN_PAYLOAD)).is_ok());
    }

    #[test]
    fn every_report_is_sound() {
        assert!(Cast::new().reports.iter().all(|payload| perform(REPORT, payload).is_ok()));
    }
}
