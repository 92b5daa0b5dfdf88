//! The plan for a control plane: a service for each section that is wanted, and how each is doing.

use landbridge_api::condition::{Condition, ConditionStatus, Conditions, READY, Severity};
use landbridge_api::foreign::controlplane::{Makes, SECTIONS, Section};
use landbridge_api::foreign::route;
use landbridge_machinery::object;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::generation::{ANNOTATION, FIRST, Generation};
use super::kinds::Kind;
use super::plan::{Context, Plan, Standing, Wanted};
use super::service::{ERROR, REQUESTED, conditions};
use super::world::owners;

/// Plans for a control plane.
pub fn plan(context: &Context<'_>) -> Plan {
    let generation = Generation::of(context.owner);
    let mut plan = Plan::default();
    let mut said = Conditions::default();
    for section in SECTIONS.iter().filter(|section| section.is_wanted(context.spec())) {
        let services = services(context, section, generation);
        let states: Vec<State> =
            services.iter().map(|(kind, name, _)| State::of(context, *kind, name)).collect();
        say(section, &states, &mut said);
        if let Some(type_) = exposes(section.name) {
            say_exposed(context, section, type_, &states, &mut said);
        }
        for ((kind, name, spec), state) in services.into_iter().zip(&states) {
            if state.is_taken {
                continue;
            }
            let mut object = context.object(kind, &name, spec);
            if generation == Generation::First {
                object["metadata"]["annotations"] = json!({ANNOTATION: FIRST});
            }
            plan.wanted.push(Wanted { kind, object, whole: &["/spec"] });
        }
    }
    let list = conditions(context.owner, said, context.now);
    plan.status.insert("conditions".to_owned(), json!(list));
    let generation = object::generation(context.owner);
    plan.status.insert("observedGeneration".to_owned(), generation.into());
    plan
}

/// The services of a section: kind, name, spec.
fn services(
    context: &Context<'_>,
    section: &Section,
    generation: Generation,
) -> Vec<(Kind, String, Value)> {
    let spec = &context.spec()[section.name];
    let mut made = Vec::new();
    let mut add = |kind: &str, name: &str, template: &Value| {
        let Some(kind) = Kind::find(kind) else { return };
        made.push((kind, name.to_owned(), filled(context, kind, name, template)));
    };
    match section.makes {
        Makes::One { kind, name } => add(kind, name, &spec["template"]),
        Makes::Many { kind, usual } => {
            let templates = spec["templates"].as_object();
            for (name, template) in templates.into_iter().flatten() {
                add(kind, name, template);
            }
            if let Some(name) = usual.filter(|_| templates.is_none_or(serde_json::Map::is_empty)) {
                add(kind, name, &Value::Null);
            }
        }
        Makes::Ovn => {
            let template = &spec["template"];
            for (name, database) in template["ovnDBCluster"].as_object().into_iter().flatten() {
                add("OVNDBCluster", name, database);
            }
            add("OVNNorthd", "ovnnorthd", &template["ovnNorthd"]);
            // Without a network for tunnels and without NICs there is nothing to control.
            if template["ovnController"].is_object() || generation == Generation::First {
                add("OVNController", "ovncontroller", &template["ovnController"]);
            }
        }
    }
    made
}

/// The template, with what the control plane says for all.
fn filled(context: &Context<'_>, kind: Kind, name: &str, template: &Value) -> Value {
    let mut spec = if template.is_object() { template.clone() } else { json!({}) };
    let own = context.spec();
    if kind == Kind::DNSMasq {
        // What the rules of the kind would fill in: otherwise it would be taken out each time.
        let live = context.world.get(kind, context.namespace(), name);
        for field in ["containerImage", "replicas", "dnsDataLabelSelectorValue"] {
            let value = live.map_or(&Value::Null, |live| &live["spec"][field]);
            if spec[field].is_null() && !value.is_null() {
                spec[field] = value.clone();
            }
        }
        let options = spec["options"].as_array().cloned().unwrap_or_default();
        if options.iter().all(|option| option["key"] != "local") {
            let local = format!("/{}.svc/", context.namespace());
            let mut options = options;
            options.push(json!({"key": "local", "values": [local]}));
            spec["options"] = options.into();
        }
    } else {
        for field in ["secret", "storageClass"] {
            if spec.get(field).is_none_or(Value::is_null) && own[field].is_string() {
                spec[field] = own[field].clone();
            }
        }
    }
    if spec.get("nodeSelector").is_none_or(Value::is_null) && own["nodeSelector"].is_object() {
        spec["nodeSelector"] = own["nodeSelector"].clone();
    }
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    spec
}

