//! Plans in which everything fits.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use super::Dice;

/// How large a plan is.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Control planes, each in a namespace of its own.
    pub namespaces: u64,
    /// Networks of each.
    pub networks: u64,
    /// Kubernetes nodes.
    pub nodes: u64,
    /// Compute nodes (IPSets) of each control plane.
    pub computes: u64,
}

/// A random plan of random size.
pub fn consistent(seed: u64) -> Vec<Value> {
    let mut dice = Dice::new(seed);
    let scale = Scale {
        namespaces: dice.between(1, 3),
        networks: dice.between(2, 7),
        nodes: dice.between(1, 5),
        computes: dice.between(1, 4),
    };
    build(&mut dice, scale)
}

/// A random plan of this size.
pub fn consistent_of(seed: u64, scale: Scale) -> Vec<Value> {
    build(&mut Dice::new(seed), scale)
}

const NAMES: [&str; 7] =
    ["ctlplane", "internalapi", "storage", "tenant", "storagemgmt", "migration", "backup"];

/// One network with its addresses. Offsets count from the start of each prefix.
struct Net {
    name: String,
    /// Which of all networks it is.
    number: u64,
    vlan: Option<u64>,
    interface: String,
    base: String,
    v4: bool,
    v6: bool,
    large: bool,
    attachment: (u64, u64),
    pool: Option<(u64, u64)>,
    netconfig: (u64, u64),
}

impl Net {
    fn address(&self, v6: bool, offset: u64) -> String {
        if v6 {
            let net =
                0xfd00_0000_0000_0000_0000_0000_0000_0000_u128 | (u128::from(self.number) << 64);
            Ipv6Addr::from(net | u128::from(offset)).to_string()
        } else {
            // 10.0.0.0/8 cut into /20s: room for 4,096 networks.
            let net = 0x0a00_0000_u64 | (self.number << 12);
            Ipv4Addr::from(u32::try_from(net + offset).unwrap_or_default()).to_string()
        }
    }

    fn prefix(&self, v6: bool) -> String {
        format!("{}/{}", self.address(v6, 0), Self::length(v6))
    }

    fn length(v6: bool) -> u8 {
        if v6 { 64 } else { 20 }
    }

    fn families(&self) -> Vec<bool> {
        [(self.v4, false), (self.v6, true)]
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, v6)| *v6)
            .collect()
    }

    fn mtu(&self) -> u64 {
        if self.large { 9000 } else { 1500 }
    }
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object["spec"] = spec;
    object
}

fn build(dice: &mut Dice, scale: Scale) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut nets: Vec<(String, Vec<Net>)> = Vec::new();
    let mut number = 0;
    for at in 0..scale.namespaces {
        let namespace = if at == 0 { "openstack".to_owned() } else { format!("openstack-{at}") };
        let mut own = Vec::new();
        for i in 0..scale.networks {
            own.push(net(dice, at, i, number, scale));
            number += 1;
        }
        nets.push((namespace, own));
    }
    for node in 0..scale.nodes {
        objects.push(policy(node, &nets));
    }
    for (namespace, nets) in &nets {
        objects.push(netconfig(dice, namespace, nets));
        for net in nets {
            objects.push(attachment(dice, namespace, net));
            if let Some(pool) = net.pool {
                objects.extend(pools(namespace, net, pool));
            }
        }
        objects.push(control_plane(dice, namespace, nets));
        for compute in 0..scale.computes {
            objects.push(ipset(dice, namespace, compute, nets));
        }
        objects.push(dnsdata(namespace, nets, scale.computes));
        if dice.chance(30)
            && let Some(net) = nets.iter().find(|net| net.v4)
        {
            objects.extend(neutron(namespace, net));
        }
    }
    objects
}

/// Cuts the addresses behind those of the nodes among the three who hand out, in random order.
fn net(dice: &mut Dice, at: u64, i: u64, number: u64, scale: Scale) -> Net {
    let known = usize::try_from(i).ok().and_then(|i| NAMES.get(i));
    let name = known.map_or_else(|| format!("net-{i}"), |name| (*name).to_owned());
    let base = format!("enp{}s0", 6 + at);
    // Only the first network of a namespace may be untagged.
    let vlan = (i > 0 || dice.chance(50)).then_some(20 + number % 4000);
    let interface = match vlan {
        Some(vlan) if dice.chance(60) => format!("{base}.{vlan}"),
        Some(_) => format!("{}{at}-{i}", name.chars().take(6).collect::<String>()),
        None => base.clone(),
    };
    let family = dice.between(0, 3);
    let mut cursor = 10 + scale.nodes + dice.between(0, 5);
    let mut cut = |dice: &mut Dice, least: u64| {
        let first = cursor + dice.between(0, 9);
        let last = first + least + dice.between(4, 60);
        cursor = last + 1;
        (first, last)
    };
    let mut blocks = [(0, 0); 3];
    let turn = usize::try_from(dice.between(0, 2)).unwrap_or_default();
    for step in 0..3 {
        let who = (turn + step) % 3;
        let least = if who == 2 { scale.computes } else { 4 };
        blocks[who] = cut(dice, least);
    }
    Net {
        name,
        number,
        vlan,
        interface,
        base,
        v4: family != 1,
        v6: family == 1 || family == 2,
        large: dice.chance(20),
        attachment: blocks[0],
        pool: (i == 1 || dice.chance(60)).then_some(blocks[1]),
        netconfig: blocks[2],
    }
}

