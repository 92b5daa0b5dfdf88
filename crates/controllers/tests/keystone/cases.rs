//! What happens when: registered, changed, taken away, in the way, away.

use landbridge_controllers::keystone::record::{FINALIZER, Kind};
use landbridge_openstack::Error;
use landbridge_openstack::error::Asked;
use serde_json::json;

use super::simulated::{FAULTS, refused};
use super::world::World;

const INTERNAL: (&str, &str) = ("internal", "http://glance-internal.openstack.svc:9292");
const PUBLIC: (&str, &str) = ("public", "http://glance-public-openstack.apps.example.org");
const OS_SERVICE: &str = "KeystoneServiceOSServiceReady";
const OS_ENDPOINTS: &str = "KeystoneServiceOSEndpointsReady";

fn glance() -> World {
    let mut world = World::new();
    world.service("glance", "image");
    world.endpoint("glance", &[INTERNAL, PUBLIC]);
    world
}

fn asked() -> Asked {
    Asked { method: http::Method::POST, url: "http://k/v3/auth/tokens".to_owned() }
}

#[tokio::test]
async fn what_is_declared_is_registered() {
    let mut world = glance();
    world.settle().await;
    assert_eq!(
        world.registered(),
        [
            "glance internal http://glance-internal.openstack.svc:9292",
            "glance public http://glance-public-openstack.apps.example.org",
        ]
    );
    let service = world.get(Kind::Service, "glance");
    let (id, held) = {
        let state = world.keystone.state();
        let (id, held) = state.services.iter().next().unwrap();
        (id.clone(), held.clone())
    };
    assert_eq!(held["type"], "image");
    assert_eq!(held["description"], "glance for all");
    assert_eq!(service["status"]["serviceID"], *id);
    assert_eq!(service["metadata"]["finalizers"], json!([FINALIZER]));
    let endpoint = world.get(Kind::Endpoint, "glance");
    assert_eq!(endpoint["status"]["serviceID"], *id);
    assert_eq!(endpoint["status"]["endpointIDs"].as_object().unwrap().len(), 2);
    let ready = |kind| world.condition(kind, "glance", "Ready");
    assert_eq!(ready(Kind::Service), "True: Setup complete");
    assert_eq!(ready(Kind::Endpoint), "True: Setup complete");
    assert_eq!(
        world.condition(Kind::Service, "glance", OS_SERVICE),
        "True: Keystone Service glance - image ready"
    );
    assert_eq!(
        world.condition(Kind::Endpoint, "glance", OS_ENDPOINTS),
        "True: Keystone Endpoints ready: internal, public"
    );
    // Looking again changes nothing.
    let changes = world.keystone.state().changes.len();
    world.settle().await;
    assert_eq!(world.keystone.state().changes.len(), changes);
}

#[tokio::test]
async fn what_is_declared_differently_is_changed_and_not_made_anew() {
    let mut world = glance();
    world.settle().await;
    let before = world.get(Kind::Endpoint, "glance")["status"]["endpointIDs"].clone();
    world.endpoint("glance", &[INTERNAL, ("public", "https://glance.example.org")]);
    world.apply(
        Kind::Service,
        "glance",
        json!({"serviceName": "glance2", "serviceType": "image", "enabled": false}),
    );
    world.apply(
        Kind::Endpoint,
        "glance",
        json!({"serviceName": "glance2", "endpoints": {"public": "https://glance.example.org"}}),
    );
    world.settle().await;
    assert_eq!(world.registered(), ["glance2 public https://glance.example.org"]);
    let after = &world.get(Kind::Endpoint, "glance")["status"]["endpointIDs"];
    assert_eq!(after, &json!({"public": before["public"]}));
    let state = world.keystone.state();
    assert_eq!(state.services.values().next().unwrap()["enabled"], false);
    assert_eq!(state.services.len(), 1);
}

#[tokio::test]
async fn what_is_deleted_is_taken_away_and_nothing_else() {
    let mut world = glance();
    world.service("nova", "compute");
    world.endpoint("nova", &[("public", "http://nova:8774/v2.1")]);
    world.settle().await;
    world.delete(Kind::Service, "glance");
    world.delete(Kind::Endpoint, "glance");
    world.settle().await;
    assert_eq!(world.registered(), ["nova public http://nova:8774/v2.1"]);
    assert_eq!(world.keystone.state().services.len(), 1);
    assert_eq!(world.objects.len(), 2);
    // Endpoints first: nobody is sent to a service that is half gone.
    let changes = world.keystone.state().changes.clone();
    let place = |what: &str| changes.iter().rposition(|change| change.starts_with(what)).unwrap();
    assert!(place("DELETE /endpoints") < place("DELETE /services"));
}

