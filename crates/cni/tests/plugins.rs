//! What the plugins' configurations say: defaults, precedence, refusals.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod seeds;

use landbridge_cni::args::Args;
use landbridge_cni::config::Input;
use landbridge_cni::plugins::{
    Bridge, Device, Dhcp, HostDevice, HostLocal, Ipvlan, IpvlanMode, Macvlan, MacvlanMode, Master,
    StaticIpam, Tuning, Vlan, check_mtu,
};
use landbridge_cni::{Coded, Version};
use serde_json::{Value, json};

/// The keys with what every configuration has.
fn input(keys: &Value) -> Input {
    let mut all = json!({"cniVersion": "1.0.0", "name": "n", "type": "x"});
    for (key, value) in keys.as_object().unwrap() {
        all[key] = value.clone();
    }
    Input::parse(all.to_string().as_bytes()).unwrap()
}

fn args(text: &str) -> Args {
    Args::parse(text).unwrap()
}

/// The message, and that it has the number of a wrong configuration.
fn refusal<T, E: Coded>(result: Result<T, E>) -> String {
    let error = result.err().unwrap();
    assert_eq!(error.code().0, 7, "{error}");
    error.to_string()
}

const ONE: &str = "02:00:00:00:00:01";
const TWO: &str = "02:00:00:00:00:02";
const THREE: &str = "02:00:00:00:00:03";

#[test]
fn the_seeds_plugins() {
    let macvlan = Macvlan::read(&Input::parse(seeds::INTERNALAPI.as_bytes()).unwrap(), &args(""));
    let macvlan = macvlan.unwrap();
    assert_eq!(macvlan.master, Master::Named("enp6s0.20".into()));
    assert_eq!((macvlan.mode, macvlan.mtu, macvlan.mac), (MacvlanMode::Bridge, 0, None));
    assert_eq!(macvlan.ipam, "whereabouts");
    let bridge = Bridge::read(&Input::parse(seeds::OCTAVIA.as_bytes()).unwrap(), &args(""));
    let bridge = bridge.unwrap();
    assert_eq!((bridge.bridge.as_str(), bridge.is_gateway), ("octbr", false));
    assert!(!bridge.filters_vlans() && !bridge.preserve_default_vlan);
}

#[test]
fn macvlan() {
    let read = |keys: Value, text: &str| Macvlan::read(&input(&keys), &args(text));
    assert_eq!(read(json!({}), "").unwrap().master, Master::OfDefaultRoute);
    for (mode, expected) in [
        ("private", MacvlanMode::Private),
        ("vepa", MacvlanMode::Vepa),
        ("passthru", MacvlanMode::Passthru),
        ("bridge", MacvlanMode::Bridge),
    ] {
        assert_eq!(read(json!({"mode": mode}), "").unwrap().mode, expected);
    }
    // The runtime, then the arguments, then the configuration.
    let mac = |keys, text: &str| read(keys, text).unwrap().mac;
    assert_eq!(mac(json!({"mac": ONE}), "").as_deref(), Some(ONE));
    assert_eq!(mac(json!({"mac": ONE}), &format!("MAC={TWO}")).as_deref(), Some(TWO));
    let told = json!({"mac": ONE, "runtimeConfig": {"mac": THREE}});
    assert_eq!(mac(told, &format!("MAC={TWO}")).as_deref(), Some(THREE));
    let refused = |keys| refusal(read(keys, ""));
    assert_eq!(refused(json!({"mode": "x"})), "unknown macvlan mode: \"x\"");
    assert_eq!(refused(json!({"mtu": -1})), "invalid MTU -1, must be [0, the master's MTU]");
    assert_eq!(
        refused(json!({"mac": "x"})),
        "invalid args x for MAC addr: address x: invalid MAC address"
    );
    assert_eq!(refusal(check_mtu(9000, 1500)), "invalid MTU 9000, must be [0, master MTU(1500)]");
    assert!(check_mtu(1500, 1500).is_ok());
    assert_eq!(read(json!({"mtu": "a"}), "").unwrap_err().code().0, 6);
}

