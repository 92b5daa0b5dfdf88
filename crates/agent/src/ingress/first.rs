//! The first bytes of a connection: whether it speaks TLS and with whom; and the connection with those
//! bytes put back.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// A greeting is smaller than this.
const LONGEST: usize = 16 * 1024 + 5;
/// The type of a TLS record that greets.
const HANDSHAKE: u8 = 22;

/// A connection, with the first bytes read and put back.
pub struct Begun<S> {
    bytes: Vec<u8>,
    at: usize,
    stream: S,
}

/// What a connection begins with.
pub enum Beginning {
    /// TLS; the name the client asks for, if it gives one.
    Tls(Option<String>),
    /// Anything else.
    Other,
}

impl<S: AsyncRead + Unpin> Begun<S> {
    /// Reads as much as is needed to tell.
    pub async fn read(mut stream: S) -> io::Result<(Beginning, Self)> {
        let mut bytes = Vec::with_capacity(1024);
        loop {
            let mut some = [0; 1024];
            let count = stream.read(&mut some).await?;
            if count == 0 {
                return Ok((Beginning::Other, Self { bytes, at: 0, stream }));
            }
            bytes.extend_from_slice(&some[..count]);
            if bytes[0] != HANDSHAKE {
                return Ok((Beginning::Other, Self { bytes, at: 0, stream }));
            }
            if let Some(beginning) = asked_for(&bytes)? {
                return Ok((beginning, Self { bytes, at: 0, stream }));
            }
            if bytes.len() > LONGEST {
                return Err(io::Error::other("a TLS greeting that does not end"));
            }
        }
    }
}

/// What a TLS greeting says; nothing while it is not complete.
fn asked_for(mut bytes: &[u8]) -> io::Result<Option<Beginning>> {
    let mut acceptor = rustls::server::Acceptor::default();
    while !bytes.is_empty() {
        acceptor.read_tls(&mut bytes)?;
    }
    match acceptor.accept() {
        Ok(None) => Ok(None),
        Ok(Some(accepted)) => {
            let name = accepted.client_hello().server_name().map(str::to_owned);
            Ok(Some(Beginning::Tls(name)))
        }
        Err((error, _)) => Err(io::Error::other(error)),
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.at < this.bytes.len() {
            let count = (this.bytes.len() - this.at).min(buffer.remaining());
            buffer.put_slice(&this.bytes[this.at..this.at + count]);
            this.at += count;
            if this.at == this.bytes.len() {
                (this.bytes, this.at) = (Vec::new(), 0);
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_read_is_read_again() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let (beginning, mut begun) = Begun::read(&text[..]).await.unwrap();
        assert!(matches!(beginning, Beginning::Other));
        let mut all = Vec::new();
        begun.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, text);
    }

    #[tokio::test]
    async fn a_name_is_found_however_the_greeting_is_cut() {
        let config = rustls::ClientConfig::builder_with_provider(
            rustls::crypto::ring::default_provider().into(),
        )
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
        let name = "glance.test".to_owned().try_into().unwrap();
        let mut client = rustls::ClientConnection::new(config.into(), name).unwrap();
        let mut greeting = Vec::new();
        client.write_tls(&mut greeting).unwrap();
        for cut in 1..greeting.len() {
            assert!(asked_for(&greeting[..cut]).unwrap().is_none(), "cut at {cut}");
        }
        let (beginning, _) = Begun::read(&greeting[..]).await.unwrap();
        assert!(matches!(beginning, Beginning::Tls(Some(name)) if name == "glance.test"));
    }

    #[tokio::test]
    async fn nonsense_is_an_error_and_no_panic() {
        assert!(Begun::read(&[HANDSHAKE, 3, 1, 0, 4, 9, 9, 9, 9][..]).await.is_err());
        assert!(Begun::read(&[][..]).await.is_ok());
    }
}
