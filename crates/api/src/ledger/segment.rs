//! Which wire a subnet of a NetConfig is on.
//!
//! Two NetConfigs that name the same VLAN, or the same untagged network, are on the same wire
//! unless they say otherwise: giving one address twice is worse than giving the next one.

use std::sync::Arc;

use crate::network::{Network, Subnet};

/// Annotation of a NetConfig whose networks are on wires of their own, although VLANs or names
/// are those of another NetConfig: any short name for those wires.
pub const WIRES: &str = "landbridge.dev/wires";

/// Longest name that is kept as it is. The name of a block has to stay below 253.
const LONGEST: usize = 100;

/// The wire: `vlan-20`, `net-ctlplane`, `site2-vlan-20`.
pub fn of(wires: Option<&str>, network: &Network, subnet: &Subnet) -> Arc<str> {
    let wire = match subnet.vlan_id() {
        Ok(Some(vlan)) => format!("vlan-{vlan}"),
        _ => format!("net-{}", network.name.to_lowercase()),
    };
    let wire = match wires.map(str::trim).filter(|wires| !wires.is_empty()) {
        Some(wires) => format!("{}-{wire}", wires.to_lowercase()),
        None => wire,
    };
    plain(wire).into()
}

/// Makes the name fit for the name of an object. Names that had to be changed carry a fingerprint
/// of what they were, so that two of them never fall together.
fn plain(wire: String) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins_well = wire.starts_with(|c: char| c != '-');
    if wire.len() <= LONGEST && begins_well && wire.chars().all(fits) {
        return wire;
    }
    let cut: String = wire.chars().take(LONGEST).map(|c| if fits(c) { c } else { '-' }).collect();
    format!("x{cut}-{:016x}", fingerprint(wire.as_bytes()))
}

/// FNV-1a. Names of objects must not change with the compiler, as the standard hash may.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(wires: Option<&str>, name: &str, vlan: Option<i64>) -> String {
        let network = Network { name: name.into(), ..Network::default() };
        of(wires, &network, &Subnet { vlan, ..Subnet::default() }).to_string()
    }

    #[test]
    fn the_vlan_tells_the_wire_else_the_name() {
        assert_eq!(wire(None, "InternalApi", Some(20)), "vlan-20");
        assert_eq!(wire(None, "CtlPlane", None), "net-ctlplane");
        assert_eq!(wire(None, "CtlPlane", Some(0)), "net-ctlplane");
        assert_eq!(wire(Some("Site2"), "InternalApi", Some(20)), "site2-vlan-20");
        assert_eq!(wire(Some(" "), "InternalApi", Some(20)), "vlan-20");
    }

    #[test]
    fn unusual_names_stay_apart() {
        let names = ["a_b", "a-b", "a.b", &"n".repeat(300), &"n".repeat(301)];
        let wires: std::collections::BTreeSet<_> =
            names.iter().map(|name| wire(None, name, None)).collect();
        assert_eq!(wires.len(), names.len());
        for wire in wires {
            assert!(wire.len() < 140, "{wire}");
            assert!(wire.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{wire}");
        }
    }
}
