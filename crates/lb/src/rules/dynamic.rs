//! From the table to chains and elements.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::{MASQUERADE, Rules};
use crate::table::{Choice, Port, Protocol, Reach, Table};

/// So many clients are remembered for each backend.
const REMEMBERED: u32 = 65_536;

/// The rules of a table. `links` are those whose connections must be answered where they came from,
/// with their marks; `pods` is the link that this node's pods are behind.
pub fn rules(table: &Table, links: &BTreeMap<String, u32>, pods: &str) -> Rules {
    let mut rules = Rules::default();
    let names = |four, six, ipv4| if ipv4 { four } else { six };
    for port in table.ports() {
        let words = Words::of(port);
        let mut element = |set, key: String, value: String| {
            rules.elements.entry(set).or_default().entry(key).or_insert(value);
        };
        if let Some(ip) = port.cluster_ip {
            element(names("inner4", "inner6", port.ipv4), ip.to_string(), String::new());
            if let Some(verdict) = words.inside(port) {
                element(names("service4", "service6", port.ipv4), key(ip, port), verdict);
            }
        }
        for ip in port.outer_addresses() {
            element(names("outer4", "outer6", port.ipv4), ip.to_string(), String::new());
            let guarded = port.balanced.contains(&ip) && !port.sources.is_empty();
            match port.choice(port.outside) {
                Choice::Refuse => {
                    let set = names("refused4", "refused6", port.ipv4);
                    element(set, key(ip, port), String::new());
                }
                Choice::Of(_) | Choice::Drop => {
                    let chain = if guarded { &words.sources } else { &words.outside };
                    let set = names("service4", "service6", port.ipv4);
                    element(set, key(ip, port), format!("goto {chain}"));
                }
            }
        }
        if let Some(number) = port.node_port
            && port.choice(port.outside) != Choice::Refuse
        {
            let key = format!("{} . {number}", port.protocol);
            let set = names("node4", "node6", port.ipv4);
            element(set, key, format!("goto {}", words.outside));
        }
        words.chains(port, pods, &mut rules);
    }
    for (link, mark) in links {
        let links = rules.elements.entry("links").or_default();
        links.insert(format!("\"{link}\""), format!("{mark:#x}"));
    }
    rules
}

fn key(ip: IpAddr, port: &Port) -> String {
    format!("{ip} . {} . {}", port.protocol, port.port)
}

/// The names of a port's chains.
struct Words {
    outside: String,
    sources: String,
    all: String,
    here: String,
    name: String,
    ip: &'static str,
    addr: &'static str,
}

impl Words {
    fn of(port: &Port) -> Self {
        let family = if port.ipv4 { 4 } else { 6 };
        let named = |what: &str| format!("{what}{family}/{}", port.name);
        Self {
            outside: named("out"),
            sources: named("from"),
            all: named("all"),
            here: named("here"),
            name: named("with"),
            ip: if port.ipv4 { "ip" } else { "ip6" },
            addr: if port.ipv4 { "ipv4_addr" } else { "ipv6_addr" },
        }
    }

    fn inside(&self, port: &Port) -> Option<String> {
        match (port.choice(port.inside), port.inside) {
            (Choice::Refuse, _) => None,
            (Choice::Drop, _) => Some("drop".to_owned()),
            (Choice::Of(_), Reach::Cluster) => Some(format!("goto {}", self.all)),
            (Choice::Of(_), Reach::Local) => Some(format!("goto {}", self.here)),
        }
    }

