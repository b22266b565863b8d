//! Where the command line takes payloads, error texts and ids from: arguments, files, standard input.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use super::parse;

/// The text of a file to the letter; `-` is standard input.
pub fn text_of(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    }
    .map_err(|error| Failure::new(format_args!("cannot read {}: {error}", name_of(path))))?;
    String::from_utf8(bytes).map_err(|_| Failure::new(format_args!("{} is not UTF-8 text", name_of(path))))
}

fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// A payload, from the command line or a file.
#[derive(Debug, Args)]
pub struct PayloadSource {
    /// The payload: any text, kept to the letter
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    payload: Option<String>,
    /// A file that holds the payload, - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    payload_file: Option<PathBuf>,
}

impl PayloadSource {
    /// The payload, when one was named.
    pub fn read(self) -> Result<Option<String>, Failure> {
        match (self.payload, self.payload_file) {
            (None, Some(path)) => text_of(&path).map(Some),
            (payload, _) => Ok(payload),
        }
    }

    /// Whether a payload was named.
    pub fn is_given(&self) -> bool {
        self.payload.is_some() || self.payload_file.is_some()
    }
}

/// The text of an error, from the command line or a file.
#[derive(Debug, Args)]
pub struct ErrorSource {
    /// What went wrong, kept to the letter as ErrorDetails
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, alias = "error-details")]
    error: Option<String>,
    /// A file that holds it, - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "error")]
    error_file: Option<PathBuf>,
}

impl ErrorSource {
    /// The text, when one was named.
    pub fn read(self) -> Result<Option<String>, Failure> {
        match (self.error, self.error_file) {
            (None, Some(path)) => text_of(&path).map(Some),
            (error, _) => Ok(error),
        }
    }
}

/// Jobs by their ids.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct JobIds {
    /// The ids of the jobs
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// A file with the ids, - for standard input: a JSON array, one a line, or what `--json dlq list` prints
    #[arg(long, value_name = "FILE", alias = "ids-file")]
    ids_from: Option<PathBuf>,
}

impl JobIds {
    /// Whether any are named, or a list of them.
    pub fn is_given(&self) -> bool {
        !self.ids.is_empty() || self.is_list()
    }

    /// Whether they come as a list, which may hold one, many or none.
    pub fn is_list(&self) -> bool {
        self.ids_from.is_some()
    }

    /// The ids, in their order; a list may hold none.
    pub fn read(&self) -> Result<Vec<String>, Failure> {
        match &self.ids_from {
            Some(path) => parse::ids(&text_of(path)?)
                .map_err(|problem| Failure::new(format_args!("cannot read ids from {}: {problem}", name_of(path)))),
            None if self.ids.is_empty() => Err(Failure::new("no job was named").hint("name ids, or --ids-from FILE")),
            None => Ok(self.ids.clone()),
        }
    }
}

/// A word of a command line that is shown to be copied into a shell.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    // Only U+0000 cannot be quoted, which neither an argument nor an id can hold.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}
