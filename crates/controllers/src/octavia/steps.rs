//! From what should be in Neutron and what is there to the next steps: a function.
//!
//! A step is only there when everything it needs is: the steps of one round do not depend on each other. After a
//! round one looks again, so it does not matter whether an answer was lost, or somebody was faster; when there is
//! no step left, everything is as it should be, or it is told why it cannot be.
//!
//! | module | idea |
//! |---|---|
//! | `groups` | security groups and their rules |
//! | `networks` | networks, subnets, who may use them |
//! | `link` | the router, its ports, and the way back |
//! | `removal` | taking away what was made |

mod groups;
mod link;
mod networks;
mod removal;

use std::collections::BTreeSet;

use http::Method;
use landbridge_openstack::{Call, Service};
use landbridge_plan::octavia::Design;
use serde_json::{Map, Value, json};

use super::choose::{Choice, Sought, noted, tagged};
use super::compare::differences;
use super::marks::{Noted, Owner, is_mark, role, role_tag};
use super::seen::{Seen, Thing};

/// One call, and what it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// For people: `create network lb-mgmt-net`.
    pub title: String,
    /// The call.
    pub call: Call,
}

/// What is to be done now.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The steps of this round, in no particular order.
    pub steps: Vec<Step>,
    /// What cannot be as it should, and what people can do about it.
    pub troubles: Vec<String>,
    /// What pods and amphorae need to know, as far as it is there.
    pub found: Found,
    /// The project of amphorae, where it is looked after.
    pub project: Option<String>,
    /// Networks that are to go, and of which nobody has looked who uses them.
    pub asks: BTreeSet<String>,
}

/// What pods and amphorae need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The network amphorae boot on.
    pub network: Option<String>,
    /// The security group they get.
    pub group: Option<String>,
    /// The router's address, as pods reach it.
    pub gateway: Option<String>,
    /// Prefixes behind it.
    pub prefixes: Vec<String>,
    /// What else people may want to know.
    pub note: Option<String>,
}

/// What people may have chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What cannot be changed may be taken away and made anew.
    pub may_recreate: bool,
    /// It is also looked for what was made and got another name before anybody could note it. That costs some more
    /// questions, and there is nothing to find where all went well before.
    pub is_careful: bool,
}

/// What is to be done so that everything is as designed.
pub fn decide(design: &Design, owner: &Owner, seen: &Seen, options: Options) -> Decision {
    let mut work = Work::new(owner, seen, options);
    let (Some(project), Some(admin)) = (&seen.project, &seen.admin) else {
        return work.decision; // whoever looked says which is missing
    };
    work.decision.project = Some(project.clone());
    let groups = work.groups(project, admin);
    let provider = work.provider(design, admin);
    let tenants = work.tenants(design, project);
    work.link(design, admin, &groups, provider, &tenants);
    work.notes();
    work.quota(project);
    work.obsolete(design);
    work.strays(design);
    work.decision.found.group =
        groups.first().copied().flatten().map(|group| group.id().to_owned());
    work.decision
}

/// What is to be done so that nothing is left of what was made. Nothing to do: nothing is left.
pub fn remove(owner: &Owner, seen: &Seen) -> Decision {
    let mut work = Work::new(owner, seen, Options::default());
    work.remove_all();
    if !work.decision.troubles.is_empty() {
        // As long as load balancers are there, they keep their way.
        work.decision.steps.clear();
    }
    work.decision
}

/// What is to be done so that everything stays, and nothing says that it is looked after.
pub fn let_go(owner: &Owner, seen: &Seen) -> Decision {
    let mut work = Work::new(owner, seen, Options::default());
    for (kind, things) in work.kinds() {
        for thing in things {
            work.forget(kind, thing);
        }
    }
    work.decision
}

struct Work<'a> {
    owner: &'a Owner,
    seen: &'a Seen,
    options: Options,
    decision: Decision,
    /// The networks that are looked after, each with whether it was made here.
    kept: Vec<(&'a Thing, bool)>,
    /// Networks that go: nothing more is put on them.
    doomed: BTreeSet<String>,
    /// The router in use, when it was made here.
    made_router: Option<&'a Thing>,
    /// Ports in use that were made here: id of the network, and of the port.
    made_ports: Vec<(String, String)>,
}

