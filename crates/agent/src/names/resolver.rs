//! `/etc/resolv.conf` of a lab node: without anything else to ask, it asks the cluster.

use std::io;
use std::net::IpAddr;
use std::path::Path;

/// Writes it where it says nothing yet: what a policy has put there stays.
pub fn give(path: &Path, server: IpAddr, domain: &str) -> io::Result<bool> {
    let there = std::fs::read_to_string(path)?;
    let says = |line: &str| line.trim_start().starts_with("nameserver");
    if there.lines().any(says) {
        return Ok(false);
    }
    // In place: another file would not be the mounted one.
    let own = format!("search svc.{domain} {domain}\nnameserver {server}\noptions ndots:5\n");
    std::fs::write(path, own)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_written_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("resolv.conf");
        let server = "10.96.0.10".parse().unwrap();
        assert!(give(&path, server, "cluster.local").is_err(), "not there");
        std::fs::write(&path, "").unwrap();
        assert!(give(&path, server, "cluster.local").unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "search svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
        );
        std::fs::write(&path, "nameserver 192.0.2.1\n").unwrap();
        assert!(!give(&path, server, "cluster.local").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "nameserver 192.0.2.1\n");
    }
}
