//! A Keystone and a Neutron with the rules that matter here, in memory: names are not unique, external networks are
//! everybody's, what is in use does not go, an address has one holder.

mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use landbridge_openstack::error::{Asked, Refusal};
use landbridge_openstack::{Call, Client, Cloud, Error, Reply, Service};
use serde_json::{Map, Value, json};

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Somebody is in the way, for a moment.
    Conflict,
    /// Neutron breaks, before it did anything.
    Broken,
    /// Nobody was reached.
    Unreachable,
    /// It is done, and the answer is lost.
    LostReply,
    /// The answer is lost, and it is done only later.
    Late,
}

impl Fault {
    pub const ALL: [Self; 5] =
        [Self::Conflict, Self::Broken, Self::Unreachable, Self::LostReply, Self::Late];
}

/// Objects by collection and id.
pub type Objects = BTreeMap<(&'static str, String), Value>;

pub const COLLECTIONS: [(&str, &str); 7] = [
    ("networks", "network"),
    ("subnets", "subnet"),
    ("ports", "port"),
    ("routers", "router"),
    ("security-groups", "security_group"),
    ("security-group-rules", "security_group_rule"),
    ("rbac-policies", "rbac_policy"),
];

#[derive(Default)]
pub struct State {
    pub objects: Objects,
    pub quota: Map<String, Value>,
    /// Nova's quotas; `None` where there is no Nova.
    pub nova: Option<Map<String, Value>>,
    pub projects: BTreeMap<String, String>,
    count: u64,
    /// Every call that was made, reads and writes.
    pub log: Vec<(Method, String)>,
    /// What goes wrong with the calls to come, by number.
    pub faults: BTreeMap<usize, Fault>,
    /// Calls that take effect after so many more.
    late: Vec<(usize, Call)>,
    /// Every address that Neutron chooses comes from here.
    pub next_address: u32,
}

/// See the [module](self).
#[derive(Clone, Default)]
pub struct Sim(Arc<Mutex<State>>);

pub type Answer = Result<Value, (u16, &'static str, String)>;

impl Sim {
    pub fn new() -> Self {
        let sim = Self::default();
        sim.with(|state| {
            state.projects.insert("service".to_owned(), "p-service".to_owned());
            state.projects.insert("admin".to_owned(), "p-admin".to_owned());
            let quota = json!({"port": 500, "security_group": 10, "security_group_rule": 100, "network": 100});
            state.quota.clone_from(quota.as_object().unwrap());
            let nova = json!({"cores": 20, "instances": 10, "ram": 51200, "server_groups": 10,
                "server_group_members": 10, "key_pairs": 100});
            state.nova = nova.as_object().cloned();
            state.next_address = 7;
        });
        sim
    }

    pub fn client(&self) -> Client {
        Client::new(self.clone())
    }

    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }

    /// A call of somebody else, an administrator.
    pub fn admin(&self, method: &Method, path: &str, body: Value) -> Answer {
        let mut call = Call::new(Service::Network, method.clone(), path);
        call.body = Some(body);
        self.with(|state| state.handle(&call))
    }

    pub fn create(&self, kind: &str, fields: Value) -> String {
        let (collection, singular) =
            COLLECTIONS.into_iter().find(|(_, singular)| *singular == kind).unwrap();
        let body = Value::Object(Map::from_iter([(singular.to_owned(), fields)]));
        let made = self.admin(&Method::POST, &format!("/{collection}"), body).unwrap();
        made[singular]["id"].as_str().unwrap().to_owned()
    }

    /// The only object of a name.
    pub fn named(&self, collection: &str, name: &str) -> Value {
        let all = self.all(collection);
        let mut found = all.into_iter().filter(|object| object["name"] == name);
        let one = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "two {name}");
        one
    }

    pub fn all(&self, collection: &str) -> Vec<Value> {
        self.with(|state| {
            let all = state.objects.iter().filter(|((kind, _), _)| *kind == collection);
            all.map(|(_, object)| object.clone()).collect()
        })
    }

    /// Calls that change something, since the last time.
    pub fn writes(&self) -> Vec<String> {
        self.with(|state| {
            let log = std::mem::take(&mut state.log);
            let writes = log.into_iter().filter(|(method, _)| *method != Method::GET);
            writes.map(|(method, path)| format!("{method} {path}")).collect()
        })
    }

    pub fn calls(&self) -> usize {
        self.with(|state| state.log.len())
    }

    /// Everything as it is for people: ids are names, chosen values are left out. Equal texts are equal clouds.
    pub fn shape(&self) -> String {
        self.with(|state| {
            let mut quota = state.quota.clone();
            quota.insert("nova".to_owned(), json!(state.nova));
            shape(&state.objects, &quota)
        })
    }
}

