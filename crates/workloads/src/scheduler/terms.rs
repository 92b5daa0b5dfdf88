//! Rules about which pods run beside which: affinity, anti-affinity, spread.
//!
//! Pods of one kind write the same term; what a term finds is counted once per term and kept up to
//! date with every pod that gets a node.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;

use crate::labels::{Labels, selects};
use crate::placement;

/// Selects pods, in some namespaces, and says what counts as one place.
#[derive(Clone, Debug)]
struct Term {
    /// None: every namespace.
    namespaces: Option<BTreeSet<String>>,
    /// None selects nothing.
    selector: Option<LabelSelector>,
    topology: String,
}

impl Term {
    fn new(namespace: &str, term: &PodAffinityTerm, labels: Option<&Labels>) -> Self {
        let listed = term.namespaces.clone().unwrap_or_default();
        let namespaces = match &term.namespace_selector {
            // Labels of namespaces are not watched: any selector means all of them.
            Some(_) => None,
            None if listed.is_empty() => Some(BTreeSet::from([namespace.to_owned()])),
            None => Some(listed.into_iter().collect()),
        };
        let mut selector = term.label_selector.clone();
        narrow(&mut selector, labels, term.match_label_keys.as_deref());
        Self { namespaces, selector, topology: term.topology_key.clone() }
    }

    fn matches(&self, pod: &Pod) -> bool {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(namespace))
            && self
                .selector
                .as_ref()
                .is_some_and(|selector| selects(selector, pod.metadata.labels.as_ref()))
    }

    /// Two terms of the same words are the same.
    fn identity(&self) -> String {
        json!([self.namespaces, self.selector, self.topology]).to_string()
    }

    fn domain<'a>(&self, node: &'a Node) -> Option<&'a str> {
        domain(node, &self.topology)
    }
}

/// `matchLabelKeys`: only pods whose label of that key is that of the pod itself.
fn narrow(selector: &mut Option<LabelSelector>, labels: Option<&Labels>, keys: Option<&[String]>) {
    for key in keys.unwrap_or_default() {
        if let (Some(selector), Some(value)) = (selector.as_mut(), labels.and_then(|l| l.get(key)))
        {
            selector.match_labels.get_or_insert_default().insert(key.clone(), value.clone());
        }
    }
}

fn domain<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// How many pods a term finds in each domain.
#[derive(Debug)]
struct Count {
    term: Term,
    in_domain: HashMap<String, usize>,
    total: usize,
}

impl Count {
    fn add(&mut self, pod: &Pod, node: &Node) {
        if self.term.matches(pod) {
            self.total += 1;
            if let Some(domain) = self.term.domain(node) {
                *self.in_domain.entry(domain.to_owned()).or_default() += 1;
            }
        }
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Terms {
    placed: Vec<(Arc<Pod>, Arc<Node>)>,
    counts: HashMap<String, Count>,
    /// Anti-affinity of pods that have a node: whom they keep out, and where.
    keep_out: HashMap<String, (Term, HashSet<String>)>,
}

fn affinity_terms(spec: &PodSpec) -> &[PodAffinityTerm] {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_affinity.as_ref());
    let required =
        affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_deref());
    required.unwrap_or_default()
}

fn anti_terms(spec: &PodSpec) -> &[PodAffinityTerm] {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required =
        affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_deref());
    required.unwrap_or_default()
}

impl Terms {
    /// This pod has this node.
    pub(super) fn place(&mut self, pod: &Arc<Pod>, node: &Arc<Node>) {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        for count in self.counts.values_mut() {
            count.add(pod, node);
        }
        for term in pod.spec.as_ref().map(anti_terms).unwrap_or_default() {
            let term = Term::new(namespace, term, pod.metadata.labels.as_ref());
            let Some(domain) = term.domain(node).map(str::to_owned) else { continue };
            let known = self.keep_out.entry(term.identity()).or_insert((term, HashSet::new()));
            known.1.insert(domain);
        }
        self.placed.push((Arc::clone(pod), Arc::clone(node)));
    }

    fn count(&mut self, term: Term) -> String {
        let identity = term.identity();
        if !self.counts.contains_key(&identity) {
            let mut count = Count { term, in_domain: HashMap::new(), total: 0 };
            for (pod, node) in &self.placed {
                count.add(pod, node);
            }
            self.counts.insert(identity.clone(), count);
        }
        identity
    }

