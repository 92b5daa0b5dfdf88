//! Single addresses: in a range of others, or with two holders.

use super::View;
use crate::codes::{self, Code};
use crate::finding::Finding;
use crate::ledger::{Owner, Role};

/// Whether two claims to one address contradict each other.
pub(super) fn contradict(view: &View<'_, '_>, a: usize, b: usize) -> bool {
    let (a, b) = (&view.ledger.claims[a], &view.ledger.claims[b]);
    if a.holder == b.holder {
        return false;
    }
    match (a.role.min(b.role), a.role.max(b.role)) {
        // Who may share a virtual address is a question of its own. Routers are named by many, and
        // a node or a port may be one.
        (Role::Vip, Role::Vip)
        | (Role::Router, Role::Router | Role::Port)
        | (Role::Host, Role::Router) => false,
        // Whereabouts and Neutron keep their own addresses apart, and the same static address in
        // two attachments may be meant for different pods.
        (low, high) => low != high || !matches!(low, Role::Pod | Role::Port | Role::Static),
    }
}

/// One address with two holders.
pub(super) fn two_holders(view: &View<'_, '_>, a: usize, b: usize) -> Finding {
    let (a, b) = (&view.ledger.claims[a], &view.ledger.claims[b]);
    let message = format!(
        "{} is the {} of {} and the {} of {}",
        a.address,
        a.role.text(),
        a.holder,
        b.role.text(),
        b.holder
    );
    Finding::new(&codes::TWO_HOLDERS, message)
        .at(&a.mark, format!("{} of {}", a.role.text(), a.holder))
        .at(&b.mark, format!("{} of {}", b.role.text(), b.holder))
        .help("give one of them another address")
}

/// An address in a range whose owner did not give it.
pub(super) fn inside(view: &View<'_, '_>, claim: usize, range: usize) -> Option<Finding> {
    let (claim, range) = (&view.ledger.claims[claim], &view.ledger.ranges[range]);
    let code: &Code = match (claim.role, range.owner) {
        // Neutron leaves out its gateways by itself.
        (Role::Router, Owner::Neutron) => return None,
        (Role::Host, _) => &codes::HOST_IN_RANGE,
        (Role::Router, _) => &codes::ROUTER_IN_RANGE,
        (Role::Vip, _) => &codes::VIP_IN_RANGE,
        _ => &codes::TAKEN_IN_RANGE,
    };
    let message = format!(
        "{}, the {} of {}, lies in {} that {} hands out",
        claim.address,
        claim.role.text(),
        claim.holder,
        range.range,
        range.label
    );
    let exclude = match range.owner {
        Owner::NetConfig => "add it to excludeAddresses",
        Owner::Attachment => "add it to exclude of the attachment's ipam",
        Owner::Pool | Owner::Neutron => "leave it out of the range",
    };
    let finding = Finding::new(code, message)
        .at(&claim.mark, format!("{} of {}", claim.role.text(), claim.holder))
        .at(&range.mark, format!("{} is handed out here", range.range));
    Some(finding.help(format!("use an address outside of the range, or {exclude}")))
}
