//! Where servers run: the hosts that the settings name, or any host that a call names.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use super::servers::SERVER;
use crate::state::Tx;

/// The host of a cloud that has no others.
const ALONE: &str = "cloudlet";

/// How many servers each host has; hosts that the settings do not name are there while they have some.
pub fn loads(tx: &Tx<'_>) -> BTreeMap<String, usize> {
    let known = &tx.config.compute_hosts;
    let mut loads: BTreeMap<String, usize> = known.iter().map(|host| (host.clone(), 0)).collect();
    if loads.is_empty() {
        loads.insert(ALONE.to_owned(), 0);
    }
    for server in tx.all(&SERVER) {
        *loads.entry(server.text("host").to_owned()).or_default() += 1;
    }
    loads
}

/// The host that a call names, if there is such a host.
pub fn named<'a>(tx: &Tx<'_>, host: &'a str) -> Result<&'a str, Refusal> {
    let known = &tx.config.compute_hosts;
    if known.is_empty() || known.iter().any(|known| known == host) {
        return Ok(host);
    }
    Err(Refusal::bad(format!("Compute host {host} could not be found.")))
}

/// The host with the fewest servers; of several, the first by name.
pub fn least(tx: &Tx<'_>) -> String {
    let known = &tx.config.compute_hosts;
    let usable = |host: &String| known.is_empty() || known.contains(host);
    let loads = loads(tx).into_iter().filter(|(host, _)| usable(host));
    loads.min_by_key(|(_, servers)| *servers).map_or_else(|| ALONE.to_owned(), |(host, _)| host)
}
