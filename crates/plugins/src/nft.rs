//! Rules of the node's packet filter, by the program `nft`.
//!
//! Each rule carries a comment that says whose it is, so that DEL finds it without knowing more
//! than the container and the interface. Adding a table or chain that is there is no error.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command as Program;
use std::time::Duration;

use ipnet::IpNet;

use crate::call::Call;
use crate::failure::{Outcome, internal};
use crate::process;

const LIMIT: Duration = Duration::from_secs(10);

/// Where rules for outgoing packets are.
pub(crate) const MASQUERADE: Place =
    Place { family: "inet", table: "landbridge_masquerade", chain: "postrouting" };
/// Where rules against wrong hardware addresses are.
pub(crate) const SPOOFING: Place =
    Place { family: "bridge", table: "landbridge_macspoofchk", chain: "prerouting" };

/// A chain.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    family: &'static str,
    table: &'static str,
    chain: &'static str,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.family, self.table, self.chain)
    }
}

/// Whose rules: a number out of network, container and interface (FNV-1a), short enough for a
/// comment and the same in every build.
pub(crate) fn owner(call: &Call) -> String {
    let parts = [&call.input.name, &call.environment.container_id, &call.environment.interface];
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("landbridge-{hash:016x}")
}

/// What gives packets of these addresses the node's address when they leave their subnet.
pub(crate) fn masquerade(owner: &str, addresses: &[IpNet]) -> String {
    let mut script = start(MASQUERADE, "type nat hook postrouting priority 100");
    for net in addresses {
        let (word, groups) =
            if net.addr().is_ipv4() { ("ip", "224.0.0.0/4") } else { ("ip6", "ff00::/8") };
        let _ = writeln!(
            script,
            "add rule {MASQUERADE} {word} saddr {} {word} daddr != {} {word} daddr != {groups} \
             masquerade comment \"{owner}\"",
            net.addr(),
            net.trunc()
        );
    }
    script
}

/// What drops packets of a port with another hardware address than its own.
pub(crate) fn no_spoofing(owner: &str, port: &str, mac: &str) -> String {
    let mut script = start(SPOOFING, "type filter hook prerouting priority -300");
    let _ = writeln!(
        script,
        "add rule {SPOOFING} iifname \"{port}\" ether saddr != {mac} drop comment \"{owner}\""
    );
    script
}

fn start(place: Place, hook: &str) -> String {
    let Place { family, table, .. } = place;
    format!("add table {family} {table}\nadd chain {place} {{ {hook}; policy accept; }}\n")
}

/// Puts rules in place, all or none.
pub(crate) fn apply(script: &str) -> Outcome<()> {
    let nft = program().ok_or_else(|| {
        internal(
            "ipMasq and macspoofchk need the program nft, which is not on this node: install the \
             package nftables",
        )
    })?;
    run(&nft, &["-f", "-"], script).map(drop)
}

/// Takes the rules of an owner away. Without the program or the table there are none.
pub(crate) fn remove(place: Place, owner: &str) -> Outcome<()> {
    let Some(nft) = program() else { return Ok(()) };
    let Ok(listed) =
        run(&nft, &["-a", "list", "chain", place.family, place.table, place.chain], "")
    else {
        return Ok(());
    };
    let mut script = String::new();
    for handle in handles(&listed, owner) {
        let _ = writeln!(script, "delete rule {place} handle {handle}");
    }
    if script.is_empty() { Ok(()) } else { run(&nft, &["-f", "-"], &script).map(drop) }
}

/// The numbers of an owner's rules in a listing.
fn handles(listed: &str, owner: &str) -> Vec<u64> {
    let comment = format!("comment \"{owner}\"");
    let own = listed.lines().filter(|line| line.contains(&comment));
    own.filter_map(|line| line.rsplit_once("# handle ")?.1.trim().parse().ok()).collect()
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places.map(|place: PathBuf| place.join("nft")).find(|file| file.is_file())
}

fn run(nft: &PathBuf, arguments: &[&str], script: &str) -> Outcome<String> {
    let failed = |why: String| internal(format!("nft {}: {why}", arguments.join(" ")));
    let finished = process::run(Program::new(nft).args(arguments), script.as_bytes(), LIMIT)
        .map_err(|error| failed(error.to_string()))?;
    if !finished.status.success() {
        return Err(failed(format!("{}: {}", finished.status, finished.stderr)));
    }
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_again_by_their_owner() {
        let listed = "table inet t {\n\tchain c { # handle 1\n\t\ttype nat hook postrouting\n\t\tip \
                      saddr 10.0.0.2 masquerade comment \"landbridge-a\" # handle 7\n\t\tip saddr \
                      10.0.0.3 masquerade comment \"landbridge-ab\" # handle 8\n\t\tip6 saddr \
                      fd00::2 masquerade comment \"landbridge-a\" # handle 9\n\t}\n}\n";
        assert_eq!(handles(listed, "landbridge-a"), [7, 9]);
        assert_eq!(handles(listed, "landbridge-x"), [0_u64; 0]);
    }

    #[test]
    fn a_script_says_whose_rules_it_adds() {
        let nets = ["10.0.0.2/24".parse().unwrap(), "fd00::2/64".parse().unwrap()];
        let script = masquerade("me", &nets);
        assert!(script.contains("ip saddr 10.0.0.2 ip daddr != 10.0.0.0/24"), "{script}");
        assert!(script.contains("ip6 saddr fd00::2 ip6 daddr != fd00::/64"), "{script}");
        assert_eq!(script.matches("comment \"me\"").count(), 2);
    }
}