#[test]
fn ipvlan() {
    let read = |keys: Value| Ipvlan::read(&input(&keys));
    let ipam = json!({"type": "static"});
    let plain = read(json!({"ipam": ipam})).unwrap();
    assert_eq!((plain.master, plain.mode), (Master::OfDefaultRoute, IpvlanMode::L2));
    assert_eq!(read(json!({"ipam": ipam, "mode": "l3s"})).unwrap().mode, IpvlanMode::L3s);
    let chained = |interfaces| {
        let ips = json!([{"address": "10.0.0.1/24"}]);
        let result = json!({"cniVersion": "1.0.0", "interfaces": interfaces, "ips": ips});
        read(json!({"prevResult": result}))
    };
    let found = chained(json!([{"name": "bond0"}])).unwrap();
    assert_eq!(found.master, Master::Named("bond0".into()));
    let message = "chained master failure. PrevResult lacks a single named interface";
    assert_eq!(refusal(chained(json!([]))), message);
    assert_eq!(refusal(read(json!({"master": "a"}))), "ipvlan needs an \"ipam\" section");
    assert_eq!(refusal(read(json!({"mode": "l4"}))), "unknown ipvlan mode: \"l4\"");
}

#[test]
fn vlan() {
    let read = |keys: Value| Vlan::read(&input(&keys));
    let found = read(json!({"master": "eth0", "vlanId": 20, "mtu": 1400})).unwrap();
    assert_eq!((found.id.unwrap().get(), found.mtu), (20, 1400));
    assert_eq!(read(json!({"master": "eth0"})).unwrap().id, None);
    assert!(refusal(read(json!({"vlanId": 5}))).starts_with("\"master\" field is required"));
    for id in [-1, 4095] {
        assert_eq!(
            refusal(read(json!({"master": "a", "vlanId": id}))),
            format!("invalid VLAN ID {id} (must be between 0 and 4094)")
        );
    }
}

#[test]
fn host_device() {
    let read = |keys: Value| HostDevice::read(&input(&keys));
    let device = |keys| read(keys).unwrap().device;
    // What the OVN operator writes.
    assert_eq!(device(json!({"device": "enp7s0"})), Device::Name("enp7s0".into()));
    assert_eq!(device(json!({"hwaddr": ONE})), Device::HardwareAddress(ONE.into()));
    assert_eq!(device(json!({"pciBusID": "a"})), Device::Pci("a".into()));
    let told = json!({"pciBusID": "a", "runtimeConfig": {"deviceID": "b"}});
    assert_eq!(device(told), Device::Pci("b".into()));
    let path = "/sys/devices/pci0/x";
    assert_eq!(device(json!({"kernelpath": path})), Device::KernelPath(path.into()));
    assert_eq!(
        refusal(read(json!({"kernelpath": "/dev/x"}))),
        "kernel device path \"/dev/x\" must be absolute and begin with /sys/devices/"
    );
    assert_eq!(
        refusal(read(json!({}))),
        "specify either \"device\", \"hwaddr\", \"kernelpath\" or \"pciBusID\""
    );
}

