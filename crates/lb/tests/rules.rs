//! Rules of random tables: a small reader of our scripts stands for the kernel, and refuses what the
//! kernel would refuse. Where `nft` is, the kernel itself is asked as well.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use landbridge_lb::rules::{Rules, TABLE, change, edges, replace, rules};
use landbridge_lb::{Port, Protocol, Reach, Table};
use proptest::prelude::*;

/// What the packet filter holds of our table.
#[derive(Clone, Debug, Default, PartialEq)]
struct Filter {
    sets: BTreeMap<String, BTreeMap<String, String>>,
    chains: BTreeMap<String, Vec<String>>,
}

impl Filter {
    fn run(&mut self, script: &str) {
        for line in script.lines() {
            self.command(line);
        }
        self.check();
    }

    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [verb, what, _, _, rest @ ..] = &words[..] else { panic!("{line}") };
        assert_eq!(format!("{} {}", words[2], words[3]), TABLE, "{line}");
        let rest = rest.first().copied().unwrap_or_default();
        let (name, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let name = name.to_owned();
        match (*verb, *what) {
            ("add", "table") => {}
            ("delete", "table") => *self = Self::default(),
            ("add", "set" | "map") => {
                assert!(self.sets.insert(name, BTreeMap::new()).is_none(), "twice: {line}");
            }
            ("add", "chain") => {
                assert!(self.chains.insert(name, Vec::new()).is_none(), "twice: {line}");
            }
            ("add", "rule") => self.chains.get_mut(&name).unwrap().push(body.to_owned()),
            ("flush", "chain") => self.chains.get_mut(&name).unwrap().clear(),
            ("delete", "chain") => {
                let gone = self.chains.remove(&name);
                assert!(gone.unwrap().is_empty(), "not empty: {line}");
            }
            ("delete", "set") => drop(self.sets.remove(&name).unwrap()),
            (verb @ ("add" | "delete"), "element") => {
                let set = self.sets.get_mut(&name).unwrap_or_else(|| panic!("{line}"));
                let body = body.trim_start_matches("{ ").trim_end_matches(" }");
                for element in body.split(", ") {
                    let (key, value) = element.split_once(" : ").unwrap_or((element, ""));
                    if verb == "add" {
                        let new = set.insert(key.to_owned(), value.to_owned()).is_none();
                        assert!(new, "twice: {element}");
                    } else {
                        assert!(set.remove(key).is_some(), "not there: {element}");
                    }
                }
            }
            _ => panic!("unknown: {line}"),
        }
    }

    /// Whatever is named is there.
    fn check(&self) {
        let chains = self.chains.values().flatten();
        let verdicts = self.sets.values().flat_map(BTreeMap::values);
        for text in chains.chain(verdicts) {
            let words: Vec<&str> = text.split([' ', ',']).collect();
            for pair in words.windows(2) {
                if matches!(pair[0], "goto" | "jump") {
                    assert!(self.chains.contains_key(pair[1]), "{text}");
                }
            }
            for word in words.iter().filter_map(|word| word.strip_prefix('@')) {
                assert!(self.sets.contains_key(word), "{text}");
            }
        }
    }
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![Just(Reach::Cluster), Just(Reach::Local)]
}

fn port() -> impl Strategy<Value = Port> {
    let backends = || prop::collection::btree_set(1_u8..6, 0..4);
    let addresses = || prop::collection::btree_set(1_u8..5, 0..3);
    (
        (0_u8..5, any::<bool>(), any::<bool>(), 1_u8..3),
        (addresses(), addresses(), any::<bool>(), any::<bool>()),
        (reach(), reach(), prop_oneof![Just(None), (1_u32..3).prop_map(Some)]),
        (backends(), backends()),
    )
        .prop_map(
            |((name, udp, ipv4, number), (balanced, external, node, sources), policies, b)| {
                let protocol = if udp { Protocol::Udp } else { Protocol::Tcp };
                let name = format!("space/service-{name}/{protocol}/{number}");
                let mut port = Port::new(&name, protocol, u16::from(number), ipv4);
                let ip = |kind: &str, number: u8| {
                    if ipv4 {
                        format!("10.{kind}.0.{number}")
                    } else {
                        format!("fd00:{kind}::{number}")
                    }
                    .parse()
                    .unwrap()
                };
                let all = |set: &BTreeSet<u8>| -> BTreeSet<SocketAddr> {
                    set.iter().map(|n| SocketAddr::new(ip("1", *n), 8080)).collect()
                };
                port.cluster_ip = Some(ip("96", number));
                port.balanced = balanced.iter().map(|n| ip("2", *n)).collect();
                port.external = external.iter().map(|n| ip("3", *n)).collect();
                port.node_port = node.then_some(30_000 + u16::from(number));
                if sources {
                    port.sources =
                        vec!["192.0.2.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
                }
                (port.inside, port.outside, port.affinity) = policies;
                (port.anywhere, port.here) = (all(&b.0), all(&b.1));
                port
            },
        )
}

fn table() -> impl Strategy<Value = Table> {
    prop::collection::vec(port(), 0..8).prop_map(Table::new)
}

fn rules_of(table: &Table) -> Rules {
    rules(table, &BTreeMap::from([("vlan20".to_owned(), 0x4c42_0003)]), "cni0")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// From any state to any other: the same as made anew, nothing named that is not there.
    #[test]
    fn a_change_ends_where_a_new_start_does(tables in prop::collection::vec(table(), 1..5)) {
        let mut filter = Filter::default();
        let mut before = Rules::default();
        filter.run(&replace(&before, "cni0"));
        for table in &tables {
            let after = rules_of(table);
            filter.run(&change(&before, &after));
            let mut anew = Filter::default();
            anew.run(&replace(&after, "cni0"));
            prop_assert_eq!(&filter, &anew);
            prop_assert_eq!(change(&after, &after), "");
            before = after;
        }
    }
}

fn nft(script: &str) -> Option<()> {
    let mut child = Command::new("unshare")
        .args(["--net", "nft", "-f", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if words.contains("unshare") {
        return None;
    }
    assert!(output.status.success(), "{words}\n{script}");
    Some(())
}

/// The kernel takes them, too, change after change.
#[test]
fn the_kernel_agrees() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..15 {
        let mut script = replace(&Rules::default(), "cni0");
        let mut before = Rules::default();
        for _ in 0..6 {
            let after = rules_of(&table().new_tree(&mut runner).unwrap().current());
            script.push_str(&change(&before, &after));
            before = after;
        }
        let links = BTreeSet::from(["lo".to_owned()]);
        script.push_str(&edges(&before, &links, &links));
        if nft(&script).is_none() {
            eprintln!("skipped: lb: needs root and nft");
            return;
        }
    }
}
