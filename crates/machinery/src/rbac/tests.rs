//! Tables of what is allowed, and properties over random policies.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn role(namespace: &str, name: &str, rules: &Value) -> Value {
    json!({"kind": "Role", "metadata": {"namespace": namespace, "name": name}, "rules": rules})
}

fn cluster_role(name: &str, rules: &Value) -> Value {
    json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
}

fn binding(namespace: &str, name: &str, role: (&str, &str), subject: &Value) -> Value {
    let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    json!({
        "kind": kind, "metadata": {"namespace": namespace, "name": name},
        "roleRef": {"kind": role.0, "name": role.1}, "subjects": [subject],
    })
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "name": name})
}

/// `VERB [GROUP/]RESOURCE[/SUB][:NAME]` or `VERB /path`.
fn ask<'a>(
    who: &'a str,
    groups: &'a [String],
    namespace: &'a str,
    what: &'a str,
) -> Attributes<'a> {
    let (verb, what) = what.split_once(' ').expect("verb");
    let base = Attributes { user: who, groups, verb, namespace, ..Attributes::default() };
    if what.starts_with('/') {
        return Attributes { path: Some(what), ..base };
    }
    let (what, name) = what.split_once(':').unwrap_or((what, ""));
    let (group, what) = what.split_once('.').unwrap_or(("", what));
    let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
    Attributes { group, resource, subresource, name, ..base }
}

