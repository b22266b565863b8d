//! Which jobs of the DLQ a command is about: by what they are, or by their ids.

use chokaq::{DlqFilter, FailureReason};
use clap::Args;
use time::OffsetDateTime;

use crate::cli::input::JobIds;
use crate::cli::when::When;
use crate::cli::{Failure, parse};

/// The heading of the options that say which jobs.
pub const FILTERS: &str = "Filters";

/// The filters of the procedures; what is left out lets every job through.
#[derive(Debug, Args)]
pub struct Filter {
    /// Of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Of this type
    #[arg(long = "type")]
    r#type: Option<String>,
    /// That failed for this reason, by name or number
    #[arg(long, alias = "failure-reason", value_parser = parse::failure_reason(), ignore_case = true)]
    reason: Option<FailureReason>,
    /// That failed at this instant or later, or at most so long ago: 2026-01-31T08:00:00Z, 2h
    #[arg(long, value_name = "WHEN", value_parser = parse::when)]
    from: Option<When>,
    /// That failed before this instant, or longer ago than this: 2026-01-31T08:00:00Z, 1d
    #[arg(long, value_name = "WHEN", value_parser = parse::when)]
    to: Option<When>,
    /// That hold this text in id, type, tags, payload or error, to the letter: % and _ are letters too
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    search: Option<String>,
}

impl Filter {
    /// Whether it lets anything less than all through.
    pub fn is_given(&self) -> bool {
        self.queue.is_some()
            || self.r#type.is_some()
            || self.reason.is_some()
            || self.from.is_some()
            || self.to.is_some()
            || self.search.is_some()
    }

    /// The filter when it is `now` on the server's clock.
    pub fn at(&self, now: OffsetDateTime) -> Result<DlqFilter<'_>, Failure> {
        let instant = |when: Option<When>| when.map(|when| when.instant(now)).transpose();
        Ok(DlqFilter {
            queue: self.queue.as_deref(),
            r#type: self.r#type.as_deref(),
            failure_reason: self.reason,
            from: instant(self.from)?,
            to: instant(self.to)?,
            search: self.search.as_deref(),
        })
    }

    /// The filter of a command that acts: what fails after `now` is not meant, so that no job is taken twice.
    pub fn until(&self, now: OffsetDateTime) -> Result<DlqFilter<'_>, Failure> {
        let filter = self.at(now)?;
        Ok(DlqFilter { to: Some(filter.to.map_or(now, |to| to.min(now))), ..filter })
    }

    /// Whether a summary by queue, type and reason can tell how many jobs it lets through.
    pub fn can_be_summed_up(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.search.is_none()
    }
}

/// Jobs by their ids, or by a filter; never all of them.
#[derive(Debug, Args)]
pub struct Selection {
    #[command(flatten)]
    jobs: JobIds,
    #[command(flatten, next_help_heading = FILTERS)]
    pub filter: Filter,
    /// At most so many, the oldest first [default: 1000]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub max_jobs: Option<i32>,
    /// Only show what a filter lets through
    #[arg(long, visible_alias = "dry-run")]
    pub what_if: bool,
}

/// What was selected.
#[derive(Debug, PartialEq, Eq)]
pub enum Selected {
    /// One job, named on the command line.
    One(String),
    /// Jobs by their ids; a list may hold none.
    Many(Vec<String>),
    /// What [`Selection::filter`] lets through.
    Filtered,
}

impl Selection {
    /// Reads which jobs are meant.
    pub fn read(&self) -> Result<Selected, Failure> {
        match (self.jobs.is_given(), self.filter.is_given()) {
            (true, true) => Err(Failure::new("ids and a filter were both given, and only one of them can be meant")
                .hint("leave out the ids, or --queue, --type, --reason, --from, --to and --search")),
            (false, false) => Err(Failure::new("no job was named, and all of them is never meant")
                .hint("name ids, --ids-from FILE, or a filter: --queue, --type, --reason, --from, --to, --search")),
            (true, false) if self.what_if || self.max_jobs.is_some() => {
                Err(Failure::new("--what-if and --max-jobs are for a filter, and ids were given")
                    .hint("look at a job with `chokaq dlq show`"))
            }
            (true, false) => {
                let mut ids = self.jobs.read()?;
                Ok(match (ids.len(), self.jobs.is_list()) {
                    (1, false) => Selected::One(ids.remove(0)),
                    _ => Selected::Many(ids),
                })
            }
            (false, true) => Ok(Selected::Filtered),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-03-01 12:00 UTC);

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        selection: Selection,
    }

    fn selection(line: &str) -> Selection {
        Line::try_parse_from(format!("purge {line}").split_whitespace()).unwrap().selection
    }

    #[test]
    fn each_filter_is_one() {
        for filter in
            ["--queue q", "--type t", "--reason 2", "--failure-reason Zombie", "--from 2h", "--to 1d", "--search -x"]
        {
            assert!(selection(filter).filter.is_given(), "{filter}");
            assert_eq!(selection(filter).read().unwrap(), Selected::Filtered, "{filter}");
        }
        assert!(!selection("a --what-if").filter.is_given());
    }

    #[test]
    fn all_is_never_meant() {
        for line in ["", "--what-if", "--max-jobs 5"] {
            assert!(selection(line).read().is_err(), "{line}");
        }
    }

    #[test]
    fn ids_and_a_filter_exclude_each_other() {
        for line in ["a --queue q", "--ids-from f --to 1d", "a --what-if", "a --dry-run", "--ids-file f --max-jobs 5"] {
            assert!(selection(line).read().is_err(), "{line}");
        }
        assert_eq!(selection("a").read().unwrap(), Selected::One("a".to_owned()));
        assert_eq!(selection("a b").read().unwrap(), Selected::Many(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn what_fails_later_is_not_meant() {
        let later = datetime!(2027-01-01 0:00 UTC);
        for (line, to) in [("--queue q", NOW), ("--to 1h", datetime!(2026-03-01 11:00 UTC))] {
            assert_eq!(selection(line).filter.until(NOW).unwrap().to, Some(to), "{line}");
        }
        let filter = Filter { to: Some(When::At(later)), ..selection("--queue q").filter };
        assert_eq!(filter.until(NOW).unwrap().to, Some(NOW));
        assert_eq!(filter.at(NOW).unwrap().to, Some(later));
    }
}
