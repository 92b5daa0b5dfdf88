//! The namespaces of one node: made, entered by its processes, and emptied.
//!
//! A node is a network, a mount and a UTS namespace. The supervisor holds them open, so they live on
//! when the node's last process is gone, and go when the supervisor lets go of them.

mod files;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use landbridge_linux::namespace::{Identity, named};
use landbridge_linux::{Address, Handle, IfName, Namespace, Route};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use crate::enter::{Bind, fresh_run, hide_all_but, share, unshare};
use crate::error::{Error, Result};
use crate::info::{Held, Namespaces};
use crate::spec::{Node, Shape};

/// Where pid 1 sees the named network namespaces of all nodes, a directory for each. A node sees its
/// own directory as `/run/netns`.
const NETNS: &str = "/run/netns";

/// A running node, without what runs on it.
#[derive(Debug)]
pub(crate) struct Spaces {
    pub net: Namespace,
    mnt: File,
    uts: File,
}

impl Spaces {
    /// Makes them. What is named in `keep` stays reachable below `/run`.
    ///
    /// Of the lab's directory a node sees its own part: the sockets there are who it is.
    pub fn make(
        shape: &Shape,
        node: &Node,
        lab: &Path,
        directory: &Path,
        keep: &[PathBuf],
    ) -> Result<Self> {
        let failed = |source| Error::io(format!("make the namespaces of {}", node.name), source);
        let named = Path::new(NETNS).join(&node.name);
        if !named.exists() {
            share(&named).map_err(failed)?;
        }
        let etc = files::write(shape, node, directory).map_err(failed)?;
        let mut binds: Vec<Bind> =
            keep.iter().map(|path| Bind { from: path.clone(), to: path.clone() }).collect();
        binds.push(Bind { from: named, to: PathBuf::from(NETNS) });
        in_new_thread(|| {
            // A thread shares its root and working directory with the others until told otherwise.
            unshare(
                UnshareFlags::FS
                    | UnshareFlags::NEWNS
                    | UnshareFlags::NEWUTS
                    | UnshareFlags::NEWNET,
            )?;
            fresh_run(&binds)?;
            files::cover(&etc);
            hide_all_but(directory, lab)?;
            files::mount_sysfs();
            rustix::system::sethostname(node.name.as_bytes())?;
            let open = |name| File::open(format!("/proc/thread-self/ns/{name}"));
            let net = Namespace::current().map_err(io::Error::other)?;
            Ok(Self { net, mnt: open("mnt")?, uts: open("uts")? })
        })
        .map_err(failed)
    }

    /// What a machine has when it has booted: loopback, NICs that are on, addresses of its own.
    pub fn boot(&self, node: &Node) -> Result<()> {
        let net = Handle::in_namespace(&self.net)?;
        if let Ok(lo) = IfName::new("lo") {
            net.set_up(&lo)?;
        }
        for nic in &node.nics {
            let index = net.index(&nic.name)?;
            net.set_up(index)?;
            for address in &nic.addresses {
                // Nobody else can have it: the shape was checked for that.
                net.ensure_address(&Address::new(index, *address).without_dad())?;
            }
            for gateway in &nic.gateways {
                let everywhere = if gateway.is_ipv4() {
                    ipnet::Ipv4Net::default().into()
                } else {
                    ipnet::Ipv6Net::default().into()
                };
                net.ensure_route(&Route::via(everywhere, *gateway).on(index))?;
            }
        }
        Ok(())
    }

    /// Starts a program on the node.
    pub fn spawn(&self, command: &mut Command) -> io::Result<u32> {
        in_new_thread(|| {
            unshare(UnshareFlags::FS)?;
            enter(&self.mnt, LinkNameSpaceType::Mount)?;
            enter(&self.uts, LinkNameSpaceType::HostNameAndNISDomainName)?;
            enter(&self.net, LinkNameSpaceType::Network)?;
            // Not waited for here: pid 1 buries all its children in one place.
            Ok(command.spawn()?.id())
        })
    }

    /// How those outside find the namespaces.
    pub fn held(&self) -> Result<Namespaces> {
        Ok(Namespaces { net: held(&self.net)?, mnt: held(&self.mnt)?, uts: held(&self.uts)? })
    }

    /// The processes on the node and in the namespaces it has named, as pid 1 sees them.
    pub fn processes(&self, node: &Node) -> Result<Vec<u32>> {
        let directory = Path::new(NETNS).join(&node.name);
        let mnt = held(&self.mnt)?.inode;
        let mut nets = vec![held(&self.net)?.inode];
        for name in named::list(&directory)? {
            nets.extend(named::open(&directory, &name)?.identity().map(Identity::inode));
        }
        let failed = |source| Error::io("list processes", source);
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc").map_err(failed)?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            let inode = |kind: &str| {
                let file = format!("/proc/{pid}/ns/{kind}");
                rustix::fs::stat(file).ok().map(|stat| stat.st_ino)
            };
            let on_net = inode("net").is_some_and(|inode| nets.contains(&inode));
            if pid != 1 && (on_net || inode("mnt") == Some(mnt)) {
                pids.push(pid);
            }
        }
        Ok(pids)
    }
}

/// Takes the names away that a node gave to network namespaces, as its reboot would.
pub(crate) fn forget_named(node: &Node) -> Result<()> {
    let directory = Path::new(NETNS).join(&node.name);
    for name in named::list(&directory)? {
        named::delete(&directory, &name)?;
    }
    Ok(())
}

/// A namespace that this process holds open.
pub(crate) fn held(file: &(impl AsFd + AsRawFd)) -> Result<Held> {
    let stat = rustix::fs::fstat(file).map_err(|e| Error::io("identify a namespace", e.into()))?;
    Ok(Held { fd: file.as_raw_fd(), inode: stat.st_ino })
}

fn enter(namespace: &impl AsFd, kind: LinkNameSpaceType) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(kind))?)
}

/// Runs work on a thread made for it; whatever it does to itself ends with it.
fn in_new_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().name("node".to_owned()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
