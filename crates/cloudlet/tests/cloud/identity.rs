//! Keystone: tokens, roles, application credentials, the catalogue.

use http::Method;
use landbridge_cloudlet::{Request, Response, Service};
use serde_json::{Value, json};

use crate::world::{PEOPLE, World, id, password};

fn login(world: &mut World, body: &Value) -> Response {
    world.send(Request::new(Service::Identity, Method::POST, "/v3/auth/tokens").json(body))
}

fn token(answer: &Response) -> String {
    assert_eq!(answer.status, 201, "{}", answer.value());
    answer.header("x-subject-token").unwrap().to_owned()
}

fn subject(world: &mut World, method: &str, with: &str, subject: &str) -> Response {
    let request = Request::new(Service::Identity, method.parse().unwrap(), "/v3/auth/tokens");
    world.send(request.token(with).header("x-subject-token", subject))
}

#[test]
fn versions_are_told_without_a_token() {
    let mut world = World::new();
    let root = world.send(Request::new(Service::Identity, Method::GET, "/"));
    assert_eq!(root.status, 300);
    assert_eq!(root.value()["versions"]["values"][0]["id"], "v3.14");
    let v3 = world.send(Request::new(Service::Identity, Method::GET, "/v3"));
    assert_eq!((v3.status.as_u16(), &v3.value()["version"]["status"]), (200, &json!("stable")));
    let network = world.send(Request::new(Service::Network, Method::GET, "/"));
    assert_eq!(network.value()["versions"][0]["id"], "v2.0");
}

