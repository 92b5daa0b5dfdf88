//! No input makes anything panic, and results survive every conversion that can say them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_cni::args::Args;
use landbridge_cni::config::{Input, Network};
use landbridge_cni::environment::Environment;
use landbridge_cni::json::{self, Object};
use landbridge_cni::plugins::{
    Bridge, Dhcp, HostDevice, HostLocal, Ipvlan, Macvlan, StaticIpam, Tuning, Vlan,
};
use landbridge_cni::result::{Dns, Interface, Ip, Route};
use landbridge_cni::whereabouts::{Claim, Ipam, Ledger, PoolSpec, Usable, merge_flat_file};
use landbridge_cni::{CniError, CniResult, Version};
use proptest::prelude::*;
use serde_json::Value;

/// Keys that mean something to somebody, and a few that do not.
const KEYS: &[&str] = &[
    "cniVersion",
    "cniVersions",
    "name",
    "type",
    "plugins",
    "ipam",
    "range",
    "range_start",
    "range_end",
    "exclude",
    "ipRanges",
    "ranges",
    "subnet",
    "rangeStart",
    "gateway",
    "routes",
    "dst",
    "gw",
    "addresses",
    "address",
    "ips",
    "ip4",
    "ip",
    "interfaces",
    "interface",
    "mtu",
    "mac",
    "vlan",
    "vlanTrunk",
    "minID",
    "maxID",
    "id",
    "sysctl",
    "args",
    "cni",
    "runtimeConfig",
    "prevResult",
    "capabilities",
    "dns",
    "allocations",
    "kubernetes",
    "mode",
    "master",
    "x",
];

