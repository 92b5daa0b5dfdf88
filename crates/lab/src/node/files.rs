//! The files in which a node differs from the machine it lives on.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};

use crate::enter::cover as cover_one;
use crate::spec::{Node, Shape};

/// Writes them below the node's directory, each with its place on the node.
pub(super) fn write(
    shape: &Shape,
    node: &Node,
    directory: &Path,
) -> io::Result<Vec<(PathBuf, &'static Path)>> {
    let etc = directory.join("etc");
    std::fs::create_dir_all(&etc)?;
    // A number of its own for each boot: that of its network namespace is given again to later ones.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let mut files = Vec::new();
    for (name, place, text) in [
        ("hostname", "/etc/hostname", format!("{}\n", node.name)),
        ("hosts", "/etc/hosts", hosts(shape)),
        ("boot_id", "/proc/sys/kernel/random/boot_id", boot),
        // Filled in by the node's agent, in place: another file would not be the mounted one.
        ("resolv.conf", "/etc/resolv.conf", String::new()),
    ] {
        let file = etc.join(name);
        std::fs::write(&file, text)?;
        files.push((file, Path::new(place)));
    }
    Ok(files)
}

/// Puts them in the place of the machine's. A machine that lacks one of them has no place for it, and
/// an ordinary user cannot make one; the node works all the same.
pub(super) fn cover(files: &[(PathBuf, &'static Path)]) {
    for (file, place) in files {
        if let Err(error) = cover_one(file, place) {
            tracing::warn!("the node sees the machine's {}: {error}", place.display());
        }
    }
}

/// `/sys/class/net` of the node's own network. Where it is refused (part of `/sys` may be hidden in a
/// container) only programs that look there see the machine's links.
pub(super) fn mount_sysfs() {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if let Err(error) = mount("sysfs", "/sys", "sysfs", quiet, None) {
        tracing::debug!("the node sees the machine's /sys: {error}");
    }
}

fn hosts(shape: &Shape) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    for (address, name) in shape.hosts() {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::builtin;

    #[test]
    fn nodes_know_each_other_by_name() {
        let text = hosts(&builtin::find("default").unwrap());
        assert!(text.starts_with("127.0.0.1 localhost\n"), "{text}");
        assert!(text.contains("\n192.168.111.21 worker-1\nfd00:111::21 worker-1\n"), "{text}");
        assert!(!text.contains("edpm"), "it has no address before it has one: {text}");
    }
}
