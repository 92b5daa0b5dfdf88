//! Virtual addresses for Services, by MetalLB's rules.
//!
//! A pool is a list of prefixes and ranges. A Service of type LoadBalancer gets one address of a pool,
//! or one of each family; several Services share an address when they say so with the same key and
//! have no port in common. Here are the rules and nothing else: who asks, what is used and what the
//! pools are comes in as values, the answer goes out as a value.
//!
//! Where MetalLB leaves the order to chance, names decide. Where it walks a pool from its lowest
//! address, the answer is looked up: see [`shelf`].
//!
//! | module | idea |
//! |---|---|
//! | [`pool`] | one pool, as it is written |
//! | [`config`] | all pools, and which of them a Service may use |
//! | [`asked`] | what a Service asks for |
//! | [`allocator`] | what is used by whom, and whether somebody else may use it, too |
//! | [`shelf`] | the next address of one pool and family |
//! | `group` | addresses under one sharing key, and the ports they have left |
//! | `choose` | which pool, and which families |
//! | [`converge`] | from what a Service has to what it should have |
//! | [`figures`] | how full pools are, for their status and for metrics |
//! | [`hooks`] | what is refused when pools and advertisements are written |

pub mod allocator;
pub mod asked;
mod choose;
pub mod config;
pub mod converge;
pub mod figures;
mod group;
pub mod hooks;
pub mod pool;
pub mod shelf;

use std::sync::Arc;

pub use landbridge_api::foreign::catalogue::Port;

pub use self::allocator::{Allocator, Use};
pub use self::asked::{Asked, Families, Sharing};
pub use self::config::{Config, Namespace};
pub use self::converge::{Given, Outcome, Said, converge};
pub use self::pool::Pool;

/// The name of a pool, or a Service as `namespace/name`.
pub type Name = Arc<str>;

/// Where MetalLB's objects live unless somebody says otherwise.
pub const NAMESPACE: &str = "metallb-system";
