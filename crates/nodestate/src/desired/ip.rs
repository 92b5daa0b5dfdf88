//! The `ipv4` and `ipv6` sections of an interface.

use ipnet::IpNet;
use landbridge_linux::route::Family;
use serde_json::Value;

use crate::error::Fault;
use crate::fields::Fields;

/// What is wanted of IPv4; nothing is to stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ipv4Wish {
    pub enabled: Option<bool>,
    pub addresses: Option<Vec<IpNet>>,
    pub dhcp: Option<bool>,
    pub auto: Auto,
    pub forwarding: Option<bool>,
}

/// What is wanted of IPv6; nothing is to stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ipv6Wish {
    pub enabled: Option<bool>,
    pub addresses: Option<Vec<IpNet>>,
    pub dhcp: Option<bool>,
    pub autoconf: Option<bool>,
    pub auto: Auto,
    pub forwarding: Option<bool>,
}

/// How far a DHCP server is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Auto {
    pub dns: Option<bool>,
    pub gateway: Option<bool>,
    pub routes: Option<bool>,
    pub table: Option<u32>,
    pub metric: Option<u32>,
    pub client_id: Option<String>,
}

const UNSUPPORTED: [&str; 8] = [
    "addr-gen-mode",
    "token",
    "allow-extra-address",
    "dhcp-duid",
    "dhcp-send-hostname",
    "dhcp-custom-hostname",
    "prefix-route-metric",
    "mptcp",
];

impl Ipv4Wish {
    pub(super) fn parse(interface: &mut Fields<'_>) -> Result<Option<Self>, Fault> {
        let Some(mut fields) = interface.object("ipv4")? else { return Ok(None) };
        let wish = Self {
            enabled: fields.flag("enabled")?,
            addresses: addresses(&mut fields, Family::Ipv4)?,
            dhcp: fields.flag("dhcp")?,
            auto: Auto { client_id: fields.text("dhcp-client-id")?, ..auto(&mut fields)? },
            forwarding: fields.flag("forwarding")?,
        };
        off_is_off(&fields, wish.enabled, wish.dhcp == Some(true))?;
        fields.finish(&UNSUPPORTED)?;
        Ok(Some(wish))
    }
}

impl Ipv6Wish {
    pub(super) fn parse(interface: &mut Fields<'_>) -> Result<Option<Self>, Fault> {
        let Some(mut fields) = interface.object("ipv6")? else { return Ok(None) };
        let wish = Self {
            enabled: fields.flag("enabled")?,
            addresses: addresses(&mut fields, Family::Ipv6)?,
            dhcp: fields.flag("dhcp")?,
            autoconf: fields.flag("autoconf")?,
            auto: auto(&mut fields)?,
            forwarding: fields.flag("forwarding")?,
        };
        off_is_off(&fields, wish.enabled, wish.dhcp == Some(true) || wish.autoconf == Some(true))?;
        fields.finish(&UNSUPPORTED)?;
        Ok(Some(wish))
    }
}

fn auto(fields: &mut Fields<'_>) -> Result<Auto, Fault> {
    Ok(Auto {
        dns: fields.flag("auto-dns")?,
        gateway: fields.flag("auto-gateway")?,
        routes: fields.flag("auto-routes")?,
        table: fields.number("auto-route-table-id", 0..=i64::from(u32::MAX))?,
        metric: fields.number("auto-route-metric", 0..=i64::from(u32::MAX))?,
        client_id: None,
    })
}

/// nmstate ignores what stands beside `enabled: false`; asking for DHCP there is a contradiction.
fn off_is_off(fields: &Fields<'_>, enabled: Option<bool>, asks: bool) -> Result<(), Fault> {
    if enabled == Some(false) && asks {
        return Err(fields.fault("enabled", "it is off, but dhcp or autoconf beside it is on"));
    }
    Ok(())
}

fn addresses(fields: &mut Fields<'_>, family: Family) -> Result<Option<Vec<IpNet>>, Fault> {
    let Some(list) = fields.list("address")? else { return Ok(None) };
    let mut nets: Vec<IpNet> = Vec::new();
    for (place, value) in list {
        let net = address(&place, value, family)?;
        if nets.iter().any(|other| other.addr() == net.addr()) {
            return Err(Fault::new(place, format!("{} is in the list twice", net.addr())));
        }
        nets.push(net);
    }
    Ok(Some(nets))
}

fn address(place: &str, value: &Value, family: Family) -> Result<IpNet, Fault> {
    let mut fields = Fields::of(value, place)?;
    let Some(ip) = fields.parse::<std::net::IpAddr>("ip")? else {
        return Err(fields.fault("ip", "an address needs an ip"));
    };
    let Some(length) = fields.number::<u8>("prefix-length", 0..=128)? else {
        return Err(fields.fault("prefix-length", "an address needs a prefix-length"));
    };
    let net = IpNet::new(ip, length)
        .map_err(|_| fields.fault("prefix-length", format!("{length} is too long for {ip}")))?;
    if Family::of(&net) != family {
        return Err(fields.fault("ip", format!("{ip} stands in the section {family}")));
    }
    if ip.is_unspecified() || ip.is_multicast() {
        return Err(fields.fault("ip", format!("{ip} cannot be the address of an interface")));
    }
    // Times to live and their origin are shown by nmstate and never applied.
    fields.shown_only(&["valid-life-time", "preferred-life-time", "protocol"]);
    fields.finish(&["mptcp-flags"])?;
    Ok(net)
}
