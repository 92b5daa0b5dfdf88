//! The files of a node: resolver, host name, and what this program remembers.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::resolver::Resolver;

/// More than this is no resolver's file.
const MAX_FILE: u64 = 1 << 20;

/// Where a node keeps things.
#[derive(Clone, Debug)]
pub struct Files {
    /// `/etc/resolv.conf`, or the lab node's own.
    pub resolver: PathBuf,
    /// `/etc/hostname`, or the lab node's own.
    pub hostname: PathBuf,
    /// What this program remembers; made with mode 0700 where it is missing.
    pub state: PathBuf,
}

impl Files {
    pub(crate) fn write_resolver(&self, resolver: &Resolver) -> Result<(), Error> {
        let before = read(&self.resolver)?.unwrap_or_default();
        replace(&self.resolver, &resolver.write_into(&before), 0o644)
    }

    pub(crate) fn write_hostname(&self, name: Option<&str>) -> Result<(), Error> {
        match name {
            Some(name) => replace(&self.hostname, &format!("{name}\n"), 0o644),
            None => remove(&self.hostname),
        }
    }

    /// The file that says that a change is under way.
    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.state.join("checkpoint.json")
    }

    /// The file that says what has been applied so far.
    pub(crate) fn applied(&self) -> PathBuf {
        self.state.join("applied.json")
    }

    /// Makes the directory for what is remembered.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.state)
            .map_err(|source| Error::File { what: "create", path: self.state.clone(), source })
    }
}

/// A text, or nothing where the file is not there.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::File { what: "read", path: path.to_owned(), source };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(found) if found.len() > MAX_FILE * 64 => {
            return Err(failed(io::Error::other("the file is too large")));
        }
        _ => {}
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Replaces a file whole: a reader sees the old one or the new one, also after a crash.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let failed = |source| Error::File { what: "write", path: path.to_owned(), source };
    // A link is followed: what it leads to is the file.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = target.clone().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    match write(&beside, text, mode).and_then(|()| std::fs::rename(&beside, &target)) {
        Ok(()) => {
            let parent = target.parent().unwrap_or(Path::new("/"));
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            File::open(parent).and_then(|dir| dir.sync_all()).map_err(failed)
        }
        // A file that is mounted on (as in containers and labs) cannot be replaced, only written; nor
        // can one whose directory is somebody else's.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ResourceBusy
                    | io::ErrorKind::CrossesDevices
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            let _ = std::fs::remove_file(&beside);
            std::fs::write(&target, text).map_err(failed)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&beside);
            Err(failed(error))
        }
    }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::File { what: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}
