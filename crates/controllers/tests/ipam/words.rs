//! What people read when something is missing, and that it goes on by itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use landbridge_api::condition::is_ready;
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, Claim};
use landbridge_api::network::{
    AllocationRange, IPSet, IPSetNetwork, IPSetSpec, NetConfig, NetConfigSpec, Network,
    Reservation, Subnet,
};

use crate::chance::Chance;
use crate::operator::{Operator, settle};
use crate::server::Server;

struct Site {
    server: Server,
    operator: Operator,
}

fn netconfig(end: &str) -> NetConfigSpec {
    NetConfigSpec {
        networks: vec![Network {
            name: "InternalApi".to_owned(),
            mtu: 1500,
            subnets: vec![Subnet {
                name: "subnet1".to_owned(),
                cidr: "172.17.0.0/24".to_owned(),
                vlan: Some(20),
                allocation_ranges: vec![AllocationRange {
                    start: "172.17.0.100".to_owned(),
                    end: end.to_owned(),
                }],
                exclude_addresses: vec!["172.17.0.101".to_owned()],
                ..Subnet::default()
            }],
            ..Network::default()
        }],
    }
}

impl Site {
    fn new() -> Self {
        let mut server = Server::default();
        let operator = Operator::start(&server);
        let mut config = NetConfig::new("netconfig", netconfig("172.17.0.102"));
        config.metadata.namespace = Some("openstack".to_owned());
        server.create(config).unwrap();
        Self { server, operator }
    }

    fn ipset(&mut self, name: &str, network: &str, fixed: Option<&str>) {
        let networks = vec![IPSetNetwork {
            name: network.to_owned(),
            subnet_name: "subnet1".to_owned(),
            fixed_ip: fixed.map(str::to_owned),
            default_route: None,
        }];
        let mut ipset = IPSet::new(name, IPSetSpec { immutable: false, networks });
        ipset.metadata.namespace = Some("openstack".to_owned());
        self.server.create(ipset).unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        settle(&mut self.server, &mut self.operator);
    }

    fn delete(&mut self, name: &str) {
        self.server.delete::<IPSet>("openstack", name);
        self.settle();
    }

    /// The message of Ready, or the address.
    fn outcome(&mut self, name: &str) -> String {
        let status = self.server.get::<IPSet>("openstack", name).unwrap().status.unwrap();
        if is_ready(&status.conditions) {
            status.reservations[0].address.clone()
        } else {
            status.conditions[0].message.clone()
        }
    }

    fn reasons(&self) -> Vec<&'static str> {
        self.operator.notices.iter().map(|notice| notice.reason).collect()
    }
}

const SHORT: &str = "Reservation reservations (0) do not match requested (1): network InternalApi, subnet subnet1: ";

#[test]
fn an_exhausted_range_says_so_and_the_oldest_request_gets_what_frees_up() {
    let mut site = Site::new();
    site.ipset("a", "InternalApi", None);
    site.ipset("b", "internalapi", None);
    assert_eq!(
        (site.outcome("a"), site.outcome("b")),
        ("172.17.0.100".into(), "172.17.0.102".into())
    );
    site.ipset("c", "InternalApi", None);
    let why = format!(
        "{SHORT}no ip address could be created for c in subnet subnet1; 0 of 2 addresses of its ranges on vlan-20 are left"
    );
    assert_eq!(site.outcome("c"), why);
    assert_eq!(site.reasons(), ["AddressesMissing"]);
    site.ipset("d", "InternalApi", None);
    site.delete("a");
    assert_eq!(site.outcome("c"), "172.17.0.100", "who asked first is served first");
    assert_eq!(site.outcome("b"), "172.17.0.102", "a live holder never moves");
    assert!(site.outcome("d").contains("no ip address"));
    assert_eq!(site.reasons(), ["AddressesMissing", "AddressesMissing", "AddressesGiven"]);
    // A wider range wakes the others.
    site.server
        .change("openstack", "netconfig", None, |n: &mut NetConfig| {
            n.spec = netconfig("172.17.0.103");
        })
        .unwrap();
    site.settle();
    assert_eq!(site.outcome("d"), "172.17.0.103");
}

