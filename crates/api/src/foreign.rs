//! Kinds that others define and we only read: what of them matters to the address plan.
//!
//! Reading is tolerant. Fields that do not matter are not looked at, both generations of upstream
//! are understood, and a value of the wrong type is noted in [`Trouble`] and otherwise treated as
//! absent. Everything that is read remembers its [`Place`], so that a diagnostic can point at it.
//!
//! | module | kinds |
//! |---|---|
//! | [`cni`] | NetworkAttachmentDefinition and the CNI configuration in it |
//! | [`whereabouts`] | IPPool |
//! | [`nmstate`] | NodeNetworkConfigurationPolicy |
//! | [`metallb`] | IPAddressPool, L2Advertisement, and how a Service asks for an address |
//! | [`openstack`] | any kind of `*.openstack.org`: attachments, virtual addresses, NIC mappings |
//! | [`catalogue`] | which OpenStack service listens on which ports |
//! | [`controlplane`] | the sections of a control plane and the kinds they become |
//! | [`route`] | Route |
//! | [`service`] | Service |
//! | [`neutron`] | networks, subnets and ports as Neutron or its client print them |
//! | `crds` | the CRDs of all of them, for the embedded API |
//! | [`rules`] | what is refused in them |
//! | `alias` | the one misspelt field that is taken for the right one |

mod alias;
pub mod catalogue;
pub mod cni;
pub mod controlplane;
pub(crate) mod crds;
pub mod metallb;
pub mod neutron;
pub mod nmstate;
pub mod openstack;
mod read;
pub mod route;
pub mod rules;
pub mod service;
#[cfg(test)]
mod testing;
pub mod whereabouts;

pub use self::alias::OpenStackHooks;
pub use self::read::{At, Node, Place, Trouble};
