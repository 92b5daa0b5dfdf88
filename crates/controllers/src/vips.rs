//! Virtual addresses for Services of type LoadBalancer, as MetalLB's controller gives them.
//!
//! ```text
//!  Service ──────┐                      ┌─▶ AddressBlock          the claim: a compare-and-swap
//!  IPAddressPool ┼─▶ Engine (no IO) ────┼─▶ Service status        the answer, with its annotation
//!  Namespace ────┤     │                ├─▶ IPAddressPool status, ConfigurationState
//!  AddressBlock ─┘     ▼                └─▶ Events, metrics
//!                 landbridge_vips: the rules
//! ```
//!
//! MetalLB keeps in memory what is given, and is safe because there is one of it. Here an address is
//! given when the swap of its block in the ledger has succeeded: once under the segment
//! [`VIPS`](claims::VIPS), where all virtual addresses stand with the Services that use them, and once
//! on every wire it is known to be on, where IPSets, pods and nodes look. Two controllers at once, or
//! one that dies anywhere, give no address twice.
//!
//! The order is: claim, write the status, and free only what no status can name any more. A claim
//! carries the revision of the Service it was made for. A status is written for just one revision, so a
//! claim is of no use to anybody once the Service is seen in a later one without the address.
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | what is to be written next, for every Service |
//! | [`claims`] | what stands in the ledger for a virtual address |
//! | [`seen`] | what the engine needs to know of each kind |
//! | [`driver`] | watches and writes |

pub mod claims;
pub mod driver;
pub mod engine;
pub mod seen;

pub use self::driver::run;

/// What can be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Only Services of this `loadBalancerClass`; `None`: only those without one.
    pub class: Option<String>,
}
