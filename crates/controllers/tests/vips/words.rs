//! What people are told, and the cases the facts name, through the whole engine.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::ResourceExt as _;
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_api::ledger::{AddressBlock, AddressBlockSpec, Claim};
use landbridge_plan::Site;
use landbridge_vips::NAMESPACE;
use landbridge_vips::asked::FROM_POOL;
use serde_json::json;

use crate::operator::{Operator, settle};
use crate::server::Server;
use crate::wishes;

struct Plane {
    server: Server,
    operator: Operator,
}

fn plane(addresses: &[&str]) -> Plane {
    let mut server = Server::default();
    server.create(wishes::namespace("openstack")).unwrap();
    server.create(wishes::pool("internalapi", json!({"addresses": addresses}))).unwrap();
    let operator = Operator::start(&server);
    Plane { server, operator }
}

impl Plane {
    fn settle(&mut self) {
        settle(&mut self.server, &mut self.operator);
    }

    fn create(&mut self, name: &str, port: i32, annotations: &[(&str, &str)]) {
        let mut service = wishes::service("openstack", name);
        let annotations = annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        service.metadata.annotations = Some(annotations.collect());
        service.spec = Some(ServiceSpec {
            type_: Some("LoadBalancer".to_owned()),
            cluster_ips: Some(vec!["10.96.0.7".to_owned()]),
            ports: Some(vec![ServicePort { port, ..ServicePort::default() }]),
            ..ServiceSpec::default()
        });
        self.server.create(service).unwrap();
    }

    fn annotate(&mut self, name: &str, key: &str, value: &str) {
        self.server
            .change("openstack", name, None, |service: &mut Service| {
                service.annotations_mut().insert(key.to_owned(), value.to_owned());
            })
            .unwrap();
    }

    fn pool(&mut self, name: &str, addresses: &[&str]) {
        let spec = json!({"addresses": addresses});
        self.server
            .change(NAMESPACE, name, None, |pool: &mut IPAddressPool| pool.spec = spec)
            .unwrap();
    }

    /// `172.17.0.80 from internalapi`
    fn has(&mut self, name: &str) -> String {
        let service = self.server.get::<Service>("openstack", name).unwrap();
        let status = service.status.clone().and_then(|status| status.load_balancer);
        let ingress = status.and_then(|status| status.ingress).unwrap_or_default();
        let addresses: Vec<String> = ingress.into_iter().filter_map(|entry| entry.ip).collect();
        let pool = service.annotations().get(FROM_POOL).cloned().unwrap_or_default();
        format!("{} from {pool}", addresses.join(","))
    }

    fn told(&mut self) -> Vec<String> {
        let notices = std::mem::take(&mut self.operator.notices);
        notices.into_iter().map(|n| format!("{} {}: {}", n.key.name, n.reason, n.note)).collect()
    }
}

const WIRE: &str = "vlan-20.172.17.0.64";

impl Plane {
    /// The pool is on a wire, where somebody else has this address.
    fn stranger_at(&mut self, address: &str) {
        let site = Site { segment: "vlan-20".into(), prefix: "172.17.0.0/24".parse().unwrap() };
        self.server.sites = [("internalapi".to_owned(), vec![site])].into();
        let claim = Claim {
            kind: "IPSet".into(),
            namespace: "openstack".into(),
            name: "edpm-compute-0".into(),
            ..Claim::default()
        };
        let spec = AddressBlockSpec {
            segment: "vlan-20".to_owned(),
            block: "172.17.0.64/26".to_owned(),
            claims: [(address.parse().unwrap(), claim)].into(),
        };
        self.server.create(AddressBlock::new(WIRE, spec)).unwrap();
    }

    fn stranger_leaves(&mut self) {
        let change = |block: &mut AddressBlock| {
            block.spec.claims.retain(|_, claim| claim.kind != "IPSet");
        };
        self.server.change("", WIRE, None, change).unwrap();
    }

    /// Who is said to use an address in a block of the ledger.
    fn users(&mut self, block: &str, address: &str) -> Vec<String> {
        let block = self.server.get::<AddressBlock>("", block);
        let claim = block.and_then(|b| b.spec.claims.get(&address.parse().unwrap()).cloned());
        let shared = claim.and_then(|claim| claim.shared).unwrap_or_default();
        shared.users.into_iter().map(|user| user.name).collect()
    }

    fn class(&mut self, name: &str, class: Option<&str>) {
        let change = |service: &mut Service| {
            service.spec.as_mut().unwrap().load_balancer_class = class.map(str::to_owned);
        };
        self.server.change("openstack", name, None, change).unwrap();
    }
}

