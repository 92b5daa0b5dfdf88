//! The sections of an interface that belong to its type.

use std::net::IpAddr;

use landbridge_linux::IfName;
use landbridge_linux::link::{
    Bond, BondMode, Bridge, BridgeVlan, HashPolicy, LacpRate, MacvlanMode, Port, VlanProtocol,
};
use serde_json::Value;

use crate::error::Fault;
use crate::fields::Fields;

/// What an interface is to be; within a section, nothing is to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindWish {
    Ethernet,
    Loopback,
    Dummy,
    Veth { peer: Option<IfName> },
    Vlan(VlanWish),
    Bridge(BridgeWish),
    Bond(BondWish),
    Vrf { table: Option<u32>, ports: Option<Vec<IfName>> },
    Macvlan { base: Option<IfName>, mode: Option<MacvlanMode> },
    Vxlan(VxlanWish),
}

/// The section `vlan`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VlanWish {
    pub base: Option<IfName>,
    pub id: Option<u16>,
    pub protocol: Option<VlanProtocol>,
}

/// The section `bridge`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgeWish {
    pub options: Bridge,
    pub ports: Option<Vec<PortWish>>,
}

/// A port of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortWish {
    pub place: String,
    pub name: IfName,
    pub options: Port,
    pub vlans: Option<PortVlans>,
}

/// The VLANs at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortVlans {
    /// `vlan: {}`: no filtering at this port.
    Unfiltered,
    Filtered(Vec<BridgeVlan>),
}

/// The section `link-aggregation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BondWish {
    pub options: Bond,
    pub ports: Option<Vec<IfName>>,
}

/// The section `vxlan`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VxlanWish {
    pub base: Option<IfName>,
    pub id: Option<u32>,
    pub port: Option<u16>,
    pub local: Option<IpAddr>,
    pub remote: Option<IpAddr>,
    pub learning: Option<bool>,
}

const PROTOCOLS: [(&str, VlanProtocol); 2] =
    [("802.1q", VlanProtocol::Customer), ("802.1ad", VlanProtocol::Service)];

/// Types of nmstate that need more than netlink.
const UNSUPPORTED_TYPES: [&str; 11] = [
    "ovs-bridge",
    "ovs-interface",
    "infiniband",
    "macsec",
    "ipsec",
    "xfrm",
    "ipvlan",
    "hsr",
    "ip-tunnel",
    "mac-vtap",
    "tun",
];

impl KindWish {
    /// Reads the type and its section; sections of other types are left for the complaint.
    pub(super) fn parse(fields: &mut Fields<'_>) -> Result<Option<Self>, Fault> {
        let word = fields.text("type")?;
        Ok(Some(match word.as_deref() {
            None | Some("unknown") => return Ok(None),
            // nmstate takes a veth for a kind of Ethernet, with or without the section.
            Some(word @ ("ethernet" | "veth")) => {
                let peer = match fields.object("veth")? {
                    Some(mut section) => {
                        let peer = section.parse("peer")?;
                        section.finish(&[])?;
                        peer
                    }
                    None => None,
                };
                if word == "veth" || peer.is_some() { Self::Veth { peer } } else { Self::Ethernet }
            }
            Some("loopback") => Self::Loopback,
            Some("dummy") => Self::Dummy,
            Some("vlan") => Self::Vlan(vlan(fields)?),
            Some("linux-bridge") => Self::Bridge(bridge(fields)?),
            Some("bond") => Self::Bond(bond(fields)?),
            Some("vrf") => vrf(fields)?,
            Some("mac-vlan") => macvlan(fields)?,
            Some("vxlan") => Self::Vxlan(vxlan(fields)?),
            Some(word) if UNSUPPORTED_TYPES.contains(&word) => {
                let why = format!(
                    "{word} is not supported without NetworkManager: run NetworkManager and nmstate on the node"
                );
                return Err(fields.fault("type", why));
            }
            Some(word) => {
                return Err(fields.fault("type", format!("{word:?} is no type of nmstate's")));
            }
        }))
    }
}

