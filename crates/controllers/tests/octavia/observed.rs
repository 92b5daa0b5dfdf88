//! A cloud as text, over its API: ids are names, what a server chooses is left out. Equal texts are equal clouds.

use std::collections::BTreeMap;

use landbridge_openstack::{Call, Method, Service};
use serde_json::{Map, Value};

use crate::place::Place;
use crate::sim::{COLLECTIONS, shape};

/// What servers choose or count, whoever made the object.
const CHOSEN: [&str; 9] = [
    "id",
    "created_at",
    "updated_at",
    "revision_number",
    "status",
    "mac_address",
    "tenant_id",
    "dns_assignment",
    "provider:segmentation_id",
];

/// Objects that Neutron makes by itself.
pub fn is_neutrons(collection: &str, object: &Value) -> bool {
    match collection {
        "security-groups" => object["name"] == "default",
        "ports" => matches!(
            object["device_owner"].as_str(),
            Some("network:router_gateway" | "network:dhcp" | "network:distributed")
        ),
        _ => false,
    }
}

/// All objects by collection and id, without those of the groups that every project has.
pub async fn objects(place: &Place) -> BTreeMap<(&'static str, String), Value> {
    let mut all = BTreeMap::new();
    let mut defaults = Vec::new();
    for (collection, _) in COLLECTIONS {
        for object in place.all_of(collection).await {
            let id = object["id"].as_str().unwrap().to_owned();
            if is_neutrons(collection, &object) {
                defaults.push(object["id"].clone());
                continue;
            }
            all.insert((collection, id), object);
        }
    }
    all.retain(|_, object| !defaults.contains(&object["security_group_id"]));
    all
}

/// See the [module](self).
pub async fn observed(place: &Place) -> Vec<String> {
    let mut all = objects(place).await;
    for object in all.values_mut() {
        let fields = object.as_object_mut().unwrap();
        // Neutron shows rules on their own, too.
        fields.remove("security_group_rules");
        fields.retain(|field, _| field == "id" || !CHOSEN.contains(&field.as_str()));
        if fields.get("description") == Some(&Value::Null) {
            fields.insert("description".to_owned(), "".into()); // Neutron's own rules have none
        }
        // One text: an address in a pool is nobody's yet.
        let pools = fields.get("allocation_pools").map(ToString::to_string);
        fields.extend(
            pools.map(|pools| ("allocation_pools".to_owned(), pools.replace('"', "").into())),
        );
    }
    let quota = quota(place).await;
    shape(&all, &quota).lines().map(str::to_owned).collect()
}

/// What the project of amphorae may have, of Neutron and of Nova.
pub async fn quota(place: &Place) -> Map<String, Value> {
    let project = place.project("service").await;
    let body = place.ask(Method::GET, &format!("/quotas/{project}"), None).await.unwrap();
    let mut quota = body["quota"].as_object().unwrap().clone();
    if place.has_nova {
        let call = Call::get(Service::Compute, format!("/os-quota-sets/{project}"));
        let nova = place.client.call(call).await.unwrap().body;
        quota.insert("nova".to_owned(), nova["quota_set"].clone());
    }
    quota
}
