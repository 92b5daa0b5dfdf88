//! IPPool: what whereabouts has given to whom.

use std::net::IpAddr;

use serde_json::Value;

use super::{At, Node, Trouble};
use crate::net::Cidr;

/// The API group.
pub const GROUP: &str = "whereabouts.cni.cncf.io";
/// The kind.
pub const KIND: &str = "IPPool";

/// The record of one range.
#[derive(Clone, Debug)]
pub struct IPPool<'a> {
    /// The prefix.
    pub range: At<Cidr>,
    /// Who holds which address: the pod as `namespace/name`.
    pub allocations: Vec<(At<IpAddr>, &'a str)>,
}

/// Reads the object.
pub fn read<'a>(object: &'a Value, trouble: &mut Trouble) -> Option<IPPool<'a>> {
    let spec = Node::root(object).get("spec")?;
    let range = spec.text("range", trouble)?;
    let range = trouble.prefix(&range)?;
    let (first, last) = range.value.bounds();
    let mut allocations = Vec::new();
    for (offset, entry) in spec.get("allocations").iter().flat_map(Node::entries) {
        let address = offset.parse().ok().and_then(|offset| above(first, offset));
        let Some(address) = address.filter(|address| *address <= last) else {
            trouble.note(&entry.place, format!("{offset:?} is no offset in {}", range.value));
            continue;
        };
        let holder = entry.text("podref", trouble).map_or("", |text| text.value);
        allocations.push((At { place: entry.place, value: address }, holder));
    }
    Some(IPPool { range, allocations })
}

fn above(base: IpAddr, offset: u64) -> Option<IpAddr> {
    Some(match base {
        IpAddr::V4(v4) => {
            IpAddr::V4(u32::from(v4).checked_add(u32::try_from(offset).ok()?)?.into())
        }
        IpAddr::V6(v6) => IpAddr::V6(u128::from(v6).checked_add(u128::from(offset))?.into()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn offsets_become_addresses() {
        let object = json!({"spec": {"range": "172.17.0.0/24", "allocations": {
            "30": {"id": "x", "podref": "openstack/ovn-0"}, "999": {"id": "y"}, "-1": {},
        }}});
        let mut trouble = Trouble::default();
        let pool = read(&object, &mut trouble).unwrap();
        let held: Vec<_> =
            pool.allocations.iter().map(|(a, h)| (a.value.to_string(), *h)).collect();
        assert_eq!(held, [("172.17.0.30".to_owned(), "openstack/ovn-0")]);
        assert_eq!(trouble.0.len(), 2);
    }
}
