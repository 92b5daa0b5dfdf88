//! A watch, read frame by frame.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;

/// How long a frame that must come may take.
const FRAME: Duration = Duration::from_secs(20);

/// An open watch.
pub struct Watch {
    body: Body,
    buffer: Vec<u8>,
}

impl Watch {
    pub fn new(body: Body) -> Self {
        Self { body, buffer: Vec::new() }
    }

    /// The next frame; `None` at the clean end of the stream.
    pub async fn frame(&mut self) -> Result<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(
                    serde_json::from_slice(&line).context("a frame is one line of JSON")?,
                ));
            }
            let next = tokio::time::timeout(FRAME, self.body.frame()).await;
            match next.context("no frame came")? {
                Some(Ok(frame)) => self.buffer.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => bail!("the stream broke: {error}"),
                None => {
                    let rest = String::from_utf8_lossy(&self.buffer);
                    ensure!(rest.trim().is_empty(), "half a frame at the end: {rest:?}");
                    return Ok(None);
                }
            }
        }
    }

    /// The next frame: its type and its object. The stream must not be over.
    pub async fn next(&mut self) -> Result<(String, Value)> {
        let frame = self.frame().await?.context("the stream is over")?;
        let kind = frame["type"].as_str().context("a frame has a type")?.to_owned();
        Ok((kind, frame["object"].clone()))
    }

    /// The next frame must have this type and be about this object.
    pub async fn expect(&mut self, kind: &str, name: &str) -> Result<Value> {
        let (found, object) = self.next().await?;
        ensure!(
            found == kind && object["metadata"]["name"] == name,
            "expected {kind} {name}, got {found} {object}"
        );
        Ok(object)
    }

    /// Frames to the end of the stream.
    pub async fn rest(&mut self) -> Result<Vec<(String, Value)>> {
        let mut all = Vec::new();
        while let Some(frame) = self.frame().await? {
            all.push((
                frame["type"].as_str().unwrap_or_default().to_owned(),
                frame["object"].clone(),
            ));
        }
        Ok(all)
    }
}