impl Cloud for Sim {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let result = self.with(|state| state.carry_out(call));
        std::future::ready(result).boxed()
    }
}

impl State {
    fn carry_out(&mut self, call: Call) -> Result<Reply, Error> {
        let number = self.log.len();
        self.log.push((call.method.clone(), call.path.clone()));
        let due: Vec<Call> = {
            let (now, later) =
                std::mem::take(&mut self.late).into_iter().partition(|(at, _)| *at <= number);
            self.late = later;
            let now: Vec<(usize, Call)> = now;
            now.into_iter().map(|(_, call)| call).collect()
        };
        for call in due {
            let _ = self.handle(&call);
        }
        let asked = Asked { method: call.method.clone(), url: call.path.clone() };
        let lost = |asked: &Asked| Error::Lost { asked: asked.clone(), why: "reset".to_owned() };
        match self.faults.remove(&number) {
            Some(Fault::Conflict) => {
                return Err(refused(asked, 409, "Conflict", "somebody is in the way".to_owned()));
            }
            Some(Fault::Broken) => {
                return Err(refused(asked, 500, "HTTPInternalServerError", "no".to_owned()));
            }
            Some(Fault::Unreachable) => {
                return Err(Error::Unreachable { asked, why: "refused".to_owned() });
            }
            Some(Fault::LostReply) => {
                let _ = self.handle(&call);
                return Err(lost(&asked));
            }
            Some(Fault::Late) => {
                if call.method == Method::GET {
                    return Err(lost(&asked));
                }
                self.late.push((number + 17, call));
                return Err(lost(&asked));
            }
            None => {}
        }
        if call.service == Service::Compute && self.nova.is_none() {
            return Err(Error::NoEndpoint {
                cloud: "sim".to_owned(),
                service: "compute",
                interface: "public",
                region: None,
                have: "it has identity, network".to_owned(),
            });
        }
        match self.handle(&call) {
            Ok(body) => Ok(Reply::of(StatusCode::OK, body)),
            Err((status, kind, message)) => Err(refused(asked, status, kind, message)),
        }
    }

    pub fn handle(&mut self, call: &Call) -> Answer {
        let path = call.path.trim_start_matches('/').to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        if call.service == Service::Identity {
            return Ok(self.identity(&parts, call));
        }
        if call.service == Service::Compute {
            let nova = self.nova.get_or_insert_default();
            assert_eq!(parts, ["os-quota-sets", "p-service"]);
            if let Some(body) = &call.body {
                nova.extend(body["quota_set"].as_object().unwrap().clone());
            }
            return Ok(json!({"quota_set": nova}));
        }
        let null = Value::Null;
        let body = call.body.as_ref().unwrap_or(&null);
        let collection = COLLECTIONS.into_iter().find(|(name, _)| *name == parts[0]);
        match (&call.method, parts.as_slice(), collection) {
            (&Method::GET, ["quotas", _], _) => Ok(json!({"quota": self.quota})),
            (&Method::PUT, ["quotas", _], _) => {
                self.quota.extend(body["quota"].as_object().unwrap().clone());
                Ok(json!({"quota": self.quota}))
            }
            (&Method::GET, [_], Some((name, _))) => {
                let plural = name.replace('-', "_");
                Ok(json!({plural: self.list(name, call)}))
            }
            (&Method::POST, [_], Some((name, singular))) => {
                let fields = body[singular].as_object().unwrap();
                let made = self.make(name, fields)?;
                Ok(json!({singular: made}))
            }
            (&Method::PUT, ["routers", id, "add_router_interface"], _) => self.plug(id, body),
            (&Method::PUT, ["routers", id, "remove_router_interface"], _) => self.unplug(id, body),
            (method, [_, id, "tags", tag], Some((name, _))) => self.tag(method, name, id, tag),
            (&Method::PUT, [_, id], Some((name, singular))) => {
                let fields = body[singular].as_object().unwrap();
                let changed = self.change(name, id, fields)?;
                Ok(json!({singular: changed}))
            }
            (&Method::DELETE, [_, id], Some((name, _))) => {
                self.delete(name, id)?;
                Ok(Value::Null)
            }
            other => panic!("the simulation does not know {other:?}"),
        }
    }

