//! Waiting for what no server announces.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Asks until there is an answer. The limit ends a case that would hang, and says nothing about a server's speed.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        ensure!(began.elapsed() < Duration::from_secs(90), "not in 90 seconds: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
