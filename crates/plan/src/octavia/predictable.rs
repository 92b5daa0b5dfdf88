//! One address for each health manager and each rsyslog, by node: amphorae are told them when they boot, so
//! they stay as long as the node does.
//!
//! The record is octavia-operator's: a ConfigMap `octavia-hmport-map` with the keys `hm_<node>` and
//! `rsyslog_<node>`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use landbridge_addr::number::successor;
use landbridge_api::net::Range;

/// Name of the ConfigMap.
pub const MAP: &str = "octavia-hmport-map";

/// What runs on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The health manager.
    HealthManager,
    /// Where amphorae send their logs.
    Rsyslog,
}

impl Part {
    /// Both, in the order in which a node gets its addresses.
    pub const ALL: [Self; 2] = [Self::HealthManager, Self::Rsyslog];

    /// The key of the map.
    pub fn key(self, node: &str) -> String {
        match self {
            Self::HealthManager => format!("hm_{node}"),
            Self::Rsyslog => format!("rsyslog_{node}"),
        }
    }
}

/// The map, and what could not be given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Addresses by key.
    pub map: BTreeMap<String, IpAddr>,
    /// Keys for which nothing was left.
    pub without: Vec<String>,
    /// Keys whose address had to change, with the one before.
    pub moved: Vec<(String, String)>,
}

/// Gives addresses of `range` to the nodes. Who has one keeps it, unless it lies outside of the range (the
/// attachment was changed), is the router's, or somebody else has it, too.
pub fn give(
    nodes: &BTreeSet<String>,
    before: &BTreeMap<String, String>,
    range: &Range,
    router: Option<IpAddr>,
) -> Given {
    let keys: Vec<String> =
        nodes.iter().flat_map(|node| Part::ALL.map(|part| part.key(node))).collect();
    let mut given = Given::default();
    let mut taken: BTreeSet<IpAddr> = router.into_iter().collect();
    for key in &keys {
        let Some(text) = before.get(key) else { continue };
        match text.parse::<IpAddr>() {
            Ok(address) if range.contains(address) && taken.insert(address) => {
                given.map.insert(key.clone(), address);
            }
            _ => given.moved.push((key.clone(), text.clone())),
        }
    }
    let mut next = Some(range.first());
    for key in keys {
        if given.map.contains_key(&key) {
            continue;
        }
        while let Some(address) = next.filter(|address| taken.contains(address)) {
            next = successor(address).filter(|address| range.contains(*address));
        }
        match next {
            Some(address) => {
                taken.insert(address);
                given.map.insert(key, address);
            }
            None => given.without.push(key),
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize) -> BTreeSet<String> {
        (0..count).map(|n| format!("worker-{n:02}")).collect()
    }

    fn range() -> Range {
        "172.23.0.97-172.23.0.122".parse().unwrap()
    }

    fn texts(given: &Given) -> BTreeMap<String, String> {
        given.map.iter().map(|(key, ip)| (key.clone(), ip.to_string())).collect()
    }

    #[test]
    fn nodes_get_the_lowest_free_addresses_health_managers_first() {
        let given = give(&nodes(2), &BTreeMap::new(), &range(), None);
        let expected = [
            ("hm_worker-00", "172.23.0.97"),
            ("hm_worker-01", "172.23.0.99"),
            ("rsyslog_worker-00", "172.23.0.98"),
            ("rsyslog_worker-01", "172.23.0.100"),
        ];
        let expected = expected.map(|(key, ip)| (key.to_owned(), ip.to_owned()));
        assert_eq!(texts(&given), BTreeMap::from(expected));
        assert_eq!(give(&nodes(2), &texts(&given), &range(), None), given);
    }

    #[test]
    fn who_has_one_keeps_it_and_what_is_left_behind_is_given_again() {
        let three = texts(&give(&nodes(3), &BTreeMap::new(), &range(), None));
        let mut others = nodes(4);
        others.remove("worker-00");
        let given = give(&others, &three, &range(), None);
        for node in ["worker-01", "worker-02"] {
            let key = Part::HealthManager.key(node);
            assert_eq!(given.map[&key].to_string(), three[&key]);
        }
        assert_eq!(given.map["hm_worker-03"].to_string(), "172.23.0.97");
        assert_eq!(given.moved, []);
    }

    #[test]
    fn what_cannot_stay_moves() {
        let before = BTreeMap::from([
            ("hm_worker-00".to_owned(), "172.23.0.98".to_owned()),
            ("rsyslog_worker-00".to_owned(), "10.0.0.1".to_owned()),
            ("hm_worker-01".to_owned(), "172.23.0.98".to_owned()),
            ("rsyslog_worker-01".to_owned(), "nonsense".to_owned()),
        ]);
        let given = give(&nodes(2), &before, &range(), "172.23.0.97".parse().ok());
        assert_eq!(given.moved.len(), 3);
        assert_eq!(given.map["hm_worker-00"].to_string(), "172.23.0.98");
        let all: BTreeSet<_> = given.map.values().collect();
        assert_eq!((all.len(), given.map.len()), (4, 4));
        assert!(all.iter().all(|ip| ip.to_string() != "172.23.0.97"));
    }

    #[test]
    fn thirteen_nodes_fit_and_of_more_it_is_said_who_has_none() {
        let given = give(&nodes(13), &BTreeMap::new(), &range(), None);
        assert_eq!((given.map.len(), given.without.len()), (26, 0));
        let given = give(&nodes(14), &texts(&given), &range(), None);
        assert_eq!(given.without, ["hm_worker-13", "rsyslog_worker-13"]);
        assert_eq!(given.map.len(), 26);
    }
}