fn policy(node: u64, all: &[(String, Vec<Net>)]) -> Value {
    let mut interfaces = Vec::new();
    for (_, nets) in all {
        let Some(first) = nets.first() else { continue };
        let large = nets.iter().any(|net| net.large);
        let mut base = json!({"name": first.base, "type": "ethernet", "state": "up",
                              "mtu": if large { 9000 } else { 1500 }});
        if first.vlan.is_none() {
            addresses(&mut base, first, node);
        }
        interfaces.push(base);
        for net in nets {
            let Some(vlan) = net.vlan else { continue };
            let mut interface = json!({
                "name": net.interface, "type": "vlan", "state": "up", "mtu": net.mtu(),
                "vlan": {"base-iface": net.base, "id": vlan},
            });
            addresses(&mut interface, net, node);
            interfaces.push(interface);
        }
    }
    let spec = json!({
        "nodeSelector": {"kubernetes.io/hostname": format!("worker-{node}")},
        "desiredState": {"interfaces": interfaces},
    });
    object("nmstate.io/v1", "NodeNetworkConfigurationPolicy", "", &format!("worker-{node}"), spec)
}

fn addresses(interface: &mut Value, net: &Net, node: u64) {
    for (v6, field) in [(false, "ipv4"), (true, "ipv6")] {
        interface[field] = if net.families().contains(&v6) {
            json!({"enabled": true, "address": [
                {"ip": net.address(v6, 5 + node), "prefix-length": Net::length(v6)}]})
        } else {
            json!({"enabled": false})
        };
    }
}

fn netconfig(dice: &mut Dice, namespace: &str, nets: &[Net]) -> Value {
    let networks: Vec<Value> = nets
        .iter()
        .map(|net| {
            let subnets: Vec<Value> = net
                .families()
                .into_iter()
                .enumerate()
                .map(|(at, v6)| {
                    let (first, last) = net.netconfig;
                    let mut subnet = json!({
                        "name": format!("subnet{}", at + 1),
                        "cidr": net.prefix(v6),
                        "gateway": net.address(v6, 1),
                        "allocationRanges": [
                            {"start": net.address(v6, first), "end": net.address(v6, last)}],
                    });
                    if let Some(vlan) = net.vlan {
                        subnet["vlan"] = vlan.into();
                    }
                    if dice.chance(20) {
                        subnet["excludeAddresses"] = json!([net.address(v6, last)]);
                    }
                    subnet
                })
                .collect();
            json!({"name": net.name, "dnsDomain": format!("{}.example.com", net.name),
                   "mtu": net.mtu(), "subnets": subnets})
        })
        .collect();
    let spec = json!({"networks": networks});
    object("network.openstack.org/v1beta1", "NetConfig", namespace, "netconfig", spec)
}

fn attachment(dice: &mut Dice, namespace: &str, net: &Net) -> Value {
    let (first, last) = net.attachment;
    let mut ranges = net.families().into_iter().map(|v6| {
        json!({"range": net.prefix(v6), "range_start": net.address(v6, first),
               "range_end": net.address(v6, last)})
    });
    let mut ipam = ranges.next().unwrap_or_default();
    ipam["type"] = "whereabouts".into();
    if let Some(second) = ranges.next() {
        ipam["ipRanges"] = json!([second]);
    }
    let mut config = json!({"cniVersion": "0.3.1", "name": net.name, "type": "macvlan",
                            "master": net.interface, "ipam": ipam});
    if dice.chance(20) {
        config["mtu"] = net.mtu().into();
    }
    let spec = json!({"config": config.to_string()});
    object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", namespace, &net.name, spec)
}

fn pool_name(namespace: &str, net: &Net) -> String {
    if namespace == "openstack" { net.name.clone() } else { format!("{}-{namespace}", net.name) }
}

fn pools(namespace: &str, net: &Net, (first, last): (u64, u64)) -> [Value; 2] {
    let ranges: Vec<String> = net
        .families()
        .into_iter()
        .map(|v6| format!("{}-{}", net.address(v6, first), net.address(v6, last)))
        .collect();
    let name = pool_name(namespace, net);
    let announced = json!({"ipAddressPools": [name], "interfaces": [net.interface]});
    let version = "metallb.io/v1beta1";
    [
        object(version, "IPAddressPool", "metallb-system", &name, json!({"addresses": ranges})),
        object(version, "L2Advertisement", "metallb-system", &name, announced),
    ]
}

