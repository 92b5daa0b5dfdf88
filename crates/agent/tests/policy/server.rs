//! A Kubernetes API as far as policies need one: revisions, generations, preconditions, and a log
//! of what happened.

use std::collections::BTreeMap;

use landbridge_agent::policy::seen::{AgentSeen, Enactment, Identity, NodeSeen, Policy};
use landbridge_api::foreign::nmstate::objects::{PolicySpec, enactment_name};
use landbridge_controllers::mirror::{Key, Told};

/// One kind: what is there, and what happened.
pub struct Shelf<T> {
    pub objects: BTreeMap<String, T>,
    pub log: Vec<Told<T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), log: Vec::new() }
    }
}

pub trait Kept: Clone {
    fn id(&mut self) -> &mut Identity;
}

impl Kept for NodeSeen {
    fn id(&mut self) -> &mut Identity {
        &mut self.id
    }
}
impl Kept for AgentSeen {
    fn id(&mut self) -> &mut Identity {
        &mut self.0
    }
}
impl Kept for Policy {
    fn id(&mut self) -> &mut Identity {
        &mut self.id
    }
}
impl Kept for Enactment {
    fn id(&mut self) -> &mut Identity {
        &mut self.id
    }
}

impl<T: Kept> Shelf<T> {
    fn put(&mut self, mut object: T, revision: u64) -> T {
        object.id().revision = revision;
        let name = object.id().name().to_owned();
        self.objects.insert(name, object.clone());
        self.log.push(Told::Applied(object.clone()));
        object
    }

    fn remove(&mut self, name: &str, revision: u64) {
        if let Some(mut object) = self.objects.remove(name) {
            object.id().revision = revision;
            self.log.push(Told::Deleted(object));
        }
    }
}

#[derive(Default)]
pub struct Server {
    pub revision: u64,
    pub nodes: Shelf<NodeSeen>,
    pub agents: Shelf<AgentSeen>,
    pub policies: Shelf<Policy>,
    pub enactments: Shelf<Enactment>,
    pub writes: usize,
}

impl Server {
    fn next(&mut self) -> u64 {
        self.writes += 1;
        self.revision += 1;
        self.revision
    }

    fn identity(&mut self, name: &str) -> Identity {
        let uid = format!("uid-{}", self.revision + 1);
        Identity { key: Key::new("", name), uid, revision: 0 }
    }

    pub fn add_node(&mut self, name: &str, label: &str) {
        let id = self.identity(name);
        let labels = BTreeMap::from([("role".to_owned(), label.to_owned())]);
        let revision = self.next();
        self.nodes.put(NodeSeen { id, labels, ready: true, addresses: vec![] }, revision);
        let id = self.identity(name);
        let revision = self.next();
        self.agents.put(AgentSeen(id), revision);
    }

    pub fn change_node(&mut self, name: &str, change: impl FnOnce(&mut NodeSeen)) {
        let Some(mut node) = self.nodes.objects.get(name).cloned() else { return };
        change(&mut node);
        let revision = self.next();
        self.nodes.put(node, revision);
    }

    /// Takes the node away, and what it owns.
    pub fn remove_node(&mut self, name: &str) {
        let revision = self.next();
        self.nodes.remove(name, revision);
        let revision = self.next();
        self.agents.remove(name, revision);
        let owned: Vec<String> = self
            .enactments
            .objects
            .values()
            .filter(|enactment| enactment.node == name)
            .map(|enactment| enactment.id.name().to_owned())
            .collect();
        for name in owned {
            let revision = self.next();
            self.enactments.remove(&name, revision);
        }
    }

    pub fn add_policy(&mut self, name: &str, spec: PolicySpec) {
        if self.policies.objects.contains_key(name) {
            return;
        }
        let id = self.identity(name);
        let revision = self.next();
        self.policies.put(Policy { id, generation: 1, spec, ..Policy::default() }, revision);
    }

    pub fn edit_policy(&mut self, name: &str, change: impl FnOnce(&mut PolicySpec)) {
        let Some(mut policy) = self.policies.objects.get(name).cloned() else { return };
        let before = policy.spec.clone();
        change(&mut policy.spec);
        if policy.spec != before {
            policy.generation += 1;
        }
        let revision = self.next();
        self.policies.put(policy, revision);
    }

    pub fn remove_policy(&mut self, name: &str) {
        let revision = self.next();
        self.policies.remove(name, revision);
    }

    /// A status of a policy, if it is still at that revision.
    pub fn report(&mut self, report: &landbridge_agent::policy::engine::Report) -> bool {
        let Some(policy) = self.policies.objects.get(&report.policy) else { return false };
        if policy.id.uid != report.uid || policy.id.revision != report.revision {
            return false;
        }
        assert_eq!(policy.status, *report.before, "what was read is what is there");
        let policy = Policy { status: (*report.status).clone(), ..policy.clone() };
        let revision = self.next();
        self.policies.put(policy, revision);
        true
    }

    pub fn create_enactment(&mut self, node: &str, policy: &str, policy_uid: &str) {
        let name = enactment_name(node, policy);
        if self.enactments.objects.contains_key(&name) || !self.nodes.objects.contains_key(node) {
            return;
        }
        let id = self.identity(&name);
        let made = Enactment {
            id,
            node: node.to_owned(),
            policy: policy.to_owned(),
            policy_uid: Some(policy_uid.to_owned()),
            ..Enactment::default()
        };
        let revision = self.next();
        self.enactments.put(made, revision);
    }

    pub fn change_enactment(
        &mut self,
        name: &str,
        uid: &str,
        at: u64,
        change: impl FnOnce(&mut Enactment),
    ) {
        let found = self.enactments.objects.get(name).cloned();
        let Some(mut enactment) = found.filter(|e| e.id.uid == uid && e.id.revision == at) else {
            return;
        };
        change(&mut enactment);
        let revision = self.next();
        self.enactments.put(enactment, revision);
    }

    pub fn delete_enactment(&mut self, name: &str, uid: &str) {
        if self.enactments.objects.get(name).is_some_and(|e| e.id.uid == uid) {
            let revision = self.next();
            self.enactments.remove(name, revision);
        }
    }
}
