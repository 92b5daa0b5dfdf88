//! Messages on a connection: each with its length before it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Reads one message.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut message = vec![0; usize::from(length)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

/// Writes one message, in one piece: some servers do not wait for the second one.
pub async fn write(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    stream.write_all(&framed).await
}

/// Asks, and waits for what comes back.
pub async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    message: &[u8],
) -> io::Result<Vec<u8>> {
    write(stream, message).await?;
    read(stream).await
}
