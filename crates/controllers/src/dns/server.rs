//! DNSMasq: everything that is made of it, and how it is doing.

use landbridge_api::condition::{Conditions, Severity};
use landbridge_machinery::object;
use serde_json::{Value, json};

use super::data::{BAD_ENTRY, ENTRIES, config_map, label, owner_labels};
use super::deployment::{self, Recipe, deployment};
use super::digest::digest;
use super::options::{Options, options};
use super::publication::published;
use super::registration::registered;
use super::sources::{self, Source, selected};
use super::spread::{self, spread};
use super::{Settings, entries};
use crate::endpoints::expose::{Progress, expose};
use crate::endpoints::generation::Generation;
use crate::endpoints::parts::{Offer, Part, Port, Runs, Wish};
use crate::endpoints::service::{ERROR, REQUESTED, conditions};
use crate::endpoints::workload::{Running, running};
use crate::making::kinds::Kind;
use crate::making::plan::{Context, Notice, Plan, Standing, Wanted};

/// The condition about options that the name server refuses.
pub const OPTIONS: &str = "OptionsReady";
/// The reason of Events about them.
const BAD_OPTION: &str = "BadOption";

/// Plans for a DNSMasq.
pub fn plan(context: &Context<'_>, settings: &Settings) -> Plan {
    let image = context.spec()["containerImage"].as_str().unwrap_or_default();
    let label = label(context.spec());
    let mut draft = Draft {
        context,
        generation: Generation::of(context.owner),
        is_own: settings.is_own(image),
        sources: selected(context.world, context.namespace(), &label),
        plan: Plan::default(),
        said: Conditions::default(),
    };
    draft.said.good("InputReady", "Input data complete");
    draft.rights();
    let options = options(context.spec());
    let hash = draft.hash(&options);
    draft.files(&options);
    let selector = draft.selector();
    draft.services(&selector);
    let topology = draft.topology();
    draft.workload(&hash, &selector, topology);
    draft.refused(&options);
    draft.finish(&hash)
}

struct Draft<'c, 'w> {
    context: &'c Context<'w>,
    generation: Generation,
    /// Whether `landbridge dns` answers.
    is_own: bool,
    sources: Vec<Source<'w>>,
    plan: Plan,
    said: Conditions,
}

/// How far an object is that is wanted.
enum Made {
    /// It is there.
    There,
    /// It is not there yet.
    Begun,
    /// It cannot be made, and why.
    Stuck(String),
}