fn control_plane(dice: &mut Dice, namespace: &str, nets: &[Net]) -> Value {
    let names: Vec<&str> = nets.iter().map(|net| net.name.as_str()).collect();
    let mut spec = json!({"secret": "osp-secret"});
    let mut attached = || {
        let wanted = dice.pick(&names).copied().unwrap_or_default();
        json!({"networkAttachments": [wanted]})
    };
    spec["cinder"] = json!({"template": {"cinderAPI": attached()}});
    spec["manila"] = json!({"enabled": true, "template": {"manilaAPI": attached()}});
    spec["neutron"] = json!({"template": attached()});
    let wanted = dice.pick(&names).copied().unwrap_or_default();
    spec["ovn"] = json!({"template": {"ovnController": {"networkAttachment": wanted}}});
    if let Some((net, (first, _))) = nets.iter().find_map(|net| Some((net, net.pool?))) {
        let (pool, v6) = (pool_name(namespace, net), !net.v4);
        let today = dice.chance(70);
        for service in ["keystone", "placement", "neutron"] {
            let wish = wish(today, &pool, &net.address(v6, first), Some("internal"), true);
            merge(&mut spec[service]["template"], wish);
        }
        for (at, name) in ["rabbitmq", "rabbitmq-cell1"].into_iter().enumerate() {
            let address = net.address(v6, first + 1 + at as u64);
            spec["rabbitmq"]["templates"][name] = wish(today, &pool, &address, None, false);
        }
    }
    object("core.openstack.org/v1beta1", "OpenStackControlPlane", namespace, "controlplane", spec)
}

fn merge(into: &mut Value, fields: Value) {
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            into[name] = value;
        }
    }
}

fn wish(today: bool, pool: &str, address: &str, endpoint: Option<&str>, shared: bool) -> Value {
    if !today {
        let mut block = json!({"ipAddressPool": pool, "loadBalancerIPs": [address]});
        let Some(endpoint) = endpoint else {
            block["sharedIP"] = shared.into();
            return json!({"externalEndpoint": block});
        };
        block["endpoint"] = endpoint.into();
        return json!({"externalEndpoints": [block]});
    }
    let mut annotations = json!({
        "metallb.universe.tf/address-pool": pool,
        "metallb.universe.tf/loadBalancerIPs": address,
    });
    if shared {
        annotations["metallb.universe.tf/allow-shared-ip"] = pool.into();
    }
    let service =
        json!({"metadata": {"annotations": annotations}, "spec": {"type": "LoadBalancer"}});
    match endpoint {
        Some(endpoint) => json!({"override": {"service": {endpoint: service}}}),
        None => json!({"override": {"service": service}}),
    }
}

fn ipset(dice: &mut Dice, namespace: &str, compute: u64, nets: &[Net]) -> Value {
    let networks: Vec<Value> = nets
        .iter()
        .map(|net| {
            let mut wanted = json!({"name": net.name, "subnetName": "subnet1"});
            if compute < 2 || dice.chance(40) {
                let (first, _) = net.netconfig;
                wanted["fixedIP"] = net.address(!net.v4, first + compute).into();
            }
            wanted
        })
        .collect();
    let name = format!("edpm-compute-{compute}");
    let spec = json!({"networks": networks});
    object("network.openstack.org/v1beta1", "IPSet", namespace, &name, spec)
}

fn dnsdata(namespace: &str, nets: &[Net], computes: u64) -> Value {
    let hosts: Vec<Value> = (0..computes)
        .flat_map(|compute| {
            nets.iter().map(move |net| {
                let (first, _) = net.netconfig;
                json!({"ip": net.address(!net.v4, first + compute),
                       "hostnames": [format!("edpm-compute-{compute}.{}.example.com", net.name)]})
            })
        })
        .collect();
    let spec = json!({"hosts": hosts});
    object("network.openstack.org/v1beta1", "DNSData", namespace, "computes", spec)
}

/// OVN on one of the networks, and a provider network of Neutron there, behind everything else.
fn neutron(namespace: &str, net: &Net) -> [Value; 2] {
    let physical = format!("physnet-{}", net.number);
    let spec = json!({"nicMappings": {physical.as_str(): net.interface}});
    let (first, last) = (4000, 4060);
    let id = |what: &str| format!("{what}-{}", net.number);
    [
        object("ovn.openstack.org/v1beta1", "OVNController", namespace, "ovncontroller", spec),
        json!({
            "networks": [{"id": id("n"), "name": id("provider"), "provider:network_type": "flat",
                          "provider:physical_network": physical, "subnets": [id("s")]}],
            "subnets": [{"id": id("s"), "name": id("provider-subnet"), "network_id": id("n"),
                         "cidr": net.prefix(false), "gateway_ip": net.address(false, 1),
                         "allocation_pools": [{"start": net.address(false, first),
                                               "end": net.address(false, last)}]}],
            "ports": [{"id": id("p"), "name": "", "fixed_ips": [
                {"subnet_id": id("s"), "ip_address": net.address(false, first + 3)}]}],
        }),
    ]
}
