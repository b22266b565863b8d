//! Stands in front of Babelfish and hands a session that one client has left to the next, as a pool does.
//!
//! A new session there learns T-SQL's grammar anew, which takes seconds of work for each and half a minute for a deployment;
//! one that has seen some goes on at once. Between two clients everything is put back: the transaction is undone, the
//! database left, the rest reset as for any pool over TDS. Who was cut off in the middle of an answer, has called one off or
//! is not the suite's own user leaves nothing behind: his session ends with him.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::tds::{Counter, Login, message, named, query, succeeded};

/// So many wait at most; each holds some memory.
const MOST: usize = 24;

/// What undoes a session's work, and then its settings but for one.
const UNDO: &str = "SET IMPLICIT_TRANSACTIONS OFF; IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION";
const LEAVE: &str = "USE master; SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

struct Pooler {
    server: (&'static str, u16),
    /* Whose sessions are kept. */
    user: &'static str,
    left: Mutex<Vec<Warm>>,
    /* What the server answers to a first message, which depends on nothing else. */
    greetings: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
}

/// A session, and how the server welcomed whoever logged in.
struct Warm {
    stream: TcpStream,
    login: Option<Login>,
    welcome: Vec<u8>,
}

/// Begins to stand there; the port.
pub fn start(runtime: &Runtime, server: (&'static str, u16), user: &'static str) -> Result<u16> {
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let port = listener.local_addr()?.port();
    let pooler = Arc::new(Pooler { server, user, left: Mutex::default(), greetings: Mutex::default() });
    runtime.spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let pooler = pooler.clone();
            /* An error is an end of the connection. */
            tokio::spawn(async move { pooler.serve(client).await });
        }
    });
    Ok(port)
}

impl Pooler {
    async fn serve(&self, mut client: TcpStream) -> Result<()> {
        client.set_nodelay(true)?;
        let hello = message(&mut client).await?;
        client.write_all(&self.greeting(&hello).await?).await?;
        let login = message(&mut client).await?;
        let mut session = match self.take(&login).await {
            Some(warm) => warm,
            None => self.log_in(&hello, &login).await?,
        };
        client.write_all(&session.welcome).await?;
        if carry(&mut client, &mut session.stream).await? && session.login.is_some() {
            self.keep(session).await?;
        }
        /* Only now does the client see the end of its connection: nothing that it did goes on. */
        Ok(())
    }

    async fn greeting(&self, hello: &[u8]) -> Result<Vec<u8>> {
        let known = held(&self.greetings).get(hello).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (_, greeting) = self.greet(hello).await?;
        held(&self.greetings).insert(hello.to_vec(), greeting.clone());
        Ok(greeting)
    }

    async fn greet(&self, hello: &[u8]) -> Result<(TcpStream, Vec<u8>)> {
        let mut server = TcpStream::connect(self.server).await?;
        server.set_nodelay(true)?;
        server.write_all(hello).await?;
        let greeting = message(&mut server).await?;
        Ok((server, greeting))
    }

    /// A new session, or the server's refusal.
    async fn log_in(&self, hello: &[u8], login: &[u8]) -> Result<Warm> {
        let (mut stream, _) = self.greet(hello).await?;
        stream.write_all(login).await?;
        let welcome = message(&mut stream).await?;
        let login = Login::read(login).filter(|login| login.is_of(self.user) && succeeded(&welcome));
        Ok(Warm { stream, login, welcome })
    }

    /// The session that was left last by one that logged in the same way, in the database and by the name that are asked
    /// for.
    async fn take(&self, login: &[u8]) -> Option<Warm> {
        let login = Login::read(login)?;
        let warm = {
            let mut left = held(&self.left);
            let place = left.iter().rposition(|warm| warm.login.as_ref().is_some_and(|it| it.is_like(&login)));
            place.map(|place| left.remove(place))
        };
        let mut warm = warm?;
        match warm.does(&login.told(), false).await {
            Ok(true) => return Some(warm),
            /* There is no such database; let the server itself say so. */
            Ok(false) => held(&self.left).push(warm),
            /* Somebody ended it. */
            Err(_) => {}
        }
        None
    }

    async fn keep(&self, mut session: Warm) -> Result<()> {
        let leave = format!("{LEAVE}; {}", named("nobody's"));
        let is_clean = session.does(UNDO, false).await? && session.does(&leave, true).await?;
        ensure!(is_clean, "a session that cannot be left");
        let mut left = held(&self.left);
        if left.len() == MOST {
            left.remove(0);
        }
        left.push(session);
        Ok(())
    }
}

fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Warm {
    async fn does(&mut self, sql: &str, reset: bool) -> Result<bool> {
        self.stream.write_all(&query(sql, reset)).await?;
        Ok(succeeded(&message(&mut self.stream).await?))
    }
}

/// Carries bytes both ways until one side ends. True when it was the client, who had the whole answer to all that he asked.
async fn carry(client: &mut TcpStream, server: &mut TcpStream) -> Result<bool> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let (mut asked, mut answered) = (Counter::default(), Counter::default());
    let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = from_client.read(&mut request) => {
                let length = read.unwrap_or_default();
                if length == 0 {
                    break;
                }
                asked.count(&request[..length]);
                to_server.write_all(&request[..length]).await?;
            }
            read = from_server.read(&mut answer) => {
                let length = read?;
                ensure!(length > 0, "the server ended the session");
                answered.count(&answer[..length]);
                if to_client.write_all(&answer[..length]).await.is_err() {
                    break;
                }
            }
        }
    }
    if asked.is_answered_by(&answered) {
        return Ok(true);
    }
    to_server.shutdown().await.context("the server is gone")?;
    while from_server.read(&mut answer).await? > 0 {}
    Ok(false)
}
