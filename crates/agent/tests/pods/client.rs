//! A client of the kubelet's socket: HTTP, and WebSockets with channels.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

pub struct Client {
    pub socket: PathBuf,
}

/// A WebSocket that stands.
pub struct WebSocket {
    stream: UnixStream,
    buffer: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Channel(u8, Vec<u8>),
    Pong,
    Close(u16),
    End,
}

impl Client {
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// Sends a request and gives back the whole answer.
    pub async fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = self.send(path, &format!("{headers}Connection: close\r\n")).await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }

    pub async fn send(&self, path: &str, headers: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    pub async fn open(&self, path: &str, protocols: &str) -> Result<WebSocket, String> {
        let headers = format!(
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocols}\r\n"
        );
        let mut stream = self.send(path, &headers).await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        let head = String::from_utf8(head).unwrap();
        if !head.starts_with("HTTP/1.1 101") {
            let mut body = vec![0; 4096];
            let length = stream.read(&mut body).await.unwrap();
            return Err(head + &String::from_utf8_lossy(&body[..length]));
        }
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Ok(WebSocket { stream, buffer: Vec::new() })
    }
}

impl WebSocket {
    pub async fn send(&mut self, channel: u8, data: &[u8]) {
        self.frame(0x82, &[&[channel], data].concat()).await;
    }

    pub async fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first];
        if payload.len() < 126 {
            bytes.push(0x80 | u8::try_from(payload.len()).unwrap());
        } else {
            bytes.push(0x80 | 0x7e);
            bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
        let mask = [9, 8, 7, 6];
        bytes.extend(mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&bytes).await.unwrap();
    }

    pub async fn receive(&mut self) -> Received {
        let receive = async {
            loop {
                if let Some(received) = self.take() {
                    return received;
                }
                let mut bytes = [0; 4096];
                match self.stream.read(&mut bytes).await {
                    Ok(0) | Err(_) => return Received::End,
                    Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), receive).await.expect("no answer")
    }

    fn take(&mut self) -> Option<Received> {
        let (first, second) = (*self.buffer.first()?, *self.buffer.get(1)?);
        let (length, start) = match second {
            126 => (usize::from(u16::from_be_bytes(self.buffer.get(2..4)?.try_into().unwrap())), 4),
            127 => panic!("a frame of more than 64 KiB"),
            short => (usize::from(short), 2),
        };
        let payload = self.buffer.get(start..start + length)?.to_vec();
        self.buffer.drain(..start + length);
        Some(match first {
            0x82 => Received::Channel(payload[0], payload[1..].to_vec()),
            0x8A => Received::Pong,
            0x88 => Received::Close(u16::from_be_bytes(payload[..2].try_into().unwrap())),
            other => panic!("a frame of kind {other:#x}"),
        })
    }

    /// Everything that comes until the other side closes: what was on each channel.
    pub async fn all(&mut self) -> [String; 4] {
        let mut channels: [Vec<u8>; 4] = Default::default();
        loop {
            match self.receive().await {
                Received::Channel(channel, data) => channels[usize::from(channel)].extend(data),
                Received::Close(status) => {
                    assert_eq!(status, 1000);
                    self.frame(0x88, &1000_u16.to_be_bytes()).await;
                }
                Received::Pong => {}
                Received::End => return channels.map(|data| String::from_utf8(data).unwrap()),
            }
        }
    }

    /// Reads from a channel until a text has come.
    pub async fn until(&mut self, channel: u8, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            match self.receive().await {
                Received::Channel(from, data) if from == channel => {
                    seen.push_str(&String::from_utf8_lossy(&data));
                }
                Received::Channel(..) | Received::Pong => {}
                other => panic!("{other:?} after {seen:?}"),
            }
        }
        seen
    }
}
