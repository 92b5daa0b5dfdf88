//! Files that are replaced, never changed.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::InstallError;
use crate::releases::write_atomically;

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::File { what, path, source }
}

/// The content, or nothing when there is no file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, InstallError> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(failed("reading", path)),
    }
}

/// Has the directory there.
pub fn make_directory(path: &Path) -> Result<(), InstallError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(failed("making", path))
}

/// Has a file with this content there, and says whether it was another one before.
pub fn replace(path: &Path, text: &[u8], mode: u32) -> Result<bool, InstallError> {
    if read(path)?.is_some_and(|found| found == text) {
        return Ok(false);
    }
    write_atomically(path, text, mode).map_err(failed("writing", path))?;
    Ok(true)
}

/// Has a copy of a program there, and says whether it was another one before.
pub fn copy(from: &Path, to: &Path) -> Result<bool, InstallError> {
    let text = fs::read(from).map_err(failed("reading", from))?;
    let changed = replace(to, &text, 0o755)?;
    if changed {
        // The mask of the process may have taken the bits away.
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(to, mode).map_err(failed("making executable", to))?;
    }
    Ok(changed)
}

/// Whether two names are one file.
fn is_same(a: &Path, b: &Path) -> Result<bool, InstallError> {
    let look = |path: &Path| match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(failed("looking at", path)),
    };
    let (Some(a), Some(b)) = (look(a)?, look(b)?) else { return Ok(false) };
    Ok(a.dev() == b.dev() && a.ino() == b.ino())
}

/// Has a name for a program there. A program of somebody else under that name is saved first; an
/// earlier program of ours (same name, not saved, but known by the mark beside it) is replaced.
pub fn link(binary: &Path, path: &Path, saved: &Path) -> Result<Option<String>, InstallError> {
    if is_same(binary, path)? {
        return Ok(None);
    }
    let mark = mark_of(saved);
    let there = fs::symlink_metadata(path).is_ok();
    let foreign = there && !is_marked(path, &mark)?;
    if foreign {
        if let Some(directory) = saved.parent() {
            make_directory(directory)?;
        }
        // A second name for it, so that the first is never missing.
        match fs::remove_file(saved) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("removing", saved)(error));
            }
            _ => {}
        }
        fs::hard_link(path, saved).map_err(failed("saving", path))?;
    }
    if let Some(directory) = mark.parent() {
        make_directory(directory)?;
    }
    let temporary = path.with_extension(format!("landbridge-{}", std::process::id()));
    let _ = fs::remove_file(&temporary);
    fs::hard_link(binary, &temporary).map_err(failed("linking", &temporary))?;
    // What is ours is known by its inode, which is noted before it takes its place.
    let inode = fs::metadata(binary).map_err(failed("looking at", binary))?.ino();
    replace(&mark, inode.to_string().as_bytes(), 0o600)?;
    fs::rename(&temporary, path).map_err(failed("putting in place", path))?;
    let name = path.display();
    Ok(Some(if foreign {
        format!("installed {name}; what was there is {}", saved.display())
    } else {
        format!("installed {name}")
    }))
}

/// Where the inode of the program we installed under a name is noted.
fn mark_of(saved: &Path) -> PathBuf {
    let name = saved.file_name().map(|name| name.to_string_lossy().into_owned());
    let own = saved.parent().and_then(Path::parent).unwrap_or_else(|| Path::new("."));
    own.join("installed").join(name.unwrap_or_default())
}

fn is_marked(path: &Path, mark: &Path) -> Result<bool, InstallError> {
    let Some(noted) = read(mark)? else { return Ok(false) };
    let inode = fs::symlink_metadata(path).map_err(failed("looking at", path))?.ino();
    Ok(noted == inode.to_string().as_bytes())
}

/// The names of a program in a directory.
pub fn links_to(binary: &Path, directory: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed("reading", directory))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed("reading", directory))?.path();
        let own = binary.parent().unwrap_or(directory);
        let name = path.file_name().map(|name| own.join("installed").join(name));
        let marked = name.map_or(Ok(false), |mark| is_marked(&path, &mark))?;
        if marked || is_same(binary, &path)? {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Takes a name of ours away, and puts back what was saved under it.
pub fn unlink(path: &Path, saved: &Path) -> Result<String, InstallError> {
    if fs::symlink_metadata(saved).is_ok() {
        fs::rename(saved, path).map_err(failed("putting back", path))?;
        return Ok(format!("put back {}", path.display()));
    }
    remove(path)?;
    Ok(format!("removed {}", path.display()))
}

/// Removes a file, and says whether it was there.
pub fn remove(path: &Path) -> Result<bool, InstallError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true).map_err(failed("removing", path)),
    }
}

/// Removes a directory of ours, unless something saved is still in it.
pub fn remove_tree(path: &Path) -> Result<bool, InstallError> {
    let saved = path.join("saved");
    let left = fs::read_dir(&saved).is_ok_and(|mut entries| entries.next().is_some());
    if left || !path.exists() {
        return Ok(false);
    }
    fs::remove_dir_all(path).map_err(failed("removing", path))?;
    Ok(true)
}
