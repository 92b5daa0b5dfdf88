//! A terminal of our own, for a command that wants one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::Deserialize;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Our end of a terminal.
pub struct Terminal {
    io: AsyncFd<OwnedFd>,
}

/// As kubectl tells the size of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Size {
    pub width: u16,
    pub height: u16,
}

impl Terminal {
    /// A new terminal, and the end for the command.
    pub fn open() -> io::Result<(Self, OwnedFd)> {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&own)?;
        unlockpt(&own)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let other = ioctl_tiocgptpeer(&own, flags)?;
        fcntl_setfl(&own, fcntl_getfl(&own)? | OFlags::NONBLOCK)?;
        // Deprecated because a type may change its descriptor behind tokio's back; this one cannot.
        #[expect(deprecated, reason = "an OwnedFd never changes its descriptor")]
        let io = AsyncFd::with_interest(own, Interest::READABLE | Interest::WRITABLE)?;
        Ok((Self { io }, other))
    }

    /// Reads what the command writes; nothing when no process has the terminal open any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = |own: &OwnedFd| Ok(rustix::io::read(own, &mut *buffer)?);
        match self.io.async_io(Interest::READABLE, read).await {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Ok(0)
            }
            other => other,
        }
    }

    /// Types for the command.
    pub async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let write = |own: &OwnedFd| Ok(rustix::io::write(own, bytes)?);
            let written = self.io.async_io(Interest::WRITABLE, write).await?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// The window has another size.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize { ws_row: size.height, ws_col: size.width, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(self.io.get_ref(), size)?)
    }
}
