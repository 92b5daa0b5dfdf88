//! The rules of a node's cloud, as text for `nft`: one transaction each, all of it or none.
//!
//! ```text
//!  frame of an instance ─▶ bridge prerouting   is it the port's own? marks whose it is
//!                          inet prerouting     the network's own table of connections (zone)
//!                          bridge forward      marks for whom it is
//!                          inet forward        answers pass; else the groups of both ends decide
//! ```
//!
//! The kernel's bridge has no table of connections everywhere (`NF_CONNTRACK_BRIDGE`); `br_netfilter` hands bridged packets to
//! the hooks of IP, where there is one. Those hooks do not know a bridge's ports, so the marks tell them.
//! Marks do not leave a namespace: no instance can bring its own.
//!
//! What goes in the direction in which a connection began is judged by the groups at each packet, its
//! answers pass: a rule that is taken away ends what it let in, and a new rule or member breaks nothing.

mod groups;
mod spoofing;
mod translate;

use std::fmt::Write as _;

use crate::names::{bridge, tap};
use crate::plan::{NodePlan, Port};

pub use self::translate::router;

/// The tables of the rules.
const TABLE: &str = "landbridge_cloud";
/// Fails where the tables are not there.
pub const PROBE: &str = "list table inet landbridge_cloud\nlist table bridge landbridge_cloud\n";
/// More ports than a mark can tell apart have no place on one node.
pub const MOST_PORTS: usize = 0xffff;

/// The guard of all ports of a node, in the place of what was there. Ports beyond [`MOST_PORTS`] are let nothing through.
pub fn guard(plan: &NodePlan) -> String {
    let ports: Vec<&Port> = plan.instances.iter().flat_map(|it| &it.ports).collect();
    let mut text = String::new();
    for family in ["bridge", "inet"] {
        // Deleting what is not there fails; making it first never does.
        let _ = writeln!(text, "table {family} {TABLE}\ndelete table {family} {TABLE}");
    }
    let mut bridged = Chains::default();
    let mut routed = Chains::default();
    for (number, port) in ports.iter().enumerate() {
        let mark = if number < MOST_PORTS { number + 1 } else { 0 };
        let (tap, mut body) = (tap(&port.id), Vec::new());
        if mark == 0 {
            body.push("drop".to_owned());
        }
        body.push(format!("meta mark set {mark:#x}"));
        body.extend(spoofing::rules(port));
        bridged.sender.push((format!("\"{tap}\""), format!("from_{tap}"), body));
        let body = vec![format!("meta mark set meta mark | {:#x}", mark << 16)];
        bridged.receiver.push((format!("\"{tap}\""), format!("to_{tap}"), body));
        if let Some(security) = &port.security {
            let (out, into) = groups::rules(security);
            routed.sender.push((format!("{mark:#x}"), format!("out_{tap}"), out));
            routed.receiver.push((format!("{:#x}", mark << 16), format!("in_{tap}"), into));
        }
    }
    let _ = writeln!(text, "table bridge {TABLE} {{");
    bridged.own(&mut text);
    let _ = writeln!(
        text,
        "  chain sent {{\n    type filter hook prerouting priority -300; policy accept;"
    );
    Chains::choose(&mut text, "iifname", &bridged.sender);
    let _ = writeln!(
        text,
        "  }}\n  chain passed_on {{\n    type filter hook forward priority -300; policy accept;"
    );
    Chains::choose(&mut text, "oifname", &bridged.receiver);
    let _ = writeln!(text, "  }}\n}}\ntable inet {TABLE} {{");
    routed.own(&mut text);
    let _ = writeln!(
        text,
        "  chain zones {{\n    type filter hook prerouting priority -300; policy accept;"
    );
    for network in &plan.networks {
        let _ = writeln!(
            text,
            "    iifname \"{}\" ct zone set {}",
            bridge(&network.id),
            zone(&network.id)
        );
    }
    let _ = writeln!(
        text,
        "  }}\n  chain judged {{\n    type filter hook forward priority 0; policy accept;\n    \
         ct state established,related ct direction reply accept\n    ct state related accept"
    );
    Chains::choose(&mut text, "meta mark & 0xffff", &routed.sender);
    Chains::choose(&mut text, "meta mark & 0xffff0000", &routed.receiver);
    text.push_str("  }\n}\n");
    text
}

/// The number of a network's table of connections. It follows from the id, so that connections live on when
/// other networks come and go; two networks of one node that share it would have to share addresses
/// and ports, too, to be mistaken.
fn zone(network: &str) -> u16 {
    let sum = network
        .bytes()
        .fold(0xcbf2_9ce4_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    u16::try_from(sum % 0xfffe).unwrap_or_default() + 1
}

/// Chains of their own for each port, and what chooses among them: key, name, rules.
#[derive(Default)]
struct Chains {
    sender: Vec<(String, String, Vec<String>)>,
    receiver: Vec<(String, String, Vec<String>)>,
}

impl Chains {
    fn own(&self, text: &mut String) {
        for (_, name, body) in self.sender.iter().chain(&self.receiver) {
            let _ = writeln!(text, "  chain {name} {{");
            for rule in body {
                let _ = writeln!(text, "    {rule}");
            }
            text.push_str("  }\n");
        }
    }

    fn choose(text: &mut String, by: &str, chains: &[(String, String, Vec<String>)]) {
        if chains.is_empty() {
            return;
        }
        let _ = writeln!(text, "    {by} vmap {{");
        for (key, name, _) in chains {
            let _ = writeln!(text, "      {key} : jump {name},");
        }
        text.push_str("    }\n");
    }
}

/// A set of networks of one family, without those that others contain: `nft` takes no overlaps.
fn set(nets: impl IntoIterator<Item = ipnet::IpNet>) -> String {
    let nets: Vec<ipnet::IpNet> = nets.into_iter().map(|net| net.trunc()).collect();
    let texts: Vec<String> = ipnet::IpNet::aggregate(&nets).iter().map(shown).collect();
    format!("{{ {} }}", texts.join(", "))
}

/// A network; one of a single address as that.
fn shown(net: &ipnet::IpNet) -> String {
    if net.prefix_len() == net.max_prefix_len() { net.addr().to_string() } else { net.to_string() }
}