#[test]
fn rules_allow_what_they_say() {
    let rule = |value: Value| Rule::from_value(&value);
    let pods = rule(
        json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/status"]}),
    );
    let named = rule(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
    );
    let scale = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*/scale"]}));
    let all = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
    let urls = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/openapi/*"]}));
    let every_url = rule(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    let table: &[(&Rule, &str, bool)] = &[
        (&pods, "get pods", true),
        (&pods, "get pods:x", true),
        (&pods, "watch pods", false),
        (&pods, "get apps.pods", false),
        (&pods, "get pods/status:x", true),
        (&pods, "get pods/log:x", false),
        (&pods, "get /pods", false),
        (&named, "get secrets:a", true),
        (&named, "get secrets:b", false),
        (&named, "get secrets", false),
        (&scale, "update apps.deployments/scale:d", true),
        (&scale, "update apps.deployments:d", false),
        (&scale, "update apps.deployments/status:d", false),
        (&all, "get apps.deployments/status:d", true),
        (&all, "* *", true),
        (&all, "get /healthz", false),
        (&urls, "get /healthz", true),
        (&urls, "get /healthz/ping", false),
        (&urls, "get /openapi/v3", true),
        (&urls, "get /openapi", false),
        (&urls, "post /healthz", false),
        (&every_url, "post /x", true),
        (&every_url, "get pods", false),
    ];
    for (rule, what, wanted) in table {
        assert_eq!(rule.allows(&ask("u", &[], "", what)), *wanted, "{rule} {what}");
    }
}

#[test]
fn bindings_give_roles_to_subjects() {
    let read = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let url = json!([{"verbs": ["get"], "nonResourceURLs": ["/x"]}, {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}]);
    let objects = [
        role("a", "read", &read),
        cluster_role("read", &read),
        cluster_role("url", &url),
        binding("a", "b1", ("Role", "read"), &user("bob")),
        binding("b", "b2", ("ClusterRole", "read"), &json!({"kind": "Group", "name": "team"})),
        binding(
            "c",
            "b3",
            ("ClusterRole", "read"),
            &json!({"kind": "ServiceAccount", "name": "sa"}),
        ),
        binding("", "b4", ("ClusterRole", "url"), &user("eve")),
        binding("a", "b5", ("ClusterRole", "url"), &user("bob")),
        binding("", "b6", ("Role", "read"), &user("mallory")),
        binding("d", "b7", ("Role", "lost"), &user("bob")),
    ];
    let policy = Policy::new(&objects);
    let team = ["team".to_owned()];
    let account = "system:serviceaccount:c:sa";
    let table: &[(&str, &[String], &str, &str, &str)] = &[
        (
            "bob",
            &[],
            "a",
            "get pods",
            r#"RBAC: allowed by RoleBinding "b1/a" of Role "read" to User "bob""#,
        ),
        ("bob", &[], "b", "get pods", ""),
        ("bob", &[], "", "get pods", ""),
        (
            "ann",
            &team,
            "b",
            "get pods",
            r#"RBAC: allowed by RoleBinding "b2/b" of ClusterRole "read" to Group "team""#,
        ),
        ("ann", &[], "b", "get pods", ""),
        (
            account,
            &[],
            "c",
            "get pods",
            r#"RBAC: allowed by RoleBinding "b3/c" of ClusterRole "read" to ServiceAccount "sa/c""#,
        ),
        (
            "eve",
            &[],
            "",
            "get /x",
            r#"RBAC: allowed by ClusterRoleBinding "b4" of ClusterRole "url" to User "eve""#,
        ),
        (
            "eve",
            &[],
            "a",
            "get nodes:n",
            r#"RBAC: allowed by ClusterRoleBinding "b4" of ClusterRole "url" to User "eve""#,
        ),
        ("bob", &[], "", "get /x", ""),
        ("mallory", &[], "", "get pods", ""),
        ("bob", &[], "d", "get pods", r#"RBAC: role.rbac.authorization.k8s.io "lost" not found"#),
    ];
    for (who, groups, namespace, what, reason) in table {
        let decision = policy.decide(&ask(who, groups, namespace, what));
        assert_eq!(decision.reason(), *reason, "{who} {what} in {namespace}");
        assert_eq!(decision.allowed(), reason.contains("allowed by"));
    }
    assert_eq!(policy.rules_for("bob", &[], "a").len(), 3);
    assert_eq!(policy.rules_for("bob", &[], "").len(), 0);
}

#[test]
fn aggregated_roles_are_unions_over_all_levels() {
    let labelled = |name: &str, label: &str, resource: &str| {
        json!({
            "kind": "ClusterRole", "metadata": {"name": name, "labels": {label: "true"}},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}],
        })
    };
    let aggregated = |name: &str, own: &str, select: &str| {
        json!({
            "kind": "ClusterRole", "metadata": {"name": name, "labels": {own: "true"}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {select: "true"}}]},
            "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        })
    };
    let objects = [
        labelled("l1", "to-view", "pods"),
        labelled("l2", "to-edit", "secrets"),
        aggregated("view", "to-edit", "to-view"),
        aggregated("edit", "to-view", "to-edit"), // a circle
        binding("", "b", ("ClusterRole", "edit"), &user("bob")),
    ];
    let policy = Policy::new(&objects);
    for (what, wanted) in [("get pods", true), ("get secrets", true), ("get nodes", false)] {
        assert_eq!(policy.decide(&ask("bob", &[], "", what)).allowed(), wanted, "{what}");
    }
}

#[test]
fn nobody_can_give_what_he_does_not_have() {
    let rule = |value: Value| Rule::from_value(&value);
    let pods = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]});
    let one =
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"]});
    let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    let urls = json!({"verbs": ["get"], "nonResourceURLs": ["/a/*"]});
    let table = [
        (&pods, &pods, ""),
        (&pods, &one, ""),
        (&one, &pods, r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#),
        (&pods, &all, r#"{APIGroups:["*"], Resources:["*"], Verbs:["*"]}"#),
        (&all, &pods, ""),
        (&all, &all, ""),
        (&all, &urls, r#"{NonResourceURLs:["/a/*"], Verbs:["get"]}"#),
        (&urls, &urls, ""),
    ];
    for (held, wanted, missing) in table {
        let found = uncovered(&[&rule(held.clone())], &[rule(wanted.clone())]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(" "), missing, "{held} {wanted}");
    }
}

fn some_of(words: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(proptest::sample::select(words), 0..=most)
        .prop_map(|list| list.into_iter().map(str::to_owned).collect())
}

const VERBS: &[&str] = &["get", "list", "create", "*"];
const GROUPS: &[&str] = &["", "apps", "*"];
const RESOURCES: &[&str] = &["pods", "pods/status", "*/status", "deployments", "*"];
const NAMES: &[&str] = &["x", "y"];
const URLS: &[&str] = &["/a", "/a/*", "/b*", "*"];
const SPACES: &[&str] = &["n", "m"];
const WHO: &[&str] = &["bob", "ann", "system:serviceaccount:n:sa"];

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let rule = (
        some_of(VERBS, 2),
        some_of(GROUPS, 2),
        some_of(RESOURCES, 2),
        some_of(NAMES, 1),
        some_of(URLS, 1),
    )
        .prop_map(|(verbs, groups, resources, names, urls)| Rule {
            verbs,
            groups,
            resources,
            names,
            urls,
        });
    proptest::collection::vec(rule, 0..3)
}

