//! Attachments of pods: what Multus and whereabouts do, as a library, a daemon and a thin binary.
//!
//! ```text
//!   runtime ─▶ shim ──socket──▶ serve ─▶ Daemon ─┬▶ Attacher (multus) ─▶ Networks (plugins)
//!                └─ no daemon: alone ───────────▶┤                          │ addresses
//!                                                └▶ Ipams ◀─────────────────┘
//!                                                     ├ whereabouts: IPPool, reservations
//!                                                     └ landbridge: IPSets of the NetConfig
//!   Objects: the cluster as blocking calls        Releases: what DEL could not free yet, on disk
//!   Reconciler: what is recorded for nobody
//! ```
//!
//! Everything blocks and may be called from many threads at once; only [`serve`] and
//! [`daemon::Daemon::keep_retrying`] are async. Whoever runs plugins implements
//! [`networks::Networks`], and gets addresses from [`ipams::Ipams::run`].
//!
//! What holds whatever happens:
//! - no address is given to two interfaces; an ask counts only when the cluster has confirmed it;
//! - the same interface of the same pod gets the same address again;
//! - DEL never fails and never waits long because the cluster is away, and nothing it was to free is
//!   forgotten;
//! - a late DEL of an old container frees nothing of a new one.

pub mod alone;
pub mod attacher;
pub mod cache;
pub mod claims;
pub mod daemon;
pub mod delegates;
pub mod install;
pub mod ipams;
pub mod ipsets;
pub mod message;
pub mod networks;
pub mod objects;
pub mod origin;
pub mod own;
pub mod reconcile;
pub mod releases;
mod requested;
pub mod serve;
pub mod settings;
pub mod shim;
pub mod sticky;
pub mod whereabouts;