#[tokio::test]
async fn what_is_there_already_is_taken_over() {
    let mut world = glance();
    {
        let mut state = world.keystone.state();
        let service = json!({"id": "old", "name": "glance", "type": "image", "enabled": true});
        state.services.insert("old".to_owned(), service);
        let endpoint = json!({"id": "e", "service_id": "old", "interface": "public",
            "url": "http://127.0.0.1:9292", "region_id": "regionOne", "enabled": false});
        state.endpoints.insert("e".to_owned(), endpoint);
        let far = json!({"id": "far", "service_id": "old", "interface": "public",
            "url": "http://far:9292", "region_id": "other", "enabled": true});
        state.endpoints.insert("far".to_owned(), far);
    }
    world.settle().await;
    assert_eq!(world.get(Kind::Service, "glance")["status"]["serviceID"], "old");
    assert_eq!(world.get(Kind::Endpoint, "glance")["status"]["endpointIDs"]["public"], "e");
    let mut state = world.keystone.state();
    assert_eq!(state.endpoints["e"]["url"], PUBLIC.1);
    assert_eq!(state.endpoints["e"]["enabled"], true);
    assert_eq!(state.endpoints.remove("far").unwrap()["url"], "http://far:9292", "not ours");
    assert_eq!(state.endpoints.len(), 2);
}

#[tokio::test]
async fn whatever_is_changed_behind_our_back_comes_back() {
    let mut world = glance();
    world.settle().await;
    let expected = world.registered();
    let (service, endpoints) = {
        let state = world.keystone.state();
        let ids: Vec<String> = state.endpoints.keys().cloned().collect();
        (state.services.keys().next().unwrap().clone(), ids)
    };
    for field in ["name", "type", "description"] {
        world.keystone.state().services.get_mut(&service).unwrap()[field] = "other".into();
        world.settle().await;
        let wanted = world.get(Kind::Service, "glance")["spec"].clone();
        let state = world.keystone.state();
        let spec = ["serviceName", "serviceType", "serviceDescription"];
        let held = &state.services[&service];
        for (field, spec) in ["name", "type", "description"].into_iter().zip(spec) {
            assert_eq!(held[field], wanted[spec]);
        }
    }
    for (field, value) in [
        ("url", json!("http://evil")),
        ("enabled", json!(false)),
        ("region_id", json!("elsewhere")),
        ("interface", json!("admin")),
    ] {
        world.keystone.state().endpoints.get_mut(&endpoints[0]).unwrap()[field] = value;
        world.settle().await;
        assert_eq!(world.registered(), expected, "{field}");
    }
    world.keystone.state().endpoints.remove(&endpoints[1]);
    world.settle().await;
    assert_eq!(world.registered(), expected);
    {
        let mut state = world.keystone.state();
        state.services.clear();
        state.endpoints.clear();
    }
    world.settle().await;
    assert_eq!(world.registered(), expected);
}

#[tokio::test]
async fn what_is_in_the_way_is_named() {
    let mut world = glance();
    world.settle().await;
    let service = world.keystone.state().services.keys().next().unwrap().clone();
    let other = json!({"id": "x", "service_id": service, "interface": "public",
        "url": "http://theirs", "region_id": "regionOne", "enabled": true});
    world.keystone.state().endpoints.insert("x".to_owned(), other);
    // The same once more is simply taken away.
    let same = json!({"id": "y", "service_id": service, "interface": "public",
        "url": PUBLIC.1, "region_id": "regionOne", "enabled": true});
    world.keystone.state().endpoints.insert("y".to_owned(), same);
    world.settle().await;
    assert_eq!(
        world.condition(Kind::Endpoint, "glance", OS_ENDPOINTS),
        "False: Keystone Endpoints error occurred Keystone has other public endpoints of the service in \
         region regionOne (x at http://theirs): delete those that are not meant, clients take any of them"
    );
    assert_eq!(world.keystone.state().endpoints.len(), 3);
    world.keystone.state().endpoints.remove("x");
    world.settle().await;
    assert_eq!(world.condition(Kind::Endpoint, "glance", "Ready"), "True: Setup complete");

    let twin = json!({"id": "z", "name": "nova", "type": "compute", "enabled": true});
    world.keystone.state().services.insert("z".to_owned(), twin.clone());
    world.keystone.state().services.insert("zz".to_owned(), twin);
    world.keystone.state().services.get_mut("zz").unwrap()["id"] = "zz".into();
    world.service("nova", "compute");
    world.settle().await;
    assert_eq!(
        world.condition(Kind::Service, "nova", OS_SERVICE),
        "False: Keystone Service error occurred Keystone has 2 services nova of type compute (z, zz): \
         delete those that are not meant"
    );
}

