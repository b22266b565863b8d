//! What stands between clients and a server, counts the clients' requests, and cuts a connection at one of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

use crate::session::Engine;

/// At which request from now a connection is cut, whichever connection that comes over; they are counted from 1, and
/// those after it pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of it.
    Before(usize),
    /// The server does it, and nobody hears of that.
    After(usize),
}

impl Cut {
    fn at(self) -> usize {
        match self {
            Self::Before(at) | Self::After(at) => at,
        }
    }
}

/// Stands there until it is dropped, and longer for the connections that are open then.
pub struct Proxy {
    url: String,
    state: Arc<State>,
    accepting: tokio::task::JoinHandle<()>,
}

struct State {
    engine: Engine,
    cut: Mutex<Option<Cut>>,
    seen: watch::Sender<Seen>,
}

/// What came by.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    connections: usize,
    /// Connections that the server has not let go of.
    open: usize,
    requests: usize,
}

impl Proxy {
    /// In front of the server of that URL. It must be able to read what goes by, so nothing is encrypted.
    pub async fn start(engine: Engine, url: &str) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let server = Url::parse(url)?;
        let url = through(engine, &server, listener.local_addr()?.port())?;
        let server = (server.host_str().context("a host")?.to_owned(), server.port().context("a port")?);
        let state = Arc::new(State { engine, cut: Mutex::new(None), seen: watch::Sender::default() });
        let shared = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.seen.send_modify(|seen| {
                    seen.connections += 1;
                    seen.open += 1;
                });
                let (state, server) = (shared.clone(), server.clone());
                tokio::spawn(async move {
                    /* An error is an end. */
                    let _ = carry(&state, client, server).await;
                    state.seen.send_modify(|seen| seen.open -= 1);
                });
            }
        });
        Ok(Self { url, state, accepting })
    }

    /// The URL of the same database by way of this.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn cut(&self, cut: Cut) {
        *self.state.cut() = Some(cut);
    }

    /// Whether the cut is still to come.
    pub fn waits(&self) -> bool {
        self.state.cut().is_some()
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.state.seen.borrow().connections
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.state.seen.borrow().requests
    }

    /// Waits until there were so many connections.
    pub async fn connected(&self, connections: usize) {
        self.until(|seen| seen.connections >= connections).await;
    }

    /// Waits until there were so many requests.
    pub async fn requested(&self, requests: usize) {
        self.until(|seen| seen.requests >= requests).await;
    }

    /// Waits until no connection is left, on the server's side neither: what it did for one that went is done.
    pub async fn left(&self) {
        self.until(|seen| seen.open == 0).await;
    }

    async fn until(&self, is_so: impl FnMut(&Seen) -> bool) {
        /* It fails when there is no sender left, and this holds one. */
        let _ = self.state.seen.subscribe().wait_for(is_so).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    fn cut(&self) -> MutexGuard<'_, Option<Cut>> {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request; the cut, when this is the one.
    fn count(&self) -> Option<Cut> {
        self.seen.send_modify(|seen| seen.requests += 1);
        let mut next = self.cut();
        *next = match (*next)? {
            cut if cut.at() == 1 => return next.take(),
            Cut::Before(at) => Some(Cut::Before(at - 1)),
            Cut::After(at) => Some(Cut::After(at - 1)),
        };
        None
    }
}

fn through(engine: Engine, server: &Url, port: u16) -> Result<String> {
    let mut url = server.clone();
    url.set_host(Some("127.0.0.1"))?;
    url.set_port(Some(port)).map_err(|()| anyhow!("a port"))?;
    let (tls, plain) = match engine {
        Engine::Postgres => (&["ssl"][..], "sslmode=disable"),
        Engine::Mssql => (&["encrypt", "trust_server_certificate"][..], "encrypt=false"),
    };
    let others =
        server.query().unwrap_or_default().split('&').filter(|it| !tls.iter().any(|name| it.starts_with(name)));
    let query = others.filter(|it| !it.is_empty()).chain([plain]).collect::<Vec<_>>().join("&");
    url.set_query(Some(&query));
    Ok(url.into())
}

/// Carries bytes both ways until one side ends or is cut off. When it is cut, the client hears of it only after the server
/// has let go of the connection: so whoever comes next finds nothing of this one left.
async fn carry(state: &State, mut client: TcpStream, server: (String, u16)) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut requests = Requests::new(state.engine);
    let mut answer = vec![0; 1 << 16];
    'open: loop {
        tokio::select! {
            read = from_client.read_buf(&mut requests.unsent) => {
                /* It went, or was killed. */
                if !read.is_ok_and(|length| length > 0) {
                    break;
                }
                while let Some(request) = requests.first() {
                    match state.count() {
                        Some(Cut::Before(_)) => break 'open,
                        Some(Cut::After(_)) => {
                            to_server.write_all(&request).await?;
                            /* It is sent when all is done: the server commits before it answers. */
                            let _ = from_server.read(&mut answer).await?;
                            break 'open;
                        }
                        None => to_server.write_all(&request).await?,
                    }
                }
            }
            read = from_server.read(&mut answer) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                if to_client.write_all(&answer[..length]).await.is_err() {
                    break;
                }
            }
        }
    }
    leave(to_server, from_server, &mut answer).await
}

async fn leave(mut to: WriteHalf<'_>, mut from: ReadHalf<'_>, answer: &mut [u8]) -> std::io::Result<()> {
    to.shutdown().await?;
    while from.read(answer).await? > 0 {}
    Ok(())
}

/// What a client said, parted into what a server answers.
struct Requests {
    engine: Engine,
    unsent: Vec<u8>,
    is_started: bool,
}

impl Requests {
    fn new(engine: Engine) -> Self {
        Self { engine, unsent: Vec::new(), is_started: false }
    }

    /// Takes the first request off, when all of it is there.
    fn first(&mut self) -> Option<Vec<u8>> {
        let length = match self.engine {
            Engine::Postgres => self.postgres()?,
            Engine::Mssql => self.mssql()?,
        };
        self.is_started = true;
        Some(self.unsent.drain(..length).collect())
    }

    /// Messages of a letter and a length that counts itself, up to one that asks for an answer: a Sync, a query, a
    /// password; or the last of all, which asks for none. The very first has no letter and is a request.
    fn postgres(&self) -> Option<usize> {
        let mut end = 0;
        loop {
            let letter = if self.is_started { Some(*self.unsent.get(end)?) } else { None };
            let start = end + usize::from(self.is_started);
            let length: [u8; 4] = self.unsent.get(start..start + 4)?.try_into().ok()?;
            end = start + u32::from_be_bytes(length) as usize;
            if self.unsent.len() < end {
                return None;
            }
            if matches!(letter, None | Some(b'S' | b'Q' | b'p' | b'X')) {
                return Some(end);
            }
        }
    }

    /// Packets of eight bytes and more, the last of which says so.
    fn mssql(&self) -> Option<usize> {
        let mut end = 0;
        loop {
            let header = self.unsent.get(end..end + 8)?;
            let is_last = header[1] & 1 == 1;
            end += usize::from(u16::from_be_bytes([header[2], header[3]]));
            if is_last {
                return (self.unsent.len() >= end).then_some(end);
            }
        }
    }
}
