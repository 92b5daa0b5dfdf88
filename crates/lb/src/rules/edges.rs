//! Rules at the very edge of links that have no address of their own.
//!
//! A node may be on a VLAN without having an address there, and still answer for a virtual address on
//! it. Two things do not work by themselves then:
//! - asking for a neighbour: the kernel would name an address of another network as its own, which
//!   neighbours that check (`rp_filter`) do not answer, and which tells of that network. The question
//!   goes out as a probe instead, from nobody, which everybody answers;
//! - refusing: a refusal is routed by the client's address, and there is no way to it. At the edge it
//!   goes straight back to whoever sent the packet.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Rules;

const PROBES: &str = "arp landbridge_answers";
const REFUSALS: &str = "netdev landbridge_refusals";

/// Everything anew for these links: those without an IPv4 address, and all from outside.
pub fn edges(rules: &Rules, bare: &BTreeSet<String>, outer: &BTreeSet<String>) -> String {
    let mut script = String::new();
    for table in [PROBES, REFUSALS] {
        let _ = writeln!(script, "add table {table}\ndelete table {table}");
    }
    if !bare.is_empty() {
        let _ = writeln!(
            script,
            "add table {PROBES}\n\
             add chain {PROBES} output {{ type filter hook output priority 0; policy accept; }}\n\
             add rule {PROBES} output oifname {} arp operation request arp saddr ip set 0.0.0.0",
            list(bare)
        );
    }
    let refused = |set: &str| rules.elements.get(set).filter(|all| !all.is_empty());
    if outer.is_empty() || (refused("refused4").is_none() && refused("refused6").is_none()) {
        return script;
    }
    let _ = writeln!(
        script,
        "add table {REFUSALS}\n\
         add chain {REFUSALS} in {{ type filter hook ingress devices = {} priority 0; policy accept; }}",
        list(outer)
    );
    for (set, kind, ip) in [("refused4", "ipv4_addr", "ip"), ("refused6", "ipv6_addr", "ip6")] {
        let Some(keys) = refused(set) else { continue };
        let keys: Vec<&str> = keys.keys().map(String::as_str).collect();
        let _ = writeln!(
            script,
            "add set {REFUSALS} {set} {{ type {kind} . inet_proto . inet_service; }}\n\
             add element {REFUSALS} {set} {{ {} }}",
            keys.join(", ")
        );
        let key = format!("{ip} daddr . meta l4proto . th dport @{set}");
        for how in
            ["meta l4proto tcp reject with tcp reset", "reject with icmpx type port-unreachable"]
        {
            let _ = writeln!(script, "add rule {REFUSALS} in {key} {how}");
        }
    }
    script
}

fn list(names: &BTreeSet<String>) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("{{ {} }}", quoted.join(", "))
}
