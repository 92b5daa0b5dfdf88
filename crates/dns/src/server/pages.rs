//! `/metrics` and `/healthz`, on a port of their own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Longer requests are nobody's we know.
const REQUEST: usize = 4096;
/// Scrapers at once.
const VISITORS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves what `metrics` says until the runtime ends.
pub async fn run(listener: TcpListener, metrics: impl Fn() -> String + Send + Sync + 'static) {
    let metrics = Arc::new(metrics);
    let visitors = Arc::new(Semaphore::new(VISITORS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(visitor) = Arc::clone(&visitors).try_acquire_owned() else { continue };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            // Whoever hangs up gets nothing, and needs nothing.
            let _ = tokio::time::timeout(PATIENCE, answer(stream, metrics.as_ref())).await;
            drop(visitor);
        });
    }
}

async fn answer(mut stream: TcpStream, metrics: &(impl Fn() -> String + ?Sized)) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < REQUEST {
        match stream.read(&mut buffer).await? {
            0 => break,
            length => request.extend_from_slice(buffer.get(..length).unwrap_or_default()),
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let path = line.strip_prefix(b"GET ").and_then(|rest| rest.split(|byte| *byte == b' ').next());
    let (status, body) = match path {
        Some(b"/metrics") => ("200 OK", metrics()),
        Some(b"/healthz" | b"/readyz") => ("200 OK", "ok\n".to_owned()),
        _ => ("404 Not Found", "there are /metrics and /healthz\n".to_owned()),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await
}
