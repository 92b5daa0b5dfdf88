//! The plan for one service: Services, Routes, workloads, records for Keystone, and the status.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use landbridge_api::condition::{Condition, Conditions, Severity};
use landbridge_machinery::object;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::attachments::{self, Having, Trouble};
use super::expose::{Exposed, Progress, expose};
use super::generation::Generation;
use super::kinds::Kind;
use super::parts::catalogue::parts;
use super::parts::{Part, Registered};
use super::plan::{Context, Plan, Standing, Wanted};
use super::workload::{Running, running, workload};
use super::{octavia, ovn};

/// The reason of a condition that only people or time can change.
pub const ERROR: &str = "Error";
/// The reason of one that is being worked on.
pub const REQUESTED: &str = "Requested";

/// Plans for a service.
pub fn plan(context: &Context<'_>) -> Plan {
    let generation = Generation::of(context.owner);
    let (mut parts, wrong) = parts(context.kind, context.name(), context.spec(), generation);
    octavia::environment(context, &mut parts);
    let mut draft =
        Draft { context, generation, plan: Plan::default(), said: Conditions::default() };
    draft.input(&wrong);
    let definitions = ovn::definitions(context);
    draft.plan.wanted.extend(definitions.wanted);
    let kind = Kind::NetworkAttachmentDefinition;
    draft.plan.released.extend(definitions.released.into_iter().map(|name| (kind, name)));
    let exposed = draft.services(&parts);
    draft.workloads(&parts, &definitions.pending);
    draft.records(&parts, &exposed);
    draft.facts(&parts, &exposed);
    octavia::keep(context, &mut draft.said);
    draft.finish()
}

struct Draft<'c, 'w> {
    context: &'c Context<'w>,
    generation: Generation,
    plan: Plan,
    said: Conditions,
}

impl Draft<'_, '_> {
    fn input(&mut self, wrong: &[String]) {
        if wrong.is_empty() {
            self.said.good("InputReady", "Input data complete");
        } else {
            let text = format!("Input data error occurred {}", wrong.join("; "));
            self.said.bad("InputReady", Severity::Error, ERROR, text);
        }
    }