/// A kind of Neutron's, as it stands in URLs and for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Network,
    Subnet,
    Port,
    Router,
    Group,
}

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Subnet => "subnet",
            Self::Port => "port",
            Self::Router => "router",
            Self::Group => "security group",
        }
    }

    fn singular(self) -> &'static str {
        match self {
            Self::Group => "security_group",
            other => other.title(),
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Network => "/networks",
            Self::Subnet => "/subnets",
            Self::Port => "/ports",
            Self::Router => "/routers",
            Self::Group => "/security-groups",
        }
    }
}

/// What an object should be like.
struct Wanted<'w> {
    kind: Kind,
    name: &'w str,
    project: Option<&'w str>,
    /// Said when it is made.
    new: Map<String, Value>,
    /// Kept so.
    fields: Map<String, Value>,
    /// Cannot be changed later.
    fixed: Map<String, Value>,
}

impl Wanted<'_> {
    /// What differs and cannot be changed.
    fn immovable(&self, one: &Thing) -> Vec<String> {
        let differ = differences(one, &self.fixed);
        differ
            .iter()
            .map(|(field, value)| {
                format!(
                    "{} {} has {field} {}, {value} is wanted, and Neutron cannot change that",
                    self.kind.title(),
                    self.name,
                    one.get(field).unwrap_or(&Value::Null),
                )
            })
            .collect()
    }

    fn sought(&self) -> Sought<'_> {
        let description = self.fields.get("description").and_then(Value::as_str);
        Sought {
            kind: self.kind.title(),
            name: self.name,
            project: self.project,
            description: description.unwrap_or_default(),
        }
    }
}

impl<'a> Work<'a> {
    fn new(owner: &'a Owner, seen: &'a Seen, options: Options) -> Self {
        Self {
            owner,
            seen,
            options,
            decision: Decision::default(),
            kept: Vec::new(),
            doomed: BTreeSet::new(),
            made_router: None,
            made_ports: Vec::new(),
        }
    }

    fn kinds(&self) -> [(Kind, &'a [Thing]); 3] {
        let Seen { networks, subnets, groups, .. } = self.seen;
        [(Kind::Network, networks), (Kind::Subnet, subnets), (Kind::Group, groups)]
    }

    fn step(&mut self, title: String, call: Call) {
        // Two purposes may ask for the same.
        if !self.decision.steps.iter().any(|step| step.call == call) {
            self.decision.steps.push(Step { title, call });
        }
    }

    fn trouble(&mut self, text: String) {
        self.decision.troubles.push(text);
    }

    /// Finds, makes, marks and mends one of the things that carry tags.
    fn tagged(
        &mut self,
        wanted: &Wanted<'_>,
        things: impl Iterator<Item = &'a Thing>,
    ) -> Choice<'a> {
        let sought = wanted.sought();
        let choice = tagged(self.owner, sought, things);
        self.settle(wanted, &choice);
        if let Some(one) = choice.one {
            if !choice.is_marked {
                for tag in [role_tag(wanted.name, choice.is_made), self.owner.tag().to_owned()] {
                    if !one.tags().any(|known| known == tag) {
                        self.tag(wanted.kind, one, wanted.name, &tag);
                    }
                }
            }
            // The birth mark stays until the tags are there.
            let is_ready = choice.is_marked || !choice.is_made;
            self.mend(wanted, one, is_ready);
        }
        choice
    }

