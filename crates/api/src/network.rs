//! The kinds of `network.openstack.org/v1beta1`.
//!
//! A NetConfig says which networks there are, an IPSet asks for one address on each of some of
//! them, a Reservation records what was given. A DNSMasq is a name server, a DNSData is a set of
//! names for it.
//!
//! Each kind has a file with its types, and beside it a folder with its rules. Texts of refusals
//! are upstream's, letter by letter where users may search for them; `docs/kinds.md` lists where
//! we differ and why.

#![allow(clippy::duplicated_attributes, reason = "each column of a kind names its type")]

mod dnsdata;
mod dnsmasq;
mod exposure;
mod held;
mod ipset;
mod netconfig;
mod reservation;
mod unique;

use std::sync::Arc;

use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::Hooks;

pub use self::dnsdata::{DNSData, DNSDataHooks, DNSDataSpec, DNSDataStatus, DNSHost, is_hostname};
pub use self::dnsmasq::{
    DNSMasq, DNSMasqDebug, DNSMasqHooks, DNSMasqOption, DNSMasqOverride, DNSMasqSpec,
    DNSMasqStatus, OptionKey, TopologyRef,
};
pub(crate) use self::exposure::check_override;
pub use self::exposure::{
    ClientIpConfig, ExternalEndpoint, ServiceOverride, ServiceOverrideMetadata,
    ServiceOverrideSpec, SessionAffinityConfig,
};
pub use self::ipset::{
    FINALIZER as IPSET_FINALIZER, IPSet, IPSetHooks, IPSetNetwork, IPSetReservation, IPSetSpec,
    IPSetStatus, OLD_FINALIZER as OLD_IPSET_FINALIZER,
};
pub use self::netconfig::{
    AllocationRange, Generation, LookupError, NetConfig, NetConfigHooks, NetConfigSpec,
    NetConfigStatus, Network, Route, Subnet,
};
pub use self::reservation::{
    IPSetRef, Reservation, ReservationHooks, ReservationSpec, ReservationStatus, ReservedAddress,
};
use crate::Defaults;

/// The API group.
pub const GROUP: &str = "network.openstack.org";
/// The only version.
pub const VERSION: &str = "v1beta1";

/// Names of networks and subnets: two characters or more, no dots.
pub const NAME_PATTERN: &str = r"^[a-zA-Z0-9][a-zA-Z0-9\-_]*[a-zA-Z0-9]$";
/// Names of service networks: the same in lower case.
pub const SERVICE_NETWORK_PATTERN: &str = r"^[a-z0-9][a-z0-9\-_]*[a-z0-9]$";

/// The default of `dnsDataLabelSelectorValue`, on both sides of the selection.
fn dnsdata_label() -> String {
    "dnsdata".to_owned()
}

/// A kind of this group.
pub(crate) fn group_kind(kind: &str) -> GroupKind {
    GroupKind::new(GROUP, kind)
}

/// The rules of a kind of this group.
pub(crate) fn hooks(defaults: &Defaults, kind: &str) -> Option<Arc<dyn Hooks>> {
    Some(match kind {
        "NetConfig" => Arc::new(NetConfigHooks),
        "IPSet" => Arc::new(IPSetHooks),
        "Reservation" => Arc::new(ReservationHooks),
        "DNSMasq" => Arc::new(DNSMasqHooks::new(defaults.dnsmasq_image.clone())),
        "DNSData" => Arc::new(DNSDataHooks),
        _ => return None,
    })
}
