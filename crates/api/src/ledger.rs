//! The ledger: who holds which address of a segment, as objects of Landbridge's own group.
//!
//! A segment is a wire. Its addresses are kept in blocks, one object each, so that no object grows
//! past what a cluster stores. An address is taken when the compare-and-swap of its block has
//! succeeded, never because somebody's memory said so.

#![allow(clippy::duplicated_attributes, reason = "each column of a kind names its type")]

pub mod segment;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The group of all kinds that are ours alone.
pub const GROUP: &str = "landbridge.dev";
/// Its only version.
pub const VERSION: &str = "v1alpha1";

/// Addresses one object keeps: small enough to swap in a moment, large enough to swap many at once.
const BITS: u32 = 6;

/// The claims on one block of addresses.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "landbridge.dev",
    version = "v1alpha1",
    kind = "AddressBlock",
    plural = "addressblocks",
    shortname = "ab",
    derive = "PartialEq",
    doc = "Who holds which addresses of one block of one segment (wire). Written by the controllers, one compare-and-swap at a time; read it, but do not write it by hand.",
    printcolumn(
        name = "Segment",
        type_ = "string",
        description = "The wire",
        json_path = ".spec.segment"
    ),
    printcolumn(
        name = "Block",
        type_ = "string",
        description = "The addresses",
        json_path = ".spec.block"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct AddressBlockSpec {
    /// The wire these addresses live on.
    pub segment: String,
    /// The addresses this object answers for, as a prefix.
    pub block: String,
    /// Who holds them, by address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "claims")]
    pub claims: BTreeMap<IpAddr, Claim>,
}

/// One address, given to one holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Kind of the holder.
    pub kind: String,
    /// Namespace of the holder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the holder.
    pub name: String,
    /// Identity of the holder; empty while only a record of it is there, as during a restore.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Which of the holder's addresses this is: the name of the network, or of the interface.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attachment: String,
    /// Which incarnation of the holder it was given to, where one name may have several at a time:
    /// the container of a pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instance: String,
    /// Who handed it out, for example `NetConfig openstack/netconfig`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Whether this very address was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// A virtual address: the Services that use it. The holder is the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
}

/// Who uses a virtual address, and under which conditions others may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shared {
    /// The sharing key; empty: nobody else.
    pub key: String,
    /// The pods behind it, when they have to be the same for all users.
    pub backend: String,
    /// The Services, by namespace and name. A list, so that a patch replaces it as a whole.
    pub users: Vec<SharedBy>,
}

/// One Service that uses a virtual address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedBy {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// The revision of the Service for which it was given. Until the Service is seen in a later one,
    /// the address may still get into its status, so nobody frees it.
    pub revision: u64,
    /// Its ports: `TCP/80`.
    pub ports: Vec<String>,
}

/// `IPSet openstack/edpm-compute-0`
impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Claims are owned as a whole: per-address ownership records would outgrow the claims.
fn claims(generator: &mut SchemaGenerator) -> Schema {
    let claim = Claim::json_schema(generator);
    json_schema!({
        "type": "object",
        "description": "Who holds them, by address.",
        "additionalProperties": claim,
        "x-kubernetes-map-type": "atomic",
    })
}

/// The merge patch that changes claims of a block, if it still is in the state named by `uid` and
/// `version`: new claims in the place of what was there, and addresses that are free from now on.
pub fn swap_patch(uid: &str, version: &str, edits: &BTreeMap<IpAddr, Option<Claim>>) -> Value {
    let claims: serde_json::Map<String, Value> = edits
        .iter()
        .map(|(address, claim)| (address.to_string(), claim.as_ref().map_or(Value::Null, whole)))
        .collect();
    json!({
        "metadata": {"uid": uid, "resourceVersion": version},
        "spec": {"claims": claims},
    })
}

/// The claim with all its fields: what a merge patch leaves out would stay as it was.
fn whole(claim: &Claim) -> Value {
    let mut whole = json!({
        "namespace": null, "uid": null, "attachment": null, "instance": null, "source": null,
        "fixed": null, "shared": null,
    });
    if let (Value::Object(whole), Value::Object(written)) = (&mut whole, json!(claim)) {
        whole.extend(written);
    }
    whole
}

/// The first address of the block that holds `address`.
pub fn block_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(a) => Ipv4Addr::from(u32::from(a) >> BITS << BITS).into(),
        IpAddr::V6(a) => Ipv6Addr::from(u128::from(a) >> BITS << BITS).into(),
    }
}

/// The block that begins with `base`, as a prefix.
pub fn block_prefix(base: IpAddr) -> String {
    let width = if base.is_ipv4() { 32 } else { 128 };
    format!("{base}/{}", width - BITS)
}

/// Name of the object that keeps the block: `vlan-20.172.17.0.64`,
/// `vlan-20.fd00-bbbb-0-0-0-0-0-40`.
pub fn block_name(segment: &str, base: IpAddr) -> String {
    match base {
        IpAddr::V4(a) => format!("{segment}.{a}"),
        IpAddr::V6(a) => {
            let groups = a.segments().map(|group| format!("{group:x}"));
            format!("{segment}.{}", groups.join("-"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_leaves_nothing_of_the_holder_before() {
        let address: IpAddr = "172.17.0.100".parse().unwrap();
        let claim = Claim { kind: "IPSet".into(), name: "a".into(), ..Claim::default() };
        let free: IpAddr = "172.17.0.101".parse().unwrap();
        let edits = BTreeMap::from([(address, Some(claim)), (free, None)]);
        let patch = swap_patch("u", "7", &edits);
        assert_eq!(patch["metadata"], json!({"uid": "u", "resourceVersion": "7"}));
        let claims = &patch["spec"]["claims"];
        assert_eq!(claims["172.17.0.101"], Value::Null);
        let written = &claims["172.17.0.100"];
        assert_eq!((&written["kind"], &written["name"]), (&json!("IPSet"), &json!("a")));
        // Every field a claim can have is there.
        let full = Claim {
            kind: "k".into(),
            namespace: "n".into(),
            name: "n".into(),
            uid: "u".into(),
            attachment: "a".into(),
            instance: "i".into(),
            source: "s".into(),
            fixed: true,
            shared: Some(Shared::default()),
        };
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(written), keys(&json!(full)));
    }

    #[test]
    fn blocks_have_names() {
        let cases = [
            ("172.17.0.100", "172.17.0.64/26", "vlan-20.172.17.0.64"),
            ("10.0.1.0", "10.0.1.0/26", "vlan-20.10.0.1.0"),
            ("fd00:bbbb::1:2ff", "fd00:bbbb::1:2c0/122", "vlan-20.fd00-bbbb-0-0-0-0-1-2c0"),
        ];
        for (address, prefix, name) in cases {
            let base = block_of(address.parse().unwrap());
            assert_eq!(block_prefix(base), prefix);
            assert_eq!(block_name("vlan-20", base), name);
        }
    }
}
