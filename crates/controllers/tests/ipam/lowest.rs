//! One request after the other against a list of single addresses: everybody gets the lowest free
//! address, in the order of the ranges, by upstream's rules of skipping.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use kube::ResourceExt;
use landbridge_api::network::{
    AllocationRange, IPSet, IPSetNetwork, IPSetSpec, NetConfig, NetConfigSpec, Network, Subnet,
};

use crate::chance::Chance;
use crate::operator::{Operator, settle};
use crate::server::Server;

const SPACE: &str = "openstack";

fn address(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + n)
}

/// Ranges as numbers, and what is excluded of them. They cross 10.0.1.0, and may overlap.
#[derive(Clone, Debug)]
struct Model {
    ranges: Vec<(u32, u32)>,
    excluded: BTreeSet<u32>,
    held: BTreeMap<String, u32>,
}

impl Model {
    fn new(chance: &mut Chance) -> Self {
        let mut number = |below| u32::try_from(chance.below(below)).unwrap();
        let ranges = (0..=number(2))
            .map(|_| {
                let first = 250 + number(12);
                (first, first + 1 + number(6))
            })
            .collect();
        let excluded = (0..number(4)).map(|_| 250 + number(20)).collect();
        Self { ranges, excluded, held: BTreeMap::new() }
    }

    fn lowest(&self) -> Option<u32> {
        let taken: BTreeSet<u32> = self.held.values().copied().collect();
        self.ranges.iter().flat_map(|(first, last)| *first..=*last).find(|n| {
            !address(*n).octets().ends_with(&[0])
                && !self.excluded.contains(n)
                && !taken.contains(n)
        })
    }

    fn spec(&self) -> NetConfigSpec {
        let text = |n: &u32| address(*n).to_string();
        NetConfigSpec {
            networks: vec![Network {
                name: "CtlPlane".to_owned(),
                mtu: 1500,
                subnets: vec![Subnet {
                    name: "subnet1".to_owned(),
                    cidr: "10.0.0.0/16".to_owned(),
                    allocation_ranges: self
                        .ranges
                        .iter()
                        .map(|(first, last)| AllocationRange {
                            start: text(first),
                            end: text(last),
                        })
                        .collect(),
                    exclude_addresses: self.excluded.iter().map(text).collect(),
                    ..Subnet::default()
                }],
                ..Network::default()
            }],
        }
    }
}

fn play(seed: u64) {
    let mut chance = Chance::new(seed);
    let mut model = Model::new(&mut chance);
    let mut server = Server::default();
    let mut netconfig = NetConfig::new("netconfig", model.spec());
    netconfig.metadata.namespace = Some(SPACE.to_owned());
    server.create(netconfig).unwrap();
    let mut operator = Operator::start(&server);
    for _ in 0..60 {
        let name = format!("node-{}", chance.below(12));
        match chance.below(10) {
            0..=5 if server.get::<IPSet>(SPACE, &name).is_none() => {
                let fixed =
                    chance.one_in(4).then(|| 250 + u32::try_from(chance.below(20)).unwrap());
                let networks = vec![IPSetNetwork {
                    name: "ctlplane".to_owned(),
                    subnet_name: "subnet1".to_owned(),
                    fixed_ip: fixed.map(|n| address(n).to_string()),
                    default_route: None,
                }];
                let mut ipset = IPSet::new(&name, IPSetSpec { immutable: false, networks });
                ipset.metadata.namespace = Some(SPACE.to_owned());
                server.create(ipset).unwrap();
                let expected = match fixed {
                    Some(n) if model.excluded.contains(&n) => None,
                    Some(n) if model.held.values().any(|held| *held == n) => None,
                    Some(n) => Some(n),
                    None => model.lowest(),
                };
                settle(&mut server, &mut operator);
                let given = given(&mut server, &name);
                assert_eq!(given, expected.map(|n| address(n).into()), "{name} of {model:?}");
                match expected {
                    Some(n) => drop(model.held.insert(name, n)),
                    // Waiting is the other tests' subject.
                    None => server.delete::<IPSet>(SPACE, &name),
                }
            }
            6 | 7 => {
                model.held.remove(&name);
                server.delete::<IPSet>(SPACE, &name);
            }
            8 => {
                // Other ranges; what is held stays.
                let held = std::mem::take(&mut model.held);
                model = Model { held, ..Model::new(&mut chance) };
                let spec = model.spec();
                server.change(SPACE, "netconfig", None, |n: &mut NetConfig| n.spec = spec).unwrap();
            }
            _ => operator = Operator::start(&server),
        }
        settle(&mut server, &mut operator);
        let now: BTreeMap<String, IpAddr> = server
            .ipsets
            .objects
            .values()
            .map(ResourceExt::name_any)
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|name| Some((name.clone(), given(&mut server, &name)?)))
            .collect();
        let expected: BTreeMap<String, IpAddr> =
            model.held.iter().map(|(name, n)| (name.clone(), address(*n).into())).collect();
        assert_eq!(now, expected, "nobody moves, nothing is lost");
    }
}

fn given(server: &mut Server, name: &str) -> Option<IpAddr> {
    let status = server.get::<IPSet>(SPACE, name)?.status?;
    status.reservations.first()?.address.parse().ok()
}

#[test]
fn everybody_gets_the_lowest_free_address() {
    for seed in 0..150 {
        let result = std::panic::catch_unwind(|| play(seed));
        assert!(result.is_ok(), "seed {seed}");
    }
}