#[test]
fn a_taken_address_is_named_with_its_holder() {
    let mut site = Site::new();
    site.ipset("a", "InternalApi", Some("172.17.0.7"));
    site.ipset("b", "InternalApi", Some("172.17.0.7"));
    assert_eq!(site.outcome("a"), "172.17.0.7", "a fixed address need not lie in a range");
    let why = "172.17.0.7 already reserved for IPSet openstack/a; 2 of 2 addresses of its ranges on vlan-20 are left";
    assert_eq!(site.outcome("b"), format!("{SHORT}{why}"));
    site.ipset("c", "InternalApi", Some("172.17.0.101"));
    assert_eq!(site.outcome("c"), format!("{SHORT}FixedIP 172.17.0.101 is in ExcludeAddresses"));
    site.delete("a");
    assert_eq!(site.outcome("b"), "172.17.0.7");
}

/// What an attachment writes into the ledger: a pod has, or has no longer, an address.
fn pod_claims(site: &mut Site, addresses: &[&str]) {
    let claim = |name: &str| Claim {
        kind: "Pod".to_owned(),
        namespace: "openstack".to_owned(),
        name: name.to_owned(),
        attachment: "net1".to_owned(),
        source: "NetworkAttachmentDefinition openstack/internalapi".to_owned(),
        ..Claim::default()
    };
    let name = "vlan-20.172.17.0.64";
    if site.server.get::<AddressBlock>("", name).is_none() {
        let spec = AddressBlockSpec {
            segment: "vlan-20".to_owned(),
            block: "172.17.0.64/26".to_owned(),
            claims: BTreeMap::new(),
        };
        site.server.create(AddressBlock::new(name, spec)).unwrap();
    }
    site.server
        .change("", name, None, |block: &mut AddressBlock| {
            block.spec.claims.retain(|_, claim| claim.kind != "Pod");
            for address in addresses {
                block.spec.claims.insert(address.parse().unwrap(), claim("glance-0"));
            }
        })
        .unwrap();
    site.settle();
}

#[test]
fn what_a_pod_has_an_ipset_waits_for() {
    let mut site = Site::new();
    pod_claims(&mut site, &["172.17.0.100"]);
    site.ipset("a", "InternalApi", None);
    assert_eq!(site.outcome("a"), "172.17.0.102", "the pod's is passed over");
    site.ipset("b", "InternalApi", None);
    assert!(site.outcome("b").contains("0 of 2 addresses"), "{}", site.outcome("b"));
    site.ipset("c", "InternalApi", Some("172.17.0.100"));
    let why = "172.17.0.100 already reserved for Pod openstack/glance-0; 0 of 2 addresses of its ranges on vlan-20 are left";
    assert_eq!(site.outcome("c"), format!("{SHORT}{why}"));
    // The pod goes: whoever asked first gets it, and the other one is told so.
    pod_claims(&mut site, &[]);
    assert_eq!(site.outcome("b"), "172.17.0.100");
    let why = "172.17.0.100 already reserved for IPSet openstack/b; 0 of 2 addresses of its ranges on vlan-20 are left";
    assert_eq!(site.outcome("c"), format!("{SHORT}{why}"));
    // A pod's claim is nobody's to free here, whoever goes.
    site.delete("a");
    pod_claims(&mut site, &["172.17.0.102"]);
    site.delete("b");
    assert_eq!(site.outcome("c"), "172.17.0.100");
    let block = site.server.get::<AddressBlock>("", "vlan-20.172.17.0.64").unwrap();
    let holder = block.spec.claims[&"172.17.0.102".parse().unwrap()].to_string();
    assert_eq!(holder, "Pod openstack/glance-0");
}