    fn chains(&self, port: &Port, pods: &str, rules: &mut Rules) {
        let outer = port.outer_addresses().next().is_some() || port.node_port.is_some();
        let (mut all, mut here) = (false, false);
        if port.cluster_ip.is_some() {
            match port.inside {
                Reach::Cluster => all = true,
                Reach::Local => here = true,
            }
        }
        if outer && port.choice(port.outside) != Choice::Refuse {
            let mut lines = Vec::new();
            let masquerade = format!("meta mark set {MASQUERADE:#x}");
            let everywhere = format!("goto {}", self.all);
            all |= !port.anywhere.is_empty();
            match port.outside {
                Reach::Cluster if port.anywhere.is_empty() => lines.push("drop".to_owned()),
                Reach::Cluster => lines.extend([masquerade, everywhere]),
                Reach::Local => {
                    // Whoever is inside already need not be sent to this very node.
                    if !port.anywhere.is_empty() {
                        lines.push(format!("iifname \"{pods}\" {everywhere}"));
                        lines.push(format!("fib saddr type local {masquerade} {everywhere}"));
                    }
                    here |= !port.here.is_empty();
                    lines.push(if port.here.is_empty() {
                        "drop".to_owned()
                    } else {
                        format!("goto {}", self.here)
                    });
                }
            }
            rules.chains.insert(self.outside.clone(), lines);
            if !port.sources.is_empty() && !port.balanced.is_empty() {
                let own = port.sources.iter().filter(|net| net.addr().is_ipv4() == port.ipv4);
                let nets: BTreeSet<String> = own.map(|net| net.trunc().to_string()).collect();
                let mut lines: Vec<String> = nets
                    .iter()
                    .map(|net| format!("{} saddr {net} goto {}", self.ip, self.outside))
                    .collect();
                lines.push("drop".to_owned());
                rules.chains.insert(self.sources.clone(), lines);
            }
        }
        if all && !port.anywhere.is_empty() {
            self.balance(port, &self.all, &port.anywhere, rules);
        }
        if here && !port.here.is_empty() {
            self.balance(port, &self.here, &port.here, rules);
        }
    }

    fn balance(
        &self,
        port: &Port,
        chain: &str,
        backends: &BTreeSet<SocketAddr>,
        rules: &mut Rules,
    ) {
        let lines = match port.affinity {
            None => vec![self.turns(port.protocol, backends)],
            Some(seconds) => self.sticky(port, seconds, backends, rules),
        };
        rules.chains.insert(chain.to_owned(), lines);
    }

    /// One of the backends, by chance.
    fn turns(&self, protocol: Protocol, backends: &BTreeSet<SocketAddr>) -> String {
        let ip = self.ip;
        let each: Vec<String> = backends
            .iter()
            .enumerate()
            .map(|(at, backend)| format!("{at} : {} . {}", backend.ip(), backend.port()))
            .collect();
        format!(
            "meta l4proto {protocol} dnat {ip} to numgen random mod {} map {{ {} }}",
            each.len(),
            each.join(", ")
        )
    }

    /// The backend the client was with before, or one by chance. Each backend has its own set of
    /// clients, which goes with it.
    fn sticky(
        &self,
        port: &Port,
        seconds: u32,
        backends: &BTreeSet<SocketAddr>,
        rules: &mut Rules,
    ) -> Vec<String> {
        let ip = self.ip;
        let mut lines = Vec::new();
        let mut each = Vec::new();
        for (at, backend) in backends.iter().enumerate() {
            let word = format!("{}/{}", backend.ip().to_string().replace(':', "_"), backend.port());
            let (set, chain) =
                (format!("{}/{word}/{seconds}", self.name), format!("{}/{word}", self.name));
            rules.sets.insert(
                set.clone(),
                format!(
                    "set {{ type {}; flags dynamic,timeout; timeout {seconds}s; size {REMEMBERED}; }}",
                    self.addr
                ),
            );
            let to = SocketAddr::new(backend.ip(), backend.port());
            rules.chains.insert(
                chain.clone(),
                vec![
                    format!("update @{set} {{ {ip} saddr }}"),
                    format!("meta l4proto {} dnat {ip} to {to}", port.protocol),
                ],
            );
            lines.push(format!("{ip} saddr @{set} goto {chain}"));
            each.push(format!("{at} : goto {chain}"));
        }
        lines.push(format!("numgen random mod {} vmap {{ {} }}", each.len(), each.join(", ")));
        lines
    }
}
