//! Objects from before the first apply, and kubectl's way from client to server.

use serde_json::{Value, json};

use super::bench::{Bench, with_spec};

const LAST: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[test]
fn what_was_there_before_the_first_apply_has_an_owner() {
    let mut b = Bench::new();
    let mut live = with_spec(json!({"replicas": 1, "name": "a"}));
    live["status"] = json!({"phase": "Up"});
    live["metadata"]["uid"] = json!("u");
    b.live = Some(live);
    assert_eq!(
        b.conflict("one", json!({"replicas": 2})),
        [r#""before-first-apply" using example.org/v1 .spec.replicas"#]
    );
    b.apply("one", json!({"replicas": 1}));
    assert_eq!(b.updated("before-first-apply"), ["", ".name", ".replicas"]);
    assert_eq!(b.applied("one"), [".replicas"]);
    // Dropping it does not remove it.
    b.apply("one", json!({"set": ["x"]}));
    assert_eq!(b.spec(), &json!({"replicas": 1, "name": "a", "set": ["x"]}));
}

/// An object kubectl made with client-side apply.
fn client_side(spec: Value) -> Bench {
    let mut b = Bench::new();
    let mut new = with_spec(spec);
    let last = new.to_string();
    new["metadata"]["annotations"] = json!({LAST: last, "other": "x"});
    b.put("kubectl-client-side-apply", new);
    b
}

#[test]
fn kubectl_does_not_conflict_with_its_former_self() {
    let mut b = client_side(json!({"replicas": 1, "name": "a"}));
    b.apply("kubectl", json!({"replicas": 2, "name": "a"}));
    assert_eq!(b.spec(), &json!({"replicas": 2, "name": "a"}));
    assert_eq!(b.applied("kubectl"), [".name", ".replicas"]);
    // The annotation follows, so that there is a way back.
    let annotations = &b.object()["metadata"]["annotations"];
    let last: Value = serde_json::from_str(annotations[LAST].as_str().unwrap()).unwrap();
    assert_eq!(last, with_spec(json!({"replicas": 2, "name": "a"})));
    assert_eq!(annotations["other"], "x");
    let before = b.object().clone();
    b.apply("kubectl", json!({"replicas": 2, "name": "a"}));
    assert_eq!(b.object(), &before);
}

#[test]
fn it_does_conflict_with_others() {
    // Somebody else under any other name gets no such favour.
    let mut b = client_side(json!({"replicas": 1}));
    assert_eq!(
        b.conflict("helm", json!({"replicas": 2})),
        [r#""kubectl-client-side-apply" using example.org/v1 .spec.replicas"#]
    );
    // Nor does kubectl where the value is not what it left.
    b.update("scaler", json!({"replicas": 5}));
    assert_eq!(
        b.conflict("kubectl", json!({"replicas": 2, "name": "b"})),
        [r#""scaler" using example.org/v1 .spec.replicas"#]
    );
    // Only what is really in dispute is reported.
    let mut b = client_side(json!({"replicas": 1, "name": "a"}));
    b.update("scaler", json!({"replicas": 5, "name": "a"}));
    assert_eq!(
        b.conflict("kubectl", json!({"replicas": 2, "name": "b"})),
        [r#""scaler" using example.org/v1 .spec.replicas"#]
    );
    // An annotation of another version, or a broken one, says nothing.
    for text in ["{", r#"{"apiVersion": "example.org/v2"}"#] {
        let mut b = client_side(json!({"replicas": 1}));
        let mut live = b.object().clone();
        live["metadata"]["annotations"][LAST] = json!(text);
        b.live = Some(live);
        assert_eq!(b.conflict("kubectl", json!({"replicas": 2})).len(), 1);
    }
}