#[test]
fn unknown_networks_and_a_missing_netconfig_are_named() {
    let mut site = Site::new();
    site.ipset("a", "Storage", None);
    let why = "Reservation reservations (0) do not match requested (1): network Storage: no network with name: Storage";
    assert_eq!(site.outcome("a"), why);
    site.ipset("b", "InternalApi", None);
    site.server.delete::<NetConfig>("openstack", "netconfig");
    site.settle();
    assert_eq!(site.outcome("b"), "NetConfig missing in namespace openstack");
    let mut config = NetConfig::new("other", netconfig("172.17.0.110"));
    config.metadata.namespace = Some("openstack".to_owned());
    site.server.create(config).unwrap();
    site.settle();
    assert_eq!(site.outcome("b"), "172.17.0.100", "and nothing was lost in between");
}

#[test]
fn a_restored_reservation_keeps_its_address_for_the_ipset_that_follows() {
    let mut site = Site::new();
    site.ipset("a", "InternalApi", None);
    let record = site.server.get::<Reservation>("openstack", "a").unwrap();
    site.delete("a");
    assert!(site.server.blocks.objects.is_empty(), "nothing stays behind");
    let mut restored = Reservation::new("a", record.spec.clone());
    restored.metadata.namespace = Some("openstack".to_owned());
    site.server.create(restored).unwrap();
    site.settle();
    site.ipset("b", "InternalApi", None);
    assert_eq!(site.outcome("b"), "172.17.0.102", ".100 waits for a");
    site.ipset("a", "InternalApi", None);
    assert_eq!(site.outcome("a"), "172.17.0.100");
}

#[test]
fn finalizers_of_both_generations_are_cleared() {
    let mut site = Site::new();
    for (name, finalizer) in [("a", "IPSet"), ("b", "openstack.org/ipset")] {
        let mut ipset = IPSet::new(name, IPSetSpec::default());
        ipset.metadata.namespace = Some("openstack".to_owned());
        ipset.metadata.finalizers =
            Some(vec![finalizer.to_owned(), "example.com/other".to_owned()]);
        site.server.create(ipset).unwrap();
        site.settle();
        site.delete(name);
        let left = site.server.get::<IPSet>("openstack", name).unwrap();
        assert_eq!(left.metadata.finalizers.unwrap(), ["example.com/other"], "others' stay");
    }
}

#[test]
fn a_successor_of_the_same_name_keeps_what_it_was_given_meanwhile() {
    let mut site = Site::new();
    let claim = Claim {
        kind: "IPSet".to_owned(),
        namespace: "openstack".to_owned(),
        name: "a".to_owned(),
        uid: "of somebody who is gone".to_owned(),
        attachment: "InternalApi".to_owned(),
        ..Claim::default()
    };
    let spec = AddressBlockSpec {
        segment: "vlan-20".to_owned(),
        block: "172.17.0.64/26".to_owned(),
        claims: BTreeMap::from([("172.17.0.100".parse().unwrap(), claim)]),
    };
    site.server.create(AddressBlock::new("vlan-20.172.17.0.64", spec)).unwrap();
    // One controller has asked whether the holder is gone, and the answer is on its way.
    let mut late = Operator::start(&site.server);
    let (mut chance, now) = (Chance::new(1), Timestamp::UNIX_EPOCH);
    late.act(now, usize::MAX);
    assert!(late.travel(&mut site.server, &mut chance, now), "it asks");
    // Another one serves an IPSet of that name, which takes the address over.
    site.operator = Operator::start(&site.server);
    site.ipset("a", "InternalApi", None);
    assert_eq!(site.outcome("a"), "172.17.0.100");
    // The late one hears of the block, not of the IPSet, and then the answer.
    while late.hear(&site.server, 3) {}
    assert!(late.travel(&mut site.server, &mut chance, now));
    late.act(now, usize::MAX);
    while late.travel(&mut site.server, &mut chance, now) {}
    let block = site.server.get::<AddressBlock>("", "vlan-20.172.17.0.64").unwrap();
    assert_eq!(block.spec.claims.len(), 1, "not freed");
}
