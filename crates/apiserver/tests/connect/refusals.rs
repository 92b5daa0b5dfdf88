//! What does not go through, and what is said about it.

use http::Method;
use serde_json::{Value, json};

use crate::world::{PODS, World, get, send, upgrade};

fn message(answer: &(u16, Value)) -> (u16, String) {
    let (code, body) = answer;
    let text = body["message"].as_str().or(body.as_str()).unwrap_or_default();
    (*code, text.to_owned())
}

async fn exec(world: &World, pod: &str, query: &str) -> (u16, String) {
    let path = format!("{PODS}/{pod}/exec?command=ls{query}");
    match upgrade(&world.admin, Method::POST, &path, "websocket").await {
        Ok(_) => (101, String::new()),
        Err(answer) => message(&answer),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_what_is_wrong() {
    let world = World::new().await;
    world.pod("two", "one", &["a", "b"]).await;
    world.pod("silent", "silent", &["c"]).await;
    world.pod("strange", "stranger", &["c"]).await;
    world.pod("done", "one", &["c"]).await;
    let phase = json!({"status": {"phase": "Succeeded"}});
    let request = http::Request::patch(format!("{PODS}/done/status"))
        .header("content-type", "application/merge-patch+json")
        .body(kube::client::Body::from(phase.to_string().into_bytes()));
    assert_eq!(world.admin.send(request.unwrap()).await.unwrap().status(), 200);
    let unplaced = json!({"metadata": {"name": "unplaced"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.make(PODS, &unplaced).await;
    let table = [
        ("two", "", 400, "a container name must be specified for pod two, choose one of: [a b]"),
        ("two", "&container=c", 400, "container c is not valid for pod two"),
        ("unplaced", "", 400, "pod unplaced does not have a host assigned"),
        ("done", "", 400, "in a completed pod; current phase is Succeeded"),
        ("strange", "", 503, "assigned to node \"stranger\", which is not attached"),
        ("silent", "", 503, "the agent of node \"silent\" does not answer on "),
        ("missing", "", 404, "pods \"missing\" not found"),
    ];
    for (pod, query, code, wanted) in table {
        let (found, said) = exec(&world, pod, query).await;
        assert!(found == code && said.contains(wanted), "{pod}: {found} {said}");
    }
    assert_eq!(world.node.requests(), 0, "the node was not asked");
    assert_eq!(exec(&world, "two", "&container=b").await.0, 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_says_what_is_wrong() {
    let world = World::new().await;
    world.pod("many", "one", &["waiting", "huge", "mute", "formal"]).await;
    // An older kubectl speaks SPDY; the node's answer is the client's.
    let path = format!("{PODS}/p/exec?command=ls");
    let answer = upgrade(&world.admin, Method::POST, &path, "SPDY/3.1").await.expect_err("refusal");
    assert_eq!(message(&answer), (400, "only WebSocket is spoken here".to_owned()));
    assert_eq!(answer.1["kind"], "Status", "clients read nothing else");
    assert_eq!(world.node.last().headers["upgrade"], "SPDY/3.1");
    let answer = get(&world.admin, &format!("{PODS}/many/log?container=waiting")).await;
    let why = "container \"waiting\" in pod \"p\" is waiting to start";
    assert_eq!(message(&answer), (400, why.to_owned()));
    assert_eq!(answer.1["reason"], "BadRequest", "{answer:?}");
    let answer = get(&world.admin, &format!("{PODS}/many/log?container=mute")).await;
    let why = "the agent of node \"one\" answered 500 and did not say why";
    assert_eq!(message(&answer), (500, why.to_owned()));
    let answer = get(&world.admin, &format!("{PODS}/many/log?container=formal")).await;
    assert_eq!(message(&answer), (404, "no such log".to_owned()));
    assert_eq!(answer.1["reason"], "NotFound", "{answer:?}");
    // An answer without bounds is no answer.
    let (code, said) =
        message(&get(&world.admin, &format!("{PODS}/many/log?container=huge")).await);
    assert!(code == 503 && said.contains("the agent of node \"one\""), "{code} {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_allowed() {
    let world = World::new().await;
    world.grant("reader", "pods/log", "get").await;
    world.grant("getter", "pods/exec", "get").await;
    world.grant("runner", "pods/exec", "create").await;
    world.grant("watcher", "pods/exec", "watch").await;
    let exec = format!("{PODS}/p/exec?command=ls");
    let watch = format!("{exec}&watch=true");
    let table = [
        ("getter", Method::GET, &exec, 101),
        ("getter", Method::POST, &exec, 403),
        ("runner", Method::POST, &exec, 101),
        ("runner", Method::GET, &exec, 403),
        ("reader", Method::GET, &exec, 403),
        ("watcher", Method::GET, &watch, 403),
    ];
    let mut clients = std::collections::BTreeMap::new();
    for (user, method, path, wanted) in table {
        let client = clients.entry(user).or_insert_with(|| world.client(user)).clone();
        let code = match upgrade(&client, method.clone(), path, "websocket").await {
            Ok(_) => 101,
            Err((code, _)) => code,
        };
        assert_eq!(code, wanted, "{user} {method}");
    }
    let log = format!("{PODS}/p/log?container=nobody");
    assert_eq!(get(&clients["reader"], &log).await.0, 400, "allowed, though there is none such");
    assert_eq!(get(&clients["getter"], &log).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_are_not_served() {
    let world = World::new().await;
    for (method, path, code) in [
        ("GET", format!("{PODS}/p/exec?command=ls"), 400), // no upgrade
        ("POST", format!("{PODS}/p/attach"), 400),
        ("PUT", format!("{PODS}/p/exec"), 405),
        ("DELETE", format!("{PODS}/p/portforward"), 405),
        ("POST", format!("{PODS}/p/log"), 405),
        ("GET", format!("{PODS}/p/binding"), 405),
        ("GET", format!("{PODS}/p/eviction"), 405),
        ("GET", format!("{PODS}/p/exec/more"), 404),
        ("GET", "/api/v1/nodes/one/log".to_owned(), 404),
    ] {
        let answer = send(&world.admin, method, &path, &Value::Null).await;
        assert_eq!(answer.0, code, "{method} {path}: {answer:?}");
        assert_eq!(answer.1["kind"], "Status", "{method} {path}: {answer:?}");
    }
    // Inside the process there is no connection to take over.
    let inside = world.server.client(landbridge_apiserver::Identity::admin());
    let path = format!("{PODS}/p/exec?command=ls");
    let answer = upgrade(&inside, Method::GET, &path, "websocket").await.expect_err("refusal");
    let (code, said) = message(&answer);
    assert!(code == 400 && said.starts_with("Upgrade request required"), "{code} {said}");
    assert_eq!(world.node.requests(), 0);
}
