//! What connections come from: loopback, or a socket in a directory.

use std::future::Future;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// Where clients arrive.
pub trait Listener: Send {
    /// What they arrive on.
    type Stream: Stream;

    /// The next one. Dropped before it is done, it has taken nobody.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        let _ = stream.set_nodelay(true); // only a matter of latency
        Ok(stream)
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&mut self) -> io::Result<UnixStream> {
        Ok(UnixListener::accept(self).await?.0)
    }
}

/// A socket at this path that only its owner may connect to. One that a killed process left behind
/// is replaced; one that somebody listens on, and anything that is no socket, is refused.
pub fn socket(path: &Path) -> io::Result<UnixListener> {
    let told = |error: io::Error| {
        io::Error::new(error.kind(), format!("the socket {}: {error}", path.display()))
    };
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_behind(path) => {
            std::fs::remove_file(path).map_err(told)?;
            UnixListener::bind(path).map_err(told)?
        }
        bound => bound.map_err(told)?,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(told)?;
    Ok(listener)
}

/// Whether there is a socket that nobody listens on.
fn is_left_behind(path: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        && std::fs::symlink_metadata(path)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
}
