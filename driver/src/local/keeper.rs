//! The keeper: a process that tidies up when this program is killed without a chance to do so.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use super::LocalError;
use super::account::Account;

/// Its standard input is a pipe that only this program holds: a number is the server to stop, `tidy` says that nothing
/// is left to do, and the end of the pipe that the program is dead.
///
/// A home that is not kept is removed. `initdb` may still be writing there, so it is tried until it is gone.
const SCRIPT: &str = r#"
server=
while read -r line; do
    if [ "$line" = tidy ]; then exit; fi
    server=$line
done
if [ -n "$server" ]; then
    kill -INT "$server" 2>/dev/null
    while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
fi
if [ -n "$1" ]; then
    tries=100
    until rm -rf -- "$1" 2>/dev/null || [ "$tries" -eq 0 ]; do tries=$((tries - 1)); sleep 0.1; done
fi
"#;

/// A running keeper. Dropped without [`Keeper::dismiss`] it does its work.
#[derive(Debug)]
pub struct Keeper(Child);

impl Keeper {
    /// Starts one; `scratch` is the home that must not outlive the program.
    pub fn start(account: &Account, scratch: Option<&Path>) -> Result<Self, LocalError> {
        let shell = Path::new("/bin/sh");
        account
            .command(shell)
            .args(["-c", SCRIPT, "chokaq-keeper"])
            .arg(scratch.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Self)
            .map_err(LocalError::io("run", shell))
    }

    /// Names the server to stop.
    pub fn watch(&mut self, server: &Child) -> Result<(), LocalError> {
        self.tell(&server.id().to_string()).map_err(LocalError::io("write to", Path::new("the keeper")))
    }

    /// Says that all is tidy, and waits for its end.
    pub fn dismiss(mut self) {
        // One that is gone already needs no word.
        let _ = self.tell("tidy");
        let _ = self.0.wait();
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.0.stdin {
            Some(input) => writeln!(input, "{line}"),
            None => Ok(()),
        }
    }
}
