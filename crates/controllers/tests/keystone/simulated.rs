//! A Keystone in this process, as far as its catalogue goes: nothing is unique but regions, and a service
//! takes its endpoints along.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::future::BoxFuture;
use landbridge_openstack::error::{Asked, Refusal};
use landbridge_openstack::{Call, Cloud, Error, Method, Reply, Service};
use serde_json::{Value, json};

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not carried out: nobody answers.
    Unreachable,
    /// Not carried out, and nobody knows.
    LostBefore,
    /// Carried out, and nobody knows.
    LostAfter,
    /// Refused with this status.
    Refused(u16),
    /// Carried out, and answered with this status.
    Despite(u16),
}

pub const FAULTS: [Fault; 8] = [
    Fault::Unreachable,
    Fault::LostBefore,
    Fault::LostAfter,
    Fault::Refused(409),
    Fault::Refused(500),
    Fault::Refused(503),
    Fault::Despite(500),
    Fault::Despite(504),
];

type Table = BTreeMap<String, Value>;

#[derive(Debug, Default)]
pub struct State {
    pub services: Table,
    pub endpoints: Table,
    pub regions: Table,
    pub made: usize,
    pub calls: usize,
    /// Counted from 0.
    pub faults: BTreeMap<usize, Fault>,
    /// What every call gets instead of an answer.
    pub away: Option<Error>,
    /// Calls that changed something.
    pub changes: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Simulated(Arc<Mutex<State>>);

impl Simulated {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Cloud for Simulated {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let answer = self.state().answer(&call);
        Box::pin(async move { answer })
    }
}

fn asked(call: &Call) -> Asked {
    Asked { method: call.method.clone(), url: format!("http://k/v3{}", call.path) }
}

pub fn refused(asked: Asked, status: u16) -> Error {
    Error::Refused(Box::new(Refusal {
        asked,
        status: http::StatusCode::from_u16(status).unwrap(),
        kind: "Refused".to_owned(),
        message: "no".to_owned(),
        detail: String::new(),
        request_id: Some("req-1".to_owned()),
        retry_after: None,
    }))
}

impl State {
    fn answer(&mut self, call: &Call) -> Result<Reply, Error> {
        assert_eq!(call.service, Service::Identity);
        if let Some(error) = &self.away {
            return Err(error.clone());
        }
        let fault = self.faults.remove(&self.calls);
        self.calls += 1;
        let asked = asked(call);
        let why = "gone".to_owned();
        match fault {
            Some(Fault::Unreachable) => return Err(Error::Unreachable { asked, why }),
            Some(Fault::LostBefore) => return Err(Error::Lost { asked, why }),
            Some(Fault::Refused(status)) => return Err(refused(asked, status)),
            _ => {}
        }
        let answer = self.carry_out(call);
        match fault {
            Some(Fault::LostAfter) => Err(Error::Lost { asked, why }),
            Some(Fault::Despite(status)) => Err(refused(asked, status)),
            _ => answer,
        }
    }

    fn carry_out(&mut self, call: &Call) -> Result<Reply, Error> {
        let mut parts = call.path.trim_start_matches('/').split('/');
        let (plural, id) = (parts.next().unwrap(), parts.next());
        let singular = plural.trim_end_matches('s');
        let body = call.body.as_ref().map(|body| body[singular].clone()).unwrap_or_default();
        if call.method != Method::GET {
            self.changes.push(format!("{} {}", call.method, call.path));
        }
        self.made += 1;
        let fresh = format!("{singular}-{}", self.made);
        let known = self.services.keys().cloned().collect::<Vec<_>>();
        let table = match plural {
            "services" => &mut self.services,
            "endpoints" => &mut self.endpoints,
            "regions" => &mut self.regions,
            other => panic!("{other}"),
        };
        let say = |status: u16, body: Value| {
            Ok(Reply::of(http::StatusCode::from_u16(status).unwrap(), body))
        };
        match (call.method.as_str(), id) {
            ("GET", None) => {
                let fits = |one: &&Value| call.query.iter().all(|(name, value)| one[name] == value);
                let found: Vec<Value> = table.values().filter(fits).cloned().collect();
                say(200, json!({plural: found, "links": {"next": null}}))
            }
            ("POST", None) => {
                let mut one = body;
                if plural == "endpoints" && !known.iter().any(|id| one["service_id"] == *id) {
                    return Err(refused(asked(call), 400));
                }
                let id = one["id"].as_str().map_or(fresh, str::to_owned);
                if table.contains_key(&id) {
                    return Err(refused(asked(call), 409));
                }
                one["id"] = id.as_str().into();
                table.insert(id, one.clone());
                say(201, json!({singular: one}))
            }
            (method, Some(id)) => {
                let Some(one) = table.get_mut(id) else { return Err(refused(asked(call), 404)) };
                if method == "DELETE" {
                    table.remove(id);
                    if plural == "services" {
                        self.endpoints.retain(|_, endpoint| endpoint["service_id"] != id);
                    }
                    return say(204, Value::Null);
                }
                assert_eq!(method, "PATCH");
                for (key, value) in body.as_object().unwrap() {
                    one[key] = value.clone();
                }
                say(200, json!({singular: one}))
            }
            other => panic!("{other:?}"),
        }
    }
}
