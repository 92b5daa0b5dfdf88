//! RBAC through the handler.

use serde_json::json;

use crate::world::{RBAC, SELF_ACCESS, Who, World, admin, bob, rule};

#[tokio::test]
async fn without_a_role_one_may_look_around_and_nothing_else() {
    let world = World::new().await;
    let table = [
        ("GET /api", ""),
        ("GET /api/v1", ""),
        ("GET /apis", ""),
        ("GET /apis/apps/v1", ""),
        ("GET /version", ""),
        ("GET /healthz", ""),
        ("GET /readyz", ""),
        ("GET /openapi/v3", ""),
        ("GET /metrics", r#"forbidden: User "bob" cannot get path "/metrics""#),
        ("POST /version", r#"forbidden: User "bob" cannot post path "/version""#),
        ("GET /", r#"forbidden: User "bob" cannot get path "/""#),
        (
            "GET /api/v1/namespaces/default/pods",
            r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default""#,
        ),
        (
            "GET /api/v1/namespaces/default/pods/x",
            r#"pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default""#,
        ),
        (
            "GET /api/v1/pods",
            r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope"#,
        ),
        (
            "GET /api/v1/pods?watch=true",
            r#"pods is forbidden: User "bob" cannot watch resource "pods" in API group "" at the cluster scope"#,
        ),
        ("GET /api/v1/watch/pods", r#"pods is forbidden: User "bob" cannot watch resource "pods""#),
        (
            "GET /apis/apps/v1/namespaces/a/deployments/d/scale",
            r#"deployments.apps "d" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "a""#,
        ),
        (
            "GET /api/v1/namespaces/default",
            r#"namespaces "default" is forbidden: User "bob" cannot get resource "namespaces" in API group "" in the namespace "default""#,
        ),
        ("GET /apis/no.such/v1/things", r#"things.no.such is forbidden: User "bob" cannot list"#),
        ("DELETE /api/v1/namespaces/default/pods", r#"cannot deletecollection resource "pods""#),
        ("OPTIONS /api/v1/namespaces/default/pods", "pods is forbidden"),
    ];
    for (what, refusal) in table {
        let answer = world.send(&bob(), what, None).await;
        match refusal {
            "" => assert_eq!(answer.code, 200, "{what}: {answer:?}"),
            refusal => answer.forbidden(refusal),
        }
        let stranger = world.send(&Who::Stranger, what, None).await;
        stranger.refused(401, "Unauthorized");
    }
    // The body is not even looked at.
    let path = "POST /api/v1/namespaces/default/configmaps";
    world.send(&bob(), path, Some(&json!("no object"))).await.forbidden("cannot create resource");
}

#[tokio::test]
async fn roles_take_effect_at_once_and_end_at_once() {
    let world = World::new().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world.config_map("default", "a").await;
    world.get(&bob(), maps).await.forbidden("cannot list");
    world.role("default", "reader", rule("", &["configmaps"], &["get", "list", "watch"])).await;
    world.get(&bob(), maps).await.forbidden("cannot list");
    world.bind("default", "Role", "reader", "bob").await;
    world.get(&bob(), maps).await.ok();
    world.get(&bob(), &format!("{maps}/a")).await.ok();
    assert_eq!(world.get(&bob(), &format!("{maps}?watch=true")).await.code, 200);
    world.get(&bob(), "/api/v1/configmaps").await.forbidden("at the cluster scope");
    world.get(&bob(), "/api/v1/namespaces/kube-system/configmaps").await.forbidden("kube-system");
    let map = json!({"metadata": {"name": "b"}});
    world.post(&bob(), maps, &map).await.forbidden("cannot create");
    let patch = json!({"data": {"k": "v"}});
    world.send(&bob(), &format!("PATCH {maps}/a"), Some(&patch)).await.forbidden("cannot patch");
    world.send(&bob(), &format!("DELETE {maps}/a"), None).await.forbidden("cannot delete");
    let binding = format!("DELETE {RBAC}/namespaces/default/rolebindings/reader-bob");
    world.send(&admin(), &binding, None).await.ok();
    world.get(&bob(), maps).await.forbidden("cannot list");
    // A binding to a role that is not there says so.
    world.bind("default", "Role", "gone", "bob").await;
    world
        .get(&bob(), maps)
        .await
        .forbidden(r#": RBAC: role.rbac.authorization.k8s.io "gone" not found"#);
}

#[tokio::test]
async fn names_and_subresources_are_rights_of_their_own() {
    let world = World::new().await;
    world.config_map("default", "a").await;
    world.config_map("default", "b").await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["update"]},
    ]);
    world.cluster_role("narrow", rules).await;
    world.bind("", "ClusterRole", "narrow", "bob").await;
    let maps = "/api/v1/namespaces/default/configmaps";
    world.get(&bob(), &format!("{maps}/a")).await.ok();
    world.get(&bob(), &format!("{maps}/b")).await.forbidden(r#"configmaps "b" is forbidden"#);
    world.get(&bob(), maps).await.forbidden("cannot list");
    let list = world.get(&bob(), &format!("{maps}?fieldSelector=metadata.name%3Da")).await.ok();
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    let selected = format!("{maps}?fieldSelector=metadata.name%3Db");
    world.get(&bob(), &selected).await.forbidden("cannot list");
    let pod = "/api/v1/namespaces/default/pods/x";
    world.get(&bob(), pod).await.forbidden("cannot get");
    assert_eq!(world.get(&bob(), &format!("{pod}/status")).await.code, 404);
    // PUT of something that is not there creates it, and that is another right.
    let endpoints = json!({"metadata": {"name": "new"}});
    let put = "PUT /api/v1/namespaces/default/endpoints/new";
    world.send(&bob(), put, Some(&endpoints)).await.forbidden("cannot create resource");
    world.send(&admin(), put, Some(&endpoints)).await.ok();
    world.send(&bob(), put, Some(&endpoints)).await.ok();
}

#[tokio::test]
async fn the_usual_roles_add_up() {
    let world = World::new().await;
    for role in ["view", "edit", "admin"] {
        world.bind("default", "ClusterRole", role, role).await;
    }
    world.bind("", "ClusterRole", "cluster-admin", "root").await;
    let allowed =
        async |user: &'static str, verb: &str, group: &str, resource: &str, namespace: &str| {
            let review = json!({"spec": {"resourceAttributes":
            {"verb": verb, "group": group, "resource": resource, "namespace": namespace}}});
            world.post(&Who::As(user, &[]), SELF_ACCESS, &review).await.ok()["status"]["allowed"]
                == true
        };
    let rbac = "rbac.authorization.k8s.io";
    // user, verb, group, resource: in the namespace
    let table = [
        ("view", "list", "apps", "deployments", true),
        ("view", "get", "", "secrets", false),
        ("view", "create", "", "pods", false),
        ("edit", "list", "apps", "deployments", true),
        ("edit", "get", "", "secrets", true),
        ("edit", "create", "", "pods", true),
        ("edit", "create", rbac, "roles", false),
        ("admin", "get", "", "secrets", true),
        ("admin", "create", rbac, "roles", true),
        ("admin", "list", "", "nodes", false),
        ("root", "list", "", "nodes", true),
    ];
    for (user, verb, group, resource, wanted) in table {
        let found = allowed(user, verb, group, resource, "default").await;
        assert_eq!(found, wanted, "{user} {verb} {resource}");
        if user != "root" {
            assert!(!allowed(user, verb, group, resource, "kube-system").await, "{user} elsewhere");
        }
    }
    // A new role with the label is part of the sum at once.
    let role = json!({
        "metadata": {"name": "more", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": rule("ex.org", &["things"], &["get"]),
    });
    world.make(&format!("{RBAC}/clusterroles"), role).await;
    for user in ["view", "edit", "admin"] {
        assert!(allowed(user, "get", "ex.org", "things", "default").await, "{user}");
    }
    // What is added for editors is the administrator's as well, and not the viewer's.
    let role = json!({
        "metadata": {"name": "things-edit", "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
        "rules": rule("ex.org", &["things"], &["update"]),
    });
    world.make(&format!("{RBAC}/clusterroles"), role).await;
    for (user, wanted) in [("view", false), ("edit", true), ("admin", true)] {
        let found = allowed(user, "update", "ex.org", "things", "default").await;
        assert_eq!(found, wanted, "{user}");
    }
}

#[tokio::test]
async fn nobody_grants_what_he_does_not_have() {
    let world = World::new().await;
    world.bind("default", "ClusterRole", "admin", "bob").await;
    let roles = format!("{RBAC}/namespaces/default/roles");
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let role = |name: &str, rules| json!({"metadata": {"name": name}, "rules": rules});
    let binding = |name: &str, kind: &str| {
        json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "User", "name": "eve"}],
        })
    };
    // What he has, he may give; in his namespace.
    world.post(&bob(), &roles, &role("fine", rule("", &["pods"], &["get"]))).await.ok();
    world.post(&bob(), &bindings, &binding("fine", "Role")).await.ok();
    world.post(&bob(), &bindings, &binding("view", "ClusterRole")).await.ok();
    world.post(&bob(), &roles, &role("more", rule("", &["nodes"], &["get", "list"]))).await.forbidden(
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}",
    );
    world
        .post(&bob(), &bindings, &binding("cluster-admin", "ClusterRole"))
        .await
        .forbidden("not currently held");
    let grown = json!({"rules": rule("*", &["*"], &["*"])});
    let patch = format!("PATCH {roles}/fine");
    world.send(&bob(), &patch, Some(&grown)).await.forbidden("not currently held");
    let put = format!("PUT {roles}/new");
    let everything = role("new", rule("*", &["*"], &["*"]));
    world.send(&bob(), &put, Some(&everything)).await.forbidden("not currently held");
    // Sums can gather anything.
    world
        .cluster_role("author", rule("rbac.authorization.k8s.io", &["clusterroles"], &["*"]))
        .await;
    world.bind("", "ClusterRole", "author", "ann").await;
    // `*` contains escalate.
    let ann = Who::As("ann", &[]);
    world
        .post(&ann, &format!("{RBAC}/clusterroles"), &role("all", rule("*", &["*"], &["*"])))
        .await
        .ok();
    world
        .cluster_role("writer", rule("rbac.authorization.k8s.io", &["clusterroles"], &["create"]))
        .await;
    world.bind("", "ClusterRole", "writer", "eva").await;
    let eva = Who::As("eva", &[]);
    let sum = json!({"metadata": {"name": "sum"}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    world.post(&eva, &format!("{RBAC}/clusterroles"), &sum).await.forbidden("aggregationRule");
    // With the verb `bind` a role may be given that one does not have.
    let bind = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "resourceNames": ["cluster-admin"], "verbs": ["bind"]}]);
    world.cluster_role("binder", bind).await;
    world.bind("default", "ClusterRole", "binder", "bob").await;
    world.post(&bob(), &bindings, &binding("cluster-admin", "ClusterRole")).await.ok();
}

