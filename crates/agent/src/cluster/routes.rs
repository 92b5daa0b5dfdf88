//! Which routes lead to the pods of the other nodes.

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use landbridge_linux::route::Protocol;
use landbridge_linux::{Address, Route};

/// The mark of our own routes: only those are ever removed.
const OURS: Protocol = Protocol(76);

/// Another node: where it is, and which pods it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub addresses: Vec<IpAddr>,
    pub pod_ranges: Vec<IpNet>,
}

/// What to do to the routes that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub remove: Vec<Route>,
    pub add: Vec<Route>,
}

impl Neighbour {
    /// Reads a Node; nothing where it has no address or no pods yet.
    pub fn of(node: &Node) -> Option<Self> {
        let status = node.status.as_ref()?;
        let internal = status.addresses.iter().flatten().filter(|a| a.type_ == "InternalIP");
        let addresses: Vec<IpAddr> = internal.filter_map(|a| a.address.parse().ok()).collect();
        let spec = node.spec.as_ref()?;
        let ranges = spec.pod_cidrs.iter().flatten();
        let mut pod_ranges: Vec<IpNet> = ranges.filter_map(|range| range.parse().ok()).collect();
        if pod_ranges.is_empty() {
            pod_ranges.extend(spec.pod_cidr.as_ref().and_then(|range| range.parse::<IpNet>().ok()));
        }
        (!addresses.is_empty() && !pod_ranges.is_empty()).then_some(Self { addresses, pod_ranges })
    }
}

/// The difference between what is there and what the neighbours ask for. A neighbour is reached only
/// through an address on a link of this node: a route through somewhere else would be a guess.
pub fn wanted(neighbours: &[Neighbour], own: &[Address], there: &[Route]) -> Plan {
    let mut wanted: Vec<Route> = Vec::new();
    for neighbour in neighbours {
        for range in &neighbour.pod_ranges {
            let same_family = |ip: &&IpAddr| ip.is_ipv4() == matches!(range, IpNet::V4(_));
            for gateway in neighbour.addresses.iter().filter(same_family) {
                let Some(near) = own.iter().find(|address| address.net.contains(gateway)) else {
                    continue;
                };
                let mut route = Route::via(range.trunc(), *gateway).on(near.link);
                route.protocol = OURS;
                wanted.push(route);
                break;
            }
        }
    }
    let same = |a: &Route, b: &Route| {
        (a.destination, a.gateway, a.link, a.table) == (b.destination, b.gateway, b.link, b.table)
    };
    let ours = || there.iter().filter(|route| route.protocol == OURS);
    Plan {
        remove: ours().filter(|old| !wanted.iter().any(|new| same(old, new))).cloned().collect(),
        add: wanted.into_iter().filter(|new| !ours().any(|old| same(old, new))).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use landbridge_linux::LinkIndex;

    fn neighbour(addresses: &[&str], ranges: &[&str]) -> Neighbour {
        Neighbour {
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
            pod_ranges: ranges.iter().map(|net| net.parse().unwrap()).collect(),
        }
    }

    fn own() -> Vec<Address> {
        let on = |net: &str| Address::new(LinkIndex(2), net.parse().unwrap());
        vec![on("192.168.111.20/24"), on("fd00:111::20/64")]
    }

    #[test]
    fn each_family_through_its_own_address() {
        let other = neighbour(
            &["192.168.111.21", "fd00:111::21"],
            &["10.244.1.0/24", "fd00:10:244:1::/64"],
        );
        let plan = wanted(&[other], &own(), &[]);
        let shown: Vec<_> = plan
            .add
            .iter()
            .map(|r| (r.destination.to_string(), r.gateway.unwrap().to_string()))
            .collect();
        assert_eq!(
            shown,
            [
                ("10.244.1.0/24".to_owned(), "192.168.111.21".to_owned()),
                ("fd00:10:244:1::/64".to_owned(), "fd00:111::21".to_owned())
            ]
        );
        assert!(plan.remove.is_empty());
    }

    #[test]
    fn what_is_there_stays_and_what_is_stale_goes() {
        let first = wanted(&[neighbour(&["192.168.111.21"], &["10.244.1.0/24"])], &own(), &[]).add;
        let same = wanted(&[neighbour(&["192.168.111.21"], &["10.244.1.0/24"])], &own(), &first);
        assert_eq!(same, Plan::default());
        let moved = wanted(&[neighbour(&["192.168.111.22"], &["10.244.1.0/24"])], &own(), &first);
        assert_eq!((moved.remove.len(), moved.add.len()), (1, 1));
        let mut foreign = first[0].clone();
        foreign.protocol = Protocol::STATIC;
        assert_eq!(wanted(&[], &own(), &[foreign]), Plan::default());
        assert_eq!(wanted(&[], &own(), &first).remove, first);
    }

    #[test]
    fn a_neighbour_on_no_link_of_ours_is_not_guessed_at() {
        assert_eq!(
            wanted(&[neighbour(&["198.51.100.1"], &["10.244.1.0/24"])], &own(), &[]),
            Plan::default()
        );
    }
}
