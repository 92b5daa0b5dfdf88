//! Plans, without a kernel: tables, snapshots, and a model of a kernel that random plans are run on.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code

mod impossible;
mod merge;
mod model;
mod random;
mod seeds;
mod wishes;

use landbridge_linux::IfName;
use landbridge_nodestate::Fault;
use landbridge_nodestate::desired::Desired;
use landbridge_nodestate::plan::{Abilities, Plan};
use landbridge_nodestate::state::{Interface, IpAddress, Kind, State};
use serde_json::Value;

pub const ALL: Abilities = Abilities { vlan_filtering: true };
pub const FEW: Abilities = Abilities { vlan_filtering: false };

pub fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

/// A worker as it boots: loopback, three NICs, the first one configured.
pub fn worker() -> State {
    let mut state = State::default();
    let mut add = |called: &str, kind: Kind, mtu: u32, up: bool| {
        let mut link = Interface::new(kind, state.fresh);
        (link.mtu, link.up) = (mtu, up);
        state.interfaces.insert(name(called), link);
    };
    add("lo", Kind::Loopback, 65_536, true);
    add("enp1s0", Kind::Ethernet, 1500, true);
    add("enp6s0", Kind::Ethernet, 1500, true);
    add("enp7s0", Kind::Ethernet, 1500, false);
    let first = state.interfaces.get_mut(&name("enp1s0")).unwrap();
    first.ipv4.addresses.push(IpAddress::fixed("172.22.0.28/24".parse().unwrap()));
    let gateway = "172.22.0.1".parse().unwrap();
    let route = landbridge_linux::Route::via("0.0.0.0/0".parse().unwrap(), gateway);
    state.routes.push(route.on(name("enp1s0")));
    state
}

pub fn plan(desired: &Value, now: &State, can: Abilities) -> Result<Plan, Fault> {
    Plan::new(&Desired::parse(desired)?, now, can)
}
