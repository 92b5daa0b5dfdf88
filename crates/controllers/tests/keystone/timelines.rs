//! Random timelines: people declare and delete, somebody meddles with Keystone, calls fail, the controller
//! dies between any two writes. In the end Keystone holds what is declared, and nothing else.

use landbridge_controllers::keystone::record::Kind;
use landbridge_openstack::Error;
use landbridge_openstack::error::Asked;
use serde_json::json;

use super::simulated::FAULTS;
use super::world::World;

const NAMES: [(&str, &str); 3] =
    [("glance", "image"), ("nova", "compute"), ("heat", "orchestration")];
const INTERFACES: [&str; 3] = ["public", "internal", "admin"];

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn declare_endpoint(world: &mut World, dice: &mut Dice, name: &str) {
    let urls: Vec<(&str, String)> = INTERFACES
        .iter()
        .filter_map(|interface| {
            let port = dice.below(4);
            (port > 0).then(|| (*interface, format!("http://{name}:{port}")))
        })
        .collect();
    let urls: Vec<(&str, &str)> = urls.iter().map(|(name, url)| (*name, url.as_str())).collect();
    world.endpoint(name, &urls);
}

fn meddle(world: &World, dice: &mut Dice) {
    let mut state = world.keystone.state();
    let pick = |keys: Vec<String>, dice: &mut Dice| {
        (!keys.is_empty()).then(|| keys[dice.below(keys.len())].clone())
    };
    let endpoint = pick(state.endpoints.keys().cloned().collect(), dice);
    // Nobody meddles with what is not ours: whether it stays as it is shows whether we do.
    let ours = state.services.keys().filter(|id| *id != "f").cloned().collect();
    let service = pick(ours, dice);
    match (dice.below(5), endpoint, service) {
        (0, Some(id), _) => {
            state.endpoints.remove(&id);
        }
        (1, Some(id), _) => state.endpoints.get_mut(&id).unwrap()["url"] = "http://evil".into(),
        (2, Some(id), _) => state.endpoints.get_mut(&id).unwrap()["enabled"] = false.into(),
        (3, _, Some(id)) => state.services.get_mut(&id).unwrap()["description"] = "evil".into(),
        (4, _, Some(id)) => {
            state.services.remove(&id);
            state.endpoints.retain(|_, endpoint| endpoint["service_id"] != *id);
        }
        _ => {}
    }
}

async fn timeline(seed: u64) {
    let mut dice = Dice(seed * 2_654_435_761 + 1);
    let mut world = World::new();
    let foreign = json!({"id": "f", "name": "keystone", "type": "identity", "enabled": true});
    world.keystone.state().services.insert("f".to_owned(), foreign.clone());
    for _ in 0..30 {
        let (name, type_) = NAMES[dice.below(NAMES.len())];
        match dice.below(10) {
            0 | 1 => world.service(name, type_),
            2 | 3 => declare_endpoint(&mut world, &mut dice, name),
            4 => world.delete(Kind::Service, name),
            5 => world.delete(Kind::Endpoint, name),
            6 => meddle(&world, &mut dice),
            7 => {
                let at = world.keystone.state().calls + dice.below(6);
                let fault = FAULTS[dice.below(FAULTS.len())];
                world.keystone.state().faults.insert(at, fault);
            }
            8 => {
                let asked = Asked { method: http::Method::GET, url: "http://k".to_owned() };
                let away = Error::Unreachable { asked, why: "away".to_owned() };
                world.keystone.state().away = (dice.below(2) == 0).then_some(away);
            }
            _ => {}
        }
        // Of what the controller writes only a part arrives now and then: it died in between.
        let arrive = if dice.below(4) == 0 { dice.below(3) } else { usize::MAX };
        world.round(arrive).await;
    }
    {
        let mut state = world.keystone.state();
        state.away = None;
        state.faults.clear();
    }
    world.settle().await;

    let mut expected = Vec::new();
    for ((kind, name), object) in &world.objects {
        assert!(object["metadata"]["deletionTimestamp"].is_null(), "seed {seed}: {name} is stuck");
        let has_service = world.objects.contains_key(&(Kind::Service, name.clone()));
        if *kind == Kind::Endpoint && has_service {
            let urls = object["spec"]["endpoints"].as_object().unwrap();
            let text = |url: &serde_json::Value| url.as_str().unwrap().to_owned();
            expected.extend(urls.iter().map(|(on, url)| format!("{name} {on} {}", text(url))));
        }
        let is_ready = *kind == Kind::Service || has_service;
        let told = world.condition(*kind, name, "Ready");
        assert_eq!(told.starts_with("True"), is_ready, "seed {seed}: {name}: {told}");
    }
    expected.sort();
    assert_eq!(world.registered(), expected, "seed {seed}");
    let mut names: Vec<String> = world
        .objects
        .keys()
        .filter(|(kind, _)| *kind == Kind::Service)
        .map(|(_, name)| name.clone())
        .collect();
    names.push("keystone".to_owned());
    names.sort();
    let state = world.keystone.state();
    let mut held: Vec<&str> =
        state.services.values().map(|s| s["name"].as_str().unwrap()).collect();
    held.sort_unstable();
    assert_eq!(held, names, "seed {seed}");
    assert_eq!(state.services["f"], foreign, "seed {seed}: not ours");
}

#[tokio::test]
async fn in_the_end_keystone_holds_what_is_declared() {
    let seeds =
        std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    for seed in 0..seeds {
        timeline(seed).await;
    }
}
