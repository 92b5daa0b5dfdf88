//! Octavia's management network: from an Octavia and the attachment its pods use to networks of Neutron.
//!
//! ```text
//!  NetworkAttachmentDefinition                        Neutron
//!    range 172.23.0.0/24 ───────────────────────────► octavia-provider-subnet
//!      .30-.70   pods, by whereabouts
//!      .71-.96   ports of Neutron ──────────────────►   its pool
//!      .97-.122  health managers and rsyslogs, by node
//!      .150      routes[0].gw ──────────────────────► octavia-link-router, no address translation
//!    172.24.0.0/16  routes[0].dst ──────────────────► lb-mgmt-subnet
//!  Octavia
//!    availabilityZoneCIDRs ─────────────────────────► lb-mgmt-<zone>-subnet
//! ```
//!
//! [`design`] is a function of the two objects. What it takes fits together: every rule that Neutron would
//! break off at half way, or that would leave pods and amphorae apart without a word, is looked at first.
//!
//! | module | idea |
//! |---|---|
//! | `attachment` | what the definition says |
//! | `wishes` | what the Octavia says |
//! | `addresses` | pools, and what may not overlap |
//! | [`predictable`] | one address for each node that stays |

mod addresses;
mod attachment;
pub mod predictable;
mod wishes;

use std::net::IpAddr;

use landbridge_api::foreign::{Node, Place};
use landbridge_api::net::{Cidr, Range};
use serde_json::Value;

/// Name of the attachment when nothing is said.
pub const ATTACHMENT: &str = "octavia";
/// The physical network of the provider network. It has this name however the attachment is called: OVN's
/// `nicMappings` has to have an entry for it.
pub const PHYSICAL_NETWORK: &str = "octavia";
/// So many addresses the pools have, as octavia-operator makes them. (Its constants say 25, its pools hold
/// one more; with the same size a site can move over and back.)
pub const POOL_SIZE: u128 = 26;

/// The networks of one Octavia.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Whether networks are made, or only looked for.
    pub is_managed: bool,
    /// Name of the attachment.
    pub attachment: String,
    /// Project of networks that amphorae are on.
    pub project: String,
    /// Domain of that project.
    pub domain: String,
    /// Prefix of the attachment, and of the provider subnet.
    pub provider: Cidr,
    /// What Neutron gives out of it.
    pub provider_pool: Range,
    /// What nodes get of it.
    pub predictable: Range,
    /// The router's address on the provider network. Always there when networks are made.
    pub gateway: Option<IpAddr>,
    /// Zones of the default network, the provider network and the router.
    pub zones: Vec<String>,
    /// Networks that amphorae are on: the default one first, then those of zones, by name.
    pub tenants: Vec<Tenant>,
}

/// One network that amphorae are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The zone it is for; `None` for the default one.
    pub zone: Option<String>,
    /// Its prefix.
    pub cidr: Cidr,
    /// What Neutron gives out of it.
    pub pool: Range,
}

impl Design {
    /// The prefix of the default network, when there is one.
    pub fn default_tenant(&self) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.zone.is_none())
    }
}

/// In which of the two objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The Octavia, or the section of a control plane.
    Octavia,
    /// The NetworkAttachmentDefinition.
    Attachment,
}

/// Something that cannot be, or is hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In which object.
    pub side: Side,
    /// Where in it.
    pub place: Place,
    /// What, as the rest of a sentence that begins with the field.
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.place.path.as_str())?;
        if let Some(inner) = self.place.inner.as_ref().filter(|inner| !inner.as_str().is_empty()) {
            write!(f, " ({inner})")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What came of looking at the two objects.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What cannot be. Without any there is a design.
    pub faults: Vec<Fault>,
    /// What can be, and is hardly meant.
    pub doubts: Vec<Fault>,
    /// The networks.
    pub design: Option<Design>,
}

impl Outcome {
    fn wrong(&mut self, side: Side, place: &Place, message: impl Into<String>) {
        self.faults.push(Fault { side, place: place.clone(), message: message.into() });
    }

    fn odd(&mut self, side: Side, place: &Place, message: impl Into<String>) {
        self.doubts.push(Fault { side, place: place.clone(), message: message.into() });
    }
}

/// The name of the attachment that the networks are derived from.
pub fn attachment_name(spec: &Value) -> &str {
    let named = spec["octaviaNetworkAttachment"].as_str();
    named.filter(|name| !name.is_empty()).unwrap_or(ATTACHMENT)
}

/// Designs the networks of the Octavia with this spec, whose attachment is `definition` if it is there.
pub fn design(spec: &Node<'_>, definition: Option<&Value>) -> Outcome {
    let mut outcome = Outcome::default();
    let wishes = wishes::read(spec, &mut outcome);
    let Some(definition) = definition else {
        let place = spec.place.child("octaviaNetworkAttachment");
        let name = attachment_name(spec.value);
        outcome.wrong(
            Side::Octavia,
            &place,
            format!(
                "there is no NetworkAttachmentDefinition {name} in the namespace; the management network is \
                 derived from it"
            ),
        );
        return outcome;
    };
    let wire = attachment::read(definition, &mut outcome);
    if let (Some(wishes), Some(wire)) = (wishes, wire) {
        outcome.design = addresses::fit(&wishes, &wire, spec, &mut outcome);
    }
    if !outcome.faults.is_empty() {
        outcome.design = None;
    }
    outcome
}
