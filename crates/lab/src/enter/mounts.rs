//! What pid 1 mounts before anything else, and what each node mounts on top.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};

use super::EnterError;

const RUN: &str = "/run";

/// Something that is to be seen at another place, or again at its own.
pub(crate) struct Bind {
    pub from: PathBuf,
    pub to: PathBuf,
}

/// Makes the directories that are to be kept where they are missing, and says where they really are.
pub(super) fn kept(keep: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for directory in keep {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        kept.push(directory.canonicalize()?);
    }
    Ok(kept)
}

pub(super) fn prepare(keep: &[PathBuf]) -> Result<(), EnterError> {
    // What we mount is not for those outside, nor what they mount for us.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| EnterError::new("make the mounts private", errno))?;
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", quiet, None).map_err(|errno| {
        EnterError::new("mount /proc for the lab (something of it may be hidden here)", errno)
    })?;
    let keep: Vec<Bind> =
        keep.iter().map(|path| Bind { from: path.clone(), to: path.clone() }).collect();
    fresh_run(&keep).map_err(|error| EnterError::new("give the lab a /run of its own", error))?;
    std::fs::create_dir_all("/run/netns").map_err(|error| EnterError::new("make /run/netns", error))
}

/// Puts an empty `/run` over the one there is. Of what was below it the `binds` stay to be seen, and
/// programs of NixOS, which live there.
pub(crate) fn fresh_run(binds: &[Bind]) -> io::Result<()> {
    let programs =
        ["/run/current-system", "/run/wrappers"].map(|path| (path, std::fs::read_link(path).ok()));
    fresh(Path::new(RUN), c"mode=0755,size=64m", binds)?;
    for (path, target) in programs {
        if let Some(target) = target {
            std::os::unix::fs::symlink(target, path)?;
        }
    }
    Ok(())
}

/// Leaves of a directory of the lab only what is one node's own.
pub(crate) fn hide_all_but(own: &Path, lab: &Path) -> io::Result<()> {
    let own = Bind { from: own.to_owned(), to: own.to_owned() };
    fresh(lab, c"mode=0700,size=1m", &[own])
}

/// Puts an empty directory over another one; the `binds` that lie below it stay to be seen.
fn fresh(place: &Path, options: &CStr, binds: &[Bind]) -> io::Result<()> {
    let below = |path: &Path| path.starts_with(place);
    let mut held: Vec<(OwnedFd, &Path)> = Vec::new();
    for bind in binds.iter().filter(|bind| below(&bind.from) || below(&bind.to)) {
        // Held by a descriptor, as no path leads there in a moment.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        held.push((open(&bind.from, flags, Mode::empty())?, &bind.to));
    }
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
    for (directory, to) in held {
        std::fs::create_dir_all(to)?;
        mount_bind_recursive(format!("/proc/self/fd/{}", directory.as_raw_fd()), to)?;
    }
    Ok(())
}

/// Makes a directory whose mounts are seen wherever the directory is bound to, in both directions.
pub(crate) fn share(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    mount_bind_recursive(directory, directory)?;
    Ok(mount_change(directory, MountPropagationFlags::SHARED)?)
}

/// Puts a file in the place of another, through symbolic links, where that other one can be reached.
pub(crate) fn cover(file: &Path, place: &Path) -> io::Result<()> {
    let mut target = place.to_owned();
    // A link that leads into our own empty /run needs something to lead to.
    for _ in 0..8 {
        let Ok(next) = std::fs::read_link(&target) else { break };
        target = normal(&target.parent().unwrap_or(Path::new("/")).join(next));
    }
    if target.starts_with(RUN) && !target.exists() {
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        File::create(&target)?;
    }
    Ok(rustix::mount::mount_bind(file, &target)?)
}

/// Without `.` and `..`, by text.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_go() {
        let path = Path::new("/etc/../run/./systemd/resolve/stub-resolv.conf");
        assert_eq!(normal(path), Path::new("/run/systemd/resolve/stub-resolv.conf"));
        assert_eq!(normal(Path::new("/../../x")), Path::new("/x"));
    }
}
