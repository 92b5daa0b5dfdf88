//! All roles and bindings, indexed by whom they concern.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Attributes, Decision, Rule};
use crate::object;
use crate::selector::LabelSelector;

type Rules = Arc<[Rule]>;

/// The two kinds of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleKind {
    /// In a namespace.
    Role,
    /// For the whole cluster, or for a namespace through a RoleBinding.
    ClusterRole,
}

impl RoleKind {
    fn word(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
        }
    }
}

/// What one binding gives to one subject.
#[derive(Debug)]
struct Grant {
    /// `None` when the role does not exist: the binding gives nothing then.
    rules: Option<Rules>,
    /// The binding, the role and the subject in words, for the reason of a decision.
    words: Arc<str>,
    /// What to say when the role is missing.
    role: Arc<str>,
}

/// The grants in one namespace, or in the whole cluster.
#[derive(Debug, Default)]
struct Grants {
    users: HashMap<String, Vec<Grant>>,
    groups: HashMap<String, Vec<Grant>>,
}

impl Grants {
    fn of<'a>(&'a self, user: &str, groups: &'a [String]) -> impl Iterator<Item = &'a Grant> {
        let of_user = self.users.get(user).into_iter().flatten();
        of_user.chain(groups.iter().filter_map(|group| self.groups.get(group)).flatten())
    }
}

/// Roles and bindings at one moment. Asking costs as many steps as the subject has rules.
#[derive(Debug, Default)]
pub struct Policy {
    cluster_roles: BTreeMap<String, Rules>,
    roles: BTreeMap<(String, String), Rules>,
    cluster: Grants,
    namespaces: HashMap<String, Grants>,
}

