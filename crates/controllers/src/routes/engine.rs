//! Who gets which host name: a function of all Routes.
//!
//! - A Route without a host gets `<name>-<namespace>.<domain>`.
//! - A host belongs to the namespace of the oldest Route that names it; within a namespace a host and a
//!   path belong to the oldest Route. Whoever comes later is told who is in the way, and gets the name
//!   when that one goes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use landbridge_api::foreign::route::{
    HOST_GENERATED, Route, RouteCondition, RouteIngress, made_up_host,
};
use serde_json::{Value, json};

use crate::mirror::Key;

/// The name OpenShift gives its own ingress: clients look for it.
const ROUTER: &str = "default";

/// What is to be written for one Route.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Where it stands.
    pub key: Key,
    /// A merge patch of the object, if its host is missing.
    pub object: Option<Value>,
    /// A merge patch of its status, if that is not so already.
    pub status: Option<Value>,
}

/// What is to be written, given all Routes and the domain of the ingress.
pub fn plan(routes: &[Route], domain: &str, now: Timestamp) -> Vec<Update> {
    let mut order: Vec<&Route> =
        routes.iter().filter(|route| route.metadata.deletion_timestamp.is_none()).collect();
    order.sort_by_cached_key(|route| {
        let meta = &route.metadata;
        let age = meta.creation_timestamp.as_ref().map(|time| time.0);
        (age, meta.namespace.clone(), meta.name.clone())
    });
    let mut namespaces: BTreeMap<String, &Route> = BTreeMap::new();
    let mut paths: BTreeMap<(String, String), &Route> = BTreeMap::new();
    let mut updates = Vec::new();
    for route in order {
        let host = host(route, domain);
        let verdict = judge(route, &host, &mut namespaces, &mut paths);
        let update = Update {
            key: key(route),
            object: route.spec.host.is_empty().then(|| {
                json!({
                    "metadata": {"annotations": {HOST_GENERATED: "true"}},
                    "spec": {"host": host},
                })
            }),
            status: status(route, &host, domain, verdict, now),
        };
        if update.object.is_some() || update.status.is_some() {
            updates.push(update);
        }
    }
    updates
}

fn key(route: &Route) -> Key {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Key::new(&text(&route.metadata.namespace), &text(&route.metadata.name))
}

fn host(route: &Route, domain: &str) -> String {
    if !route.spec.host.is_empty() {
        return route.spec.host.to_lowercase();
    }
    let Key { namespace, name } = key(route);
    made_up_host(&name, &namespace, domain)
}

/// Why not, in a word and in a sentence.
type Verdict = Result<(), (&'static str, String)>;

fn judge<'a>(
    route: &'a Route,
    host: &str,
    namespaces: &mut BTreeMap<String, &'a Route>,
    paths: &mut BTreeMap<(String, String), &'a Route>,
) -> Verdict {
    let own = key(route);
    if !is_host(host) {
        let why = format!(
            "{host:?} is no host name: labels of letters, digits and '-', up to 63 characters each"
        );
        return Err(("InvalidHost", why));
    }
    if !route.spec.path.is_empty() && !route.spec.path.starts_with('/') {
        return Err(("InvalidPath", format!("path {:?} must begin with /", route.spec.path)));
    }
    let passthrough = route.spec.tls.as_ref().is_some_and(|tls| tls.termination == "passthrough");
    if passthrough && !route.spec.path.is_empty() {
        let why = "a passthrough Route cannot have a path: the ingress does not see it".to_owned();
        return Err(("InvalidPath", why));
    }
    let first = namespaces.entry(host.to_owned()).or_insert(route);
    let holder = key(first);
    if holder.namespace != own.namespace {
        let why =
            format!("a route in another namespace holds {host} and is older than {}", own.name);
        return Err(("HostAlreadyClaimed", why));
    }
    let first = paths.entry((host.to_owned(), route.spec.path.clone())).or_insert(route);
    let holder = key(first);
    if holder != own {
        let why = format!("route {} already exposes {host} and is older", holder.name);
        return Err(("HostAlreadyClaimed", why));
    }
    Ok(())
}

fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.len() <= 253 && host.split('.').all(label)
}

