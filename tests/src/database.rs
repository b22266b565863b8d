//! One case's database.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::server::Servers;
use crate::recount;
use crate::session::{Engine, Session};

/// A database that only this case uses.
pub struct Db<'a> {
    pub engine: Engine,
    pub name: String,
    servers: &'a Servers,
    accounts: Cell<Accounts>,
    hand_on: Cell<bool>,
    extra: RefCell<Vec<String>>,
}

/// What the recount at the end of the case expects.
#[derive(Clone, Copy)]
enum Accounts {
    /// Every counter equals its count; this many jobs were purged from the Archive.
    Balanced { archive_purged: i64 },
    /// The case itself broke the tables.
    Broken,
}

impl<'a> Db<'a> {
    pub async fn create(engine: Engine, servers: &'a Servers) -> Result<Self> {
        let name = match engine {
            Engine::Postgres => servers.postgres()?.create_database().await?,
            Engine::Mssql => servers.mssql()?.take_database().await?,
        };
        Ok(Self {
            engine,
            name,
            servers,
            accounts: Cell::new(Accounts::Balanced { archive_purged: 0 }),
            hand_on: Cell::new(true),
            extra: RefCell::default(),
        })
    }

    /// A new connection.
    pub async fn session(&self) -> Result<Session> {
        self.connect(&self.name).await
    }

    /// `N` new connections.
    pub async fn sessions<const N: usize>(&self) -> Result<[Session; N]> {
        let mut sessions = Vec::with_capacity(N);
        for _ in 0..N {
            sessions.push(self.session().await?);
        }
        sessions.try_into().ok().context("N sessions")
    }

    pub async fn connect(&self, database: &str) -> Result<Session> {
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.connect(database).await,
            Engine::Mssql => self.servers.mssql()?.connect(database).await,
        }
    }

    /// The URL of this database, as an application would write it.
    pub fn url(&self) -> Result<String> {
        self.url_of(&self.name)
    }

    pub fn url_of(&self, database: &str) -> Result<String> {
        match self.engine {
            Engine::Postgres => Ok(self.servers.postgres()?.url(database)),
            Engine::Mssql => self.servers.mssql()?.url(database),
        }
    }

    /// Another database with nothing deployed; it goes when the case ends.
    pub async fn empty_database(&self) -> Result<String> {
        let name = match self.engine {
            Engine::Postgres => self.servers.postgres()?.create_empty_database().await?,
            Engine::Mssql => self.servers.mssql()?.create_empty_database().await?,
        };
        self.extra.borrow_mut().push(name.clone());
        Ok(name)
    }

    /// The case purges this many jobs from the Archive.
    pub fn expect_archive_purged(&self, archive_purged: i64) {
        self.accounts.set(Accounts::Balanced { archive_purged });
    }

    /// The case writes to the tables what no procedure would, so the recount at its end is left out.
    pub fn expect_broken_accounts(&self) {
        self.accounts.set(Accounts::Broken);
    }

    /// The case changes the schema, so no other case may inherit this database.
    pub fn keep_to_myself(&self) {
        self.hand_on.set(false);
    }

    /// Checks section 5 of the contract now.
    pub async fn recount(&self) -> Result<()> {
        match self.accounts.get() {
            Accounts::Balanced { archive_purged } => {
                recount::check(&mut self.session().await?, archive_purged).await
            }
            Accounts::Broken => Ok(()),
        }
    }

    /// Waits until that session waits for a lock.
    pub async fn until_blocked(&self, session: i64) -> Result<()> {
        let mut observer = self.session().await?;
        for _ in 0..3_000 {
            if observer.is_blocked(session).await? {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anyhow::bail!("session {session} never waited for a lock")
    }

    /// Hands the database on, or drops it.
    pub async fn finish(self) -> Result<()> {
        for name in self.extra.take() {
            match self.engine {
                Engine::Postgres => self.servers.postgres()?.drop_database(&name).await?,
                Engine::Mssql => self.servers.mssql()?.drop_database(&name).await?,
            }
        }
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.drop_database(&self.name).await,
            Engine::Mssql if self.hand_on.get() => self.servers.mssql()?.give_back(&self.name).await,
            Engine::Mssql => self.servers.mssql()?.drop_database(&self.name).await,
        }
    }
}