fn key() -> impl Strategy<Value = String> {
    proptest::sample::select(KEYS).prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "0.2.0|0.3.1|1.0.0|1.1.0|whereabouts|static|macvlan|".prop_map(Value::from),
        "10\\.0\\.[0-9]{1,2}\\.[0-9]{1,2}(/[0-9]{1,2})?|fd00::[0-9a-f]{0,4}(/[0-9]{1,3})?"
            .prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// An object that gets past the first checks.
fn config() -> impl Strategy<Value = Value> {
    let version = "0.2.0|0.3.1|1.0.0|1.1.0";
    (proptest::collection::vec((key(), json()), 0..8), version, json()).prop_map(
        |(pairs, version, ipam)| {
            let mut object: Object = pairs.into_iter().collect();
            object.insert("cniVersion".into(), version.into());
            object.insert("name".into(), "n".into());
            object.insert("type".into(), "x".into());
            if let Value::Object(mut ipam) = ipam {
                ipam.insert("type".into(), "whereabouts".into());
                object.insert("ipam".into(), Value::Object(ipam));
            }
            Value::Object(object)
        },
    )
}

/// Everything that reads bytes.
fn read_everything(text: &[u8], args: &Args) {
    let _ = CniResult::parse(text);
    let _ = CniError::from_output("x", text);
    if let Ok(network) = Network::parse(text) {
        for plugin in &network.plugins {
            let _ = network.stdin_for(plugin, None, &Object::new());
        }
    }
    let _ = Network::of_definition("n", &String::from_utf8_lossy(text));
    if let Ok(spec) = serde_json::from_slice::<PoolSpec>(text) {
        let _ = Ledger::read(&spec);
    }
    let Ok(input) = Input::parse(text) else { return };
    let _ = (Macvlan::read(&input, args), Bridge::read(&input, args), Tuning::read(&input, args));
    let _ = (Ipvlan::read(&input), Vlan::read(&input), HostDevice::read(&input));
    let _ = (StaticIpam::read(&input, args), HostLocal::read(&input), Dhcp::read(&input));
    if let Ok(ipam) = Ipam::read(&input, args) {
        for range in &ipam.ranges {
            let spec = PoolSpec { range: range.range.to_string(), ..PoolSpec::default() };
            if let (Ok(usable), Ok(mut ledger)) = (Usable::of(range), Ledger::read(&spec)) {
                let claim = Claim { container_id: "c", podref: "n/p", ifname: "net1" };
                let given = ledger.assign(&usable, &claim, |_| None);
                let held = given.is_ok();
                assert_eq!(ledger.release(&claim).is_some(), held);
            }
        }
    }
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn prefix() -> impl Strategy<Value = IpNet> {
    (address(), 0..=32u8).prop_filter_map("length", |(ip, length)| IpNet::new(ip, length).ok())
}

fn result() -> impl Strategy<Value = CniResult> {
    let text = "[a-z0-9:/.<&]{0,6}";
    let interface = (text, text, any::<u32>(), text, text, text).prop_map(
        |(name, mac, mtu, sandbox, socket_path, pci_id)| Interface {
            name,
            mac,
            mtu,
            sandbox,
            socket_path,
            pci_id,
        },
    );
    let ip = (prefix(), proptest::option::of(address()), proptest::option::of(0..4usize))
        .prop_map(|(address, gateway, interface)| Ip { address, gateway, interface });
    let route = (
        prefix(),
        proptest::option::of(address()),
        any::<[u32; 3]>(),
        proptest::option::of(any::<u32>()),
        proptest::option::of(any::<u8>()),
    )
        .prop_map(|(dst, gw, [mtu, advmss, priority], table, scope)| Route {
            mtu,
            advmss,
            priority,
            table,
            scope,
            ..Route::new(dst, gw)
        });
    let words = || proptest::collection::vec("[a-z.]{1,5}", 0..3);
    let dns = (words(), "[a-z]{0,4}", words(), words()).prop_map(
        |(nameservers, domain, search, options)| Dns { nameservers, domain, search, options },
    );
    let many = |s| proptest::collection::vec(s, 0..4);
    (
        many(interface.boxed()),
        proptest::collection::vec(ip, 0..4),
        proptest::collection::vec(route, 0..4),
        dns,
    )
        .prop_map(|(interfaces, ips, routes, dns)| CniResult { interfaces, ips, routes, dns })
}

/// What is left of a result in a version, by the rules of the specification.
fn left_in(version: Version, result: &CniResult) -> Option<CniResult> {
    let mut left = result.clone();
    if version >= Version::V1_0_0 {
        return Some(left);
    }
    for interface in &mut left.interfaces {
        (interface.mtu, interface.socket_path, interface.pci_id) = Default::default();
    }
    if version >= Version::V0_3_0 {
        return Some(left);
    }
    left.interfaces.clear();
    left.ips.clear();
    left.routes.clear();
    for v4 in [true, false] {
        let of_family = |ip: &&Ip| ip.address.addr().is_ipv4() == v4;
        let Some(ip) = result.ips.iter().find(of_family) else { continue };
        left.ips.push(Ip { interface: None, ..ip.clone() });
        let routes = result.routes.iter().filter(|route| route.dst.addr().is_ipv4() == v4);
        left.routes.extend(routes.map(|route| Route::new(route.dst, route.gw)));
    }
    (!left.ips.is_empty()).then_some(left)
}

proptest! {
    #[test]
    fn results_survive_what_a_version_can_say(result in result()) {
        for version in Version::ALL {
            let Ok(text) = result.print(version) else {
                prop_assert_eq!(left_in(version, &result), None);
                continue;
            };
            let (read_version, read) = CniResult::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(read_version, version);
            prop_assert_eq!(Some(read), left_in(version, &result));
        }
    }

    #[test]
    fn bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&bytes, &Args::default());
    }

    #[test]
    fn json_is_read_or_refused(value in json(), args in "(IP|MAC|GATEWAY)=\\PC{0,10}") {
        let args = Args::parse(&args).unwrap_or_default();
        read_everything(value.to_string().as_bytes(), &args);
    }

    #[test]
    fn configurations_are_read_or_refused(value in config(), flat in json()) {
        read_everything(value.to_string().as_bytes(), &Args::default());
        if let (Value::Object(mut section), Value::Object(flat)) = (value, flat) {
            merge_flat_file(&mut section, &flat);
        }
    }

    #[test]
    fn json_prints_as_what_it_was(value in json()) {
        for text in [json::compact(&value).unwrap(), json::indented(&value).unwrap()] {
            // Written numbers may round; what counts is that it is the same text again.
            let read: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.to_string(), serde_json::from_str::<Value>(&value.to_string()).unwrap().to_string());
        }
        prop_assert_eq!(json::sorted(value.clone()), value);
    }

    #[test]
    fn environments_are_read_or_refused(pairs in proptest::collection::btree_map(
        "CNI_(COMMAND|CONTAINERID|NETNS|IFNAME|ARGS|PATH|NETNS_OVERRIDE)",
        "ADD|DEL|CHECK|GC|STATUS|VERSION|[a-z0-9]{1,5}|(A=b;?){0,2}|/a:/b|true|\\PC{0,12}", 0..4)) {
        let whole = [
            ("CNI_COMMAND", "ADD"), ("CNI_CONTAINERID", "c"), ("CNI_NETNS", "/n"),
            ("CNI_IFNAME", "eth0"), ("CNI_ARGS", "A=b;C="), ("CNI_PATH", "/opt:/usr"),
        ];
        let mut variables: BTreeMap<String, String> =
            whole.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        variables.extend(pairs);
        let pairs = variables;
        if let Ok(Some(read)) = Environment::read(&pairs) {
            prop_assert_eq!(Environment::read(&read.write()).unwrap(), Some(read));
        }
    }
}