/// How a service is doing.
struct State {
    title: String,
    uid: String,
    is_taken: bool,
    ready: Option<Condition>,
    exposed: Option<Condition>,
    error: Option<String>,
}

impl State {
    fn of(context: &Context<'_>, kind: Kind, name: &str) -> Self {
        let title = format!("{} {name}", kind.name());
        let error = context.error(kind, name).map(str::to_owned);
        let mut state =
            Self { title, uid: String::new(), is_taken: false, ready: None, exposed: None, error };
        match context.standing(kind, name) {
            Standing::Absent => {}
            Standing::Taken(why) => {
                state.is_taken = true;
                state.error = Some(why);
            }
            Standing::Ours(live) => {
                let list = Vec::<Condition>::deserialize(&live["status"]["conditions"]);
                let list = list.unwrap_or_default();
                let seen = live["status"]["observedGeneration"].as_i64().unwrap_or(0);
                let is_current = seen >= object::generation(live);
                let find = |types: &[&str]| {
                    let mut found = list.iter().filter(|c| types.contains(&c.type_.as_str()));
                    found.next().filter(|_| is_current).cloned()
                };
                object::uid(live).clone_into(&mut state.uid);
                state.ready = find(&[READY]);
                state.exposed = find(&["CreateServiceReady", "ExposeServiceReady"]);
            }
        }
        state
    }

    fn is_ready(&self) -> bool {
        self.error.is_none()
            && self.ready.as_ref().is_some_and(|ready| ready.status == ConditionStatus::True)
    }
}

fn say(section: &Section, states: &[State], said: &mut Conditions) {
    let (type_, title) = (section.condition, section.title);
    if states.iter().all(State::is_ready) {
        return said.good(type_, format!("OpenStackControlPlane {title} completed"));
    }
    let errors: Vec<String> = states
        .iter()
        .filter_map(|state| Some(format!("{}: {}", state.title, state.error.as_ref()?)))
        .collect();
    if !errors.is_empty() {
        let text = format!("OpenStackControlPlane {title} error occured {}", errors.join("; "));
        return said.bad(type_, Severity::Error, ERROR, text);
    }
    let waits = states.iter().filter(|state| !state.is_ready());
    let worst = waits.max_by_key(|state| match &state.ready {
        Some(ready) if ready.severity == Severity::Error => 3,
        Some(ready) if ready.severity == Severity::Warning => 2,
        Some(_) => 1,
        None => 0,
    });
    let Some(State { title: which, ready: Some(ready), .. }) = worst else {
        let text = format!("OpenStackControlPlane {title} in progress");
        return said.bad(type_, Severity::Info, REQUESTED, text);
    };
    let is_error = matches!(ready.severity, Severity::Error | Severity::Warning);
    let (what, reason) =
        if is_error { ("error occured", ERROR) } else { ("in progress:", REQUESTED) };
    let text = format!("OpenStackControlPlane {title} {what} {which}: {}", ready.message);
    let severity = if is_error { ready.severity } else { Severity::Info };
    said.bad(type_, severity, reason, text);
}

