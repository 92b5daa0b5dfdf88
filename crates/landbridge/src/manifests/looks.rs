//! What a document is that does not say so.

use landbridge_api::foreign::{Trouble, neutron};
use landbridge_manifest::Stranger;
use serde_json::Value;

/// The apiVersion of kinds that have only one, for documents that forget theirs.
pub(super) fn api_version_of(kind: &str) -> Option<String> {
    let crd = landbridge_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let version = crd.spec.versions.iter().find(|version| version.storage)?;
    Some(format!("{}/{}", crd.spec.group, version.name))
}

/// What a document without a kind looks like, by the fields it has.
pub(super) fn guess(value: &Value) -> Option<String> {
    const LOOKS: [(&[&str], &str); 11] = [
        (&["spec", "networks"], "a NetConfig or an IPSet"),
        (&["desiredState"], "the spec of a NodeNetworkConfigurationPolicy"),
        (&["networks"], "the spec of a NetConfig or an IPSet"),
        (&["networkAttachments"], "part of the spec of an OpenStack service"),
        (&["networkAttachents"], "part of the spec of an OpenStack service"),
        (&["externalEndpoints"], "part of the spec of an OpenStack service"),
        (&["rabbitmq", "templates"], "part of the spec of an OpenStackControlPlane"),
        (&["cniVersion"], "the config of a NetworkAttachmentDefinition"),
        (&["addresses"], "the spec of an IPAddressPool"),
        (&["spec", "options"], "a DNSMasq"),
        (&["annotations"], "part of the metadata of an object"),
    ];
    LOOKS.iter().find(|(path, _)| has(value, path)).map(|(_, looks)| (*looks).to_owned())
}

fn has(value: &Value, path: &[&str]) -> bool {
    path.iter().try_fold(value, |at, key| at.get(key)).is_some()
}

/// Documents that are all right without a kind: what Neutron prints, and files for other programs.
pub(super) fn known(value: &Value) -> Option<Stranger> {
    if is_neutron(value) {
        return Some(Stranger::Useful("Neutron dump".to_owned()));
    }
    let others: [(&[&str], &str); 7] = [
        (&["network_config"], "a file for os-net-config"),
        (&["heat_template_version"], "a Heat template"),
        (&["resources"], "a kustomization"),
        (&["patches"], "a kustomization"),
        (&["image", "repository"], "a file of values for Helm"),
        (&["replicaCount"], "a file of values for Helm"),
        (&["services"], "a file for Compose"),
    ];
    let known = others.iter().find(|(path, _)| has(value, path));
    known.map(|(_, what)| Stranger::Other((*what).to_owned()))
}

/// Whether Neutron or its client printed this. A NetConfig that lost its head has networks, too, but
/// Neutron's all have an id.
fn is_neutron(value: &Value) -> bool {
    let numbered = |value: &Value| value.get("id").is_some() || value.get("ID").is_some();
    let all = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(numbered));
    let listed = || {
        let keys = ["networks", "subnets", "ports"];
        let mut lists = keys.iter().filter_map(|key| value.get(key)).peekable();
        lists.peek().is_some() && lists.all(all)
    };
    let single =
        || ["network", "subnet", "port"].iter().filter_map(|key| value.get(key)).any(numbered);
    (all(value) || numbered(value) || listed() || single())
        && neutron::read(value, &mut Trouble::default()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strangers_are_told_apart() {
        let useful = Some(Stranger::Useful("Neutron dump".to_owned()));
        let other = |what: &str| Some(Stranger::Other(what.to_owned()));
        for (value, expected) in [
            (json!({"networks": [{"id": "1", "name": "a"}], "subnets": []}), useful.clone()),
            (json!([{"ID": "1", "Name": "a", "Subnets": []}]), useful.clone()),
            (json!({"id": "1", "cidr": "10.0.0.0/24", "network_id": "2"}), useful.clone()),
            (json!({"port": {"id": "1", "fixed_ips": []}}), useful),
            (json!({"networks": [{"name": "a", "subnets": []}]}), None),
            (json!([{"name": "a"}]), None),
            (json!([1]), None),
            (json!(7), None),
            (json!({"network_config": []}), other("a file for os-net-config")),
            (json!({"resources": ["a.yaml"]}), other("a kustomization")),
        ] {
            assert_eq!(known(&value), expected, "{value}");
        }
    }
}
