//! The life of tokens.

use landbridge_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

use crate::world::{Who, World, admin, bob, rule};

const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

#[tokio::test]
async fn a_token_is_its_account() {
    let world = World::new().await;
    let account = world.account("default", "robot").await;
    let answer = world.token("default", "robot", json!({})).await.ok();
    assert_eq!(answer["kind"], "TokenRequest");
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    let token = answer["status"]["token"].as_str().expect("token").to_owned();
    let robot = Who::Token(token.clone());
    let info = world.post(&robot, WHO, &json!({})).await.ok()["status"]["userInfo"].clone();
    assert_eq!(info["username"], "system:serviceaccount:default:robot");
    assert_eq!(info["uid"], account["metadata"]["uid"]);
    assert_eq!(
        info["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .get(&robot, maps)
        .await
        .forbidden(r#"User "system:serviceaccount:default:robot" cannot list"#);
    world.role("default", "reader", rule("", &["configmaps"], &["list"])).await;
    world.bind("default", "Role", "reader", "system:serviceaccount:default:robot").await;
    world.get(&robot, maps).await.ok();

    let review = world.post(&admin(), REVIEW, &json!({"spec": {"token": token}})).await.ok();
    assert_eq!(review["status"]["authenticated"], true);
    assert_eq!(review["status"]["user"], info);
    world.post(&bob(), REVIEW, &json!({"spec": {"token": token}})).await.forbidden("cannot create");

    // The account goes, a namesake comes: the token is nobody's.
    let path = "DELETE /api/v1/namespaces/default/serviceaccounts/robot";
    world.send(&admin(), path, None).await.ok();
    world.get(&robot, maps).await.refused(401, "Unauthorized");
    world.account("default", "robot").await;
    world.get(&robot, maps).await.refused(401, "Unauthorized");
    let review = world.post(&admin(), REVIEW, &json!({"spec": {"token": token}})).await.ok();
    assert_eq!(review["status"]["authenticated"], false);
    assert_eq!(review["status"]["error"], "invalid bearer token");
}

#[tokio::test]
async fn tokens_are_refused_when_anything_is_wrong() {
    let world = World::new().await;
    world.account("default", "robot").await;
    let good = world.token_of("default", "robot").await;
    let mut parts: Vec<&str> = good.split('.').collect();
    parts[2] = "AAAA";
    for bad in ["x", "a.b.c", &parts.join("."), &good[..good.len() - 1]] {
        world.get(&Who::Token(bad.to_owned()), "/version").await.refused(401, "Unauthorized");
    }
    world.get(&Who::Token(good.clone()), "/version").await.ok();
    // Meant for somebody else.
    let answer = world.token("default", "robot", json!({"audiences": ["vault"]})).await.ok();
    let vault = answer["status"]["token"].as_str().expect("token").to_owned();
    world.get(&Who::Token(vault.clone()), "/version").await.refused(401, "Unauthorized");
    let review = async |token: &str, audiences: Value| {
        let spec = json!({"spec": {"token": token, "audiences": audiences}});
        world.post(&admin(), REVIEW, &spec).await.ok()["status"].clone()
    };
    assert_eq!(review(&vault, json!(["vault", "x"])).await["audiences"], json!(["vault"]));
    assert_eq!(review(&good, json!(["vault"])).await["authenticated"], false);
    world.post(&admin(), REVIEW, &json!({"spec": {}})).await.refused(400, "token is required");

    let short = world.token("default", "robot", json!({"expirationSeconds": 10})).await;
    short.refused(422, "may not specify a duration less than 10 minutes");
    let long =
        world.token("default", "robot", json!({"expirationSeconds": 5_000_000_000_i64})).await;
    long.refused(422, "larger than 2^32 seconds");
    world
        .token("default", "nobody", json!({}))
        .await
        .refused(404, "serviceaccounts \"nobody\" not found");
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    world
        .post(&bob(), path, &json!({}))
        .await
        .forbidden(r#"cannot create resource "serviceaccounts/token""#);
    for method in ["GET", "PUT", "PATCH", "DELETE"] {
        let answer = world.send(&admin(), &format!("{method} {path}"), Some(&json!({}))).await;
        assert_eq!(answer.code, 405, "{method}");
    }
}

#[tokio::test]
async fn tokens_end_with_what_they_are_bound_to() {
    let world = World::new().await;
    world.account("default", "robot").await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, account: &str| {
        json!({"metadata": {"name": name}, "spec": {"serviceAccountName": account,
            "containers": [{"name": "c", "image": "i"}]}})
    };
    let made = world.make(pods, pod("p", "robot")).await;
    world.make(pods, pod("q", "default")).await;
    let bound = |name: &str, uid: Value| json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}});
    world.token("default", "robot", bound("none", Value::Null)).await.refused(404, "pods \"none\"");
    world.token("default", "robot", bound("p", json!("other"))).await.refused(409, "UID");
    world
        .token("default", "robot", bound("q", Value::Null))
        .await
        .refused(400, "different serviceaccount");
    let node = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "n"}});
    world.token("default", "robot", node).await.refused(400, "cannot bind token");
    let answer =
        world.token("default", "robot", bound("p", made["metadata"]["uid"].clone())).await.ok();
    let token = Who::Token(answer["status"]["token"].as_str().expect("token").to_owned());
    let info = world.post(&token, WHO, &json!({})).await.ok();
    assert_eq!(
        info["status"]["userInfo"]["extra"]["authentication.kubernetes.io/pod-name"],
        json!(["p"])
    );
    world.send(&admin(), &format!("DELETE {pods}/p?gracePeriodSeconds=0"), None).await.ok();
    world.get(&token, "/version").await.refused(401, "Unauthorized");
}

#[tokio::test]
async fn tokens_outlive_a_restart() {
    let world = World::new().await;
    world.account("default", "robot").await;
    let token = Who::Token(world.token_of("default", "robot").await);
    world.server.shutdown().await;
    let server = ApiServer::open(Options::new(world.dir.path())).await.expect("again");
    let again = World { server, dir: world.dir };
    again.get(&token, "/version").await.ok();
}

#[tokio::test]
async fn a_secret_that_names_an_account_gets_its_token() {
    let world = World::new().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "robot", "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token",
    });
    world.make(secrets, secret).await;
    world.account("default", "robot").await;
    let path = format!("{secrets}/robot");
    let mut data = Value::Null;
    for _ in 0..100 {
        data = world.get(&admin(), &path).await.ok()["data"].clone();
        if data["token"].is_string() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let decode = |text: &Value| {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_str().expect("text"));
        String::from_utf8(bytes.expect("base64")).expect("text")
    };
    assert_eq!(decode(&data["namespace"]), "default");
    let token = Who::Token(decode(&data["token"]));
    let info = world.post(&token, WHO, &json!({})).await.ok();
    assert_eq!(info["status"]["userInfo"]["username"], "system:serviceaccount:default:robot");
    world.send(&admin(), &format!("DELETE {path}"), None).await.ok();
    world.get(&token, "/version").await.refused(401, "Unauthorized");
}
