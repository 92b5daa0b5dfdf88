//! The state directory: who may use it, which format it has, and how it comes into being.
//!
//! ```text
//! lock            flock()ed while a store is open; holds the pid for the error message
//! format          the number of the format, checked before the state file is touched
//! state.redb      the log
//! state.journal   the last writes, which are not in the log yet; made with the first write
//! state.redb.new  a log that is being created; never holds anything anybody was told about
//! ```
//!
//! A new directory is filled in the order `state.redb.new`, `format`, rename to `state.redb`.
//! So a crash in between leaves no `state.redb`, which is told apart from a lost one by the
//! `.new` file, and is started over.
//!
//! Formats: 1 has no journal. Its directories are taken over as they are, but get the number 2 before
//! there is a journal: a program that does not know of it would miss acknowledged writes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::OpenError;

/// The format this program writes, and the newest it reads.
pub const FORMAT: u32 = 2;

/// A directory this process has to itself for as long as the value lives.
pub(crate) struct StateDir {
    path: PathBuf,
    // Closing the file releases the lock, also when the process is killed.
    _lock: File,
}

impl StateDir {
    /// Creates the directory if needed and locks it.
    pub(crate) fn lock(path: &Path) -> Result<Self, OpenError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed("create state directory", path))?;
        let lock_path = path.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(failed("open lock file", &lock_path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(OpenError::Locked { dir: path.into(), holder: holder(&mut file) });
            }
            Err(err) => return Err(failed("lock", &lock_path)(err.into())),
        }
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed("write own process id to", &lock_path))?;
        Ok(Self { path: path.into(), _lock: file })
    }

    /// Checks the format and returns the path of the state file, which `create` fills first if
    /// the directory is new.
    pub(crate) fn state_file(
        &self,
        create: impl FnOnce(File, &Path) -> Result<(), OpenError>,
    ) -> Result<PathBuf, OpenError> {
        let state = self.path.join("state.redb");
        let new = self.path.join("state.redb.new");
        let format = self.path.join("format");
        let found = self.read_format(&format)?;
        match (exists(&state)?, found) {
            (true, Some(found)) => {
                if found < FORMAT {
                    self.write_format(&format)?;
                }
                return Ok(state);
            }
            (true, None) => {
                return Err(OpenError::MissingFormat { dir: self.path.clone(), known: FORMAT });
            }
            (false, Some(_)) if !exists(&new)? => {
                return Err(OpenError::MissingState { path: state });
            }
            (false, _) => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed("create state file", &new))?;
        create(file, &new)?;
        self.write_format(&format)?;
        fs::rename(&new, &state).map_err(failed("move the new state file to", &state))?;
        self.sync()?;
        Ok(state)
    }

    fn read_format(&self, path: &Path) -> Result<Option<u32>, OpenError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(failed("read", path)(err)),
        };
        match text.trim().parse() {
            Ok(found) if found > FORMAT => {
                Err(OpenError::NewerFormat { dir: self.path.clone(), found, known: FORMAT })
            }
            Ok(found) if found > 0 => Ok(Some(found)),
            _ => Err(OpenError::BadFormat { path: path.into(), found: text, known: FORMAT }),
        }
    }

    /// Written aside and renamed, so that a crash cannot leave half a number.
    fn write_format(&self, path: &Path) -> Result<(), OpenError> {
        let new = path.with_extension("new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed("create", &new))?;
        writeln!(file, "{FORMAT}")
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&new, path))
            .map_err(failed("write", path))?;
        self.sync()
    }

    /// A rename is durable only once the directory is.
    fn sync(&self) -> Result<(), OpenError> {
        File::open(&self.path)
            .and_then(|dir| dir.sync_all())
            .map_err(failed("sync state directory", &self.path))
    }
}

pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { action, path, source }
}

fn exists(path: &Path) -> Result<bool, OpenError> {
    path.try_exists().map_err(failed("look for", path))
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    // The holder may not have written its pid yet; the message then does without.
    let _ = lock.read_to_string(&mut text);
    match text.trim().parse::<u32>() {
        Ok(pid) if pid == std::process::id() => format!("this process (pid {pid})"),
        Ok(pid) => format!("process {pid}"),
        Err(_) => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn fill(mut file: File, path: &Path) -> Result<(), OpenError> {
        file.write_all(b"state").map_err(failed("fill", path))
    }

    fn open(path: &Path) -> Result<PathBuf, OpenError> {
        StateDir::lock(path)?.state_file(fill)
    }

    #[test]
    fn a_new_directory_is_private_and_complete() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let state = open(&path).unwrap();
        let mode = |p: &Path| p.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&state), 0o600);
        assert_eq!(fs::read_to_string(path.join("format")).unwrap(), "2\n");
        assert_eq!(fs::read(open(&path).unwrap()).unwrap(), b"state");
    }

    #[test]
    fn a_second_lock_is_refused_with_the_pid_and_the_path() {
        let root = tempfile::tempdir().unwrap();
        let held = StateDir::lock(root.path()).unwrap();
        let err = StateDir::lock(root.path()).err().unwrap();
        let text = err.to_string();
        assert!(matches!(err, OpenError::Locked { .. }), "{text}");
        assert!(text.contains(&format!("pid {}", std::process::id())), "{text}");
        assert!(text.contains(root.path().to_str().unwrap()), "{text}");
        drop(held);
        StateDir::lock(root.path()).unwrap();
    }

    #[test]
    fn a_creation_that_was_cut_short_is_started_over() {
        for (files, ok) in [
            (&[("state.redb.new", "half")][..], true),
            (&[("state.redb.new", "half"), ("format", "1\n")][..], true),
            (&[("format", "1\n")][..], false),
        ] {
            let root = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(root.path().join(name), text).unwrap();
            }
            match open(root.path()) {
                Ok(state) => assert!(ok && fs::read(state).unwrap() == b"state", "{files:?}"),
                Err(err) => assert!(!ok && matches!(err, OpenError::MissingState { .. }), "{err}"),
            }
        }
    }

    #[test]
    fn formats_are_checked_before_the_state_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let format = root.path().join("format");
        open(root.path()).unwrap();
        fs::write(&format, "3\n").unwrap();
        let err = open(root.path()).unwrap_err();
        assert!(matches!(err, OpenError::NewerFormat { found: 3, known: FORMAT, .. }), "{err}");
        for text in ["", "x", "0", "-1", "1.5"] {
            fs::write(&format, text).unwrap();
            let err = open(root.path()).unwrap_err();
            assert!(matches!(err, OpenError::BadFormat { .. }), "{text:?}: {err}");
        }
        fs::write(&format, "1\n").unwrap();
        open(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&format).unwrap(), "2\n", "older programs are to refuse it");
        fs::remove_file(&format).unwrap();
        let err = open(root.path()).unwrap_err();
        assert!(matches!(err, OpenError::MissingFormat { .. }), "{err}");
    }
}