#[tokio::test]
async fn what_cannot_be_is_told_with_the_field() {
    let mut world = World::new();
    world.endpoint("lonely", &[("public", "http://x")]);
    world.settle().await;
    assert_eq!(
        world.condition(Kind::Endpoint, "lonely", OS_ENDPOINTS),
        "False: Keystone Endpoints error occurred Keystone has no service lonely"
    );
    world.service("lonely", "odd");
    world.endpoint(
        "lonely",
        &[("outer", "http://x"), ("public", "gopher://x"), ("admin", "http://")],
    );
    world.settle().await;
    assert_eq!(
        world.condition(Kind::Endpoint, "lonely", OS_ENDPOINTS),
        "False: Keystone Endpoints error occurred spec.endpoints.admin: \"http://\" is no URL; \
         spec.endpoints.outer cannot be: Keystone knows admin, internal, public; \
         spec.endpoints.public: \"gopher://x\" is no URL"
    );
    let spec = json!({"serviceName": "", "serviceType": "odd"});
    world.apply(Kind::Service, "nameless", spec);
    // The same service twice: the older one counts.
    let spec = world.get(Kind::Service, "lonely")["spec"].clone();
    world.apply(Kind::Service, "second", spec);
    world.settle().await;
    assert_eq!(
        world.condition(Kind::Service, "nameless", OS_SERVICE),
        "False: Keystone Service error occurred spec.serviceName is empty"
    );
    assert_eq!(
        world.condition(Kind::Service, "second", OS_SERVICE),
        "False: Keystone Service error occurred service lonely is declared by openstack/lonely already"
    );
    // The second goes without taking the service along.
    world.delete(Kind::Service, "second");
    world.settle().await;
    assert_eq!(world.keystone.state().services.len(), 1);
}

#[tokio::test]
async fn urls_with_placeholders_are_urls() {
    let mut world = World::new();
    world.service("heat", "orchestration");
    world.endpoint("heat", &[("public", "http://heat:8004/v1/%(tenant_id)s")]);
    world.settle().await;
    assert_eq!(world.registered(), ["heat public http://heat:8004/v1/%(tenant_id)s"]);
}

#[tokio::test]
async fn every_cause_is_told_and_gone_when_it_is_gone() {
    let refusal = |status| {
        let why = std::sync::Arc::new(refused(asked(), status));
        Error::Login { cloud: "lab".to_owned(), why }
    };
    let why = || "connection refused".to_owned();
    for (error, aspect, expected) in [
        (
            Error::Unreachable { asked: asked(), why: why() },
            "KeystoneAPIReady",
            "False: KeystoneAPI error occurred POST http://k/v3/auth/tokens: cannot be reached: connection refused",
        ),
        (
            refusal(401),
            "AdminServiceClientReady",
            "False: Admin client error occurred cannot log in to cloud lab: POST http://k/v3/auth/tokens: 401 Refused: no",
        ),
        (
            refused(asked(), 403),
            "AdminServiceClientReady",
            "False: Admin client error occurred POST http://k/v3/auth/tokens: 403 Refused: no",
        ),
        (
            Error::Nowhere("Secret openstack/cloud is not there".to_owned()),
            "KeystoneAPIReady",
            "False: KeystoneAPI error occurred Secret openstack/cloud is not there",
        ),
    ] {
        let mut world = glance();
        world.keystone.state().away = Some(error);
        for _ in 0..3 {
            world.round(usize::MAX).await;
        }
        for kind in Kind::ALL {
            assert_eq!(world.condition(kind, "glance", aspect), expected);
        }
        // The same trouble is written once, not every time.
        let ended = world.round(usize::MAX).await;
        assert!(ended.writes.is_empty() && ended.is_failing, "{:?}", ended.writes);
        world.keystone.state().away = None;
        world.settle().await;
        assert_eq!(world.condition(Kind::Endpoint, "glance", "Ready"), "True: Setup complete");
        assert_eq!(world.registered().len(), 2);
    }
}

#[tokio::test]
async fn who_leaves_waits_for_keystone_but_not_for_nobody() {
    let mut world = glance();
    world.settle().await;
    world.delete(Kind::Endpoint, "glance");
    world.delete(Kind::Service, "glance");
    world.keystone.state().away =
        Some(Error::Unreachable { asked: asked(), why: "away".to_owned() });
    for _ in 0..3 {
        world.round(usize::MAX).await;
    }
    assert_eq!(world.objects.len(), 2, "what is registered has to be taken away first");
    assert!(world.condition(Kind::Service, "glance", "KeystoneAPIReady").starts_with("False"));
    world.keystone.state().away = Some(Error::Nowhere("no Secret".to_owned()));
    world.round(usize::MAX).await;
    assert!(world.objects.is_empty(), "nobody can say from where it should be taken away");
}

#[tokio::test]
async fn each_single_fault_at_each_call_is_survived() {
    let mut undisturbed = glance();
    undisturbed.settle().await;
    let expected = undisturbed.registered();
    let calls = undisturbed.keystone.state().calls;
    assert!(calls > 10, "{calls}");
    for place in 0..calls {
        for fault in FAULTS {
            let mut world = glance();
            world.keystone.state().faults.insert(place, fault);
            world.settle().await;
            let case = format!("{fault:?} at {place}");
            assert_eq!(world.registered(), expected, "{case}");
            assert_eq!(world.keystone.state().services.len(), 1, "{case}");
            assert_eq!(world.condition(Kind::Endpoint, "glance", "Ready"), "True: Setup complete");
            world.delete(Kind::Service, "glance");
            world.delete(Kind::Endpoint, "glance");
            world.settle().await;
            assert!(world.registered().is_empty() && world.objects.is_empty(), "{case}");
            assert!(world.keystone.state().services.is_empty(), "{case}");
        }
    }
}