#[tokio::test]
async fn impersonation_is_a_right() {
    let world = World::new().await;
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let seen = world.post(&Who::As("eve", &["dev", "ops"]), who, &json!({})).await.ok();
    assert_eq!(
        seen["status"]["userInfo"],
        json!({"username": "eve", "groups": ["dev", "ops", "system:authenticated"]})
    );
    let account = Who::As("system:serviceaccount:default:default", &[]);
    let seen = world.post(&account, who, &json!({})).await.ok();
    assert_eq!(
        seen["status"]["userInfo"]["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );
    let send = async |user: &str, group: Option<&str>| {
        let mut request = http::Request::get("/version").header("impersonate-user", user);
        if let Some(group) = group {
            request = request.header("impersonate-group", group);
        }
        let body = http_body_util::Full::new(bytes::Bytes::new());
        let bob = landbridge_apiserver::Identity::new("bob", &[]);
        world.server.handle(request.body(body).unwrap(), Some(&bob)).await.status().as_u16()
    };
    assert_eq!(send("eve", None).await, 403);
    let eve = json!([{"apiGroups": [""], "resources": ["users"], "resourceNames": ["eve"], "verbs": ["impersonate"]}]);
    world.cluster_role("eve", eve).await;
    world.bind("", "ClusterRole", "eve", "bob").await;
    assert_eq!(send("eve", None).await, 200);
    assert_eq!(send("ann", None).await, 403);
    assert_eq!(send("eve", Some("system:masters")).await, 403);
    assert_eq!(send("", Some("system:masters")).await, 400);
}

#[tokio::test]
async fn sums_show_their_rules() {
    let world = World::new().await;
    let view = format!("{RBAC}/clusterroles/view");
    let shown = async || {
        let mut role = world.get(&admin(), &view).await.ok();
        for _ in 0..100 {
            if role["rules"].to_string().contains("ex.org") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            role = world.get(&admin(), &view).await.ok();
        }
        role["rules"].to_string()
    };
    let role = json!({
        "metadata": {"name": "more", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": rule("ex.org", &["things"], &["get"]),
    });
    world.make(&format!("{RBAC}/clusterroles"), role).await;
    let rules = shown().await;
    assert!(rules.contains("ex.org") && rules.contains("configmaps"), "{rules}");
}

/// Many writers at a time: whoever changed a binding sees the change with the next request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_decision_is_older_than_the_last_write() {
    let world = std::sync::Arc::new(World::new().await);
    world.cluster_role("reader", rule("", &["configmaps"], &["list"])).await;
    let tasks = (0..6).map(|number| {
        let world = std::sync::Arc::clone(&world);
        tokio::spawn(async move {
            let user = format!("user-{number}");
            let who = Who::Known(landbridge_apiserver::Identity::new(&user, &[]));
            let path = format!("{RBAC}/clusterrolebindings/reader-{user}");
            for round in 0..15 {
                world.bind("", "ClusterRole", "reader", &user).await;
                let answer = world.get(&who, "/api/v1/configmaps?limit=1").await;
                assert_eq!(answer.code, 200, "{user} {round}");
                world.send(&admin(), &format!("DELETE {path}"), None).await.ok();
                let answer = world.get(&who, "/api/v1/configmaps?limit=1").await;
                assert_eq!(answer.code, 403, "{user} {round}");
            }
        })
    });
    for task in futures::future::join_all(tasks).await {
        task.expect("a task");
    }
}

/// A custom kind in the group of RBAC is no role, whatever it calls itself.
#[tokio::test]
async fn nobody_invents_a_kind_of_binding() {
    let world = World::new().await;
    let group = "rbac.authorization.k8s.io";
    let crd = json!({
        "metadata": {
            "name": format!("fakes.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, testing-only"},
        },
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"plural": "fakes", "singular": "fake", "kind": "ClusterRoleBinding", "listKind": "FakeList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    world.post(&admin(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd).await;
    let fake = json!({
        "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "x"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": "bob"}],
    });
    // Its names are taken, so it is not served. Were it, its objects would still give nothing.
    for _ in 0..5 {
        if world.post(&admin(), &format!("{RBAC}/fakes"), &fake).await.code == 201 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    world.get(&bob(), "/api/v1/secrets").await.forbidden("cannot list");
}
