//! Payload and tags of a job in the user's editor. What was typed is checked, shown as a difference and agreed to before
//! it is saved, and outlives every refusal.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::process::Command;

use tempfile::NamedTempFile;

use super::consent::{Consent, confirm, has_terminal};
use super::diff::diff;
use super::edit::{Original, check_payload};
use super::failure::{Failure, warn};
use super::input::shell_word;
use super::page::section;

/// Where the user says which editor.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// What is there when the user says nothing.
const FALLBACK: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Between payload and tags. The payload comes first, so that its lines are those of the file.
const DIVIDER: &str = "// ---- above: the payload, to the letter; below: the tags ----";

/// What is different from the job as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited {
    pub payload: Option<String>,
    pub tags: Option<String>,
}

/// What was typed and is not saved yet.
#[derive(Debug)]
pub struct Draft {
    original: Original,
    divider: String,
    file: NamedTempFile,
    text: String,
}

/// Refuses where no editor could be used.
pub fn need_one() -> Result<(), Failure> {
    if chosen().is_some() || has_terminal() {
        return Ok(());
    }
    Err(Failure::new("no change was named, and there is no terminal for an editor")
        .hint("name the change, for instance with --payload, --payload-file or --tags"))
}

fn chosen() -> Option<String> {
    VARIABLES.iter().find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// Opens the editor until what comes back is meant. `None`: nothing is to be saved.
pub fn edit(original: Original, allow_invalid_json: bool, consent: &Consent) -> Result<Option<Draft>, Failure> {
    if let Some(error) = &original.error {
        section(&mut anstream::stderr(), "ErrorDetails", error)?;
    }
    let mut draft = Draft::begin(original)?;
    match draft.until_agreed(allow_invalid_json, consent) {
        Ok(true) => Ok(Some(draft)),
        refused => draft.outlive(refused).map(|_| None),
    }
}

impl Draft {
    fn begin(original: Original) -> Result<Self, Failure> {
        let payload = original.payload.as_deref().unwrap_or_default();
        let tags = original.tags.as_deref().unwrap_or_default();
        let mut divider = DIVIDER.to_owned();
        while payload.contains(&divider) || tags.contains(&divider) {
            divider.push('-');
        }
        let text = format!("{payload}\n{divider}\n{tags}\n");
        let mut file = tempfile::Builder::new().prefix("chokaq-").suffix(".json").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        Ok(Self { original, divider, file, text })
    }

    /// False when nothing was changed, or the change is not meant.
    fn until_agreed(&mut self, allow_invalid_json: bool, consent: &Consent) -> Result<bool, Failure> {
        loop {
            self.open()?;
            match self.checked(allow_invalid_json) {
                Ok(edited) if edited.is_nothing() => {
                    warn("nothing is changed, so nothing is done");
                    return Ok(false);
                }
                Ok(edited) => {
                    self.show(&edited)?;
                    return consent.ask("save this?");
                }
                Err(failure) if !has_terminal() => return Err(failure),
                Err(failure) => {
                    failure.report();
                    if !confirm("edit it again?", true)? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn open(&mut self) -> Result<(), Failure> {
        let editor = chosen().unwrap_or_else(|| FALLBACK.to_owned());
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(format_args!("the editor {editor:?} {why}; nothing was saved")).hint("set VISUAL or EDITOR")
        };
        let words = shlex::split(&editor).unwrap_or_default();
        let (program, arguments) = words.split_first().ok_or_else(|| failed(&"is not a command"))?;
        let status = Command::new(program)
            .args(arguments)
            .arg(self.file.path())
            .status()
            .map_err(|error| failed(&format_args!("cannot be started: {error}")))?;
        let bytes = fs::read(self.file.path()).map_err(|error| failed(&format_args!("left no file: {error}")))?;
        // Of what is no text, nothing can be told, and the file is kept as it is.
        self.text.clear();
        self.text = String::from_utf8(bytes).map_err(|_| failed(&"wrote what is not UTF-8 text"))?;
        if status.success() { Ok(()) } else { Err(failed(&format_args!("ended with {status}"))) }
    }

    fn checked(&self, allow_invalid_json: bool) -> Result<Edited, Failure> {
        let edited = self.edited().ok_or_else(|| {
            Failure::new("the line between payload and tags is gone; nothing was saved")
                .hint(format!("it reads {}", self.divider))
        })?;
        check_payload(edited.payload.as_deref(), allow_invalid_json)?;
        Ok(edited)
    }

    /// What was changed; nothing can be told when the divider is gone.
    pub fn edited(&self) -> Option<Edited> {
        let (payload, tags) = split(&self.text, &self.divider)?;
        let change =
            |before: &Option<String>, after: String| (before.as_deref().unwrap_or_default() != after).then_some(after);
        Some(Edited { payload: change(&self.original.payload, payload), tags: change(&self.original.tags, tags) })
    }

    fn show(&self, edited: &Edited) -> io::Result<()> {
        let mut shown = String::new();
        for (name, before, after) in
            [("payload", &self.original.payload, &edited.payload), ("tags", &self.original.tags, &edited.tags)]
        {
            if let Some(after) = after {
                shown += &diff(name, before.as_deref().unwrap_or_default(), after);
            }
        }
        write!(anstream::stderr(), "{shown}")
    }

    /// What is kept of it does not demand the revision that was read.
    pub fn without_revision(mut self) -> Self {
        self.original.revision = None;
        self
    }

    /// Keeps what was typed, beside the reason for which it is not saved.
    pub fn outlive<T>(self, refused: Result<T, Failure>) -> Result<T, Failure> {
        if self.edited().is_some_and(|edited| edited.is_nothing()) {
            return refused;
        }
        let kept = self.keep()?;
        match refused {
            Ok(answer) => {
                warn(kept);
                Ok(answer)
            }
            Err(failure) => Err(failure.also(&kept)),
        }
    }

    /// Keeps what was typed where a second run of the command can take it up, and says how.
    fn keep(self) -> Result<String, Failure> {
        let edited = self.edited();
        let path = self.file.into_temp_path();
        let Some(edited) = edited else {
            let path = path.keep().map_err(|error| error.error)?;
            return Ok(format!("what you typed is kept in {}", path.display()));
        };
        let mut flags = String::new();
        if let Some(payload) = edited.payload {
            fs::write(&path, payload)?;
            let path = path.keep().map_err(|error| error.error)?;
            // Writing into a String cannot fail.
            let _ = write!(flags, " --payload-file={}", shell_word(&path.to_string_lossy()));
        }
        match edited.tags.as_deref() {
            None => {}
            Some("") => flags += " --clear-tags",
            Some(tags) => {
                let _ = write!(flags, " --tags={}", shell_word(tags));
            }
        }
        if let Some(revision) = self.original.revision {
            let _ = write!(flags, " --expected-revision={revision}");
        }
        Ok(format!("what you typed is kept: the same command with{flags} takes it up again"))
    }
}

impl Edited {
    fn is_nothing(&self) -> bool {
        self.payload.is_none() && self.tags.is_none()
    }
}

/// Payload and tags of an edited text, wherever its editor ended the last line.
fn split(text: &str, divider: &str) -> Option<(String, String)> {
    let text = format!("\n{text}\n");
    let (payload, tags) = text.split_once(&format!("\n{divider}\n"))?;
    let payload = payload.strip_prefix('\n').unwrap_or(payload);
    let tags = tags.strip_suffix('\n').unwrap_or(tags);
    Some((payload.to_owned(), tags.strip_suffix('\n').unwrap_or(tags).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(payload: Option<&str>, tags: Option<&str>) -> Draft {
        let original = Original {
            payload: payload.map(str::to_owned),
            tags: tags.map(str::to_owned),
            error: None,
            revision: Some(7),
        };
        Draft::begin(original).unwrap()
    }

    /// What the draft makes of the text when it comes back as `change` leaves it.
    fn edited(mut draft: Draft, change: impl FnOnce(&str) -> String) -> Option<Edited> {
        draft.text = change(&draft.text);
        draft.edited()
    }

    const NOTHING: Edited = Edited { payload: None, tags: None };

    #[test]
    fn what_is_not_touched_is_not_changed() {
        for payload in [None, Some(""), Some("{}"), Some("{}\n"), Some("\n"), Some(DIVIDER), Some("a\r\n")] {
            for tags in [None, Some(""), Some("a,b"), Some("a\n"), Some(DIVIDER)] {
                assert_eq!(edited(draft(payload, tags), str::to_owned), Some(NOTHING), "{payload:?} {tags:?}");
            }
        }
    }

    #[test]
    fn a_change_of_the_one_leaves_the_other() {
        let change = |from: &'static str, to: &'static str| {
            edited(draft(Some("{\"a\": 1}"), Some("new")), |text| text.replace(from, to)).unwrap()
        };
        assert_eq!(change("1", "2"), Edited { payload: Some("{\"a\": 2}".to_owned()), tags: None });
        assert_eq!(change("new", "seen"), Edited { payload: None, tags: Some("seen".to_owned()) });
        assert_eq!(change("\nnew\n", "\n"), Edited { payload: None, tags: Some(String::new()) });
        assert_eq!(change("\nnew\n", ""), Edited { payload: None, tags: Some(String::new()) });
    }

    #[test]
    fn an_editor_that_drops_the_empty_first_line_changes_nothing() {
        let dropped = edited(draft(None, Some("a")), |text| text.trim_start().to_owned());
        assert_eq!(dropped, Some(NOTHING));
    }

    #[test]
    fn what_was_typed_outlives_a_refusal() {
        let mut draft = draft(Some("{}"), Some("a"));
        draft.text = draft.text.replace("{}", "{ }}").replace("\na\n", "\nb c\n");
        let Err(Failure::Error { hint: Some(hint), .. }) = draft.outlive::<()>(Err(Failure::new("no"))) else {
            panic!("it stays refused");
        };
        assert!(hint.ends_with(" --tags='b c' --expected-revision=7 takes it up again"), "{hint}");
        let path = hint.split("--payload-file=").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "{ }}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn nothing_is_kept_of_what_was_not_touched() {
        let Err(Failure::Error { hint: None, .. }) = draft(Some("{}"), None).outlive::<()>(Err(Failure::new("no")))
        else {
            panic!("there is nothing to take up");
        };
    }

    #[test]
    fn without_the_divider_nothing_can_be_told() {
        assert_eq!(edited(draft(Some("{}"), None), |text| text.replace("----", "")), None);
    }
}