#[test]
fn bridge() {
    let read = |keys: Value| Bridge::read(&input(&keys), &args(&format!("MAC={ONE}")));
    let plain = read(json!({})).unwrap();
    assert_eq!((plain.bridge.as_str(), plain.mac.as_deref()), ("cni0", Some(ONE)));
    assert!(read(json!({"isDefaultGateway": true})).unwrap().is_gateway);
    let asked = json!({"args": {"cni": {"mac": TWO}}});
    assert_eq!(read(asked).unwrap().mac.as_deref(), Some(TWO));
    let told = json!({"args": {"cni": {"mac": TWO}}, "runtimeConfig": {"mac": THREE}});
    assert_eq!(read(told).unwrap().mac.as_deref(), Some(THREE));
    let trunk = json!({"vlanTrunk": [{"minID": 10, "maxID": 12}, {"id": 5}, {"id": 11}]});
    let ids: Vec<_> = read(trunk).unwrap().trunk.unwrap().iter().map(|id| id.get()).collect();
    assert_eq!(ids, [5, 10, 11, 12]);

    let cases = [
        (json!({"vlan": 4095}), "invalid VLAN ID 4095 (must be between 0 and 4094)"),
        (
            json!({"hairpinMode": true, "promiscMode": true}),
            "cannot set hairpin mode and promiscuous mode at the same time",
        ),
        (
            json!({"disableContainerInterface": true, "ipam": {"type": "static"}}),
            "cannot use IPAM when DisableContainerInterface flag is set",
        ),
        (
            json!({"ipMasqBackend": "ipfw"}),
            "unknown ipMasqBackend \"ipfw\" (must be iptables or nftables)",
        ),
        (json!({"vlanTrunk": [{"id": 0}]}), "incorrect trunk id parameter"),
        (json!({"vlanTrunk": [{"minID": 0, "maxID": 1}]}), "incorrect trunk minID parameter"),
        (json!({"vlanTrunk": [{"minID": 1, "maxID": 4095}]}), "incorrect trunk maxID parameter"),
        (
            json!({"vlanTrunk": [{"minID": 9, "maxID": 1}]}),
            "minID is greater than maxID in trunk parameter",
        ),
        (
            json!({"vlanTrunk": [{"maxID": 1}]}),
            "minID and maxID should be configured simultaneously, minID is missing",
        ),
        (
            json!({"vlanTrunk": [{"minID": 1}]}),
            "minID and maxID should be configured simultaneously, maxID is missing",
        ),
    ];
    for (keys, message) in cases {
        assert_eq!(refusal(read(keys)), message);
    }
}

#[test]
fn tuning() {
    let read = |keys: Value| Tuning::read(&input(&keys), &args(&format!("MAC={ONE}"))).unwrap();
    let plain = read(json!({"sysctl": {"net.core.somaxconn": "500"}}));
    assert_eq!((plain.mac.as_deref(), plain.data_dir.as_str()), (Some(ONE), "/run/cni/tuning"));
    assert_eq!(plain.files("eth0").unwrap()["net/core/somaxconn"], "500");
    assert_eq!(plain.backup_file("c", "eth0"), "/run/cni/tuning/c_eth0.json");
    // `args.cni` goes before everything.
    let asked = read(json!({"mtu": 1, "promisc": true, "runtimeConfig": {"mac": TWO},
        "args": {"cni": {"mac": THREE, "mtu": 1400, "promisc": false, "allmulti": false,
                         "sysctl": {"net.a": "1"}}}}));
    assert_eq!((asked.mac.as_deref(), asked.mtu), (Some(THREE), 1400));
    assert_eq!((asked.promiscuous, asked.all_multicast), (false, Some(false)));
    let wrong = read(json!({"sysctl": {"kernel.panic": "1"}}));
    assert_eq!(refusal(wrong.files("eth0")), "invalid net sysctl key: \"kernel.panic\"");

    assert_eq!(refusal(plain.result(&input(&json!({})), "eth0")), "Required prevResult missing");
    let previous = json!({"prevResult": {"cniVersion": "1.0.0",
        "interfaces": [{"name": "h", "mac": TWO}, {"name": "eth0", "mac": TWO}]}});
    let result = plain.result(&input(&previous), "eth0").unwrap();
    let macs: Vec<_> = result.interfaces.iter().map(|found| found.mac.as_str()).collect();
    assert_eq!(macs, [TWO, ONE]);
}

