//! Which jobs of the DLQ a call is about.

use time::OffsetDateTime;

use crate::call::{Call, Procedure};
use crate::types::FailureReason;

/// Jobs of the DLQ that pass each filter given here; one left out lets all of them through.
///
/// ```
/// use chokaq::{DlqFilter, FailureReason};
///
/// let dead_mail =
///     DlqFilter { queue: Some("mail"), failure_reason: Some(FailureReason::FatalError), ..DlqFilter::default() };
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DlqFilter<'a> {
    /// Of this queue.
    pub queue: Option<&'a str>,
    /// Of this type.
    pub r#type: Option<&'a str>,
    /// That failed for this reason.
    pub failure_reason: Option<FailureReason>,
    /// That failed at this instant or later.
    pub from: Option<OffsetDateTime>,
    /// That failed before this instant.
    pub to: Option<OffsetDateTime>,
    /// That hold this plain text; `%`, `_` and `[` are letters.
    pub search: Option<&'a str>,
}

impl<'a> DlqFilter<'a> {
    /// A call about these jobs.
    pub(super) fn call(&self, procedure: &'static Procedure) -> Call<'a> {
        Call::new(procedure)
            .text("queue", self.queue)
            .text("type", self.r#type)
            .small("failure_reason", self.failure_reason.map(i16::from))
            .time("from_utc", self.from)
            .time("to_utc", self.to)
            .text("search", self.search)
    }
}