fn vlan(fields: &mut Fields<'_>) -> Result<VlanWish, Fault> {
    let Some(mut section) = fields.object("vlan")? else { return Ok(VlanWish::default()) };
    let wish = VlanWish {
        base: section.parse("base-iface")?,
        id: section.number("id", 1..=4094)?,
        protocol: section.word("protocol", &PROTOCOLS)?,
    };
    section.finish(&[
        "registration-protocol",
        "reorder-headers",
        "loose-binding",
        "ingress-qos-map",
        "egress-qos-map",
    ])?;
    Ok(wish)
}

const UNSUPPORTED_BRIDGE: [&str; 14] = [
    "group-addr",
    "hash-max",
    "multicast-last-member-count",
    "multicast-last-member-interval",
    "multicast-membership-interval",
    "multicast-querier",
    "multicast-querier-interval",
    "multicast-query-interval",
    "multicast-query-response-interval",
    "multicast-query-use-ifaddr",
    "multicast-router",
    "multicast-startup-query-count",
    "multicast-startup-query-interval",
    "vlan-protocol",
];

fn bridge(fields: &mut Fields<'_>) -> Result<BridgeWish, Fault> {
    let Some(mut section) = fields.object("bridge")? else { return Ok(BridgeWish::default()) };
    let mut wish = BridgeWish::default();
    if let Some(mut options) = section.object("options")? {
        wish.options = bridge_options(&mut options)?;
        options.shown_only(&["gc-timer", "hello-timer"]);
        options.finish(&UNSUPPORTED_BRIDGE)?;
    }
    if let Some(list) = ports(&mut section)? {
        let mut read: Vec<PortWish> = Vec::new();
        for (place, value) in list {
            let port = bridge_port(&place, value)?;
            if read.iter().any(|other| other.name == port.name) {
                return Err(Fault::new(place, format!("{} is in the list twice", port.name)));
            }
            read.push(port);
        }
        wish.ports = Some(read);
    }
    section.finish(&["allow-extra-ports"])?;
    Ok(wish)
}

fn bridge_options(options: &mut Fields<'_>) -> Result<Bridge, Fault> {
    let centiseconds = |seconds: Option<u32>| seconds.map(|seconds| seconds * 100);
    let mask = options.number("group-forward-mask", 0..=65_535)?;
    let mut bridge = Bridge {
        vlan_default_pvid: options.number("vlan-default-pvid", 0..=4094)?,
        multicast_snooping: options.flag("multicast-snooping")?,
        ageing_centiseconds: centiseconds(options.number("mac-ageing-time", 0..=1_000_000)?),
        group_forward_mask: mask.or(options.number("group-fwd-mask", 0..=65_535)?),
        ..Bridge::default()
    };
    if let Some(mut stp) = options.object("stp")? {
        bridge.stp = stp.flag("enabled")?;
        bridge.forward_delay_centiseconds = centiseconds(stp.number("forward-delay", 2..=30)?);
        bridge.hello_time_centiseconds = centiseconds(stp.number("hello-time", 1..=10)?);
        bridge.max_age_centiseconds = centiseconds(stp.number("max-age", 6..=40)?);
        bridge.priority = stp.number("priority", 0..=65_535)?;
        stp.finish(&[])?;
    }
    Ok(bridge)
}

/// nmstate takes `ports` for `port`.
fn ports<'a>(section: &mut Fields<'a>) -> Result<Option<Vec<(String, &'a Value)>>, Fault> {
    let (port, ports) = (section.list("port")?, section.list("ports")?);
    if port.is_some() && ports.is_some() {
        return Err(section.fault("ports", "port is given, too: choose one"));
    }
    Ok(port.or(ports))
}

fn bridge_port(place: &str, value: &Value) -> Result<PortWish, Fault> {
    let mut fields = Fields::of(value, place)?;
    let Some(name) = fields.parse("name")? else {
        return Err(fields.fault("name", "a port needs a name"));
    };
    let options = Port {
        hairpin: fields.flag("stp-hairpin-mode")?,
        cost: fields.number("stp-path-cost", 1..=65_535)?,
        priority: fields.number("stp-priority", 0..=63)?,
        ..Port::default()
    };
    let vlans = fields.object("vlan")?.map(port_vlans).transpose()?;
    fields.finish(&[])?;
    Ok(PortWish { place: place.to_owned(), name, options, vlans })
}

