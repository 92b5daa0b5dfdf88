//! whereabouts: addresses for pods, recorded in the cluster.
//!
//! Its records are kept as they are, with its names and its preconditions, so that both can work
//! on one cluster during a migration. Everything here is a decision; who calls reads and writes.
//!
//! ```text
//!   configuration ─▶ Ipam ─▶ Usable ─┐
//!   IPPool object ─▶ PoolSpec ─▶ Ledger ─ assign/release ─▶ Change ─ patch ─▶ JSON patch
//!   OverlappingRangeIPReservation ───┘
//! ```
//!
//! ```
//! use landbridge_cni::whereabouts::{Claim, Ledger, PoolSpec, RangeSettings, Usable, patch};
//!
//! let usable = Usable::of(&RangeSettings {
//!     range: "172.17.0.0/24".parse()?,
//!     start: Some("172.17.0.30".parse()?),
//!     end: Some("172.17.0.70".parse()?),
//!     exclude: vec!["172.17.0.30".into()],
//! })?;
//! let pool = PoolSpec { range: "172.17.0.0/24".into(), ..PoolSpec::default() };
//! let claim = Claim { container_id: "4f0c", podref: "openstack/glance-0", ifname: "net1" };
//! let given = Ledger::read(&pool)?.assign(&usable, &claim, |_| None)?;
//! assert_eq!(given.address.to_string(), "172.17.0.31/24");
//! assert_eq!(patch("812", given.change.as_slice()).len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where upstream is wrong we are not: every range is released, offsets are right for pools whose
//! range has host bits, and names never begin with a dash.

mod ledger;
mod names;
mod patch;
mod settings;
mod usable;

pub use self::ledger::{Allocation, Assignment, BadPool, Claim, Ledger, NoAddress, PoolSpec};
pub use self::names::{pool_name, reservation_address, reservation_name, slice_pool_name};
pub use self::patch::{Change, Operation, patch};
pub use self::settings::{BadIpam, Ipam, RangeSettings, StaticAddress, merge_flat_file, podref};
pub use self::usable::{BadRange, Usable};

/// The spec of an OverlappingRangeIPReservation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reservation {
    /// Not used any more.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub containerid: String,
    /// The pod that holds the address, `namespace/name`.
    pub podref: String,
    /// The interface that holds it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ifname: String,
}
