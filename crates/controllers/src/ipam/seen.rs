//! What the engine needs to know of each kind, and no more: there may be a hundred thousand.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kube::ResourceExt as _;
use landbridge_api::ledger::segment::WIRES;
use landbridge_api::ledger::{AddressBlock, Claim, block_of};
use landbridge_api::network::{
    IPSET_FINALIZER, IPSet, IPSetNetwork, IPSetStatus, NetConfig, NetConfigSpec,
    OLD_IPSET_FINALIZER, Reservation, ReservedAddress,
};

use crate::mirror::{Key, Observed};

/// Whether a finalizer is this controller's.
pub fn is_ours(finalizer: &str) -> bool {
    finalizer == IPSET_FINALIZER || finalizer == OLD_IPSET_FINALIZER
}

/// An IPSet.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where it stands.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Its resourceVersion.
    pub revision: u64,
    /// When it was created, in seconds.
    pub created: i64,
    /// Counts changes of its spec.
    pub generation: i64,
    /// Whether it is going away.
    pub deleting: bool,
    /// Who has to agree to that.
    pub finalizers: Vec<String>,
    /// What is wanted.
    pub networks: Vec<IPSetNetwork>,
    /// What was answered.
    pub status: IPSetStatus,
}

impl Observed for Request {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl From<IPSet> for Request {
    fn from(object: IPSet) -> Self {
        Self {
            key: key_of(&object),
            uid: object.metadata.uid.as_deref().unwrap_or_default().into(),
            revision: revision_of(&object),
            created: object
                .metadata
                .creation_timestamp
                .as_ref()
                .map_or(0, |time| time.0.as_second()),
            generation: object.metadata.generation.unwrap_or_default(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            finalizers: object.metadata.finalizers.unwrap_or_default(),
            networks: object.spec.networks,
            status: object.status.unwrap_or_default(),
        }
    }
}

/// A Reservation.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it stands: where its IPSet stands.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Its resourceVersion.
    pub revision: u64,
    /// Whether it is going away.
    pub deleting: bool,
    /// Who has to agree to that.
    pub finalizers: Vec<String>,
    /// Identity of the IPSet that owns it; empty when it is owned by none, as after a restore.
    pub owner: Arc<str>,
    /// Identity of the IPSet it names.
    pub named: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The addresses, by network.
    pub addresses: BTreeMap<String, ReservedAddress>,
}

impl Observed for Record {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl Record {
    /// Whether the address is recorded for any network.
    pub fn lists(&self, address: IpAddr) -> bool {
        self.addresses.values().any(|entry| entry.address.parse() == Ok(address))
    }

    /// The entry of a network, in any letter case.
    pub fn entry(&self, network: &str) -> Option<&ReservedAddress> {
        self.addresses.get(network).or_else(|| {
            self.addresses.values().find(|entry| entry.network.eq_ignore_ascii_case(network))
        })
    }
}

impl From<Reservation> for Record {
    fn from(object: Reservation) -> Self {
        let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.kind == "IPSet");
        Self {
            owner: owner.map_or("", |owner| owner.uid.as_str()).into(),
            key: key_of(&object),
            uid: object.metadata.uid.as_deref().unwrap_or_default().into(),
            revision: revision_of(&object),
            deleting: object.metadata.deletion_timestamp.is_some(),
            labels: object.metadata.labels.unwrap_or_default(),
            finalizers: object.metadata.finalizers.unwrap_or_default(),
            named: object.spec.ip_set_ref.uid,
            addresses: object.spec.reservation,
        }
    }
}

/// A NetConfig.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it stands.
    pub key: Key,
    /// Its resourceVersion.
    pub revision: u64,
    /// What sets its wires apart from those of others.
    pub wires: Option<String>,
    /// The networks.
    pub spec: Arc<NetConfigSpec>,
}

impl Observed for Config {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl From<NetConfig> for Config {
    fn from(object: NetConfig) -> Self {
        Self {
            key: key_of(&object),
            revision: revision_of(&object),
            wires: object.annotations().get(WIRES).cloned(),
            spec: Arc::new(object.spec),
        }
    }
}

/// An AddressBlock.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub key: Key,
    /// Its identity.
    pub uid: Arc<str>,
    /// Its resourceVersion.
    pub revision: u64,
    /// The wire.
    pub segment: Arc<str>,
    /// Its first address.
    pub base: Option<IpAddr>,
    /// Who holds what.
    pub claims: BTreeMap<IpAddr, Claim>,
}

impl Observed for Block {
    fn key(&self) -> &Key {
        &self.key
    }
    fn revision(&self) -> u64 {
        self.revision
    }
}

impl From<AddressBlock> for Block {
    fn from(object: AddressBlock) -> Self {
        let base = object.spec.block.split('/').next().and_then(|text| text.parse().ok());
        Self {
            key: key_of(&object),
            uid: object.metadata.uid.as_deref().unwrap_or_default().into(),
            revision: revision_of(&object),
            segment: object.spec.segment.into(),
            base: base.map(block_of),
            claims: object.spec.claims,
        }
    }
}

pub(crate) fn key_of(object: &impl kube::Resource) -> Key {
    let meta = object.meta();
    Key::new(
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    )
}

/// Servers count their writes, and promise so (KEP-5504).
pub(crate) fn revision_of(object: &impl kube::Resource) -> u64 {
    object.meta().resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
}
