//! Files that only their owner may read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::PkiError;

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a directory of our own, or takes away what others may do in it.
pub(super) fn private_dir(dir: &Path) -> Result<(), PkiError> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(dir)
        .map_err(failed("create directory", dir))?;
    restrict(dir, DIR_MODE)
}

/// Content of a file; `None` when it is not there. Closes it to others when it was open.
/// Bytes that are no text read as empty: a certificate it is not in either case.
pub(super) fn read(path: &Path) -> Result<Option<String>, PkiError> {
    match fs::read(path) {
        Ok(bytes) => {
            restrict(path, FILE_MODE)?;
            Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Replaces a file as a whole: readers see the old content or the new, never a part.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), PkiError> {
    let beside = beside(path);
    let result = write_new(&beside, content)
        .and_then(|()| fs::rename(&beside, path))
        .and_then(|()| sync_parent(path));
    if result.is_err() {
        // Best effort: the error that matters is the one above.
        let _ = fs::remove_file(&beside);
    }
    result.map_err(failed("write", path))
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

fn restrict(path: &Path, mode: u32) -> Result<(), PkiError> {
    let current = fs::metadata(path).map_err(failed("inspect", path))?.permissions().mode();
    if current & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("protect", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PkiError {
    let path = path.to_owned();
    move |source| PkiError::File { action, path, source }
}