/// The condition about the public endpoints of a section, for those that have any.
fn exposes(section: &str) -> Option<&'static str> {
    Some(match section {
        "barbican" => "OpenStackControlPlaneExposeBarbicanReady",
        "cinder" => "OpenStackControlPlaneExposeCinderReady",
        "designate" => "OpenStackControlPlaneExposeDesignateReady",
        "glance" => "OpenStackControlPlaneExposeGlanceReady",
        "heat" => "OpenStackControlPlaneExposeHeatReady",
        "horizon" => "OpenStackControlPlaneExposeHorizonReady",
        "ironic" => "OpenStackControlPlaneExposeIronicReady",
        "keystone" => "OpenStackControlPlaneExposeKeystoneAPIReady",
        "manila" => "OpenStackControlPlaneExposeManilaReady",
        "neutron" => "OpenStackControlPlaneExposeNeutronReady",
        "nova" => "OpenStackControlPlaneExposeNovaReady",
        "octavia" => "OpenStackControlPlaneExposeOctaviaReady",
        "placement" => "OpenStackControlPlaneExposePlacementAPIReady",
        "swift" => "OpenStackControlPlaneExposeSwiftReady",
        "watcher" => "OpenStackControlPlaneExposeWatcherReady",
        _ => return None,
    })
}

fn say_exposed(
    context: &Context<'_>,
    section: &Section,
    type_: &'static str,
    states: &[State],
    said: &mut Conditions,
) {
    let title = section.title;
    let is_theirs = |route: &Value| {
        owners(route).any(|uid| states.iter().any(|state| !uid.is_empty() && state.uid == uid))
    };
    let routes = context.world.owned_by(context.uid()).filter(|(kind, _)| *kind == Kind::Route);
    let refused = routes.filter(|(_, route)| is_theirs(route)).find_map(|(_, found)| {
        let why = route::refusal(found)?;
        let name = object::name(found);
        Some(format!("OpenStackControlPlane {title} route {name} admission failed: {why}"))
    });
    if let Some(text) = refused {
        return said.bad(type_, Severity::Warning, ERROR, text);
    }
    let name = section.name;
    for state in states {
        match &state.exposed {
            Some(exposed) if exposed.status == ConditionStatus::True => {}
            Some(exposed) => {
                let text = format!(
                    "OpenStackControlPlane {title} exposing service {name} error occured {}",
                    exposed.message
                );
                let is_bad = matches!(exposed.severity, Severity::Error | Severity::Warning);
                let (severity, reason) =
                    if is_bad { (exposed.severity, ERROR) } else { (Severity::Info, REQUESTED) };
                return said.bad(type_, severity, reason, text);
            }
            None => {
                let text =
                    format!("OpenStackControlPlane {title} exposing service {name} not started");
                return said.unknown(type_, text);
            }
        }
    }
    said.good(type_, format!("OpenStackControlPlane {title} service exposed"));
}

/// What a control plane wants different in the Route of a Service.
pub fn route_override<'w>(
    context: &Context<'_>,
    plane: &'w Value,
    service: &str,
) -> Option<&'w Value> {
    let makes = |section: &&Section| match section.makes {
        Makes::One { kind, .. } => kind == context.kind.name(),
        _ => false,
    };
    let section = SECTIONS.iter().find(makes)?;
    let own = &plane["spec"][section.name];
    let found = match (context.kind, service) {
        (Kind::Heat, "heat-cfnapi-public") => &own["cnfAPIOverride"],
        (Kind::Ironic, "ironic-inspector-public") => &own["inspectorOverride"],
        (Kind::Swift, _) => &own["proxyOverride"],
        (Kind::Telemetry, "aodh-public") => &own["aodhApiOverride"],
        (Kind::Telemetry, "cloudkitty-public") => &own["cloudKittyApiOverride"],
        (Kind::Glance, service) => {
            let api = service.strip_prefix("glance-")?.strip_suffix("-public")?;
            &own["apiOverrides"][api]
        }
        (Kind::Nova, service) if service.starts_with("nova-novncproxy-") => {
            let cell = service.strip_prefix("nova-novncproxy-")?.strip_suffix("-public")?;
            &own["cellOverride"][cell]["noVNCProxy"]
        }
        _ => &own["apiOverride"],
    };
    Some(&found["route"]).filter(|route| route.is_object())
}
