//! The Unix socket of a state directory: the API without certificates and without a port.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::UnixListener;

/// A socket path short enough for the kernel, which takes 107 bytes: a long one is reached through
/// a handle on its directory.
pub struct ShortPath {
    /// Good as long as `self` lives, in this process only.
    pub path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl ShortPath {
    /// The same place under a name that is short enough.
    pub fn new(path: &Path) -> io::Result<Self> {
        const LIMIT: usize = 107;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Self { path: path.to_owned(), _directory: None });
        };
        if path.as_os_str().len() <= LIMIT {
            return Ok(Self { path: path.to_owned(), _directory: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(parent, flags, Mode::empty())?;
        let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _directory: Some(directory) })
    }
}

/// Listens on a socket only its owner may use. One left behind by a crash is replaced: whoever
/// calls this holds the lock of the directory.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;

    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&ShortPath::new(path)?.path)?;
    // Nobody else can enter the directory (0700) in the meantime.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use tokio::net::UnixStream;

    #[tokio::test]
    async fn sockets_work_in_deep_directories_and_replace_old_ones() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        for path in [dir.path().join("admin.sock"), deep.join("admin.sock")] {
            drop(listen(&path).unwrap());
            let listener = listen(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let short = ShortPath::new(&path).unwrap();
            let (near, far) = tokio::join!(UnixStream::connect(&short.path), listener.accept());
            assert!(near.is_ok() && far.is_ok());
        }
    }
}
