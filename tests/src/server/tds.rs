//! As much of TDS as it takes to hand a session on: packets, a login, a query, whether it worked.

use std::io::Result;

use tokio::io::{AsyncRead, AsyncReadExt};

const HEADER: usize = 8;

/* Kinds of packets. */
const QUERY: u8 = 1;
const ATTENTION: u8 = 6;
const LOGIN: u8 = 16;

/* Flags of a packet: the message ends with it, and what the session was told before is forgotten. */
const LAST: u8 = 1;
const RESET: u8 = 8;

/// One message, all packets of it.
pub async fn message(from: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let start = message.len();
        message.resize(start + HEADER, 0);
        from.read_exact(&mut message[start..]).await?;
        let is_last = message[start + 1] & LAST != 0;
        message.resize(start + length(&message[start..]), 0);
        from.read_exact(&mut message[start + HEADER..]).await?;
        if is_last {
            return Ok(message);
        }
    }
}

/// Of the packet, from its header.
fn length(packet: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([packet[2], packet[3]])).max(HEADER)
}

/// A short batch.
pub fn query(sql: &str, reset: bool) -> Vec<u8> {
    /* All headers, of which there is one: no transaction, one request at a time. */
    let mut body = vec![22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    body.extend(utf16(sql));
    let length = ((HEADER + body.len()) as u16).to_be_bytes();
    let mut packet = vec![QUERY, LAST | if reset { RESET } else { 0 }, length[0], length[1], 0, 0, 1, 0];
    packet.append(&mut body);
    packet
}

/// What gives a session the name of a program.
pub fn named(program: &str) -> String {
    format!("SELECT set_config('application_name', N'{}', false)", program.replace('\'', "''"))
}

fn from_utf16(bytes: &[u8]) -> Option<String> {
    let letters: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&letters).ok()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Whether an answer ends with a DONE that says nothing of an error.
pub fn succeeded(answer: &[u8]) -> bool {
    let done = answer.len().checked_sub(13).map(|start| &answer[start..]);
    done.is_some_and(|done| done[0] == 0xfd && done[1] & 2 == 0)
}

/// How somebody logs in.
pub struct Login {
    user: Vec<u8>,
    password: Vec<u8>,
    options: Vec<u8>,
    program: String,
    database: String,
}

impl Login {
    /// None of a message that is none.
    pub fn read(message: &[u8]) -> Option<Self> {
        let is_one = message.first() == Some(&LOGIN) && length(message) == message.len();
        let body = message.get(HEADER..).filter(|_| is_one)?;
        let number = |at| Some(usize::from(u16::from_le_bytes(*body.get(at..)?.first_chunk()?)));
        /* Where the texts are, and of how many letters. */
        let text = |n: usize| {
            let (at, letters) = (number(36 + 4 * n)?, number(38 + 4 * n)?);
            Some(body.get(at..at + 2 * letters)?.to_vec())
        };
        Some(Self {
            user: text(1)?,
            password: text(2)?,
            options: body.get(4..36)?.to_vec(),
            program: from_utf16(&text(3)?)?,
            database: from_utf16(&text(8)?)?,
        })
    }

    pub fn is_of(&self, user: &str) -> bool {
        self.user == utf16(user)
    }

    /// The same but for what a session can still be told.
    pub fn is_like(&self, other: &Self) -> bool {
        self.user == other.user && self.password == other.password && self.options == other.options
    }

    /// What makes a session that is like it one of this login.
    pub fn told(&self) -> String {
        format!("USE [{}]; {}", self.database.replace(']', "]]"), named(&self.program))
    }
}

/// Counts the messages in a stream of packets.
#[derive(Default)]
pub struct Counter {
    unread: Vec<u8>,
    messages: usize,
    has_attention: bool,
}

impl Counter {
    pub fn count(&mut self, bytes: &[u8]) {
        self.unread.extend(bytes);
        let mut start = 0;
        while let Some(packet) = self.unread.get(start..).filter(|packet| packet.len() >= HEADER) {
            let length = length(packet);
            if packet.len() < length {
                break;
            }
            self.messages += usize::from(packet[1] & LAST != 0);
            self.has_attention |= packet[0] == ATTENTION;
            start += length;
        }
        self.unread.drain(..start);
    }

    /// Whether each question has its whole answer, and none was taken back.
    pub fn is_answered_by(&self, answers: &Self) -> bool {
        self.messages == answers.messages && self.unread.is_empty() && answers.unread.is_empty() && !self.has_attention
    }
}
