//! Addresses, prefixes and MACs as Neutron takes them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde_json::Value;

use super::{Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;

/// An address in its canonical form (IPv6 compressed).
pub fn ip(value: &Value) -> Checked {
    ip_address(value).map(|address| address.to_string().into())
}

/// An address.
pub fn ip_address(value: &Value) -> Result<IpAddr, Wrong> {
    let shown = python::str(value);
    let wrong = || Wrong::Reason(format!("'{shown}' is not a valid IP address"));
    let text = value.as_str().ok_or_else(wrong)?;
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().map(IpAddr::V6).map_err(|_| wrong());
    }
    // Zeros in front are read, and refused with what was probably meant.
    let parts: Option<Vec<u8>> = text.split('.').map(decimal).collect();
    let Some([a, b, c, d]) = parts.as_deref() else { return Err(wrong()) };
    let address = Ipv4Addr::new(*a, *b, *c, *d);
    if address.to_string() != text {
        return Wrong::reason(format!(
            "'{text}' is not an accepted IP address, '{address}' is recommended"
        ));
    }
    Ok(address.into())
}

fn decimal(part: &str) -> Option<u8> {
    let digits = !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| part.parse().ok()).flatten()
}

/// A prefix as `cidr` of a subnet takes it: made canonical, host bits kept for the rules to see.
pub fn cidr(value: &Value) -> Checked {
    let shown = python::str(value);
    let Some(text) = value.as_str() else {
        return Err(Fault::input(format!("{shown} is not in a CIDR format")).into());
    };
    let Some((address, length)) = network(text) else {
        return Err(Fault::input(format!("{shown} is not in a CIDR format")).into());
    };
    Ok(format!("{address}/{length}").into())
}

/// Address and length, the length being that of one address where there is none.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let address: IpAddr = address.parse().ok()?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        None => whole,
        Some(digits) => match digits.parse::<u8>() {
            Ok(length) if length <= whole => length,
            _ => netmask(digits)?,
        },
    };
    Some((address, length))
}

/// `255.255.255.0` as a length.
fn netmask(text: &str) -> Option<u8> {
    let mask: Ipv4Addr = text.parse().ok()?;
    ipnet::ip_mask_to_prefix(mask.into()).ok()
}

/// A prefix, written canonically where it is IPv4.
pub fn subnet(value: &Value) -> Result<(), Wrong> {
    let wrong = || Wrong::Reason(format!("'{}' is not a valid IP subnet", python::str(value)));
    let text = value.as_str().filter(|text| text.contains('/')).ok_or_else(wrong)?;
    let (address, length) = network(text).ok_or_else(wrong)?;
    if address.is_ipv4() && format!("{address}/{length}") != text {
        return Err(wrong());
    }
    Ok(())
}

/// The destination of a route: a prefix without host bits that is not this host.
pub fn route_cidr(value: &Value) -> Result<IpNet, Wrong> {
    let shown = python::str(value);
    let wrong = || Wrong::Reason(format!("'{shown}' is not a valid CIDR"));
    let text = value.as_str().filter(|text| text.contains('/')).ok_or_else(wrong)?;
    let (address, length) = network(text).ok_or_else(wrong)?;
    let net = IpNet::new(address, length).map_err(|_| wrong())?;
    if net.network() != address {
        return Err(wrong());
    }
    if address.is_loopback() {
        return Wrong::reason(format!("'{shown}' is not a routable CIDR"));
    }
    Ok(net)
}

/// A MAC address as Neutron keeps it.
pub fn mac_address(value: &Value) -> Checked {
    let wrong = || Wrong::Reason(format!("'{}' is not a valid MAC address", python::str(value)));
    let kept = value.as_str().and_then(mac).ok_or_else(wrong)?;
    if kept == "00:00:00:00:00:00" {
        return Err(wrong());
    }
    Ok(kept.into())
}

/// A MAC address in any usual notation, as six pairs with colons.
pub fn mac(text: &str) -> Option<String> {
    let groups: Vec<&str> = text.split([':', '-', '.']).collect();
    let hex = |group: &str| group.bytes().all(|b| b.is_ascii_hexdigit());
    if !groups.iter().all(|group| !group.is_empty() && hex(group)) {
        return None;
    }
    let width = match groups.len() {
        1 if text.len() == 12 => 12,
        2 if groups.iter().all(|group| group.len() >= 5) => 6,
        3 => 4,
        6 => 2,
        _ => return None,
    };
    let padded: Vec<String> = groups.iter().map(|group| format!("{group:0>width$}")).collect();
    let digits = padded.concat().to_lowercase();
    if digits.len() != 12 {
        return None;
    }
    let pairs = (0..6).filter_map(|at| digits.get(2 * at..2 * at + 2));
    Some(pairs.collect::<Vec<_>>().join(":"))
}