fn port_vlans(mut fields: Fields<'_>) -> Result<PortVlans, Fault> {
    let trunk = fields.word("mode", &[("access", false), ("trunk", true)])?;
    let tag = fields.number::<u16>("tag", 0..=4094)?.filter(|tag| *tag != 0);
    let native = fields.flag("enable-native")?.unwrap_or(false);
    let tags = fields.list("trunk-tags")?;
    let vlans = match (trunk, tag, native, tags) {
        (None, None, false, None) => PortVlans::Unfiltered,
        (None | Some(false), Some(tag), false, None) => {
            PortVlans::Filtered(vec![BridgeVlan::native(tag)])
        }
        (Some(true), tag, native, tags) => {
            let mut vlans: Vec<BridgeVlan> = Vec::new();
            match (tag, native) {
                (Some(tag), true) => vlans.push(BridgeVlan::native(tag)),
                (None, false) => {}
                (None, true) => {
                    return Err(
                        fields.fault("tag", "enable-native needs the tag of the native VLAN")
                    );
                }
                (Some(_), false) => {
                    return Err(
                        fields.fault("tag", "in mode trunk a tag needs enable-native: true")
                    );
                }
            }
            for (place, value) in tags.unwrap_or_default() {
                let vlan = trunk_tag(&place, value)?;
                if vlans.iter().any(|other| vlan.first <= other.last && other.first <= vlan.last) {
                    return Err(Fault::new(place, "its VLANs are in the list twice"));
                }
                vlans.push(vlan);
            }
            PortVlans::Filtered(vlans)
        }
        (None | Some(false), None, ..) => {
            return Err(fields.fault("tag", "mode access needs the tag of its VLAN"));
        }
        (None | Some(false), ..) => {
            return Err(fields.fault("mode", "trunk-tags and enable-native are for mode trunk"));
        }
    };
    fields.finish(&[])?;
    Ok(vlans)
}

fn trunk_tag(place: &str, value: &Value) -> Result<BridgeVlan, Fault> {
    let mut fields = Fields::of(value, place)?;
    let one = fields.number::<u16>("id", 1..=4094)?;
    let vlan = match (one, fields.object("id-range")?) {
        (Some(id), None) => BridgeVlan::tagged(id, id),
        (None, Some(mut range)) => {
            let ends = (range.number("min", 1..=4094)?, range.number("max", 1..=4094)?);
            let (Some(first), Some(last)) = ends else {
                return Err(range.fault("min", "a range needs min and max"));
            };
            if first > last {
                return Err(range.fault("max", format!("{last} is less than min {first}")));
            }
            range.finish(&[])?;
            BridgeVlan::tagged(first, last)
        }
        _ => return Err(fields.fault("id", "either id or id-range is needed")),
    };
    fields.finish(&[])?;
    Ok(vlan)
}

const MODES: [(&str, BondMode); 15] = [
    ("balance-rr", BondMode::BalanceRr),
    ("active-backup", BondMode::ActiveBackup),
    ("balance-xor", BondMode::BalanceXor),
    ("broadcast", BondMode::Broadcast),
    ("802.3ad", BondMode::Lacp),
    ("balance-tlb", BondMode::BalanceTlb),
    ("balance-alb", BondMode::BalanceAlb),
    ("lacp", BondMode::Lacp),
    ("0", BondMode::BalanceRr),
    ("1", BondMode::ActiveBackup),
    ("2", BondMode::BalanceXor),
    ("3", BondMode::Broadcast),
    ("4", BondMode::Lacp),
    ("5", BondMode::BalanceTlb),
    ("6", BondMode::BalanceAlb),
];

const POLICIES: [(&str, HashPolicy); 6] = [
    ("layer2", HashPolicy::Layer2),
    ("layer3+4", HashPolicy::Layer34),
    ("layer2+3", HashPolicy::Layer23),
    ("encap2+3", HashPolicy::Encap23),
    ("encap3+4", HashPolicy::Encap34),
    ("vlan+srcmac", HashPolicy::VlanSrcMac),
];

const RATES: [(&str, LacpRate); 4] = [
    ("slow", LacpRate::Slow),
    ("fast", LacpRate::Fast),
    ("0", LacpRate::Slow),
    ("1", LacpRate::Fast),
];

