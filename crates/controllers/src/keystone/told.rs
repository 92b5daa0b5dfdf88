//! Conditions and status of records.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::condition::{Condition, Conditions, Severity};
use landbridge_machinery::object;
use landbridge_openstack::{Error, Reaction};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::plan::Planned;
use super::record::{FINALIZER, Kind, Record};

const ERROR: &str = "Error";
const REQUESTED: &str = "Requested";
/// Whether Keystone answers.
const API: &str = "KeystoneAPIReady";
/// Whether it lets us in.
const CLIENT: &str = "AdminServiceClientReady";

/// What is written to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A merge patch of its metadata.
    Finalizers(Value),
    /// A merge patch of its status.
    Status(Value),
}

/// Takes hold of an object, or lets it go.
pub fn hold(record: &Record, is_held: bool) -> Write {
    let others = record.finalizers().filter(|name| *name != FINALIZER);
    let list: Vec<&str> = others.chain(is_held.then_some(FINALIZER)).collect();
    // Only for just this state: somebody else may be adding theirs.
    let version = object::resource_version(&record.object);
    let metadata = json!({"uid": record.uid(), "resourceVersion": version, "finalizers": list});
    Write::Finalizers(json!({"metadata": metadata}))
}

/// How a record is doing.
pub enum Doing<'d> {
    /// Keystone could not be looked at.
    Away(&'d Error),
    /// Keystone was looked at; what could not be done.
    Looked(&'d Planned, &'d [String]),
}

/// What the status has to say, if it does not say so already.
pub fn status(record: &Record, doing: &Doing<'_>, now: Timestamp) -> Option<Write> {
    let mut patch = Map::new();
    if let Doing::Looked(planned, _) = doing {
        patch.extend(claims(record, planned));
    }
    let said = conditions(record, doing).finish(&before(record), &time(now));
    if record.object["status"]["conditions"] != json!(said) {
        patch.insert("conditions".to_owned(), json!(said));
    }
    let generation = object::generation(&record.object);
    if record.object["status"]["observedGeneration"] != json!(generation) {
        patch.insert("observedGeneration".to_owned(), generation.into());
    }
    written(record, patch)
}

/// What the status has to claim before anything is made.
pub fn claim(record: &Record, planned: &Planned) -> Option<Write> {
    written(record, claims(record, planned))
}

fn written(record: &Record, patch: Map<String, Value>) -> Option<Write> {
    if patch.is_empty() {
        return None;
    }
    let mut whole = json!({"metadata": {"uid": record.uid()}});
    whole["status"] = Value::Object(patch);
    Some(Write::Status(whole))
}

fn claims(record: &Record, planned: &Planned) -> Map<String, Value> {
    let mut patch = Map::new();
    if let Some(service) = &planned.service
        && record.service_claim() != Some(service)
    {
        patch.insert("serviceID".to_owned(), service.as_str().into());
    }
    if record.kind == Kind::Endpoint {
        let known = record.endpoint_claims();
        let gone = known.keys().filter(|name| !planned.endpoints.contains_key(**name));
        let mut ids: BTreeMap<&str, Value> = gone.map(|name| (*name, Value::Null)).collect();
        for (name, id) in &planned.endpoints {
            if known.get(name.as_str()) != Some(&id.as_str()) {
                ids.insert(name, id.as_str().into());
            }
        }
        if !ids.is_empty() {
            patch.insert("endpointIDs".to_owned(), json!(ids));
        }
    }
    patch
}

fn before(record: &Record) -> Vec<Condition> {
    Vec::<Condition>::deserialize(&record.object["status"]["conditions"]).unwrap_or_default()
}

/// Conditions carry whole seconds.
fn time(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

fn conditions(record: &Record, doing: &Doing<'_>) -> Conditions {
    let mut said = Conditions::default();
    let (aspect, what) = match record.kind {
        Kind::Service => ("KeystoneServiceOSServiceReady", "Keystone Service"),
        Kind::Endpoint => ("KeystoneServiceOSEndpointsReady", "Keystone Endpoints"),
    };
    match doing {
        Doing::Away(error) => {
            let text = error.steady().to_string();
            match error.reaction() {
                Reaction::Credentials | Reaction::Denied => {
                    said.good(API, "KeystoneAPI answers");
                    let text = format!("Admin client error occurred {text}");
                    said.bad(CLIENT, Severity::Error, ERROR, text);
                }
                reaction => {
                    let severity =
                        if reaction.heals() { Severity::Warning } else { Severity::Error };
                    said.bad(API, severity, ERROR, format!("KeystoneAPI error occurred {text}"));
                    said.unknown(CLIENT, "Keystone was not reached");
                }
            }
            said.unknown(aspect, format!("{what} not looked at"));
        }
        Doing::Looked(planned, failed) => {
            said.good(API, "KeystoneAPI answers");
            said.good(CLIENT, "Admin client ready");
            let wrong: Vec<&str> =
                failed.iter().chain(&planned.troubles).map(String::as_str).collect();
            if !wrong.is_empty() {
                // What failed is tried again by itself; troubles wait for people.
                let severity =
                    if planned.troubles.is_empty() { Severity::Warning } else { Severity::Error };
                let text = format!("{what} error occurred {}", wrong.join("; "));
                said.bad(aspect, severity, ERROR, text);
            } else if !planned.waits.is_empty() {
                let text = format!("{what} in progress: waits for {}", planned.waits.join(", "));
                said.bad(aspect, Severity::Info, REQUESTED, text);
            } else {
                said.good(aspect, ready(record, planned));
            }
        }
    }
    said
}

fn ready(record: &Record, planned: &Planned) -> String {
    match record.kind {
        Kind::Service => {
            let declared = record.declared();
            format!("Keystone Service {} - {} ready", declared.name, declared.type_)
        }
        Kind::Endpoint => {
            let interfaces: Vec<&str> = planned.endpoints.keys().map(String::as_str).collect();
            format!("Keystone Endpoints ready: {}", interfaces.join(", "))
        }
    }
}
