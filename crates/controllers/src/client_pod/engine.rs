//! Which pods of clients are to be there.

use std::collections::BTreeMap;

use landbridge_machinery::object;
use serde_json::{Value, json};

/// The pod.
pub const NAME: &str = "openstackclient";
/// The cloud that its commands are run for, as upstream calls it.
const CLOUD: &str = "default";
/// Images are not run in a lab.
const IMAGE: &str = "landbridge-lab/openstackclient";
/// The region when the KeystoneAPI does not say one.
const REGION: &str = "regionOne";

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// It is missing.
    Create(Value),
    /// It is for another Keystone; the next one is made when it is gone.
    Delete {
        /// Where.
        namespace: String,
        /// Which of that name.
        uid: String,
    },
}

/// What is to be done, given all KeystoneAPIs and all pods with the label of clients. A pod of that name that somebody else
/// has made stays as it is.
pub fn plan(keystones: &[Value], pods: &[Value]) -> Vec<Act> {
    let there: BTreeMap<&str, &Value> = pods
        .iter()
        .filter(|pod| object::name(pod) == NAME)
        .map(|pod| (namespace(pod), pod))
        .collect();
    keystones.iter().filter_map(|keystone| one(keystone, &there)).collect()
}

fn one(keystone: &Value, there: &BTreeMap<&str, &Value>) -> Option<Act> {
    // One of a control plane: a KeystoneAPI alone has no clients of its own.
    let plane = keystone["metadata"]["ownerReferences"]
        .as_array()?
        .iter()
        .find(|owner| owner["kind"] == "OpenStackControlPlane" && owner["controller"] == true)?;
    if !keystone["metadata"]["deletionTimestamp"].is_null() {
        return None;
    }
    let url = keystone["status"]["apiEndpoints"]["internal"].as_str()?;
    let region = keystone["spec"]["region"].as_str().filter(|region| !region.is_empty());
    let wanted = pod(namespace(keystone), plane, url, region.unwrap_or(REGION));
    let Some(live) = there.get(namespace(keystone)) else { return Some(Act::Create(wanted)) };
    let is_ours = live["metadata"]["ownerReferences"]
        .as_array()
        .is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == plane["uid"]));
    let env = |pod: &Value| pod["spec"]["containers"][0]["env"].clone();
    let is_leaving = !live["metadata"]["deletionTimestamp"].is_null();
    (is_ours && !is_leaving && env(live) != env(&wanted)).then(|| Act::Delete {
        namespace: namespace(keystone).to_owned(),
        uid: object::uid(live).to_owned(),
    })
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn pod(namespace: &str, plane: &Value, url: &str, region: &str) -> Value {
    let url = if url.ends_with("/v3") { url.to_owned() } else { format!("{url}/v3") };
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": NAME,
            "namespace": namespace,
            "labels": {"app": NAME, "service": NAME},
            "ownerReferences": [plane],
        },
        "spec": {
            "containers": [{
                "name": NAME,
                "image": IMAGE,
                "command": ["/bin/sleep"],
                "args": ["infinity"],
                "env": [
                    {"name": "OS_CLOUD", "value": CLOUD},
                    {"name": "OS_AUTH_URL", "value": url},
                    {"name": "OS_REGION_NAME", "value": region},
                ],
            }],
            "terminationGracePeriodSeconds": 0,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keystone(url: Option<&str>) -> Value {
        let owner = json!({"apiVersion": "core.openstack.org/v1beta1", "kind": "OpenStackControlPlane",
            "name": "controlplane", "uid": "p", "controller": true});
        let mut keystone = json!({"metadata": {"namespace": "openstack", "name": "keystone", "ownerReferences": [owner]}});
        if let Some(url) = url {
            keystone["status"] = json!({"apiEndpoints": {"internal": url}});
        }
        keystone
    }

    const URL: &str = "http://keystone-internal.openstack.svc:5000";

    fn made(keystone: &Value) -> Value {
        match plan(std::slice::from_ref(keystone), &[]).as_slice() {
            [Act::Create(pod)] => pod.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_control_plane_whose_keystone_has_an_address_gets_one() {
        assert_eq!(plan(&[keystone(None)], &[]), []);
        let pod = made(&keystone(Some(URL)));
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "p");
        assert_eq!(pod["spec"]["containers"][0]["env"][1]["value"], format!("{URL}/v3"));
        let mut alone = keystone(Some(URL));
        alone["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(plan(&[alone], &[]), [], "a KeystoneAPI alone");
        let mut leaving = keystone(Some(URL));
        leaving["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z".into();
        assert_eq!(plan(&[leaving], &[]), []);
    }

    #[test]
    fn it_is_made_anew_for_another_address_and_only_if_it_is_ours() {
        let mut live = made(&keystone(Some(URL)));
        live["metadata"]["uid"] = "u".into();
        assert_eq!(plan(&[keystone(Some(URL))], std::slice::from_ref(&live)), []);
        let moved = keystone(Some("https://keystone-internal.openstack.svc:5000"));
        let delete = Act::Delete { namespace: "openstack".into(), uid: "u".into() };
        assert_eq!(plan(std::slice::from_ref(&moved), std::slice::from_ref(&live)), [delete]);
        let mut leaving = live.clone();
        leaving["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z".into();
        assert_eq!(plan(std::slice::from_ref(&moved), &[leaving]), []);
        live["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(plan(&[moved], &[live]), [], "somebody's own");
    }
}
