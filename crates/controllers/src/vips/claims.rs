//! What stands in the ledger for a virtual address: one claim with all the Services that use it.

use std::sync::Arc;

use landbridge_api::ledger::{Claim, Shared, SharedBy};
use landbridge_vips::{Name, Port, Sharing};

use crate::mirror::Key;

/// The kind of holder this controller answers for.
pub const HOLDER: &str = "Service";
/// The segment under which every virtual address stands, whatever wire it is on: pools never overlap.
pub const VIPS: &str = "vips";

/// `namespace/name`
pub fn name_of(key: &Key) -> Name {
    Arc::from(key.to_string())
}

/// `TCP/80`
pub fn port_text(port: Port) -> String {
    format!("{}/{}", port.protocol, port.number)
}

fn port_of(text: &str) -> Option<Port> {
    let (protocol, number) = text.split_once('/')?;
    let protocol = ["TCP", "UDP", "SCTP"].into_iter().find(|known| *known == protocol)?;
    Some(Port { protocol, number: number.parse().ok()? })
}

/// The Services that use the address, with their ports.
pub fn users(claim: Option<&Claim>) -> impl Iterator<Item = (&SharedBy, Vec<Port>)> {
    let shared = claim.and_then(of_services);
    shared.into_iter().flat_map(|shared| &shared.users).map(|user| {
        let ports = user.ports.iter().filter_map(|text| port_of(text)).collect();
        (user, ports)
    })
}

/// The part about Services, when it is a claim of theirs.
pub fn of_services(claim: &Claim) -> Option<&Shared> {
    claim.shared.as_ref().filter(|_| claim.kind == HOLDER)
}

/// The entry of one Service.
pub fn entry<'a>(claim: &'a Claim, key: &Key) -> Option<&'a SharedBy> {
    of_services(claim)?.users.iter().find(|user| is_of(user, key))
}

fn is_of(user: &SharedBy, key: &Key) -> bool {
    *user.namespace == *key.namespace && *user.name == *key.name
}

/// The conditions under which the address is used.
pub fn sharing(claim: &Claim) -> Sharing {
    let shared = of_services(claim);
    shared.map_or_else(Sharing::default, |shared| Sharing {
        key: shared.key.clone(),
        backend: shared.backend.clone(),
    })
}

/// The claim with this user in it.
pub fn with(claim: Option<&Claim>, user: SharedBy, sharing: &Sharing, pool: &str) -> Claim {
    let others = claim.and_then(of_services).map(|shared| shared.users.clone()).unwrap_or_default();
    let key = Key::new(&user.namespace, &user.name);
    let mut users: Vec<SharedBy> = others.into_iter().filter(|other| !is_of(other, &key)).collect();
    users.push(user);
    made(users, sharing, format!("IPAddressPool {pool}"))
}

/// The claim without a user; `None` when nobody is left.
pub fn without(claim: &Claim, key: &Key) -> Option<Claim> {
    let users = of_services(claim)?.users.iter().filter(|user| !is_of(user, key));
    let users: Vec<SharedBy> = users.cloned().collect();
    (!users.is_empty()).then(|| made(users, &sharing(claim), claim.source.clone()))
}

fn made(mut users: Vec<SharedBy>, sharing: &Sharing, source: String) -> Claim {
    users.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let first = users.first().cloned().unwrap_or_default();
    Claim {
        kind: HOLDER.to_owned(),
        namespace: first.namespace,
        name: first.name,
        uid: first.uid,
        source,
        shared: Some(Shared { key: sharing.key.clone(), backend: sharing.backend.clone(), users }),
        ..Claim::default()
    }
}
