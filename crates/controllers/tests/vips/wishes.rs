//! Random Services and pools.

use k8s_openapi::api::core::v1::{Namespace, Service, ServicePort, ServiceSpec};
use landbridge_api::foreign::metallb::objects::IPAddressPool;
use landbridge_vips::NAMESPACE;
use serde_json::{Value, json};

use crate::chance::Chance;

pub const SPACES: [&str; 2] = ["one", "two"];

pub fn pool(name: &str, spec: Value) -> IPAddressPool {
    let mut pool = IPAddressPool { spec, ..IPAddressPool::default() };
    pool.metadata.name = Some(name.to_owned());
    pool.metadata.namespace = Some(NAMESPACE.to_owned());
    pool
}

pub fn namespace(name: &str) -> Namespace {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace
}

pub fn service(namespace: &str, name: &str) -> Service {
    let mut service = Service::default();
    service.metadata.name = Some(name.to_owned());
    service.metadata.namespace = Some(namespace.to_owned());
    service
}

/// Small pools that run out; the first one crosses two blocks of the ledger.
pub fn pool_spec(chance: &mut Chance) -> Value {
    let first = format!("10.0.0.{}-10.0.0.{}", 61 + chance.below(3), 64 + chance.below(2));
    let mut spec = match chance.below(6) {
        0 => json!({"addresses": [first, "fd00::3f-fd00::41"]}),
        1 => json!({"addresses": ["fd00::40-fd00::40", first], "avoidBuggyIPs": true}),
        2 => json!({"addresses": ["10.0.0.62/31"]}),
        3 => json!({"addresses": [first], "serviceAllocation": {"namespaces": ["one"]}}),
        _ => json!({"addresses": [first, "fd00::40-fd00::41"]}),
    };
    if chance.one_in(8) {
        spec["addresses"] = json!(["10.0.0.9-10.0.0.1"]); // makes no sense
    }
    spec
}

/// Writes a wish into a Service.
pub fn wish(chance: &mut Chance, service: &mut Service) {
    let mut annotations = service.metadata.annotations.take().unwrap_or_default();
    annotations.retain(|key, _| key.contains("allocated-from"));
    let prefix = *chance.pick(&["metallb.io", "metallb.universe.tf"]);
    let mut say = |name: &str, value: &str| {
        annotations.insert(format!("{prefix}/{name}"), value.to_owned());
    };
    let dual = chance.one_in(4);
    match chance.below(8) {
        0 => say("loadBalancerIPs", &format!("10.0.0.{}", 61 + chance.below(5))),
        1 if dual => say("loadBalancerIPs", "10.0.0.63,fd00::40"),
        2 => say("address-pool", chance.pick::<&str>(&["a", "b"])),
        3 if chance.one_in(4) => say("loadBalancerIPs", "nonsense"),
        _ => {}
    }
    if chance.one_in(2) {
        say("allow-shared-ip", chance.pick::<&str>(&["k", "k", "l"]));
    }
    service.metadata.annotations = Some(annotations);
    let port = |number: usize| ServicePort {
        port: i32::try_from(number).unwrap(),
        ..ServicePort::default()
    };
    let mut ports = vec![port(80 + chance.below(4))];
    if chance.one_in(4) {
        ports.push(port(90));
    }
    let cluster_ips = match (dual, chance.one_in(8)) {
        (true, _) => vec!["10.96.0.1".to_owned(), "fd00:96::1".to_owned()],
        (false, true) => vec!["fd00:96::1".to_owned()],
        (false, false) => vec!["10.96.0.1".to_owned()],
    };
    let local = chance.one_in(6);
    service.spec = Some(ServiceSpec {
        type_: Some(if chance.one_in(12) { "ClusterIP" } else { "LoadBalancer" }.to_owned()),
        load_balancer_class: chance.one_in(25).then(|| "others.example/lb".to_owned()),
        external_traffic_policy: local.then(|| "Local".to_owned()),
        selector: Some([("app".to_owned(), "web".to_owned())].into()),
        ip_family_policy: (dual && chance.one_in(2)).then(|| "PreferDualStack".to_owned()),
        cluster_ips: Some(cluster_ips),
        ports: Some(ports),
        ..ServiceSpec::default()
    });
}