fn pick(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(words).prop_map(str::to_owned)
}

fn a_role() -> impl Strategy<Value = Value> {
    (pick(SPACES), pick(&["r", "s"]), rules(), any::<bool>()).prop_map(
        |(namespace, name, rules, cluster)| {
            let rules: Value = rules.iter().map(Rule::to_value).collect();
            if cluster { cluster_role(&name, &rules) } else { role(&namespace, &name, &rules) }
        },
    )
}

fn a_binding() -> impl Strategy<Value = Value> {
    let subject = prop_oneof![
        pick(WHO).prop_map(|name| user(&name)),
        Just(json!({"kind": "Group", "name": "team"})),
        Just(json!({"kind": "ServiceAccount", "name": "sa", "namespace": "n"})),
    ];
    (pick(&["", "n", "m"]), pick(&["Role", "ClusterRole"]), pick(&["r", "s"]), subject).prop_map(
        |(namespace, kind, name, subject)| binding(&namespace, "b", (&kind, &name), &subject),
    )
}

/// `(user, in the team, verb, group, resource, subresource, name, namespace, path)`.
type Question = (String, bool, String, String, String, String, String, String, Option<String>);

fn a_question() -> impl Strategy<Value = Question> {
    (
        pick(WHO),
        any::<bool>(),
        pick(&["get", "list", "delete"]),
        pick(&["", "apps"]),
        pick(&["pods", "deployments"]),
        pick(&["", "status"]),
        pick(&["", "x"]),
        pick(&["", "n", "m"]),
        proptest::option::weighted(0.3, pick(&["/a", "/a/b", "/bc"])),
    )
}

fn with<T>(question: &Question, then: impl FnOnce(&Attributes<'_>) -> T) -> T {
    let (user, team, verb, group, resource, subresource, name, namespace, path) = question;
    let groups: Vec<String> = team.then(|| "team".to_owned()).into_iter().collect();
    let base = Attributes { user, groups: &groups, verb, ..Attributes::default() };
    then(&match path {
        Some(path) => Attributes { path: Some(path), ..base },
        None => Attributes { group, resource, subresource, name, namespace, ..base },
    })
}

/// The definition, read off the objects without any index.
fn naive(objects: &[Value], wanted: &Attributes<'_>) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    objects.iter().any(|b| {
        let namespace = text(&b["metadata"]["namespace"]);
        let here = match b["kind"].as_str() {
            Some("ClusterRoleBinding") => true,
            Some("RoleBinding") => wanted.path.is_none() && namespace == wanted.namespace,
            _ => false,
        };
        let about = b["subjects"].as_array().into_iter().flatten().any(|s| {
            let name = text(&s["name"]);
            match s["kind"].as_str() {
                Some("User") => name == wanted.user,
                Some("Group") => wanted.groups.contains(&name),
                _ => {
                    wanted.user == format!("system:serviceaccount:{}:{name}", text(&s["namespace"]))
                }
            }
        });
        // Of two roles of one name the later counts, as the later write would.
        let role = objects.iter().rev().find(|r| {
            r["kind"] == b["roleRef"]["kind"]
                && r["metadata"]["name"] == b["roleRef"]["name"]
                && (r["kind"] == "ClusterRole"
                    || (b["kind"] == "RoleBinding"
                        && text(&r["metadata"]["namespace"]) == namespace))
        });
        here && about
            && role.is_some_and(|r| {
                r["rules"].as_array().into_iter().flatten().any(|rule| naive_rule(rule, wanted))
            })
    })
}

