//! Which addresses the Reservations of a namespace record for others.

use std::net::IpAddr;

use landbridge_machinery::hooks::Request;
use landbridge_machinery::object;
use serde_json::{Map, Value};

use super::group_kind;

/// An address somebody holds.
pub(super) struct Held {
    network: String,
    address: IpAddr,
    /// Name of the IPSet, which is the name of its Reservation.
    pub holder: String,
}

/// All addresses of the namespace that satisfy `wanted` and are not recorded under the name of
/// the object in question. There may be thousands of Reservations, so they are read as they are.
pub(super) fn by_others(request: &Request<'_>, wanted: impl Fn(IpAddr) -> bool) -> Vec<Held> {
    let mut all = Vec::new();
    for reservation in request.objects.list(&group_kind("Reservation"), request.namespace) {
        let holder = object::name(&reservation);
        if holder == request.name {
            continue;
        }
        let entries = reservation["spec"]["reservation"].as_object();
        for entry in entries.into_iter().flat_map(Map::values) {
            if let Ok(address) = text(entry, "address").parse()
                && wanted(address)
            {
                let network = text(entry, "network").to_owned();
                all.push(Held { network, address, holder: holder.to_owned() });
            }
        }
    }
    all
}

/// Who holds `address` on `network`.
pub(super) fn find<'a>(held: &'a [Held], network: &str, address: IpAddr) -> Option<&'a Held> {
    held.iter().find(|held| held.address == address && held.network.eq_ignore_ascii_case(network))
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}
