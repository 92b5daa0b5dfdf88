//! Every kind Landbridge serves: types, schemas, defaults and admission rules.
//!
//! Nothing here does IO. A kind is a Rust type; its schema is derived from the type; its rules are
//! functions from a spec to field errors. The embedded API server and, on a real cluster, the
//! admission webhooks call the same rules through [`Hooks`].
//!
//! | module | idea |
//! |---|---|
//! | [`network`] | the kinds of `network.openstack.org` |
//! | [`foreign`] | kinds that others define and we only read |
//! | [`condition`] | how a kind says how it is doing |
//! | [`net`] | prefixes, ranges and VLAN numbers, checked when they are made |
//! | [`ledger`] | who holds which address of a segment |
//! | [`defaults`] | what an installation may set for all objects |
//!
//! The CRDs come from [`crds`]; [`all_crds`] has those of others, too. They finish what
//! the derive macro of kube produces, so `CustomResourceExt::crd` alone is not what should be
//! installed.
//!
//! ```
//! let crds = landbridge_api::crds();
//! assert!(crds.iter().any(|crd| crd.spec.names.kind == "NetConfig"));
//! assert!(landbridge_api::hooks("network.openstack.org", "NetConfig").is_some());
//! assert!(landbridge_api::hooks("apps", "Deployment").is_none());
//! ```

mod admission;
pub mod condition;
mod crd;
pub mod defaults;
pub mod foreign;
pub mod ledger;
pub mod network;

use std::sync::Arc;

use landbridge_machinery::hooks::Hooks;

pub use landbridge_addr::net;

pub use self::crd::{all_crds, crds};
pub use self::defaults::Defaults;

/// The rules of a kind, with built-in defaults; `None` for kinds without rules of their own.
pub fn hooks(group: &str, kind: &str) -> Option<Arc<dyn Hooks>> {
    hooks_with(&Defaults::default(), group, kind)
}

/// The rules of a kind, with what this installation set.
pub fn hooks_with(defaults: &Defaults, group: &str, kind: &str) -> Option<Arc<dyn Hooks>> {
    match group {
        network::GROUP => network::hooks(defaults, kind),
        foreign::route::GROUP if kind == foreign::route::KIND => {
            Some(Arc::new(foreign::route::RouteHooks::new(&defaults.ingress_domain)))
        }
        group if foreign::openstack::is_group(group) => Some(Arc::new(foreign::OpenStackHooks)),
        _ => None,
    }
}