    /// Plans the Services; the result has one entry for each offer of each part.
    fn services(&mut self, parts: &[Part<'_>]) -> Vec<Vec<Exposed>> {
        let exposed: Vec<Vec<Exposed>> = parts
            .iter()
            .map(|part| {
                let offers = part.offers.iter();
                offers.map(|offer| expose(self.context, part, offer, self.generation)).collect()
            })
            .collect();
        let all = || exposed.iter().flatten();
        for one in all() {
            self.plan.wanted.extend(one.wanted.iter().cloned());
        }
        // Whoever has no Service has nothing to say about it.
        if all().next().is_none() {
            return exposed;
        }
        let (type_, what) = match self.generation {
            Generation::First => ("ExposeServiceReady", "Exposing service"),
            Generation::Today => ("CreateServiceReady", "Create service"),
        };
        let stuck: Vec<&str> = all()
            .filter_map(|one| match &one.progress {
                Progress::Stuck(why) => Some(why.as_str()),
                _ => None,
            })
            .collect();
        if !stuck.is_empty() {
            let text = format!("{what} error occurred {}", stuck.join("; "));
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if all().any(|one| one.progress == Progress::Begun) {
            self.said.bad(type_, Severity::Info, REQUESTED, format!("{what} in progress"));
        } else {
            self.said.good(type_, format!("{what} completed"));
        }
        exposed
    }

    /// Plans the workloads, and compares the pods with what they should be attached to.
    fn workloads(&mut self, parts: &[Part<'_>], pending: &[String]) {
        let context = self.context;
        let namespace = context.namespace();
        let mut missing: Vec<String> = Vec::new();
        let mut unreadable: Vec<String> = Vec::new();
        let mut lacking: Vec<&[String]> = Vec::new();
        let mut broken: Vec<String> = Vec::new();
        let mut is_complete = true;
        let mut ready = 0;
        let mut having = Having::default();
        for part in parts {
            let kind = part.runs.kind();
            let names = &part.attachments;
            let networks =
                attachments::annotation(context.world, namespace, names, self.generation);
            match networks {
                Ok(networks) => self.plan.wanted.push(workload(context, part, &networks)),
                Err(trouble) => {
                    is_complete = false;
                    self.plan.kept.insert((kind, part.name.clone()));
                    match trouble {
                        // What is just being made is not missing.
                        Trouble::Missing(name) if pending.contains(&name) => {}
                        Trouble::Missing(name) => missing.push(name),
                        Trouble::Unreadable(why) => unreadable.push(why),
                    }
                }
            }
            let mut state = Running::default();
            match context.standing(kind, &part.name) {
                Standing::Taken(why) => {
                    self.plan.wanted.retain(|w| (w.kind, w.name()) != (kind, part.name.as_str()));
                    broken.push(why);
                }
                Standing::Absent => {
                    broken.extend(context.error(kind, &part.name).map(str::to_owned));
                }
                Standing::Ours(live) => {
                    broken.extend(context.error(kind, &part.name).map(str::to_owned));
                    state = running(live);
                }
            }
            is_complete &= state.is_complete;
            ready += state.ready;
            let labels = [("service", part.service.as_str()), ("component", part.name.as_str())];
            let own = Having::of(context.world, namespace, &labels);
            if part.replicas > 0 && !own.suffices(namespace, names, state.ready) {
                lacking.push(names);
            }
            having.join(own);
        }
        self.attached(missing, unreadable, &lacking);
        self.deployed(&broken, is_complete);
        let addresses: Map<String, Value> = having
            .addresses
            .into_iter()
            .map(|(network, ips)| (network, ips.into_iter().collect::<Vec<_>>().into()))
            .collect();
        let wants_any = parts.iter().any(|part| !part.attachments.is_empty());
        let status = &mut self.plan.status;
        let addresses = if wants_any { addresses } else { Map::new() };
        status.insert("networkAttachments".to_owned(), addresses.into());
        status.insert("readyCount".to_owned(), ready.into());
    }

    fn attached(
        &mut self,
        mut missing: Vec<String>,
        unreadable: Vec<String>,
        lacking: &[&[String]],
    ) {
        let type_ = "NetworkAttachmentsReady";
        missing.sort();
        missing.dedup();
        if !missing.is_empty() {
            let text = format!("NetworkAttachment resources missing: {}", missing.join(", "));
            let (severity, reason) = match self.generation {
                Generation::First => (Severity::Info, REQUESTED),
                Generation::Today => (Severity::Warning, ERROR),
            };
            self.said.bad(type_, severity, reason, text);
        } else if let Some(why) = unreadable.into_iter().next() {
            let text = format!("NetworkAttachments error occurred {why}");
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if let Some(names) = lacking.first() {
            let text = format!(
                "NetworkAttachments error occurred not all pods have interfaces with ips as \
                 configured in NetworkAttachments: [{}]",
                names.join(" ")
            );
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else {
            self.said.good(type_, "NetworkAttachments completed");
        }
    }

    fn deployed(&mut self, broken: &[String], is_complete: bool) {
        let type_ = "DeploymentReady";
        if !broken.is_empty() {
            let text = format!("Deployment error occurred {}", broken.join("; "));
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if is_complete {
            self.said.good(type_, "Deployment completed");
        } else {
            self.said.bad(type_, Severity::Info, REQUESTED, "Deployment in progress");
        }
    }

    /// What Keystone is to know: one service and one set of URLs for each name.
    fn records(&mut self, parts: &[Part<'_>], exposed: &[Vec<Exposed>]) {
        let mut urls: BTreeMap<&str, (Registered, BTreeMap<&str, Option<String>>)> =
            BTreeMap::new();
        for (part, exposed) in parts.iter().zip(exposed) {
            for (offer, exposed) in part.offers.iter().zip(exposed) {
                let Some(endpoint) = offer.endpoint else { continue };
                for record in offer.registered {
                    let url = exposed.url.as_ref().map(|url| format!("{url}{}", record.path));
                    let entry = urls.entry(record.name).or_insert((*record, BTreeMap::new()));
                    entry.1.insert(endpoint.name(), url);
                }
            }
        }
        if urls.is_empty() {
            return;
        }
        let mut waits = Vec::new();
        let mut broken = Vec::new();
        for (record, urls) in urls.values() {
            self.record(
                Kind::KeystoneService,
                record.name,
                service_spec(self.context, record),
                &mut broken,
            );
            let known: Option<BTreeMap<&str, String>> =
                urls.iter().map(|(endpoint, url)| Some((*endpoint, url.clone()?))).collect();
            let Some(known) = known else {
                waits.push(record.name);
                self.plan.kept.insert((Kind::KeystoneEndpoint, record.name.to_owned()));
                continue;
            };
            let spec = json!({"serviceName": record.name, "endpoints": known});
            self.record(Kind::KeystoneEndpoint, record.name, spec, &mut broken);
        }
        let type_ = "KeystoneEndpointReady";
        if !broken.is_empty() {
            let text = format!("KeystoneEndpoint error occurred {}", broken.join("; "));
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if waits.is_empty() {
            self.said.good(type_, "KeystoneEndpoint completed");
        } else {
            let text = format!("KeystoneEndpoint in progress: {} has no URL yet", waits.join(", "));
            self.said.bad(type_, Severity::Info, REQUESTED, text);
        }
    }

    fn record(&mut self, kind: Kind, name: &str, spec: Value, broken: &mut Vec<String>) {
        match self.context.standing(kind, name) {
            Standing::Taken(why) => return broken.push(why),
            Standing::Ours(live) => broken.extend(unready(live)),
            Standing::Absent => {}
        }
        broken.extend(self.context.error(kind, name).map(str::to_owned));
        let object = self.context.object(kind, name, spec);
        self.plan.wanted.push(Wanted { kind, object, whole: &["/spec"] });
    }

    /// What of the status is not a condition.
    fn facts(&mut self, parts: &[Part<'_>], exposed: &[Vec<Exposed>]) {
        let mut apis: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for (part, exposed) in parts.iter().zip(exposed) {
            for (offer, exposed) in part.offers.iter().zip(exposed) {
                let (Some(endpoint), Some(url)) = (offer.endpoint, &exposed.url) else { continue };
                let suffix = format!("-{}", endpoint.name());
                let base = offer.service.strip_suffix(&suffix).unwrap_or(&offer.service);
                let path = offer.registered.first().map_or("", |record| record.path);
                let urls = apis.entry(base).or_default();
                urls.insert(endpoint.name().to_owned(), format!("{url}{path}").into());
            }
        }
        let endpoints: Value = if apis.len() == 1 {
            apis.into_values().next().unwrap_or_default().into()
        } else {
            json!(apis)
        };
        self.plan.status.insert("apiEndpoints".to_owned(), endpoints);
        ovn::status(self.context, self.generation, parts, exposed, &mut self.plan);
    }

    fn finish(mut self) -> Plan {
        let conditions = conditions(self.context.owner, self.said, self.context.now);
        self.plan.status.insert("conditions".to_owned(), json!(conditions));
        let generation = object::generation(self.context.owner);
        self.plan.status.insert("observedGeneration".to_owned(), generation.into());
        self.plan
    }
}

/// The conditions to write, with the times of those that stay as they are.
pub fn conditions(owner: &Value, said: Conditions, now: Timestamp) -> Vec<Condition> {
    let before = Vec::<Condition>::deserialize(&owner["status"]["conditions"]).unwrap_or_default();
    let seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
    said.finish(&before, &Time(seconds))
}

fn service_spec(context: &Context<'_>, record: &Registered) -> Value {
    let spec = context.spec();
    let plane = context.plane();
    let secret = spec["secret"].as_str().or(plane.and_then(|p| p["spec"]["secret"].as_str()));
    let mut service = json!({
        "serviceType": record.kind,
        "serviceName": record.name,
        "serviceDescription": record.description,
        "enabled": true,
        "serviceUser": spec["serviceUser"].as_str().unwrap_or(record.name),
    });
    if let Some(secret) = secret {
        service["secret"] = secret.into();
    }
    if let Some(key) = spec["passwordSelectors"]["service"].as_str() {
        service["passwordSelector"] = key.into();
    }
    service
}

/// What a record says is wrong with it. One that says nothing was not looked at: nobody has to have
/// a Keystone.
fn unready(live: &Value) -> Option<String> {
    let conditions = live["status"]["conditions"].as_array()?;
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
    let is_bad = ready["status"] == "False" && ready["severity"] != "Info";
    is_bad.then(|| {
        let part = |field: &str| ready[field].as_str().unwrap_or_default();
        format!("{}: {}", object::name(live), part("message"))
    })
}
