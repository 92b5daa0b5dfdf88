//! Namespaces with a name: a mount on a file in a directory, as `ip netns` does in `/run/netns`.
//!
//! The directory is the caller's choice, so that a lab's namespaces do not stand among the host's.
//! A crash between the file and the mount leaves an empty file, which the next `create` takes over
//! and `list` does not show.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use super::{Namespace, OWN, failed, in_new_thread, is_namespace, unshare_network};
use crate::error::{Error, Result};

/// Makes a namespace that lives until [`delete`], and the directory where it is missing.
pub fn create(directory: &Path, name: &str) -> Result<Namespace> {
    let path = place(directory, name, "create")?;
    let error = |source| failed("create", name, source);
    std::fs::create_dir_all(directory).map_err(error)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = match file {
        // A mounted namespace cannot be opened for writing.
        Err(_) if mounted(&path) => return Err(error(io::ErrorKind::AlreadyExists.into())),
        other => other.map_err(error)?,
    };
    // Two creators at once: the second waits here and then sees the first one's mount.
    flock(&file, FlockOperation::LockExclusive).map_err(|errno| error(errno.into()))?;
    if mounted(&path) {
        return Err(error(io::ErrorKind::AlreadyExists.into()));
    }
    in_new_thread(name, || {
        unshare_network()?;
        mount_bind(OWN, &path)?;
        Ok(())
    })?
    .map_err(error)?;
    Namespace::open(&path)
}

/// Opens a named namespace.
pub fn open(directory: &Path, name: &str) -> Result<Namespace> {
    Namespace::open(place(directory, name, "open")?)
}

/// Takes the name away; the namespace ends when nobody else holds it. A name that is gone is no error.
pub fn delete(directory: &Path, name: &str) -> Result<()> {
    let path = place(directory, name, "delete")?;
    let error = |source| failed("delete", name, source);
    // Until nothing is mounted there: others may have mounted over it.
    loop {
        match unmount(&path, UnmountFlags::DETACH) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOENT) => break,
            Err(errno) => return Err(error(errno.into())),
        }
    }
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(error(source)),
        _ => Ok(()),
    }
}

/// The names in a directory, sorted; a directory that is missing has none.
pub fn list(directory: &Path) -> Result<Vec<String>> {
    let error = |source| Error::File { path: directory.to_owned(), source };
    let entries = match std::fs::read_dir(directory) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(error)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(error)?;
        if let (true, Ok(name)) = (mounted(&entry.path()), entry.file_name().into_string()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn mounted(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| is_namespace(&file))
}

/// The file of a name, which must be one component of a path.
fn place(directory: &Path, name: &str, what: &'static str) -> Result<PathBuf> {
    let path = directory.join(name);
    if Path::new(name).file_name() == Some(OsStr::new(name)) && path.parent() == Some(directory) {
        return Ok(path);
    }
    let source = io::Error::new(io::ErrorKind::InvalidInput, "the name is no file name");
    Err(failed(what, name, source))
}