impl<'w> Draft<'_, 'w> {
    /// Wants an object, unless somebody else has its name.
    fn want(&mut self, wanted: Wanted) -> Made {
        let (kind, name) = (wanted.kind, wanted.name().to_owned());
        let error = self.context.error(kind, &name).map(str::to_owned);
        let made = match (self.context.standing(kind, &name), error) {
            (Standing::Taken(why), _) => return Made::Stuck(why),
            (_, Some(why)) => Made::Stuck(why),
            (Standing::Absent, None) => Made::Begun,
            (Standing::Ours(_), None) => Made::There,
        };
        self.plan.wanted.push(wanted);
        made
    }

    /// Whom the pods are to the API. They need nothing from it; as of the first generation they run as root,
    /// which OpenShift lets only those do who are told.
    fn rights(&mut self) {
        let context = self.context;
        let name = deployment::name(context.name());
        let account = context.object(Kind::ServiceAccount, &name, Value::Null);
        let mut role = context.object(Kind::Role, &format!("{name}-role"), Value::Null);
        if self.generation == Generation::First && !self.is_own {
            role["rules"] = json!([{
                "apiGroups": ["security.openshift.io"],
                "resourceNames": ["anyuid"],
                "resources": ["securitycontextconstraints"],
                "verbs": ["use"],
            }]);
        }
        let mut binding =
            context.object(Kind::RoleBinding, &format!("{name}-rolebinding"), Value::Null);
        binding["roleRef"] = json!({
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": format!("{name}-role"),
        });
        binding["subjects"] = json!([
            {"kind": "ServiceAccount", "name": name, "namespace": context.namespace()},
        ]);
        for (type_, title, kind, object, whole) in [
            ("ServiceAccountReady", "ServiceAccount", Kind::ServiceAccount, account, &[][..]),
            ("RoleReady", "Role", Kind::Role, role, &["/rules"]),
            ("RoleBindingReady", "RoleBinding", Kind::RoleBinding, binding, &["/subjects"]),
        ] {
            match self.want(Wanted { kind, object, whole }) {
                Made::There => self.said.good(type_, format!("{title} created")),
                Made::Begun => self.said.unknown(type_, format!("{title} not created")),
                Made::Stuck(why) => {
                    let text = format!("{title} error occurred {why}");
                    self.said.bad(type_, Severity::Warning, ERROR, text);
                }
            }
        }
    }

    /// Over everything that is answered from.
    fn hash(&self, options: &Options) -> String {
        let files = self.sources.iter().filter_map(|source| Some([source.name, source.text?]));
        digest([options.text.as_str()].into_iter().chain(files.flatten()))
    }

    /// ConfigMaps and DNSData: what is answered from, and where that comes from.
    fn files(&mut self, options: &Options) {
        let context = self.context;
        let mut stuck = Vec::new();
        let mut is_begun = false;
        let mut note = |made: Made| match made {
            Made::There => {}
            Made::Begun => is_begun = true,
            Made::Stuck(why) => stuck.push(why),
        };
        let name = context.name().to_ascii_lowercase();
        let labels = owner_labels(context);
        let data = json!({context.name(): options.text});
        note(self.want(config_map(context, &name, labels.clone(), data)));
        let mut faults = Vec::new();
        if self.is_own {
            self.parts(&labels, &mut note, &mut faults);
        }
        let registered = registered(context.world, context.namespace());
        note(self.want(self.names(&format!("{}-svc", context.name()), &registered.hosts)));
        let published = published(context.world, context.owner, &self.sources);
        for (name, hosts) in &published.data {
            note(self.want(self.names(name, hosts)));
        }
        let type_ = "ServiceConfigReady";
        if !stuck.is_empty() {
            let text = format!("Service config create error occurred {}", stuck.join("; "));
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if is_begun {
            self.said.unknown(type_, "Service config create not started");
        } else {
            self.said.good(type_, "Service config create completed");
        }
        faults.extend(sources::faults(&self.sources));
        faults.extend(sources::contradictions(&self.sources));
        faults.extend(registered.faults);
        faults.extend(published.faults);
        if let Some(text) = entries::summary("Not everything is answered as written", &faults) {
            self.said.aside(ENTRIES, Severity::Warning, ERROR, text.clone());
            self.plan.notices.push(Notice { reason: BAD_ENTRY, note: text });
        }
    }

    /// A DNSData of the name server's own.
    fn names(&self, name: &str, hosts: &[Value]) -> Wanted {
        let selector = self.context.spec()["dnsDataLabelSelectorValue"].as_str();
        let mut spec = json!({"dnsDataLabelSelectorValue": selector.unwrap_or("dnsdata")});
        if !hosts.is_empty() {
            spec["hosts"] = hosts.into();
        }
        let object = self.context.object(Kind::DNSData, name, spec);
        Wanted { kind: Kind::DNSData, object, whole: &["/spec"] }
    }

    /// All hosts files in ConfigMaps that a running pod has mounted.
    fn parts(&mut self, labels: &Value, note: &mut impl FnMut(Made), faults: &mut Vec<String>) {
        let context = self.context;
        let names: Vec<String> =
            (0..spread::COUNT).map(|at| deployment::part(context.name(), at)).collect();
        let live: Vec<&Value> = names
            .iter()
            .map(|name| match context.standing(Kind::ConfigMap, name) {
                Standing::Ours(live) => &live["data"],
                _ => &Value::Null,
            })
            .collect();
        let known = |name: &str| live.iter().position(|data| data.get(name).is_some());
        let texts: Vec<(&str, &str)> =
            self.sources.iter().filter_map(|source| Some((source.name, source.text?))).collect();
        let spread = spread(&texts, known);
        for (name, part) in names.iter().zip(&spread.parts).filter(|(_, part)| !part.is_empty()) {
            note(self.want(config_map(context, name, labels.clone(), json!(part))));
        }
        faults.extend(spread.left.iter().map(|name| {
            format!("ConfigMap {name} does not fit in any more and is not answered: split it, or take others out")
        }));
    }

    /// The labels by which pods are found. Those of a Deployment cannot change, so one that is there, from
    /// upstream's operator perhaps, keeps its own. Upstream's have only the first label, and two name servers in
    /// one namespace would answer for each other.
    fn selector(&self) -> Value {
        let name = deployment::name(self.context.name());
        let labels = deployment::labels(self.context.name());
        match self.context.standing(Kind::Deployment, &name) {
            Standing::Ours(live) => {
                let own = &live["spec"]["selector"]["matchLabels"];
                if own.is_object() { own.clone() } else { labels }
            }
            _ => labels,
        }
    }

    /// One Service, or as of the first generation one for each block.
    fn services(&mut self, selector: &Value) {
        let context = self.context;
        let part = part(context, self.generation);
        let mut stuck = Vec::new();
        let mut is_begun = false;
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for offer in &part.offers {
            let mut exposed = expose(context, &part, offer, self.generation);
            for wanted in &mut exposed.wanted {
                wanted.object["spec"]["selector"] = selector.clone();
                if let Wish::First(block) = offer.wish {
                    let pool = block["ipAddressPool"].as_str().unwrap_or_default();
                    let key = format!("{}-{pool}", context.name());
                    wanted.object["metadata"]["labels"][key] = "true".into();
                }
            }
            match exposed.progress {
                Progress::Stuck(why) => stuck.push(why),
                Progress::Begun => is_begun = true,
                Progress::Done => {}
            }
            outer.extend(exposed.addresses);
            if let Standing::Ours(live) = context.standing(Kind::Service, &offer.service) {
                inner.extend(cluster_addresses(live));
            }
            self.plan.wanted.extend(exposed.wanted);
        }
        let (type_, what) = match self.generation {
            Generation::First => ("ExposeServiceReady", "Exposing service"),
            Generation::Today => ("CreateServiceReady", "Create service"),
        };
        if !stuck.is_empty() {
            let text = format!("{what} error occurred {}", stuck.join("; "));
            self.said.bad(type_, Severity::Warning, ERROR, text);
        } else if is_begun {
            self.said.bad(type_, Severity::Info, REQUESTED, format!("{what} in progress"));
        } else {
            self.said.good(type_, format!("{what} completed"));
        }
        self.plan.status.insert("dnsAddresses".to_owned(), json!(outer));
        self.plan.status.insert("dnsClusterAddresses".to_owned(), json!(inner));
    }

    /// How pods are to be placed: `Err` while it is not known.
    fn topology(&mut self) -> Result<Option<&'w Value>, ()> {
        let context = self.context;
        let name = context.spec()["topologyRef"]["name"].as_str().filter(|name| !name.is_empty());
        let Some(name) = name else {
            self.plan.status.insert("lastAppliedTopology".to_owned(), Value::Null);
            return Ok(None);
        };
        let Some(found) = context.world.get(Kind::Topology, context.namespace(), name) else {
            let text = format!(
                "Topology config create error occurred Topology {name} is not in namespace {}: create it, or take topologyRef out",
                context.namespace()
            );
            self.said.bad("TopologyReady", Severity::Warning, ERROR, text);
            return Err(());
        };
        self.said.good("TopologyReady", "Topology config create completed");
        let applied = json!({"name": name, "namespace": context.namespace()});
        self.plan.status.insert("lastAppliedTopology".to_owned(), applied);
        Ok(Some(found))
    }

    fn workload(&mut self, hash: &str, selector: &Value, topology: Result<Option<&Value>, ()>) {
        let context = self.context;
        let name = deployment::name(context.name());
        let type_ = "DeploymentReady";
        let hosts: Vec<&str> = self
            .sources
            .iter()
            .filter(|source| source.text.is_some())
            .map(|source| source.name)
            .collect();
        let state = match context.standing(Kind::Deployment, &name) {
            Standing::Ours(live) => running(live),
            _ => Running::default(),
        };
        self.plan.status.insert("readyCount".to_owned(), state.ready.into());
        let Ok(topology) = topology else {
            self.plan.kept.insert((Kind::Deployment, name));
            self.said.unknown(type_, "Deployment not started");
            return;
        };
        let recipe = Recipe {
            server: context.name(),
            generation: self.generation,
            is_own: self.is_own,
            hosts: &hosts,
            hash,
            selector,
            topology,
        };
        let made = self.want(deployment(context, &recipe));
        match made {
            Made::Stuck(why) => {
                let text = format!("Deployment error occurred {why}");
                self.said.bad(type_, Severity::Warning, ERROR, text);
            }
            Made::There if state.is_complete => self.said.good(type_, "Deployment completed"),
            Made::There | Made::Begun => {
                self.said.bad(type_, Severity::Info, REQUESTED, "Deployment in progress");
            }
        }
    }

    /// Options that are refused. dnsmasq does not start with one of them; `landbridge dns` leaves it out.
    fn refused(&mut self, options: &Options) {
        let what = if self.is_own { "Options that are left out" } else { "dnsmasq will not start" };
        let faults: Vec<String> = options.faults.iter().map(ToString::to_string).collect();
        let Some(text) = entries::summary(what, &faults) else { return };
        if self.is_own {
            self.said.aside(OPTIONS, Severity::Warning, ERROR, text.clone());
        } else {
            self.said.bad(OPTIONS, Severity::Warning, ERROR, text.clone());
        }
        self.plan.notices.push(Notice { reason: BAD_OPTION, note: text });
    }

    fn finish(mut self, hash: &str) -> Plan {
        let conditions = conditions(self.context.owner, self.said, self.context.now);
        self.plan.status.insert("conditions".to_owned(), json!(conditions));
        self.plan.status.insert("hash".to_owned(), json!({"input": hash}));
        let generation = object::generation(self.context.owner);
        self.plan.status.insert("observedGeneration".to_owned(), generation.into());
        self.plan
    }
}