#[test]
fn static_addresses() {
    let read = |keys: Value, text: &str| StaticIpam::read(&input(&keys), &args(text));
    let shown = |keys, text: &str| -> Vec<String> {
        let result = read(keys, text).unwrap().result();
        result.ips.iter().map(|ip| format!("{} {:?}", ip.address, ip.gateway)).collect()
    };
    let section = json!({"type": "static",
        "addresses": [{"address": "10.0.0.5/24", "gateway": "10.0.0.1"}]});
    assert_eq!(
        shown(json!({"ipam": section}), "IP=10.1.0.5/24;GATEWAY=10.1.0.1"),
        ["10.0.0.5/24 Some(10.0.0.1)", "10.1.0.5/24 Some(10.1.0.1)"]
    );
    let asked = json!({"cni": {"ips": ["10.2.0.5/24"]}});
    assert_eq!(shown(json!({"ipam": section, "args": asked}), ""), ["10.2.0.5/24 None"]);
    let told = json!({"ips": ["172.17.0.20/24"]});
    assert_eq!(
        shown(json!({"ipam": section, "args": asked, "runtimeConfig": told}), ""),
        ["172.17.0.20/24 None"]
    );
    assert!(shown(json!({"ipam": {"type": "static"}}), "").is_empty());
    assert_eq!(refusal(read(json!({}), "")), "IPAM config missing 'ipam' key");
    assert_eq!(
        refusal(read(json!({"ipam": section}), "IP=10.1.0.5")),
        "the 'address' field is expected to be in CIDR notation, got: '10.1.0.5'"
    );
    let old = json!({"cniVersion": "0.2.0", "ipam": section});
    assert_eq!(
        read(old, "IP=10.1.0.5/24").unwrap_err().to_string(),
        format!("CNI version {} does not support more than 1 address per family", Version::V0_2_0)
    );
}

#[test]
fn host_local() {
    let read = |ipam: Value| HostLocal::read(&input(&json!({"ipam": ipam})));
    let found = read(json!({"type": "host-local", "subnet": "10.0.0.0/24",
        "ranges": [[{"subnet": "fd00::/64", "rangeStart": "fd00::10", "gateway": "fe80::2"}]]}));
    let found = found.unwrap();
    let shown: Vec<_> =
        found.sets.iter().map(|set| format!("{} {}", set[0].bounds, set[0].gateway)).collect();
    assert_eq!(
        shown,
        ["10.0.0.1-10.0.0.254 10.0.0.1", "fd00::10-fd00::ffff:ffff:ffff:ffff fe80::2"]
    );
    assert_eq!(found.data_dir, "/var/lib/cni/networks");
    let one = |range: Value| json!({"type": "host-local", "ranges": [[range]]});
    let cases = [
        (json!({"type": "host-local"}), "no IP ranges specified"),
        (json!({"type": "host-local", "ranges": [[]]}), "invalid range set 0: empty range set"),
        (
            one(json!({"subnet": "10.0.0.0/31"})),
            "invalid range set 0: Network 10.0.0.0/31 too small to allocate from",
        ),
        (
            one(json!({"subnet": "10.0.0.1/24"})),
            "invalid range set 0: Network has host bits set. For a subnet mask of length 24 the \
             network address is 10.0.0.0",
        ),
        (
            one(json!({"subnet": "10.0.0.0/24", "gateway": "fe80::1"})),
            "invalid range set 0: invalid gateway \"fe80::1\"",
        ),
        (
            one(json!({"subnet": "10.0.0.0/24", "rangeStart": "10.0.0.9", "rangeEnd": "10.0.0.8"})),
            "invalid range set 0: 10.0.0.8 is in network 10.0.0.0/24 but before start 10.0.0.9",
        ),
        (
            json!({"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/24"}],
                                                    [{"subnet": "10.0.0.0/25"}]]}),
            "range set 0 overlaps with 1",
        ),
        (
            json!({"type": "host-local",
                   "ranges": [[{"subnet": "10.0.0.0/24"}, {"subnet": "fd00::/64"}]]}),
            "invalid range set 0: mixed address families",
        ),
    ];
    for (ipam, message) in cases {
        assert_eq!(refusal(read(ipam)), message);
    }
}

#[test]
fn dhcp() {
    let read = |ipam: Value| Dhcp::read(&input(&json!({"ipam": ipam})));
    let found = read(json!({"type": "dhcp", "request": [{"option": "121", "skipDefault": true}],
        "provide": [{"option": "host-name", "fromArg": "K8S_POD_NAME"}]}));
    let found = found.unwrap();
    assert_eq!(found.daemon_socket, "/run/cni/dhcp.sock");
    assert!(found.request[0].skip_default);
    assert_eq!(found.provide[0].from_arg, "K8S_POD_NAME");
}
