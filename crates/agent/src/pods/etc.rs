//! The files below `/etc` that a pod has of its own, as a kubelet writes them.

pub mod hosts;
pub mod resolver;

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

pub use self::resolver::ClusterDns;

/// Where they are on the node, and where a pod sees its own.
const RESOLVER: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";
const HOSTNAME: &str = "/etc/hostname";

/// A file, and the place it is seen at.
pub type Covers = Vec<(PathBuf, &'static Path)>;

/// Those that were written into a directory.
pub fn covers(directory: &Path, host_network: bool) -> Covers {
    let all = [("resolv.conf", RESOLVER), ("hosts", HOSTS), ("hostname", HOSTNAME)];
    all.into_iter()
        .map(|(name, place)| (directory.join(name), Path::new(place)))
        // In the node's network the host is the node.
        .filter(|(file, place)| !(host_network && *place == Path::new(HOSTNAME)) && file.exists())
        .collect()
}

/// Writes them into a directory. Also says what could not be done as the pod asks.
pub fn write(
    directory: &Path,
    pod: &Pod,
    hostname: &str,
    addresses: &[IpAddr],
    cluster: Option<&ClusterDns>,
) -> io::Result<(Covers, Vec<String>)> {
    std::fs::create_dir_all(directory)?;
    // Without the node's own files a pod's are made of nothing, which is right on a bare node.
    let of_node = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (resolver, notes) = resolver::text(pod, cluster, &of_node(RESOLVER));
    let domain = cluster.map_or("", |cluster| cluster.domain.as_str());
    let hosts = hosts::text(pod, hostname, domain, addresses, &of_node(HOSTS));
    for (name, text) in
        [("resolv.conf", resolver), ("hosts", hosts), ("hostname", format!("{hostname}\n"))]
    {
        // In place: whoever has it mounted sees the change.
        std::fs::write(directory.join(name), text)?;
    }
    let host_network = pod.spec.as_ref().and_then(|spec| spec.host_network) == Some(true);
    Ok((covers(directory, host_network), notes))
}