    /// Finds, makes and mends one of the things that are noted on networks.
    fn noted(
        &mut self,
        wanted: &Wanted<'_>,
        what: Noted,
        things: impl Iterator<Item = &'a Thing>,
    ) -> Choice<'a> {
        let sought = wanted.sought();
        let notes: BTreeSet<&str> =
            self.seen.networks.iter().flat_map(|network| what.ids(network.tags())).collect();
        let choice = noted(self.owner, sought, things, |thing| notes.contains(thing.id()));
        self.settle(wanted, &choice);
        if let Some(one) = choice.one {
            let is_ready = choice.is_marked || !choice.is_made;
            self.mend(wanted, one, is_ready);
        }
        choice
    }

    /// What follows from a choice, whatever it is noted by.
    fn settle(&mut self, wanted: &Wanted<'_>, choice: &Choice<'_>) {
        if let Some(trouble) = &choice.trouble {
            return self.trouble(trouble.clone());
        }
        for spare in &choice.spares {
            self.delete(wanted.kind, spare, "a second time");
        }
        if choice.one.is_none() {
            let mut body = wanted.new.clone();
            body.extend(wanted.fixed.clone());
            body.insert("name".to_owned(), wanted.name.into());
            body.insert("description".to_owned(), self.owner.birth().into());
            if let Some(project) = wanted.project {
                body.insert("project_id".to_owned(), project.into());
            }
            let title = format!("create {} {}", wanted.kind.title(), wanted.name);
            let body = json!({wanted.kind.singular(): body});
            self.step(title, Call::post(Service::Network, wanted.kind.path(), body));
        }
    }

    /// Puts right what can be changed, and tells of what cannot.
    fn mend(&mut self, wanted: &Wanted<'_>, one: &Thing, is_ready: bool) {
        let mut fields = wanted.fields.clone();
        fields.insert("name".to_owned(), wanted.name.into());
        if !is_ready {
            fields.remove("description");
        }
        let changes = differences(one, &fields);
        if !changes.is_empty() {
            let names: Vec<&str> = changes.keys().map(String::as_str).collect();
            let title =
                format!("set {} of {} {}", names.join(", "), wanted.kind.title(), wanted.name);
            let path = format!("{}/{}", wanted.kind.path(), one.id());
            let body = json!({wanted.kind.singular(): changes});
            self.step(title, Call::put(Service::Network, path, body));
        }
    }

    fn tag(&mut self, kind: Kind, one: &Thing, name: &str, tag: &str) {
        let path = format!("{}/{}/tags/{tag}", kind.path(), one.id());
        let title = format!("tag {} {name}", kind.title());
        self.step(title, Call::new(Service::Network, Method::PUT, path));
    }

    fn untag(&mut self, kind: Kind, one: &Thing, tag: &str) {
        let path = format!("{}/{}/tags/{tag}", kind.path(), one.id());
        let title = format!("take a tag from {} {}", kind.title(), one.name());
        self.step(title, Call::delete(Service::Network, path));
    }

    fn delete(&mut self, kind: Kind, one: &Thing, why: &str) {
        let title = format!("delete {} {} ({}), made {why}", kind.title(), one.name(), one.id());
        let path = format!("{}/{}", kind.path(), one.id());
        self.step(title, Call::delete(Service::Network, path));
    }

    /// Takes all of our marks from a thing, the one by which it is found last.
    fn forget(&mut self, kind: Kind, one: &Thing) {
        if !one.tags().any(|tag| tag == self.owner.tag()) {
            return;
        }
        let marks: Vec<&str> =
            one.tags().filter(|tag| is_mark(tag) && *tag != self.owner.tag()).collect();
        if marks.is_empty() {
            let tag = self.owner.tag().to_owned();
            return self.untag(kind, one, &tag);
        }
        for mark in marks {
            self.untag(kind, one, mark);
        }
    }

    /// Keeps the notes on networks about what was made besides them.
    fn notes(&mut self) {
        let router = self.made_router.map(|router| Noted::Router.tag(router.id()));
        for (network, _) in self.kept.clone() {
            let ports = self.made_ports.iter().filter(|(on, _)| on == network.id());
            let wanted: BTreeSet<String> = ports
                .map(|(_, port)| Noted::Port.tag(port))
                .chain(router.iter().cloned())
                .collect();
            for tag in &wanted {
                if !network.tags().any(|known| known == tag) {
                    self.tag(Kind::Network, network, network.name(), tag);
                }
            }
            for what in [Noted::Router, Noted::Port] {
                let ids = what.ids(network.tags()).map(str::to_owned).collect::<Vec<_>>();
                for id in ids {
                    // What is there and not in use is gone before its note is.
                    let tag = what.tag(&id);
                    let list =
                        if what == Noted::Router { &self.seen.routers } else { &self.seen.ports };
                    let is_there = list.iter().any(|thing| thing.id() == id);
                    if !wanted.contains(&tag) && !is_there {
                        self.untag(Kind::Network, network, &tag);
                    }
                }
            }
        }
    }

    /// Whether it carries our tag and was made here, or has our birth mark.
    fn is_made(&self, thing: &Thing) -> bool {
        let is_ours = thing.tags().any(|tag| tag == self.owner.tag());
        (is_ours && role(thing).is_some_and(|(_, is_made)| is_made)) || self.owner.is_newborn(thing)
    }
}

/// The fields of a map.
fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
