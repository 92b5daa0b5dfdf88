//! What a host costs, as the growth of a process: no more than dnsmasq needs.
//!
//! dnsmasq needs 100 to 130 bytes for a host with one name, by the length of the name. `beside` measures it
//! where it is there; here is the limit that holds without it.

use std::process::Command;

use landbridge_dns::{Catalog, Settings, hosts};

use crate::catalog::many;

const HOSTS: u32 = 100_000;

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: usize = line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Run by the test below in a process of its own, where nothing else allocates.
#[test]
#[ignore = "a part of `a_host_costs_no_more_than_in_dnsmasq`"]
fn child() {
    let path = std::env::var("LANDBRIDGE_TEST_HOSTS").unwrap();
    let before = resident();
    let text = std::fs::read_to_string(path).unwrap();
    let (entries, _) = hosts::parse("hosts", &text);
    drop(text);
    let catalog = Catalog::new(Settings::default()).with_hosts("hosts", Some(entries));
    println!("grown {}", resident() - before);
    drop(catalog);
}

#[test]
fn a_host_costs_no_more_than_in_dnsmasq() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hosts");
    std::fs::write(&path, many(HOSTS)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::child", "--ignored", "--nocapture"])
        .env("LANDBRIDGE_TEST_HOSTS", &path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let grown: usize = text
        .lines()
        .find_map(|line| line.split("grown ").nth(1))
        .unwrap_or_else(|| panic!("{text} {}", String::from_utf8_lossy(&output.stderr)))
        .trim()
        .parse()
        .unwrap();
    let each = grown / HOSTS as usize;
    println!("{each} bytes for each of {HOSTS} hosts");
    assert!(each <= 110, "{each} bytes for a host");
}