#[test]
fn a_token_says_who_and_where_and_has_the_catalogue() {
    let mut world = World::new();
    for (user, project, role) in PEOPLE {
        let answer = login(&mut world, &password(user, Some(project)));
        let token = &answer.value()["token"];
        assert_eq!(token["user"]["name"], user);
        assert_eq!(token["project"]["name"], project);
        let roles: Vec<&str> = token["roles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["name"].as_str().unwrap())
            .collect();
        let chain = ["admin", "manager", "member", "reader"];
        let expected = &chain[chain.iter().position(|name| *name == role).unwrap()..];
        assert_eq!(roles, expected, "a role has those that it implies");
        let types: Vec<&str> = token["catalog"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["type"].as_str().unwrap())
            .collect();
        for service in Service::ALL {
            assert!(types.contains(&service.catalogue_type()), "{types:?}");
        }
    }
    let loose = login(&mut world, &password("member", None));
    assert!(loose.value()["token"].get("roles").is_none(), "unscoped");
}

#[test]
fn whoever_is_not_who_they_say_gets_nothing() {
    let mut world = World::new();
    let mut wrong = password("member", Some("demo"));
    wrong["auth"]["identity"]["password"]["user"]["password"] = "guess".into();
    let nobody = password("nobody", Some("demo"));
    let elsewhere = password("member", Some("admin"));
    for body in [&wrong, &nobody, &elsewhere] {
        assert_eq!(login(&mut world, body).status, 401, "{body}");
    }
    let forged = World::with(crate::world::config());
    let mut sealed = forged.tokens["admin"].clone();
    // Another cloud's token, and one that was tampered with.
    world.cloud.go_back(world.cloud.state().clone());
    let last = sealed.pop().unwrap();
    sealed.push(if last == 'A' { 'B' } else { 'A' });
    for text in ["", "x", &"x".repeat(10_000), &sealed] {
        let request = Request::new(Service::Network, Method::GET, "/v2.0/networks").token(text);
        assert_eq!(world.send(request).status, 401, "{text}");
    }
}

#[test]
fn a_token_ends_with_its_time_its_revocation_its_role_and_its_user() {
    let mut world = World::new();
    let fresh = |world: &mut World| token(&login(world, &password("member", Some("demo"))));
    let works = |world: &mut World, token: &str| {
        let request = Request::new(Service::Network, Method::GET, "/v2.0/networks").token(token);
        world.send(request).status == 200
    };
    let revoked = fresh(&mut world);
    let other = fresh(&mut world);
    assert!(works(&mut world, &revoked));
    assert_eq!(subject(&mut world, "DELETE", &revoked, &revoked).status, 204);
    assert!(!works(&mut world, &revoked) && works(&mut world, &other), "only that one");

    // A token that was had with it goes with it, and lives no longer.
    let scoped = json!({"auth": {"identity": {"methods": ["token"], "token": {"id": other}},
        "scope": {"project": {"name": "demo", "domain": {"id": "default"}}}}});
    let answer = login(&mut world, &scoped);
    let child = token(&answer);
    let held = subject(&mut world, "GET", &other, &other).value();
    assert_eq!(answer.value()["token"]["expires_at"], held["token"]["expires_at"]);
    subject(&mut world, "DELETE", &other, &other);
    assert!(!works(&mut world, &child));

    let kept = fresh(&mut world);
    let user = id(&world.keystone("admin", "GET users?name=member").value()["users"][0]);
    let role = id(&world.keystone("admin", "GET roles?name=member").value()["roles"][0]);
    let demo = world.projects["demo"].clone();
    let path = format!("projects/{demo}/users/{user}/roles/{role}");
    assert_eq!(world.keystone("admin", &format!("DELETE {path}")).status, 204);
    assert!(!works(&mut world, &kept), "no role, no token");
    assert_eq!(world.keystone("admin", &format!("PUT {path}")).status, 204);
    assert!(works(&mut world, &kept));
    let disable = json!({"user": {"enabled": false}});
    assert_eq!(world.keystone_with("admin", &format!("PATCH users/{user}"), &disable).status, 200);
    assert!(!works(&mut world, &kept));
    let enable = json!({"user": {"enabled": true}});
    world.keystone_with("admin", &format!("PATCH users/{user}"), &enable);
    assert!(works(&mut world, &kept));
    // A new password ends all tokens of its user, and nobody else's.
    let reset = json!({"user": {"password": "member-secret"}});
    assert_eq!(world.keystone_with("admin", &format!("PATCH users/{user}"), &reset).status, 200);
    assert!(!works(&mut world, &kept));
    let kept = fresh(&mut world);
    assert!(works(&mut world, &kept));
    world.now += jiff::SignedDuration::from_secs(world.cloud.config().token_seconds);
    assert!(!works(&mut world, &kept), "a day is over");
}

#[test]
fn an_application_credential_lends_roles_and_nothing_more() {
    let mut world = World::new();
    let me = id(&world.keystone("admin", "GET users?name=admin").value()["users"][0]);
    let path = format!("users/{me}/application_credentials");
    let body = json!({"application_credential": {"name": "robot", "roles": [{"name": "reader"}]}});
    let made = world.keystone_with("admin", &format!("POST {path}"), &body);
    assert_eq!(made.status, 201, "{}", made.value());
    let made = made.value()["application_credential"].clone();
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.len() >= 32);
    let listed = world.keystone("admin", &format!("GET {path}")).value();
    assert!(!listed.to_string().contains(secret) && !listed.to_string().contains("hash"));
    assert_eq!(world.keystone_with("admin", &format!("POST {path}"), &body).status, 409);

    let by_id = json!({"id": made["id"], "secret": secret});
    let by_name = json!({"name": "robot", "secret": secret,
        "user": {"name": "admin", "domain": {"name": "Default"}}});
    for given in [by_id.clone(), by_name] {
        let auth = json!({"auth": {"identity": {"methods": ["application_credential"],
            "application_credential": given}}});
        let answer = login(&mut world, &auth);
        let text = token(&answer);
        assert_eq!(
            answer.value()["token"]["roles"],
            json!([made["roles"][0].clone()])
                .as_array()
                .map(|r| json!([{"id": r[0]["id"], "name": "reader"}]))
                .unwrap()
        );
        world.tokens.insert("robot".into(), text);
        assert_eq!(world.neutron("robot", "GET networks").status, 200);
        assert_eq!(
            world.neutron_with("robot", "POST networks", &json!({"network": {}})).status,
            403
        );
        assert_eq!(world.keystone_with("robot", &format!("POST {path}"), &body).status, 403);
    }
    let mut wrong = by_id;
    wrong["secret"] = "guess".into();
    let auth = json!({"auth": {"identity": {"methods": ["application_credential"],
        "application_credential": wrong}}});
    assert_eq!(login(&mut world, &auth).status, 401);
    let one = made["id"].as_str().unwrap();
    assert_eq!(world.keystone("admin", &format!("DELETE {path}/{one}")).status, 204);
    assert_eq!(world.neutron("robot", "GET networks").status, 401, "gone with it");
}