    fn identity(&self, parts: &[&str], call: &Call) -> Value {
        match parts {
            ["domains"] => {
                json!({"domains": [{"id": "default", "name": "Default", "enabled": true}]})
            }
            ["projects"] => {
                let name = call.query.get("name").unwrap();
                let found: Vec<Value> = self
                    .projects
                    .get(name)
                    .map(|id| json!({"id": id, "name": name, "domain_id": "default", "enabled": true}))
                    .into_iter()
                    .collect();
                json!({"projects": found})
            }
            other => panic!("{other:?}"),
        }
    }

    fn list(&self, collection: &str, call: &Call) -> Vec<Value> {
        let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, value) in call.query.iter().filter(|(name, _)| *name != "limit") {
            wanted.entry(name).or_default().insert(value);
        }
        let fits = |object: &Value| {
            wanted.iter().all(|(name, values)| match *name {
                "tags" => values
                    .iter()
                    .all(|tag| object["tags"].as_array().unwrap().iter().any(|known| known == tag)),
                name => object[name].as_str().is_some_and(|text| values.contains(text)),
            })
        };
        let all = self.objects.iter().filter(|((kind, _), _)| *kind == collection);
        all.filter(|(_, object)| fits(object))
            .map(|((kind, id), object)| self.shown(kind, id, object))
            .collect()
    }

    /// With what Neutron shows inside of others.
    fn shown(&self, kind: &str, id: &str, object: &Value) -> Value {
        let mut shown = object.clone();
        if kind == "security-groups" {
            let rules = self.objects.iter().filter(|((kind, _), rule)| {
                *kind == "security-group-rules" && rule["security_group_id"] == id
            });
            shown["security_group_rules"] = rules.map(|(_, rule)| rule.clone()).collect();
        }
        shown
    }

    fn fresh(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

pub fn refused(asked: Asked, status: u16, kind: &str, message: String) -> Error {
    Error::Refused(Box::new(Refusal {
        asked,
        status: StatusCode::from_u16(status).unwrap(),
        kind: kind.to_owned(),
        message,
        detail: String::new(),
        request_id: None,
        retry_after: None,
    }))
}

pub fn shape(objects: &Objects, quota: &Map<String, Value>) -> String {
    let names: BTreeMap<&str, String> = objects
        .iter()
        .map(|((_, id), object)| {
            let name = object["name"].as_str().filter(|name| !name.is_empty());
            let owner = object["device_owner"].as_str().unwrap_or("thing");
            (id.as_str(), format!("<{}>", name.unwrap_or(owner)))
        })
        .collect();
    // Addresses that Neutron chose are followed by whoever uses them.
    let ports = objects.iter().filter(|((kind, _), _)| *kind == "ports");
    let chosen: BTreeMap<String, String> = ports
        .filter(|(_, port)| port["device_owner"] != "network:router_gateway")
        .flat_map(|(_, port)| {
            let list = port["fixed_ips"].as_array().unwrap().iter();
            let name = port["name"].as_str().unwrap().to_owned();
            list.map(move |ip| (ip["ip_address"].to_string(), format!("\"address of {name}\"")))
        })
        .collect();
    let mut lines = Vec::new();
    for ((kind, _), object) in objects {
        let mut object = object.clone();
        let fields = object.as_object_mut().unwrap();
        for chosen in ["id", "created_at", "revision_number", "mac_address", "tenant_id"] {
            fields.remove(chosen);
        }
        let mut text = object.to_string();
        for (id, name) in &names {
            text = text.replace(id, name);
        }
        for (address, name) in &chosen {
            text = text.replace(address, name);
        }
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for list in ["tags", "security_groups"] {
            if let Some(list) = value.get_mut(list).and_then(Value::as_array_mut) {
                list.sort_by_key(ToString::to_string);
            }
        }
        lines.push(format!("{kind} {value}"));
    }
    lines.sort();
    lines.push(format!("quota {}", Value::Object(quota.clone())));
    lines.join("\n")
}