const UNSUPPORTED_BOND: [&str; 22] = [
    "ad_actor_sys_prio",
    "ad_actor_system",
    "ad_select",
    "ad_user_port_key",
    "all_slaves_active",
    "arp_all_targets",
    "arp_interval",
    "arp_ip_target",
    "arp_missed_max",
    "arp_validate",
    "balance-slb",
    "fail_over_mac",
    "lacp_active",
    "lp_interval",
    "ns_ip6_target",
    "num_grat_arp",
    "num_unsol_na",
    "packets_per_slave",
    "primary",
    "primary_reselect",
    "resend_igmp",
    "tlb_dynamic_lb",
];

fn bond(fields: &mut Fields<'_>) -> Result<BondWish, Fault> {
    let Some(mut section) = fields.object("link-aggregation")? else {
        return Ok(BondWish::default());
    };
    let mut options = Bond { mode: section.word("mode", &MODES)?, ..Bond::default() };
    if let Some(mut more) = section.object("options")? {
        let time = 0..=i64::from(i32::MAX);
        options.miimon_ms = more.number("miimon", time.clone())?;
        options.up_delay_ms = more.number("updelay", time.clone())?;
        options.down_delay_ms = more.number("downdelay", time.clone())?;
        options.min_links = more.number("min_links", time)?;
        options.hash_policy = more.word("xmit_hash_policy", &POLICIES)?;
        options.lacp_rate = more.word("lacp_rate", &RATES)?;
        if options.lacp_rate.is_some() && options.mode.is_some_and(|mode| mode != BondMode::Lacp) {
            return Err(more.fault("lacp_rate", "only mode 802.3ad has one"));
        }
        // The kernel has always used the carrier since 6.18 and refuses anything else.
        if more.flag("use_carrier")? == Some(false) {
            return Err(more.fault("use_carrier", "only true is supported"));
        }
        more.finish(&UNSUPPORTED_BOND)?;
    }
    let ports = names(&mut section)?;
    section.finish(&["ports-config"])?;
    Ok(BondWish { options, ports })
}

fn names(section: &mut Fields<'_>) -> Result<Option<Vec<IfName>>, Fault> {
    let Some(list) = ports(section)? else { return Ok(None) };
    let mut names: Vec<IfName> = Vec::new();
    for (place, value) in list {
        let text = value.as_str().ok_or_else(|| Fault::new(&place, "a name is expected"))?;
        let name =
            IfName::new(text).map_err(|why| Fault::new(&place, format!("{text:?}: {why}")))?;
        if names.contains(&name) {
            return Err(Fault::new(place, format!("{name} is in the list twice")));
        }
        names.push(name);
    }
    Ok(Some(names))
}

fn vrf(fields: &mut Fields<'_>) -> Result<KindWish, Fault> {
    let Some(mut section) = fields.object("vrf")? else {
        return Ok(KindWish::Vrf { table: None, ports: None });
    };
    let table = section.number("route-table-id", 1..=i64::from(u32::MAX))?;
    let ports = names(&mut section)?;
    section.finish(&[])?;
    Ok(KindWish::Vrf { table, ports })
}

fn macvlan(fields: &mut Fields<'_>) -> Result<KindWish, Fault> {
    let modes = [
        ("vepa", MacvlanMode::Vepa),
        ("bridge", MacvlanMode::Bridge),
        ("private", MacvlanMode::Private),
        ("passthru", MacvlanMode::Passthru),
        ("source", MacvlanMode::Source),
    ];
    let Some(mut section) = fields.object("mac-vlan")? else {
        return Ok(KindWish::Macvlan { base: None, mode: None });
    };
    let wish = KindWish::Macvlan {
        base: section.parse("base-iface")?,
        mode: section.word("mode", &modes)?,
    };
    // On is the kernel's own choice.
    if section.flag("promiscuous")? == Some(false) {
        return Err(section.fault("promiscuous", "only true is supported without NetworkManager"));
    }
    section.finish(&["accept-all-mac"])?;
    Ok(wish)
}

fn vxlan(fields: &mut Fields<'_>) -> Result<VxlanWish, Fault> {
    let Some(mut section) = fields.object("vxlan")? else { return Ok(VxlanWish::default()) };
    let wish = VxlanWish {
        base: section.parse("base-iface")?,
        id: section.number("id", 0..=0x00ff_ffff)?,
        port: section.number("destination-port", 1..=65_535)?,
        local: section.parse("local")?,
        remote: section.parse("remote")?,
        learning: section.flag("learning")?,
    };
    section.finish(&[])?;
    Ok(wish)
}
