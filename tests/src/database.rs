//! One case's database.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::MutexGuard;

use crate::recount;
use crate::server::Servers;
use crate::server::mssql::{Idle, Objects};
use crate::session::mssql::{Home, Lease};
use crate::session::{Engine, Session};

/// A database that only this case uses.
pub struct Db<'a> {
    pub engine: Engine,
    pub name: String,
    servers: &'a Servers,
    accounts: Cell<Accounts>,
    /* Connections over TDS that the case is done with; the next case goes on with them. */
    sessions: Home,
    /* What was in a database that cases hand on; None on PostgreSQL. */
    objects: Option<Objects>,
    extra: RefCell<Vec<String>>,
    logins: RefCell<Vec<String>>,
}

/// What a login may do.
#[derive(Clone, Copy)]
pub enum Rights<'a> {
    /// What these roles may do, and nothing else.
    Of(&'a [&'a str]),
    /// Whatever there is.
    Everything,
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
        let (name, sessions, objects) = match engine {
            Engine::Postgres => (servers.postgres()?.create_database().await?, vec![], None),
            Engine::Mssql => {
                let Idle { name, sessions, objects } = servers.mssql()?.take_database().await?;
                (name, sessions, Some(objects))
            }
        };
        Ok(Self {
            engine,
            name,
            servers,
            accounts: Cell::new(Accounts::Balanced { archive_purged: 0 }),
            sessions: Rc::new(RefCell::new(sessions)),
            objects,
            extra: RefCell::default(),
            logins: RefCell::default(),
        })
    }

    /// A connection that nothing else uses.
    pub async fn session(&self) -> Result<Session> {
        let idle = self.sessions.borrow_mut().pop();
        match (self.engine, idle) {
            (Engine::Postgres, _) => self.connect(&self.name).await,
            (Engine::Mssql, Some(session)) => Ok(Session::Mssql(Lease::of(session, Some(self.sessions.clone())))),
            (Engine::Mssql, None) => {
                let session = self.servers.mssql()?.connect(&self.name).await?;
                Ok(Session::Mssql(Lease::of(session, Some(self.sessions.clone()))))
            }
        }
    }

    /// `N` connections.
    pub async fn sessions<const N: usize>(&self) -> Result<[Session; N]> {
        let mut sessions = Vec::with_capacity(N);
        for _ in 0..N {
            sessions.push(self.session().await?);
        }
        sessions.try_into().ok().context("N sessions")
    }

    /// A new connection to any database of the server.
    pub async fn connect(&self, database: &str) -> Result<Session> {
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.connect(database).await,
            Engine::Mssql => Ok(Session::Mssql(Lease::of(self.servers.mssql()?.connect(database).await?, None))),
        }
    }

    /// A login of this case's own, for `session_as`; it goes when the case ends.
    pub async fn login(&self, rights: Rights<'_>) -> Result<String> {
        let name = format!("{}_login{}", self.name, self.logins.borrow().len());
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.create_login(&name, rights).await?,
            Engine::Mssql => self.servers.mssql()?.create_login(&name, rights, &self.name).await?,
        }
        self.logins.borrow_mut().push(name.clone());
        Ok(name)
    }

    /// A connection to this case's database as that login.
    pub async fn session_as(&self, login: &str) -> Result<Session> {
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.connect_as(login, &self.name).await,
            Engine::Mssql => {
                let session = self.servers.mssql()?.connect_as(login, &self.name).await?;
                Ok(Session::Mssql(Lease::of(session, None)))
            }
        }
    }

    /// The URL of this database, as an application would write it.
    pub fn url(&self) -> Result<String> {
        self.url_of(&self.name)
    }

    /// The URL of this database for a login of this case's own.
    pub fn url_as(&self, login: &str) -> Result<String> {
        self.url_of_as(&self.name, login)
    }

    /// The URL of another database for such a login.
    pub fn url_of_as(&self, database: &str, login: &str) -> Result<String> {
        match self.engine {
            Engine::Postgres => self.servers.postgres()?.url_as(login, database),
            Engine::Mssql => self.servers.mssql()?.url_as(login, database),
        }
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

    /// The same of a collation of T-SQL.
    pub async fn empty_database_of(&self, collation: &str) -> Result<String> {
        let name = self.servers.mssql()?.create_database_of(Some(collation)).await?;
        self.extra.borrow_mut().push(name.clone());
        Ok(name)
    }

    /// Where PostgreSQL looks for extensions; a case may put versions of its own there.
    pub fn extensions(&self) -> Result<&Path> {
        self.servers.postgres()?.extensions()
    }

    /// Held by a case while it deploys: see the server's `deploying`.
    pub async fn deploy_alone(&self) -> Result<Option<MutexGuard<'_, ()>>> {
        match self.engine {
            Engine::Postgres => Ok(None),
            Engine::Mssql => Ok(Some(self.servers.mssql()?.deploying.lock().await)),
        }
    }

    /// The case purges this many jobs from the Archive.
    pub fn expect_archive_purged(&self, archive_purged: i64) {
        self.accounts.set(Accounts::Balanced { archive_purged });
    }

    /// The case writes to the tables what no procedure would, so the recount at its end is left out.
    pub fn expect_broken_accounts(&self) {
        self.accounts.set(Accounts::Broken);
    }

    /// Checks section 5 of the contract now.
    pub async fn recount(&self) -> Result<()> {
        match self.accounts.get() {
            Accounts::Balanced { archive_purged } => recount::check(&mut self.session().await?, archive_purged).await,
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
        let logins = self.logins.take();
        match self.engine {
            Engine::Postgres => {
                let server = self.servers.postgres()?;
                server.drop_database(&self.name).await?;
                for login in logins {
                    server.drop_login(&login).await?;
                }
                Ok(())
            }
            Engine::Mssql => {
                for login in logins {
                    self.servers.mssql()?.drop_login(&login, &self.name).await?;
                }
                let sessions = self.sessions.take();
                let objects = self.objects.context("every case over TDS has them")?;
                self.servers.mssql()?.give_back(Idle { name: self.name, sessions, objects }).await
            }
        }
    }
}