impl Policy {
    /// Reads Roles, ClusterRoles, RoleBindings and ClusterRoleBindings, in any order; objects of
    /// other kinds are passed over.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut cluster_roles = BTreeMap::new();
        let (mut policy, mut bindings) = (Self::default(), Vec::new());
        for object in objects {
            let name = object::name(object).to_owned();
            match object["kind"].as_str().unwrap_or_default() {
                "ClusterRole" => {
                    cluster_roles.insert(name, ClusterRole::read(object));
                }
                "Role" => {
                    let key = (object::namespace(object).to_owned(), name);
                    policy.roles.insert(key, Rule::of_role(object).into());
                }
                "RoleBinding" | "ClusterRoleBinding" => bindings.push(object),
                _ => {}
            }
        }
        for name in cluster_roles.keys() {
            let mut rules = Vec::new();
            collect(&cluster_roles, name, &mut BTreeSet::new(), &mut rules);
            policy.cluster_roles.insert(name.clone(), rules.into());
        }
        for binding in bindings {
            policy.bind(binding);
        }
        policy
    }

    fn bind(&mut self, binding: &Value) {
        let of_cluster = binding["kind"] == "ClusterRoleBinding";
        let (namespace, name) = (object::namespace(binding), object::name(binding));
        let role_name = binding["roleRef"]["name"].as_str().unwrap_or_default();
        let kind = match binding["roleRef"]["kind"].as_str() {
            Some("ClusterRole") => RoleKind::ClusterRole,
            // A role of a namespace means nothing for the whole cluster.
            Some("Role") if !of_cluster => RoleKind::Role,
            _ => return,
        };
        let rules = self.shared(kind, namespace, role_name).cloned();
        let role: Arc<str> = format!(
            "{}.rbac.authorization.k8s.io {role_name:?} not found",
            kind.word().to_lowercase()
        )
        .into();
        let words = if of_cluster {
            format!("ClusterRoleBinding {name:?} of {} {role_name:?}", kind.word())
        } else {
            format!("RoleBinding \"{name}/{namespace}\" of {} {role_name:?}", kind.word())
        };
        let grants = if of_cluster {
            &mut self.cluster
        } else {
            self.namespaces.entry(namespace.to_owned()).or_default()
        };
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            let name = subject["name"].as_str().unwrap_or_default();
            let (list, key, to) = match subject["kind"].as_str().unwrap_or_default() {
                "User" => (&mut grants.users, name.to_owned(), format!("User {name:?}")),
                "Group" => (&mut grants.groups, name.to_owned(), format!("Group {name:?}")),
                "ServiceAccount" => {
                    let home = match subject["namespace"].as_str().unwrap_or_default() {
                        "" => namespace,
                        home => home,
                    };
                    if home.is_empty() {
                        continue;
                    }
                    let user = format!("system:serviceaccount:{home}:{name}");
                    (&mut grants.users, user, format!("ServiceAccount \"{name}/{home}\""))
                }
                _ => continue,
            };
            list.entry(key).or_default().push(Grant {
                rules: rules.clone(),
                words: format!("{words} to {to}").into(),
                role: Arc::clone(&role),
            });
        }
    }

    fn shared(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<&Rules> {
        match kind {
            RoleKind::ClusterRole => self.cluster_roles.get(name),
            RoleKind::Role => self.roles.get(&(namespace.to_owned(), name.to_owned())),
        }
    }

    /// The rules of a role, with those it aggregates; `None` when there is no such role.
    pub fn role_rules(&self, kind: RoleKind, namespace: &str, name: &str) -> Option<&[Rule]> {
        self.shared(kind, namespace, name).map(AsRef::as_ref)
    }

    fn grants<'a>(
        &'a self,
        user: &'a str,
        groups: &'a [String],
        namespace: &str,
    ) -> impl Iterator<Item = &'a Grant> {
        let local = self.namespaces.get(namespace).filter(|_| !namespace.is_empty());
        let local = local.into_iter().flat_map(move |grants| grants.of(user, groups));
        self.cluster.of(user, groups).chain(local)
    }

    /// Whether some rule allows this, and which binding gives it.
    pub fn decide(&self, wanted: &Attributes<'_>) -> Decision {
        // Paths outside of the API belong to no namespace.
        let namespace = if wanted.path.is_some() { "" } else { wanted.namespace };
        let mut missing = BTreeSet::new();
        for grant in self.grants(wanted.user, wanted.groups, namespace) {
            match &grant.rules {
                Some(rules) if rules.iter().any(|rule| rule.allows(wanted)) => {
                    return Decision::Allow(format!("RBAC: allowed by {}", grant.words));
                }
                Some(_) => {}
                None => {
                    missing.insert(&*grant.role);
                }
            }
        }
        let missing: Vec<&str> = missing.into_iter().collect();
        Decision::NoOpinion(match missing.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        })
    }

    /// Every rule that holds for a subject in a namespace; in the whole cluster when it is empty.
    pub fn rules_for<'a>(
        &'a self,
        user: &'a str,
        groups: &'a [String],
        namespace: &str,
    ) -> Vec<&'a Rule> {
        let grants = self.grants(user, groups, namespace);
        grants.filter_map(|grant| grant.rules.as_deref()).flatten().collect()
    }
}

struct ClusterRole {
    rules: Vec<Rule>,
    labels: Option<Map<String, Value>>,
    /// Selectors of the roles it stands for; `None` when it has rules of its own.
    aggregates: Option<Vec<LabelSelector>>,
}

impl ClusterRole {
    fn read(role: &Value) -> Self {
        let selectors = |rule: &Value| {
            let list = rule["clusterRoleSelectors"].as_array().into_iter().flatten();
            list.filter_map(|selector| LabelSelector::from_object(selector).ok()).collect()
        };
        Self {
            rules: Rule::of_role(role),
            labels: object::labels(role).cloned(),
            aggregates: role.get("aggregationRule").filter(|rule| !rule.is_null()).map(selectors),
        }
    }
}

/// The rules of a role or, by the selectors, of the roles it stands for. Roles may stand for each
/// other; each is visited once.
fn collect<'a>(
    all: &'a BTreeMap<String, ClusterRole>,
    name: &'a str,
    seen: &mut BTreeSet<&'a str>,
    into: &mut Vec<Rule>,
) {
    let Some(role) = all.get(name).filter(|_| seen.insert(name)) else { return };
    let Some(selectors) = &role.aggregates else {
        into.extend(
            role.rules.iter().filter(|rule| !into.contains(rule)).cloned().collect::<Vec<_>>(),
        );
        return;
    };
    for (other, candidate) in all {
        if selectors.iter().any(|selector| selector.matches(candidate.labels.as_ref())) {
            collect(all, other, seen, into);
        }
    }
}
