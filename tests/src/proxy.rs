//! A server that can be cut off: connections go through it, and the next request may be the last of its one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// What becomes of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cut {
    Nothing,
    /// The server never hears of it.
    Request,
    /// The server does it, and nobody hears of that.
    Answer,
}

/// Stands between a client and a server; goes with the last connection after it is dropped.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    next: AtomicU8,
    connections: AtomicUsize,
}

impl Proxy {
    /// In front of the server of that URL.
    pub async fn before(url: &str) -> Result<Self> {
        let url = Url::parse(url)?;
        let server = (url.host_str().context("a host")?.to_owned(), url.port().context("a port")?);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::<State>::default();
        let shared = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                if let Ok(server) = TcpStream::connect((&*server.0, server.1)).await {
                    tokio::spawn(carry(client, server, shared.clone()));
                }
            }
        });
        Ok(Self { address, state, accepting })
    }

    /// The URL of the same database through this.
    pub fn url(&self, url: &str) -> Result<String> {
        let mut url = Url::parse(url)?;
        url.set_host(Some("127.0.0.1"))?;
        url.set_port(Some(self.address.port())).ok().context("a port")?;
        Ok(url.into())
    }

    /// Cuts the connection at the next request, whichever connection it comes over; those after it pass.
    pub fn cut_next(&self, cut: Cut) {
        self.state.next.store(cut as u8, Ordering::SeqCst);
    }

    /// Whether a cut is still to come.
    pub fn waits(&self) -> bool {
        self.state.next.load(Ordering::SeqCst) != Cut::Nothing as u8
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Carries bytes both ways until one side ends or is cut off. An error is an end.
async fn carry(mut client: TcpStream, mut server: TcpStream, state: Arc<State>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut request, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            length = client.read(&mut request) => {
                let length = length?;
                if length == 0 {
                    return Ok(());
                }
                let cut = state.next.swap(Cut::Nothing as u8, Ordering::SeqCst);
                if cut == Cut::Request as u8 {
                    return Ok(());
                }
                server.write_all(&request[..length]).await?;
                if cut == Cut::Answer as u8 {
                    /* It is sent when all is done: the server commits before it answers. */
                    return server.read(&mut answer).await.map(|_| ());
                }
            }
            length = server.read(&mut answer) => {
                let length = length?;
                if length == 0 {
                    return Ok(());
                }
                client.write_all(&answer[..length]).await?;
            }
        }
    }
}