fn status(
    route: &Route,
    host: &str,
    domain: &str,
    verdict: Verdict,
    now: Timestamp,
) -> Option<Value> {
    let (status, (reason, message)) = match verdict {
        Ok(()) => ("True", ("", String::new())),
        Err(why) => ("False", why),
    };
    let before = route.status.ingress.iter().find(|ingress| ingress.router_name == ROUTER);
    let known =
        before.and_then(|ingress| ingress.conditions.iter().find(|c| c.type_ == "Admitted"));
    let since = known.filter(|known| known.status == status);
    let wanted = RouteIngress {
        host: host.to_owned(),
        router_name: ROUTER.to_owned(),
        router_canonical_hostname: format!("router-{ROUTER}.{domain}"),
        wildcard_policy: "None".to_owned(),
        conditions: vec![RouteCondition {
            type_: "Admitted".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_transition_time: since.map_or_else(
                || now.strftime("%FT%TZ").to_string(),
                |c| c.last_transition_time.clone(),
            ),
        }],
    };
    if before == Some(&wanted) {
        return None;
    }
    // What other ingresses say stays.
    let mut ingress: Vec<&RouteIngress> =
        route.status.ingress.iter().filter(|ingress| ingress.router_name != ROUTER).collect();
    ingress.push(&wanted);
    Some(json!({"status": {"ingress": ingress}}))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn route(name: &str, spec: &Value, second: i64) -> Route {
        let (namespace, name) = name.split_once('/').unwrap();
        let created = Timestamp::from_second(second).unwrap().to_string();
        serde_json::from_value(json!({
            "metadata": {"namespace": namespace, "name": name, "creationTimestamp": created},
            "spec": spec,
        }))
        .unwrap()
    }

    /// Plans, and gives the Routes as they are when all of it is written.
    fn settle(mut routes: Vec<Route>) -> Vec<Route> {
        let now = Timestamp::from_second(1_000).unwrap();
        for update in plan(&routes, "apps.test", now) {
            let route = routes.iter_mut().find(|route| key(route) == update.key).unwrap();
            if let Some(object) = update.object {
                route.spec.host = object["spec"]["host"].as_str().unwrap().to_owned();
            }
            if let Some(status) = update.status {
                route.status = serde_json::from_value(status["status"].clone()).unwrap();
            }
        }
        assert_eq!(plan(&routes, "apps.test", now), [], "what is written is not written again");
        routes
    }

    fn said(route: &Route) -> (String, String) {
        let condition = &route.status.ingress[0].conditions[0];
        (condition.status.clone(), condition.reason.clone())
    }

    #[test]
    fn a_route_without_a_host_gets_one() {
        let routes = settle(vec![route("openstack/glance-public", &json!({}), 1)]);
        assert_eq!(routes[0].spec.host, "glance-public-openstack.apps.test");
        assert_eq!(routes[0].status.ingress[0].host, "glance-public-openstack.apps.test");
        assert!(routes[0].is_admitted());
    }

    #[test]
    fn the_older_has_the_host_and_the_younger_inherits_it() {
        let of = |second| json!({"host": "Web.test", "path": if second == 9 { "/x" } else { "" }});
        let young = route("a/young", &of(2), 2);
        let old = route("a/old", &of(1), 1);
        let path = route("a/path", &of(9), 3);
        let far = route("b/far", &of(9), 4);
        let routes = settle(vec![young.clone(), old, path, far]);
        assert_eq!(said(&routes[0]), ("False".to_owned(), "HostAlreadyClaimed".to_owned()));
        let message = &routes[0].status.ingress[0].conditions[0].message;
        assert_eq!(message, "route old already exposes web.test and is older");
        assert!(routes[1].is_admitted());
        assert!(routes[2].is_admitted(), "another path of the same namespace");
        assert_eq!(said(&routes[3]).1, "HostAlreadyClaimed", "another namespace, whatever path");
        let after = settle(vec![routes[0].clone(), routes[3].clone()]);
        assert!(after[0].is_admitted() && !after[1].is_admitted());
    }

    #[test]
    fn wrong_routes_are_told() {
        for (spec, reason) in [
            (json!({"host": "under_score.test"}), "InvalidHost"),
            (json!({"host": "*.test"}), "InvalidHost"),
            (json!({"host": "a..test"}), "InvalidHost"),
            (json!({"host": "-a.test"}), "InvalidHost"),
            (json!({"host": "a.test", "path": "x"}), "InvalidPath"),
            (
                json!({"host": "a.test", "path": "/x", "tls": {"termination": "passthrough"}}),
                "InvalidPath",
            ),
        ] {
            let routes = settle(vec![route("a/b", &spec, 1)]);
            assert_eq!(said(&routes[0]), ("False".to_owned(), reason.to_owned()), "{spec}");
        }
    }

    #[test]
    fn others_words_stay() {
        let mut one = route("a/b", &json!({"host": "a.test"}), 1);
        one.status
            .ingress
            .push(RouteIngress { router_name: "shard".to_owned(), ..RouteIngress::default() });
        let routes = settle(vec![one]);
        let names: Vec<&str> =
            routes[0].status.ingress.iter().map(|i| i.router_name.as_str()).collect();
        assert_eq!(names, ["shard", "default"]);
    }
}
