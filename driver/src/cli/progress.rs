//! How far a long loop is, on standard error; nothing where that is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over a known number of jobs.
pub fn bar(jobs: usize, doing: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(jobs as u64).with_message(doing);
    // The template is a constant of ours; without it the bar has the library's own look.
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// A count of jobs whose end is not known.
pub fn count(doing: &'static str) -> ProgressBar {
    let count = ProgressBar::no_length().with_message(doing);
    if let Ok(style) = ProgressStyle::with_template("{msg} {human_pos} {elapsed}") {
        count.set_style(style);
    }
    count
}

/// One call that may take long and says nothing before its end.
pub fn spinner(doing: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(doing);
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}
