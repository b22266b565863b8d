//! The wish to end, from the keyboard or from the system.

use std::io;

/// Waits for Ctrl-C, or on Unix for SIGTERM or SIGHUP too.
///
/// It listens from the moment it is made, so that a signal during a start is not lost.
#[derive(Debug)]
pub struct Interrupt {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
    #[cfg(windows)]
    ctrl_c: tokio::signal::windows::CtrlC,
}

#[cfg(unix)]
impl Interrupt {
    /// Begins to listen.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let signals =
            [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
        Ok(Self { signals })
    }

    /// Ends when a signal has come.
    pub async fn wait(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(windows)]
impl Interrupt {
    /// Begins to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { ctrl_c: tokio::signal::windows::ctrl_c()? })
    }

    /// Ends when a signal has come.
    pub async fn wait(&mut self) {
        self.ctrl_c.recv().await;
    }
}