fn naive_rule(rule: &Value, wanted: &Attributes<'_>) -> bool {
    let list = |field: &str| -> Vec<String> {
        let items = rule[field].as_array().into_iter().flatten();
        items.map(|v| v.as_str().unwrap_or_default().to_owned()).collect()
    };
    let one =
        |field: &str, accepted: &[&str]| list(field).iter().any(|v| accepted.contains(&v.as_str()));
    if !one("verbs", &["*", wanted.verb]) {
        return false;
    }
    if let Some(path) = wanted.path {
        return list("nonResourceURLs").iter().any(|url| {
            path == url || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
        });
    }
    let full = if wanted.subresource.is_empty() {
        vec!["*".to_owned(), wanted.resource.to_owned()]
    } else {
        let sub = wanted.subresource;
        vec!["*".to_owned(), format!("{}/{sub}", wanted.resource), format!("*/{sub}")]
    };
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    one("apiGroups", &["*", wanted.group])
        && one("resources", &full)
        && (list("resourceNames").is_empty() || one("resourceNames", &[wanted.name]))
}

fn a_world() -> impl Strategy<Value = Vec<Value>> {
    let roles = proptest::collection::vec(a_role(), 0..4);
    let bindings = proptest::collection::vec(a_binding(), 0..4);
    (roles, bindings).prop_map(|(mut roles, bindings)| {
        roles.extend(bindings);
        roles
    })
}

proptest! {
    #[test]
    fn the_index_says_what_the_definition_says(
        world in a_world(), questions in proptest::collection::vec(a_question(), 1..20),
    ) {
        let policy = Policy::new(&world);
        for question in &questions {
            with(question, |wanted| {
                prop_assert_eq!(policy.decide(wanted).allowed(), naive(&world, wanted), "{:?}", wanted);
                Ok(())
            })?;
        }
    }

    #[test]
    fn one_more_binding_takes_nothing_away(
        world in a_world(), more in a_binding(),
        questions in proptest::collection::vec(a_question(), 1..20),
    ) {
        let before = Policy::new(&world);
        let after = Policy::new(world.iter().chain([&more]));
        for question in &questions {
            with(question, |wanted| {
                prop_assert!(!before.decide(wanted).allowed() || after.decide(wanted).allowed());
                Ok(())
            })?;
        }
    }

    #[test]
    fn what_is_covered_gives_nothing_new(
        held in rules(), wanted in rules(),
        questions in proptest::collection::vec(a_question(), 1..20),
    ) {
        let refs: Vec<&Rule> = held.iter().collect();
        prop_assume!(uncovered(&refs, &wanted).is_empty());
        for question in &questions {
            with(question, |asked| {
                let given = wanted.iter().any(|rule| rule.allows(asked));
                prop_assert!(!given || held.iter().any(|rule| rule.allows(asked)), "{:?}", asked);
                Ok(())
            })?;
        }
    }

    #[test]
    fn everybody_covers_himself(held in rules()) {
        let refs: Vec<&Rule> = held.iter().collect();
        prop_assert_eq!(uncovered(&refs, &held), vec![]);
    }
}