#[test]
fn the_catalogue_follows_services_and_endpoints() {
    let mut world = World::new();
    let service = json!({"service": {"type": "load-balancer", "name": "octavia"}});
    let service = id(&world.keystone_with("admin", "POST services", &service).value()["service"]);
    let endpoint = |region: &str| {
        json!({"endpoint": {"service_id": service, "interface": "public",
        "region": region, "url": "http://192.0.2.1:9876"}})
    };
    let made = world.keystone_with("admin", "POST endpoints", &endpoint("RegionTwo"));
    assert_eq!(made.status, 201, "{}", made.value());
    assert_eq!(
        world.keystone("admin", "GET regions/RegionTwo").status,
        200,
        "made by the endpoint"
    );
    let made = id(&made.value()["endpoint"]);
    let shown = |world: &mut World| {
        let catalogue = world.keystone("reader", "GET auth/catalog").value()["catalog"].clone();
        catalogue.as_array().unwrap().iter().find(|s| s["type"] == "load-balancer").cloned()
    };
    assert_eq!(shown(&mut world).unwrap()["endpoints"][0]["url"], "http://192.0.2.1:9876");
    let changed = json!({"endpoint": {"url": "http://192.0.2.2"}});
    assert_eq!(
        world.keystone_with("admin", &format!("PATCH endpoints/{made}"), &changed).status,
        200
    );
    assert_eq!(shown(&mut world).unwrap()["endpoints"][0]["url"], "http://192.0.2.2");
    assert_eq!(world.keystone("admin", "DELETE regions/RegionTwo").status, 403, "in use");
    assert_eq!(world.keystone("admin", &format!("DELETE services/{service}")).status, 204);
    assert_eq!(world.keystone("admin", &format!("GET endpoints/{made}")).status, 404);
    assert!(shown(&mut world).is_none());
}

#[test]
fn only_the_administrator_keeps_accounts() {
    let mut world = World::new();
    for plural in ["projects", "users", "roles", "services", "endpoints", "groups", "domains"] {
        assert_eq!(world.keystone("admin", &format!("GET {plural}")).status, 200, "{plural}");
        assert_eq!(world.keystone("member", &format!("GET {plural}")).status, 403, "{plural}");
        let body = json!({ plural.strip_suffix('s').unwrap(): {"name": "x", "type": "x"} });
        assert_eq!(world.keystone_with("member", &format!("POST {plural}"), &body).status, 403);
    }
    let body = json!({"user": {"name": "eve", "password": "s3cret"}});
    let made = world.keystone_with("admin", "POST users", &body).value();
    assert!(!made.to_string().contains("s3cret") && made["user"].get("password").is_none());
    let state = crate::world::rows(world.cloud.state());
    assert!(state.values().all(|row| !row.contains("s3cret")), "only its hash is kept");
    assert_eq!(world.keystone_with("admin", "POST users", &body).status, 409);
}

#[test]
fn what_goes_takes_its_roles_along() {
    let mut world = World::new();
    let project = json!({"project": {"name": "brief"}});
    let project = id(&world.keystone_with("admin", "POST projects", &project).value()["project"]);
    let user = id(&world.keystone("admin", "GET users?name=member").value()["users"][0]);
    let role = id(&world.keystone("admin", "GET roles?name=reader").value()["roles"][0]);
    let group = json!({"group": {"name": "crowd"}});
    let group = id(&world.keystone_with("admin", "POST groups", &group).value()["group"]);
    world.keystone("admin", &format!("PUT groups/{group}/users/{user}"));
    world.keystone("admin", &format!("PUT projects/{project}/groups/{group}/roles/{role}"));
    let answer = login(&mut world, &password("member", Some("brief")));
    assert_eq!(answer.status, 201, "by the group: {}", answer.value());
    let count = |world: &mut World| {
        let all = world.keystone("admin", "GET role_assignments").value();
        all["role_assignments"].as_array().unwrap().len()
    };
    let before = count(&mut world);
    assert_eq!(world.keystone("admin", &format!("DELETE projects/{project}")).status, 204);
    assert_eq!(count(&mut world), before - 1);
    assert_eq!(login(&mut world, &password("member", Some("brief"))).status, 401);
}
