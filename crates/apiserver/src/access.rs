//! Who may do what. Every request passes here before its body is read.
//!
//! ```text
//!  certificate, socket ─┐
//!  bearer token ────────┴► identity ─► impersonate ─► authorize ─┬─ system:masters: yes
//!                                                                ├─ node: a node's own objects
//!                                                                └─ RBAC: machinery::rbac
//!  later, with the object in hand: escalation (roles, bindings) and node (names in bodies)
//! ```
//!
//! RBAC is decided by an index of all roles and bindings that is made anew when one of them
//! changed. Whether one did is told by how many there are and the newest revision among them, so a
//! change counts for the first request that can see it.

mod aggregate;
mod defaults;
mod escalation;
mod impersonate;
mod key;
mod node;
mod request;
mod reviews;
mod secret_tokens;
mod subject;
mod token;
mod token_request;

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use landbridge_machinery::gvk::GroupResource;
use landbridge_machinery::rbac::{Attributes, Decision, Policy};
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::call::Call;
use crate::identity::Identity;
use crate::meta::{self, Entry, Snapshot};
use crate::server::Inner;

pub use aggregate::run as aggregate;
pub use defaults::write as write_defaults;
pub use key::TokenKey;
pub use request::authorize as authorize_request;
pub use reviews::answer as review;
pub use secret_tokens::run as secret_tokens;
pub use token::bearer;
pub use token_request::answer as token;

/// Where all roles and bindings stand in the store. Not the whole group: a CRD may add kinds to it,
/// and their objects are no roles whatever they call themselves.
const RBAC_PREFIXES: [&str; 4] = [
    "/rbac.authorization.k8s.io/clusterrolebindings/",
    "/rbac.authorization.k8s.io/clusterroles/",
    "/rbac.authorization.k8s.io/rolebindings/",
    "/rbac.authorization.k8s.io/roles/",
];

/// What deciding and recognising needs beyond the objects themselves.
pub struct Access {
    cached: ArcSwap<Cached>,
    /// Signs and recognises tokens of service accounts.
    pub tokens: TokenKey,
}

#[derive(Default)]
struct Cached {
    /// The store was looked at when it had this revision.
    revision: u64,
    /// How many roles and bindings there were, and the newest revision among them.
    mark: (usize, u64),
    policy: Arc<Policy>,
}

impl Access {
    /// No role is known yet; the first question reads them.
    pub fn new(tokens: TokenKey) -> Self {
        Self { cached: ArcSwap::default(), tokens }
    }

    /// The roles and bindings of a snapshot.
    pub fn policy(&self, snapshot: &Snapshot) -> Arc<Policy> {
        let cached = self.cached.load();
        if cached.revision == snapshot.revision() {
            return Arc::clone(&cached.policy);
        }
        let mark = mark(snapshot);
        let policy = if mark == cached.mark {
            Arc::clone(&cached.policy)
        } else {
            let objects: Vec<Value> = rules(snapshot).map(|entry| meta::parse(entry)).collect();
            Arc::new(Policy::new(&objects))
        };
        let revision = snapshot.revision();
        self.cached.store(Arc::new(Cached { revision, mark, policy: Arc::clone(&policy) }));
        policy
    }
}

fn rules(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<Entry>> {
    RBAC_PREFIXES.into_iter().flat_map(|prefix| snapshot.range(prefix, None))
}

/// Any write raises the newest revision, and a deletion alone lowers the number.
fn mark(snapshot: &Snapshot) -> (usize, u64) {
    rules(snapshot).fold((0, 0), |(count, newest), entry| (count + 1, newest.max(entry.revision)))
}

/// Who a request acts as: the one who sent it, or whom it asks to impersonate.
pub fn enter<'a>(
    server: &Inner,
    identity: &'a Identity,
    headers: &http::HeaderMap,
) -> ApiResult<Cow<'a, Identity>> {
    let identity = if identity.has_group(subject::AUTHENTICATED) {
        Cow::Borrowed(identity)
    } else {
        Cow::Owned(identity.clone().authenticated())
    };
    match impersonate::wanted(headers)? {
        None => Ok(identity),
        Some(wanted) => wanted.authorized(server, &identity).map(Cow::Owned),
    }
}

/// What the authorizers say, together. `selector` is the `fieldSelector` of a list or watch.
fn decide(server: &Inner, wanted: &Attributes<'_>, selector: &str) -> Decision {
    if wanted.groups.iter().any(|group| group == subject::MASTERS) {
        return Decision::Allow(String::new());
    }
    let snapshot = server.store.snapshot();
    let node = node::decide(&snapshot, &server.node_objects, wanted, selector);
    if node.allowed() {
        return node;
    }
    match server.access.policy(&snapshot).decide(wanted) {
        Decision::NoOpinion(reason) if reason.is_empty() => node,
        decision => decision,
    }
}

/// As [`decide`], as an answer to the client.
fn authorize(server: &Inner, wanted: &Attributes<'_>, selector: &str) -> ApiResult<()> {
    match decide(server, wanted, selector) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(reason) => Err(forbidden(wanted, &reason)),
    }
}

/// 403 in upstream's words.
fn forbidden(wanted: &Attributes<'_>, reason: &str) -> ApiError {
    let mut why = sentence(wanted);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    if wanted.path.is_some() {
        return ApiError::denied(format!("forbidden: {why}"));
    }
    ApiError::forbidden(&GroupResource::new(wanted.group, wanted.resource), wanted.name, &why)
}

fn sentence(wanted: &Attributes<'_>) -> String {
    let (user, verb) = (wanted.user, wanted.verb);
    if let Some(path) = wanted.path {
        return format!("User {user:?} cannot {verb} path {path:?}");
    }
    let resource = match wanted.subresource {
        "" => wanted.resource.to_owned(),
        sub => format!("{}/{sub}", wanted.resource),
    };
    let place = match wanted.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let group = wanted.group;
    format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {place}")
}

/// A PUT or an apply that finds nothing creates: that is a right of its own.
pub fn may_create(call: &Call<'_>) -> ApiResult<()> {
    let wanted = Attributes {
        user: &call.identity.user,
        groups: &call.identity.groups,
        verb: "create",
        group: &call.resource.group,
        resource: &call.resource.plural,
        name: call.name(),
        namespace: call.namespace().unwrap_or_default(),
        ..Attributes::default()
    };
    authorize(call.server, &wanted, "")
}

/// What can be judged only with the object in hand.
pub fn admit(call: &Call<'_>, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    if call.identity.has_group(subject::MASTERS) {
        return Ok(());
    }
    escalation::check(call, object, old)?;
    node::admit(call, object, old)
}

/// The same for an object that is to go.
pub fn admit_delete(call: &Call<'_>, old: &Value) -> ApiResult<()> {
    if call.identity.has_group(subject::MASTERS) {
        return Ok(());
    }
    node::admit_delete(call, old)
}