    /// What this pod demands of its neighbours, and they of it.
    pub(super) fn rules_for<'a, 'n>(
        &'a mut self,
        pod: &'a Pod,
        nodes: impl Iterator<Item = &'n Arc<Node>>,
    ) -> Rules<'a> {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let labels = pod.metadata.labels.as_ref();
        let spec = pod.spec.as_ref();
        let term = |term: &PodAffinityTerm| Term::new(&namespace, term, labels);
        let near: Vec<Term> =
            spec.map(affinity_terms).unwrap_or_default().iter().map(term).collect();
        let far: Vec<Term> = spec.map(anti_terms).unwrap_or_default().iter().map(term).collect();
        let constraints = spec.and_then(|s| s.topology_spread_constraints.as_deref());
        let strict: Vec<&TopologySpreadConstraint> = constraints
            .unwrap_or_default()
            .iter()
            .filter(|constraint| constraint.when_unsatisfiable == "DoNotSchedule")
            .collect();
        // Without anybody who matches, a pod that would match itself may be the first.
        let alone = near.iter().all(|term| term.matches(pod));
        let near: Vec<String> = near.into_iter().map(|term| self.count(term)).collect();
        let far: Vec<String> = far.into_iter().map(|term| self.count(term)).collect();
        let spread: Vec<(String, i32, bool)> = strict
            .iter()
            .map(|constraint| {
                let mut selector = constraint.label_selector.clone();
                narrow(&mut selector, labels, constraint.match_label_keys.as_deref());
                let term = Term {
                    namespaces: Some(BTreeSet::from([namespace.clone()])),
                    selector,
                    topology: constraint.topology_key.clone(),
                };
                let itself = term.matches(pod);
                (self.count(term), constraint.max_skew, itself)
            })
            .collect();
        // The least crowded of the domains this pod could go to at all.
        let mut lowest: BTreeMap<String, usize> = BTreeMap::new();
        if !spread.is_empty() {
            for node in nodes.filter(|node| spec.is_none_or(|spec| placement::selects(spec, node)))
            {
                for (identity, _, _) in &spread {
                    let Some(count) = self.counts.get(identity) else { continue };
                    let Some(domain) = count.term.domain(node) else { continue };
                    let here = count.in_domain.get(domain).copied().unwrap_or(0);
                    let least = lowest.entry(identity.clone()).or_insert(here);
                    *least = (*least).min(here);
                }
            }
        }
        let keep_out: Vec<&(Term, HashSet<String>)> =
            self.keep_out.values().filter(|(term, _)| term.matches(pod)).collect();
        let get = |identity: &String| self.counts.get(identity);
        Rules {
            alone: alone && near.iter().filter_map(get).all(|count| count.total == 0),
            near: near.iter().filter_map(get).collect(),
            far: far.iter().filter_map(get).collect(),
            spread: spread
                .iter()
                .filter_map(|(identity, skew, itself)| {
                    let least = lowest.get(identity).copied().unwrap_or(0);
                    Some((get(identity)?, *skew, *itself, least))
                })
                .collect(),
            keep_out,
        }
    }
}

/// The rules that hold for one pod.
pub(super) struct Rules<'a> {
    near: Vec<&'a Count>,
    /// Whether it may be the first of its kind.
    alone: bool,
    far: Vec<&'a Count>,
    /// With maxSkew, whether the pod counts itself, and the least crowded domain.
    spread: Vec<(&'a Count, i32, bool, usize)>,
    keep_out: Vec<&'a (Term, HashSet<String>)>,
}

impl Rules<'_> {
    /// What keeps the pod off this node.
    pub(super) fn reason(&mut self, node: &Node) -> Option<String> {
        let here = |count: &Count| {
            let domain = count.term.domain(node)?;
            Some(count.in_domain.get(domain).copied().unwrap_or(0))
        };
        for (count, skew, itself, least) in &self.spread {
            let Some(found) = here(count) else {
                return Some(
                    "node(s) didn't match pod topology spread constraints (missing required label)"
                        .to_owned(),
                );
            };
            let after = found + usize::from(*itself);
            if after.saturating_sub(*least) > usize::try_from(*skew).unwrap_or(0) {
                return Some("node(s) didn't match pod topology spread constraints".to_owned());
            }
        }
        let near =
            self.near.iter().all(|count| here(count).is_some_and(|found| found > 0 || self.alone));
        if !near {
            return Some("node(s) didn't match pod affinity rules".to_owned());
        }
        if self.far.iter().any(|count| here(count).is_some_and(|found| found > 0)) {
            return Some("node(s) didn't match pod anti-affinity rules".to_owned());
        }
        let kept_out = self.keep_out.iter().any(|(term, domains)| {
            term.domain(node).is_some_and(|domain| domains.contains(domain))
        });
        kept_out.then(|| "node(s) didn't satisfy existing pods anti-affinity rules".to_owned())
    }
}
