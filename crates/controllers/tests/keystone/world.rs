//! Objects of a simulated API, and rounds over them.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use landbridge_controllers::keystone::record::{Kind, Record};
use landbridge_controllers::keystone::round::{Ended, round};
use landbridge_controllers::keystone::told::Write;
use landbridge_openstack::Client;
use serde_json::{Value, json};

use super::simulated::Simulated;

pub const REGION: &str = "regionOne";

pub struct World {
    pub keystone: Simulated,
    pub client: Client,
    pub objects: BTreeMap<(Kind, String), Value>,
    pub now: Timestamp,
    version: u64,
}

impl World {
    pub fn new() -> Self {
        let keystone = Simulated::default();
        Self {
            client: Client::new(keystone.clone()),
            keystone,
            objects: BTreeMap::new(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            version: 0,
        }
    }

    fn next(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    pub fn apply(&mut self, kind: Kind, name: &str, spec: Value) {
        let version = self.next();
        let created = self.now.to_string();
        let metadata = json!({"name": name, "namespace": "openstack", "generation": 1,
            "uid": format!("uid-{version}"), "creationTimestamp": created});
        let key = (kind, name.to_owned());
        let object = self.objects.entry(key).or_insert_with(|| json!({"metadata": metadata}));
        object["spec"] = spec;
        object["metadata"]["resourceVersion"] = version.into();
    }

    pub fn service(&mut self, name: &str, type_: &str) {
        let spec = json!({"serviceName": name, "serviceType": type_,
            "serviceDescription": format!("{name} for all"), "enabled": true});
        self.apply(Kind::Service, name, spec);
    }

    pub fn endpoint(&mut self, name: &str, urls: &[(&str, &str)]) {
        let urls: BTreeMap<_, _> = urls.iter().copied().collect();
        self.apply(Kind::Endpoint, name, json!({"serviceName": name, "endpoints": urls}));
    }

    pub fn delete(&mut self, kind: Kind, name: &str) {
        let key = (kind, name.to_owned());
        if let Some(object) = self.objects.get_mut(&key) {
            object["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z".into();
        }
        self.collect(&key);
    }

    fn collect(&mut self, key: &(Kind, String)) {
        let is_gone = self.objects.get(key).is_some_and(|object| {
            let held = object["metadata"]["finalizers"].as_array();
            !object["metadata"]["deletionTimestamp"].is_null() && held.is_none_or(Vec::is_empty)
        });
        if is_gone {
            self.objects.remove(key);
        }
    }

    pub fn get(&self, kind: Kind, name: &str) -> &Value {
        &self.objects[&(kind, name.to_owned())]
    }

    /// The message of a condition, with its status.
    pub fn condition(&self, kind: Kind, name: &str, type_: &str) -> String {
        let conditions = self.get(kind, name)["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|one| one["type"] == type_);
        let part = |field: &str| found.map_or("", |one| one[field].as_str().unwrap_or_default());
        format!("{}: {}", part("status"), part("message"))
    }

    /// One round; of its writes only so many arrive.
    pub async fn round(&mut self, arrive: usize) -> Ended {
        self.now += Duration::from_secs(1);
        let records: Vec<Record> = self
            .objects
            .iter()
            .map(|((kind, _), object)| Record::new(*kind, object.clone()))
            .collect();
        let ended = round(&self.client, &records, REGION, self.now).await;
        for (place, write) in ended.writes.iter().take(arrive) {
            let record = &records[*place];
            self.write(&(record.kind, record.key.name.to_string()), write);
        }
        ended
    }

    fn write(&mut self, key: &(Kind, String), write: &Write) {
        let version = self.next();
        let Some(object) = self.objects.get_mut(key) else { return };
        let (patch, part) = match write {
            Write::Finalizers(patch) => (patch, "metadata"),
            Write::Status(patch) => (patch, "status"),
        };
        let asked = &patch["metadata"];
        assert_eq!(asked["uid"], object["metadata"]["uid"]);
        if let Some(known) = asked["resourceVersion"].as_str()
            && object["metadata"]["resourceVersion"] != known
        {
            return;
        }
        merge(&mut object[part], &patch[part]);
        object["metadata"]["resourceVersion"] = version.into();
        self.collect(key);
    }

    /// Rounds until nothing moves.
    pub async fn settle(&mut self) {
        for _ in 0..20 {
            let ended = self.round(usize::MAX).await;
            if ended.writes.is_empty() && !ended.is_moving {
                return;
            }
        }
        panic!("it never settles: {:#?}", self.objects);
    }

    /// Every endpoint as text: service, interface, URL.
    pub fn registered(&self) -> Vec<String> {
        let state = self.keystone.state();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut all: Vec<String> = state
            .endpoints
            .values()
            .map(|one| {
                let service = &state.services[&text(&one["service_id"])];
                assert_eq!(one["enabled"], true);
                let region = text(&one["region_id"]);
                assert_eq!(region, REGION);
                format!(
                    "{} {} {}",
                    text(&service["name"]),
                    text(&one["interface"]),
                    text(&one["url"])
                )
            })
            .collect();
        all.sort();
        all
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}