/// The pods of a name server, and the Services before them.
fn part<'a>(context: &Context<'a>, generation: Generation) -> Part<'a> {
    let spec = context.spec();
    let name = deployment::name(context.name());
    let target = deployment::port(generation);
    let ports = |udp: &str, tcp: &str| {
        let port =
            |name: &str, protocol| Port { name: name.to_owned(), protocol, number: 53, target };
        vec![port(udp, "UDP"), port(tcp, "TCP")]
    };
    let offer = |service: String, ports, wish| Offer {
        service,
        endpoint: None,
        ports,
        wish,
        registered: &[],
        is_routed: false,
        is_headless: false,
    };
    let blocks = spec["externalEndpoints"].as_array().map_or(&[][..], Vec::as_slice);
    let service = &spec["override"]["service"];
    let offers = if !blocks.is_empty() && !service.is_object() {
        // Upstream's had no TCP then, and long answers did not arrive.
        let one = |block: &'a Value| {
            let pool = block["ipAddressPool"].as_str().unwrap_or_default();
            let service = format!("{name}-{pool}");
            offer(service.clone(), ports(&service, "dnsmasq-tcp"), Wish::First(block))
        };
        blocks.iter().map(one).collect()
    } else {
        let wish = if service.is_object() { Wish::Today(service) } else { Wish::Nothing };
        vec![offer(name.clone(), ports("dnsmasq", "dnsmasq-tcp"), wish)]
    };
    Part {
        name,
        service: "dnsmasq".to_owned(),
        runs: Runs::Deployment,
        replicas: spec["replicas"].as_i64().unwrap_or(1),
        attachments: Vec::new(),
        node_selector: &spec["nodeSelector"],
        image: &spec["containerImage"],
        ports: Vec::new(),
        offers,
        is_sticky: false,
        beside: &[],
        env: Vec::new(),
    }
}

/// The addresses by which pods reach a Service.
fn cluster_addresses(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let all = spec["clusterIPs"].as_array().map_or(&[][..], Vec::as_slice);
    let texts = all.iter().chain(all.is_empty().then_some(&spec["clusterIP"]));
    let texts = texts.filter_map(Value::as_str).filter(|ip| !ip.is_empty() && *ip != "None");
    texts.map(str::to_owned).collect()
}
