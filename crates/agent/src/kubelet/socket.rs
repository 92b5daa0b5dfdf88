//! A WebSocket with channels, as kubectl speaks it: the first byte of each message says which.

use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::Mutex;

use super::frames::{self, Decoder, Message};

/// A client that takes nothing for this long is given up.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long the end of a connection may take.
const FAREWELL: Duration = Duration::from_secs(2);

type Io = TokioIo<Upgraded>;

/// What a client sends.
pub struct Incoming {
    io: ReadHalf<Io>,
    decoder: Decoder,
    outgoing: Outgoing,
}

/// What a client is sent. Clones write to the same connection.
#[derive(Clone)]
pub struct Outgoing {
    io: Arc<Mutex<WriteHalf<Io>>>,
}

/// The client is gone.
#[derive(Debug)]
pub struct Gone;

/// Both directions of a connection.
pub fn open(upgraded: Upgraded) -> (Incoming, Outgoing) {
    let (read, write) = tokio::io::split(TokioIo::new(upgraded));
    let outgoing = Outgoing { io: Arc::new(Mutex::new(write)) };
    (Incoming { io: read, decoder: Decoder::default(), outgoing: outgoing.clone() }, outgoing)
}

impl Incoming {
    /// The next message: its channel and what is on it. Nothing when the client is gone or is not
    /// understood.
    pub async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match self.decoder.message() {
                Ok(Some(Message::Data(mut data))) => {
                    if data.is_empty() {
                        continue;
                    }
                    let channel = data.remove(0);
                    return Some((channel, data));
                }
                Ok(Some(Message::Ping(payload))) => {
                    self.outgoing.raw(&frames::pong(&payload)).await.ok()?;
                }
                Ok(Some(Message::Close)) => return None,
                Ok(None) => match self.io.read(&mut buffer).await {
                    Ok(0) | Err(_) => return None,
                    Ok(length) => self.decoder.feed(&buffer[..length]),
                },
                Err(bad) => {
                    tracing::debug!(%bad, "a client of the kubelet's socket is let go");
                    let _ = self.outgoing.raw(&frames::close(bad.status())).await;
                    return None;
                }
            }
        }
    }

    /// Ends the connection in order: waits until the client has said so too.
    pub async fn end(mut self) {
        if self.outgoing.raw(&frames::close(1000)).await.is_ok() {
            let until_closed = async { while self.next().await.is_some() {} };
            let _ = tokio::time::timeout(FAREWELL, until_closed).await;
        }
        let _ = self.outgoing.io.lock().await.shutdown().await;
    }
}

impl Outgoing {
    /// Sends on a channel.
    pub async fn send(&self, channel: u8, data: &[u8]) -> Result<(), Gone> {
        self.raw(&frames::data(channel, data)).await
    }

    async fn raw(&self, bytes: &[u8]) -> Result<(), Gone> {
        let write = async {
            let mut io = self.io.lock().await;
            io.write_all(bytes).await?;
            io.flush().await
        };
        match tokio::time::timeout(PATIENCE, write).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }
}
