//! Who holds an address, as the ledger says.
//!
//! One block is read for each address, however many IPSets there are. Before the controller has
//! seen a request the ledger knows nothing of it; its claim is the law, this is only advice.

use std::net::IpAddr;

use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::Request;
use landbridge_machinery::object;
use serde::Deserialize as _;

use super::netconfig::TheNetConfig;
use super::{Network, Subnet, group_kind};
use crate::ledger::{self, Claim, block_name, block_of, segment};

/// Kind of the holders this group knows.
const HOLDER: &str = "IPSet";

/// The claim on an address, when it is not the claim of the object in question.
pub(super) fn by_another(
    request: &Request<'_>,
    netconfig: &TheNetConfig,
    (network, subnet): (&Network, &Subnet),
    address: IpAddr,
) -> Option<Claim> {
    let segment = segment::of(netconfig.wires.as_deref(), network, subnet);
    let kind = GroupKind::new(ledger::GROUP, "AddressBlock");
    let name = block_name(&segment, block_of(address));
    let block = request.objects.get(&kind, None, &name)?;
    let claim = Claim::deserialize(&block["spec"]["claims"][address.to_string()]).ok()?;
    let own = claim.kind == HOLDER
        && claim.name == request.name
        && Some(claim.namespace.as_str()) == request.namespace;
    (!own).then_some(claim)
}

/// Whether the holder is there and means to stay.
pub(super) fn is_alive(request: &Request<'_>, claim: &Claim) -> bool {
    let namespace = Some(claim.namespace.as_str());
    let holder = request.objects.get(&group_kind(HOLDER), namespace, &claim.name);
    claim.kind == HOLDER && holder.is_some_and(|holder| !object::is_terminating(&holder))
}
