//! What stands between a client and its server, counts the client's messages, and cuts the connection at one of them.

use std::sync::{Arc, Mutex};

use anyhow::{Context, anyhow};
use chokaq_tests::{Engine, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// At which message of the client a connection is cut; they are counted from 1.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// The server never sees the message.
    Before(usize),
    /// The server does what it says, and nobody hears the answer.
    After(usize),
}

pub struct Proxy {
    url: String,
    cut: Arc<Mutex<Option<Cut>>>,
}

impl Proxy {
    /// Listens until the runtime ends.
    pub async fn start(engine: Engine, url: &str) -> Result<Self> {
        let mut url = Url::parse(url)?;
        let server = (url.host_str().context("a host")?.to_owned(), url.port().context("a port")?);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        url.set_host(Some("127.0.0.1"))?;
        url.set_port(Some(listener.local_addr()?.port())).map_err(|()| anyhow!("a port"))?;
        if engine == Engine::Mssql {
            /* It must be able to read the messages. */
            url.set_query(Some("encrypt=false"));
        }
        let cut = Arc::new(Mutex::new(None));
        let shared = cut.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let cut = shared.lock().map_or(None, |cut| *cut);
                if let Ok(server) = TcpStream::connect(&server).await {
                    tokio::spawn(carry(engine, client, server, cut));
                }
            }
        });
        Ok(Self { url: url.into(), cut })
    }

    /// The URL of the server by way of this.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on new connections are cut there.
    pub fn cut(&self, cut: Cut) {
        *self.cut.lock().expect("nobody panics with it") = Some(cut);
    }
}

/// When it is cut, the client hears of it only after the server has let go of the connection: so the next run finds
/// nothing of this one left.
async fn carry(engine: Engine, mut client: TcpStream, mut server: TcpStream, cut: Option<Cut>) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let (mut unsent, mut count) = (Vec::new(), 0);
    let mut answer = [0; 16 * 1024];
    'open: loop {
        tokio::select! {
            read = from_client.read_buf(&mut unsent) => {
                if read? == 0 {
                    break;
                }
                while let Some(length) = first_message(engine, &unsent, count == 0) {
                    count += 1;
                    let message: Vec<u8> = unsent.drain(..length).collect();
                    let is_last = match cut {
                        Some(Cut::Before(at)) if count == at => break 'open,
                        Some(Cut::After(at)) => count == at,
                        _ => false,
                    };
                    to_server.write_all(&message).await?;
                    if is_last {
                        break 'open;
                    }
                }
            }
            read = from_server.read(&mut answer) => {
                let length = read?;
                if length == 0 {
                    return Ok(());
                }
                to_client.write_all(&answer[..length]).await?;
            }
        }
    }
    to_server.shutdown().await?;
    while from_server.read(&mut answer).await? > 0 {}
    Ok(())
}

/// How long the first message is, when all of it is there.
fn first_message(engine: Engine, bytes: &[u8], is_startup: bool) -> Option<usize> {
    let length = match engine {
        /* A letter and a length that counts itself; the very first message has no letter. */
        Engine::Postgres => {
            let letter = usize::from(!is_startup);
            let length = bytes.get(letter..letter + 4)?;
            letter + u32::from_be_bytes(length.try_into().ok()?) as usize
        }
        /* Packets of eight bytes and more, the last of which says so. */
        Engine::Mssql => {
            let mut end = 0;
            loop {
                let header = bytes.get(end..end + 8)?;
                end += usize::from(u16::from_be_bytes([header[2], header[3]]));
                if header[1] & 1 == 1 {
                    break end;
                }
            }
        }
    };
    (bytes.len() >= length).then_some(length)
}
