//! Questions in the form of objects.

use serde_json::{Value, json};

use crate::world::{ACCESS, SELF_ACCESS, Who, World, admin, bob, rule};

const RULES: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const LOCAL: &str = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";

fn ask(verb: &str, resource: &str, namespace: &str) -> Value {
    json!({"verb": verb, "group": "", "resource": resource, "namespace": namespace})
}

#[tokio::test]
async fn may_i_and_may_he() {
    let world = World::new().await;
    world.role("default", "reader", rule("", &["pods"], &["get"])).await;
    world.bind("default", "Role", "reader", "bob").await;
    let mine = |attributes| json!({"spec": {"resourceAttributes": attributes}});
    let yes = world.post(&bob(), SELF_ACCESS, &mine(ask("get", "pods", "default"))).await.ok();
    assert_eq!(yes["kind"], "SelfSubjectAccessReview");
    assert_eq!(
        yes["status"],
        json!({"allowed": true, "reason": "RBAC: allowed by RoleBinding \"reader-bob/default\" of Role \"reader\" to User \"bob\""})
    );
    let no = world.post(&bob(), SELF_ACCESS, &mine(ask("get", "pods", "other"))).await.ok();
    assert_eq!(no["status"], json!({"allowed": false}));
    let path = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}});
    assert_eq!(world.post(&bob(), SELF_ACCESS, &path).await.ok()["status"]["allowed"], false);
    assert_eq!(world.post(&admin(), SELF_ACCESS, &path).await.ok()["status"]["allowed"], true);
    world.post(&bob(), SELF_ACCESS, &json!({"spec": {}})).await.refused(422, "exactly one of");

    let his = |attributes| json!({"spec": {"user": "bob", "resourceAttributes": attributes}});
    world
        .post(&bob(), ACCESS, &his(ask("get", "pods", "default")))
        .await
        .forbidden("cannot create");
    let answer = world.post(&admin(), ACCESS, &his(ask("get", "pods", "default"))).await.ok();
    assert_eq!(answer["status"]["allowed"], true);
    let answer = world.post(&admin(), LOCAL, &his(ask("get", "pods", "default"))).await.ok();
    assert_eq!(answer["status"]["allowed"], true);
    world.post(&admin(), LOCAL, &his(ask("get", "pods", "other"))).await.refused(422, "must match");
    let nobody = json!({"spec": {"resourceAttributes": ask("get", "pods", "default")}});
    world.post(&admin(), ACCESS, &nobody).await.refused(422, "at least one of user or group");
    for what in ["GET", "DELETE"] {
        world.send(&admin(), &format!("{what} {ACCESS}"), None).await.refused(405, "");
    }
    let discovery = world.get(&bob(), "/apis/authorization.k8s.io/v1").await.ok();
    let resources = discovery["resources"].as_array().expect("resources");
    assert!(resources.iter().all(|resource| resource["verbs"] == json!(["create"])));
    assert_eq!(resources.len(), 4);
}

#[tokio::test]
async fn what_may_i() {
    let world = World::new().await;
    world.role("default", "reader", rule("", &["pods"], &["get"])).await;
    world.bind("default", "Role", "reader", "bob").await;
    let rules = async |who: &Who, namespace: &str| {
        let review = json!({"spec": {"namespace": namespace}});
        world.post(who, RULES, &review).await.ok()["status"].clone()
    };
    let here = rules(&bob(), "default").await;
    let pods = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
    assert!(here["resourceRules"].as_array().expect("rules").contains(&pods), "{here}");
    assert_eq!(here["incomplete"], false);
    let there = rules(&bob(), "kube-system").await;
    assert!(!there["resourceRules"].as_array().expect("rules").contains(&pods));
    assert!(there["nonResourceRules"].to_string().contains("/openapi/*"));
    let all = rules(&admin(), "default").await;
    let everything = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    assert!(all["resourceRules"].as_array().expect("rules").contains(&everything));
    world.post(&bob(), RULES, &json!({"spec": {}})).await.refused(400, "no namespace");
}
