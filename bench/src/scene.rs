//! A server with the kit on it, for benches that are not asynchronous themselves.

use std::future::Future;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::crew::Crew;
use crate::kit::{self, Hot};
use crate::server::{Database, Server};

/// The server, the kit's database on it, and what runs the calls.
pub struct Scene {
    /// The kit's database.
    pub database: Database,
    _server: Server,
    runtime: Runtime,
}

impl Scene {
    /// Starts and deploys.
    pub fn new() -> Result<Self> {
        let runtime = Runtime::new()?;
        let (server, database) = runtime.block_on(async {
            let server = Server::start().await?;
            let database = server.create_kit_database().await?;
            anyhow::Ok((server, database))
        })?;
        Ok(Self { database, _server: server, runtime })
    }

    /// Runs something to its end.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Fills JobsHot anew.
    pub fn fill(&self, hot: Hot) -> Result<Supply<'_>> {
        self.block_on(self.database.prepare(&kit::fill(&hot)))?;
        Ok(Supply { scene: self, hot, added: 0, missing: 0 })
    }
}

/// Jobs that are replaced as they are taken, so that every measurement has the same backlog before it.
pub struct Supply<'a> {
    scene: &'a Scene,
    hot: Hot,
    added: u64,
    missing: u64,
}

impl Supply<'_> {
    /// The time that so many cycles of a crew take, without the time in which the jobs are replaced.
    pub fn cycles(&mut self, crew: &Crew, batch: i32, wanted: u64) -> Result<Duration> {
        /* Never more than half of the backlog is missing. */
        let at_once = (self.hot.due / 2 / batch as u64).max(1);
        let (mut done, mut taken) = (0, Duration::ZERO);
        while done < wanted {
            let (cycles, time) = self.scene.block_on(crew.cycles((wanted - done).min(at_once)))?;
            done += cycles;
            taken += time;
            self.replace(cycles * batch as u64)?;
        }
        Ok(taken.mul_f64(wanted as f64 / done as f64))
    }

    /// Puts back what was taken, a tenth of the backlog or more at a time.
    pub fn replace(&mut self, jobs: u64) -> Result<()> {
        self.missing += jobs;
        if self.missing * 10 < self.hot.due {
            return Ok(());
        }
        self.scene.block_on(async {
            let client = self.scene.database.connect().await?;
            client.batch_execute(&kit::top_up(&self.hot, self.added, self.missing)).await?;
            anyhow::Ok(())
        })?;
        self.added += self.missing;
        self.missing = 0;
        Ok(())
    }
}