const SHARED: &str = "metallb.universe.tf/allow-shared-ip";
const ASKED: &str = "metallb.io/loadBalancerIPs";

#[test]
fn what_happens_is_told_once() {
    let mut plane = plane(&["172.17.0.80-172.17.0.81"]);
    plane.create("a", 80, &[(SHARED, "k")]);
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi");
    assert_eq!(
        plane.told(),
        [
            "a deprecatedAnnotation: Service uses deprecated annotation metallb.universe.tf/allow-shared-ip",
            r#"a IPAllocated: Assigned IP ["172.17.0.80"]"#,
        ]
    );
    plane.create("b", 80, &[(ASKED, "172.17.0.80")]);
    plane.settle();
    plane.settle();
    assert_eq!(plane.has("b"), " from ");
    assert_eq!(
        plane.told(),
        [
            r#"b AllocationFailed: Failed to allocate IP for "openstack/b": can't change sharing key for "openstack/b", address also in use by openstack/a"#
        ]
    );
    // Freed by who had it, and taken by who waits, without anybody asking again.
    plane.server.delete::<Service>("openstack", "a");
    plane.settle();
    assert_eq!(plane.has("b"), "172.17.0.80 from internalapi");
    assert_eq!(plane.told(), [r#"b IPAllocated: Assigned IP ["172.17.0.80"]"#]);
}

#[test]
fn a_wider_pool_and_another_key_wake_who_waits() {
    let mut plane = plane(&["172.17.0.80-172.17.0.80"]);
    plane.create("a", 80, &[("metallb.io/allow-shared-ip", "k")]);
    plane.create("b", 81, &[("metallb.io/allow-shared-ip", "l")]);
    plane.settle();
    assert_eq!(plane.has("b"), " from ");
    plane.annotate("a", "metallb.io/allow-shared-ip", "l");
    plane.settle();
    assert_eq!(plane.has("b"), "172.17.0.80 from internalapi");
    plane.create("c", 80, &[]);
    plane.settle();
    assert_eq!(plane.has("c"), " from ");
    plane.pool("internalapi", &["172.17.0.80-172.17.0.82"]);
    plane.settle();
    assert_eq!(plane.has("c"), "172.17.0.81 from internalapi");
}

#[test]
fn bad_pools_change_nothing_and_are_reported() {
    let mut plane = plane(&["172.17.0.80-172.17.0.90"]);
    plane.create("a", 80, &[]);
    plane.settle();
    assert_eq!(plane.server.configuration, Some(None));
    plane.pool("internalapi", &["172.17.0.90-172.17.0.80"]);
    plane.create("b", 80, &[]);
    plane.settle();
    let said = plane.server.configuration.clone().flatten().unwrap();
    assert!(said.contains("start IP \"172.17.0.90\" is after the end IP"), "{said}");
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi", "as it was");
    assert_eq!(plane.has("b"), "172.17.0.81 from internalapi", "by what was valid last");
    assert!(plane.operator.engine.metrics().contains("config_stale_bool 1\n"));
    // A controller that starts now has nothing valid to go by, and takes nothing away.
    plane.operator = Operator::start(&plane.server);
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi");
    plane.pool("internalapi", &["172.17.0.81-172.17.0.90"]);
    plane.settle();
    assert_eq!(plane.server.configuration, Some(None));
    assert_eq!(plane.has("a"), "172.17.0.82 from internalapi", "its address is in no pool now");
    assert_eq!(plane.has("b"), "172.17.0.81 from internalapi");
}

#[test]
fn the_state_of_the_configuration_comes_back_with_its_namespace() {
    let mut plane = plane(&["172.17.0.80-172.17.0.90"]);
    plane.settle();
    assert_eq!(plane.server.configuration, Some(None));
    plane.server.configuration = None; // deleted with the namespace it was in
    plane.server.create(wishes::namespace(NAMESPACE)).unwrap();
    plane.settle();
    assert_eq!(plane.server.configuration, Some(None));
}

#[test]
fn a_restart_takes_nothing_away() {
    let mut plane = plane(&["172.17.0.80-172.17.0.81"]);
    plane.create("z-first", 80, &[]);
    plane.settle();
    // While nobody looks, somebody asks who would come first by name.
    plane.create("a-second", 80, &[(ASKED, "172.17.0.80")]);
    plane.operator = Operator::start(&plane.server);
    plane.settle();
    assert_eq!(plane.has("z-first"), "172.17.0.80 from internalapi");
    assert_eq!(plane.has("a-second"), " from ");
    // The same without a ledger, as when MetalLB was there before.
    let blocks: Vec<String> =
        plane.server.blocks.objects.keys().map(|(_, name)| name.clone()).collect();
    for name in blocks {
        plane.server.delete::<AddressBlock>("", &name);
    }
    plane.operator = Operator::start(&plane.server);
    plane.settle();
    assert_eq!(plane.has("z-first"), "172.17.0.80 from internalapi");
    assert_eq!(plane.server.blocks.objects.len(), 1, "it is claimed again");
}

#[test]
fn others_on_the_wire_are_passed_over_and_named() {
    let mut plane = plane(&["172.17.0.80-172.17.0.90"]);
    plane.stranger_at("172.17.0.80");
    plane.create("a", 80, &[]);
    plane.create("b", 80, &[(ASKED, "172.17.0.80")]);
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.81 from internalapi");
    assert_eq!(plane.has("b"), " from ");
    let told = plane.told();
    assert!(
        told.iter().any(|t| t.contains("172.17.0.80 is held by IPSet openstack/edpm-compute-0"))
    );
    let block = plane.server.get::<AddressBlock>("", WIRE).unwrap();
    let held = &block.spec.claims[&"172.17.0.81".parse().unwrap()];
    assert_eq!(held.to_string(), "Service openstack/a", "an IPSet passes it over");
    assert_eq!(held.source, "IPAddressPool metallb-system/internalapi");
    plane.stranger_leaves();
    plane.settle();
    assert_eq!(plane.has("b"), "172.17.0.80 from internalapi", "woken when it is free");
}

#[test]
fn an_address_held_twice_is_told_and_claimed_once_it_is_free() {
    let mut plane = plane(&["172.17.0.80-172.17.0.80"]);
    plane.create("a", 80, &[]);
    plane.settle();
    plane.told();
    // An IPSet got the address before anybody knew that the pool is on this wire.
    plane.stranger_at("172.17.0.80");
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi", "it keeps what it has");
    let told = plane.told();
    assert!(
        told.iter().any(|t| t.starts_with("a AddressHeldTwice: 172.17.0.80 of this Service")),
        "{told:?}"
    );
    assert!(plane.users(WIRE, "172.17.0.80").is_empty());
    plane.stranger_leaves();
    plane.settle();
    assert_eq!(plane.users(WIRE, "172.17.0.80"), ["a"], "claimed where it is free now");
}

#[test]
fn a_service_of_another_class_keeps_what_its_status_names() {
    let mut plane = plane(&["172.17.0.80-172.17.0.80"]);
    plane.create("a", 80, &[]);
    plane.create("b", 80, &[]);
    plane.settle();
    plane.class("a", Some("others.example/lb"));
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi", "not written any more");
    assert_eq!(plane.has("b"), " from ", "clients of a still go there");
    plane.class("a", None);
    plane.settle();
    assert_eq!(plane.has("a"), "172.17.0.80 from internalapi", "as if nothing had been");
    assert_eq!(plane.users("vips.172.17.0.64", "172.17.0.80"), ["a"]);
    // Who serves it from now on names another address.
    plane.class("a", Some("others.example/lb"));
    let change = |service: &mut Service| {
        let balancer = service.status.as_mut().unwrap().load_balancer.as_mut().unwrap();
        balancer.ingress.as_mut().unwrap()[0].ip = Some("192.0.2.7".to_owned());
    };
    plane.server.change("openstack", "a", None, change).unwrap();
    plane.settle();
    assert_eq!(plane.has("b"), "172.17.0.80 from internalapi");
    assert_eq!(plane.has("a"), "192.0.2.7 from internalapi", "still not written");
}

#[test]
fn a_service_of_another_type_gives_its_address_back() {
    let mut plane = plane(&["172.17.0.80-172.17.0.80"]);
    plane.create("a", 80, &[]);
    plane.create("b", 80, &[]);
    plane.settle();
    plane
        .server
        .change("openstack", "a", None, |service: &mut Service| {
            service.spec.as_mut().unwrap().type_ = Some("ClusterIP".to_owned());
        })
        .unwrap();
    plane.settle();
    assert_eq!(
        (plane.has("a").as_str(), plane.has("b").as_str()),
        (" from ", "172.17.0.80 from internalapi")
    );
    let pool = plane.server.get::<IPAddressPool>(NAMESPACE, "internalapi").unwrap();
    assert_eq!(
        pool.status,
        json!({"assignedIPv4": 1, "assignedIPv6": 0, "availableIPv4": 0, "availableIPv6": 0})
    );
}
