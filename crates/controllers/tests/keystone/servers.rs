//! The same on clouds that answer as real ones do: the embedded one, and a real Keystone.

use landbridge_controllers::keystone::record::Kind;
use landbridge_openstack::{Call, Method, Service};
use serde_json::{Value, json};

use super::place::{Place, run};
use super::world::{REGION, World};

/// The seed's table: `openstack endpoint list -c 'Service Name' -c Interface -c URL --service glance`.
const TABLE: [&str; 2] = [
    "glance internal http://glance-internal.openstack.svc:9292",
    "glance public http://glance-public-openstack.apps.ostest.test.metalkube.org",
];

async fn ask(place: &Place, method: Method, path: &str, body: Option<Value>) -> Value {
    let mut call = Call::new(Service::Identity, method, path);
    call.body = body;
    place.client.call(call).await.unwrap().body
}

/// The endpoints of our region, with the names of their services.
async fn endpoints(place: &Place) -> Vec<(String, Value)> {
    let services = ask(place, Method::GET, "/services", None).await["services"].clone();
    let all = ask(place, Method::GET, "/endpoints", None).await["endpoints"].clone();
    let mut found = Vec::new();
    for endpoint in all.as_array().unwrap() {
        if endpoint["region_id"] == REGION && endpoint["enabled"] == true {
            let of =
                services.as_array().unwrap().iter().find(|one| one["id"] == endpoint["service_id"]);
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (name, interface) = (text(&of.unwrap()["name"]), text(&endpoint["interface"]));
            found
                .push((format!("{name} {interface} {}", text(&endpoint["url"])), endpoint.clone()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

async fn table(place: &Place) -> Vec<String> {
    endpoints(place).await.into_iter().map(|(row, _)| row).collect()
}

fn declare(world: &mut World, public: &str) {
    world.service("glance", "image");
    let internal = TABLE[0].rsplit(' ').next().unwrap();
    world.endpoint("glance", &[("internal", internal), ("public", public)]);
}

async fn story(place: &Place) {
    let mut world = World::new();
    world.client = place.client.clone();
    let public = TABLE[1].rsplit(' ').next().unwrap();
    declare(&mut world, public);
    world.settle().await;
    assert_eq!(table(place).await, TABLE, "{}", place.name);
    for kind in Kind::ALL {
        assert_eq!(
            world.condition(kind, "glance", "Ready"),
            "True: Setup complete",
            "{}",
            place.name
        );
    }
    let ids = |all: Vec<(String, Value)>| -> Vec<Value> {
        all.into_iter().map(|(_, endpoint)| endpoint["id"].clone()).collect()
    };
    let before = ids(endpoints(place).await);
    world.settle().await;
    assert_eq!(ids(endpoints(place).await), before, "looking again makes nothing");

    // Another URL is declared; somebody changes one in Keystone, switches one off, deletes one.
    declare(&mut world, "https://glance.example.org");
    world.settle().await;
    assert_eq!(table(place).await[1], "glance public https://glance.example.org");
    assert_eq!(ids(endpoints(place).await), before, "it is changed, not made anew");
    declare(&mut world, public);
    world.settle().await;
    for change in [json!({"url": "http://evil"}), json!({"enabled": false}), Value::Null] {
        let (_, endpoint) = endpoints(place).await.remove(0);
        let path = format!("/endpoints/{}", endpoint["id"].as_str().unwrap());
        if change.is_null() {
            ask(place, Method::DELETE, &path, None).await;
        } else {
            ask(place, Method::PATCH, &path, Some(json!({"endpoint": change}))).await;
        }
        assert_ne!(table(place).await, TABLE, "{change}");
        world.settle().await;
        assert_eq!(table(place).await, TABLE, "{}: after {change}", place.name);
    }

    world.delete(Kind::Endpoint, "glance");
    world.delete(Kind::Service, "glance");
    world.settle().await;
    assert!(world.objects.is_empty(), "{:#?}", world.objects);
    assert_eq!(table(place).await, Vec::<String>::new(), "{}", place.name);
}

#[test]
fn on_the_embedded_cloud() {
    run(story(&Place::embedded()));
}

#[test]
fn on_a_real_keystone_and_neutron() {
    for place in Place::real() {
        run(story(&place));
    }
}
