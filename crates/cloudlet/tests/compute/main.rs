//! Nova and Glance as values: servers and their ports, flavors, key pairs, images.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::needless_pass_by_value)] // calls with json!({…}) in place read better

#[path = "../cloud/world.rs"]
#[allow(dead_code)] // shared with the tests of the other services
mod world;

use landbridge_cloudlet::{Config, Request, Response, Service};
use serde_json::{Value, json};
use world::{World, id, rows};

const LATEST: &str = "compute 2.96";
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl x";

fn call(
    world: &mut World,
    service: Service,
    who: &str,
    version: &str,
    line: &str,
    body: Option<Value>,
) -> Response {
    let (method, path) = line.split_once(' ').unwrap();
    let root = if service == Service::Compute { "/v2.1" } else { "/v2" };
    let mut request = Request::new(service, method.parse().unwrap(), &format!("{root}/{path}"));
    if let Some(token) = world.tokens.get(who) {
        request = request.token(token);
    }
    if !version.is_empty() {
        request = request.header("openstack-api-version", version);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    world.send(request)
}

fn nova(world: &mut World, who: &str, line: &str, body: Option<Value>) -> Response {
    call(world, Service::Compute, who, LATEST, line, body)
}

fn glance(world: &mut World, who: &str, line: &str, body: Option<Value>) -> Response {
    call(world, Service::Image, who, "", line, body)
}

/// Status and message of Nova's refusal.
fn refusal(answer: &Response) -> (u16, String) {
    let body = answer.value();
    let inner = body.as_object().and_then(|map| map.values().next()).cloned().unwrap_or_default();
    assert_eq!(inner["code"], answer.status.as_u16(), "{body}");
    (answer.status.as_u16(), inner["message"].as_str().unwrap_or_default().to_owned())
}

struct Stage {
    world: World,
    flavor: String,
    image: String,
    network: String,
}

fn stage() -> Stage {
    stage_in(World::new())
}

fn stage_in(mut world: World) -> Stage {
    let (network, _) = world.net("member", "10.0.0.0/24");
    let flavor = json!({"flavor": {"name": "m1", "ram": 512, "vcpus": 1, "disk": 1}});
    let flavor = nova(&mut world, "admin", "POST flavors", Some(flavor));
    assert_eq!(flavor.status, 200, "{}", flavor.value());
    let image = json!({"name": "i", "visibility": "public", "disk_format": "raw", "container_format": "bare"});
    let image = glance(&mut world, "admin", "POST images", Some(image));
    assert_eq!(image.status, 201);
    Stage { flavor: id(&flavor.value()["flavor"]), image: id(&image.value()), network, world }
}

impl Stage {
    fn wanted(&self, more: &Value) -> Value {
        let mut server = json!({
            "name": "vm", "flavorRef": self.flavor, "imageRef": self.image,
            "networks": [{"uuid": self.network}],
        });
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "server": server })
    }

    fn boot(&mut self, more: &Value) -> Value {
        let wanted = self.wanted(more);
        let made = nova(&mut self.world, "member", "POST servers", Some(wanted));
        assert_eq!(made.status, 202, "{}", made.value());
        let line = format!("GET servers/{}", id(&made.value()["server"]));
        nova(&mut self.world, "member", &line, None).value()["server"].clone()
    }

    fn ports(&mut self) -> Vec<Value> {
        self.world.neutron("member", "GET ports").value()["ports"].as_array().unwrap().clone()
    }
}

#[test]
fn a_server_has_its_ports_and_takes_those_it_made_with_it() {
    let mut stage = stage();
    let port =
        stage.world.make("member", "ports", json!({"network_id": stage.network, "name": "given"}));
    let nics = json!({"networks": [{"uuid": stage.network, "fixed_ip": "10.0.0.77"}, {"port": id(&port)}]});
    let server = stage.boot(&nics);
    assert_eq!(server["status"], "ACTIVE");
    let addresses: Vec<&str> = server["addresses"]["net"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|a| a["addr"].as_str())
        .collect();
    assert!(addresses.contains(&"10.0.0.77") && addresses.len() == 2, "{server}");
    for port in stage.ports() {
        assert_eq!(port["device_id"], server["id"]);
        assert_eq!(port["device_owner"], "compute:nova");
        assert_eq!(port["status"], "ACTIVE");
    }
    // Its ports are in use: nobody else gets them.
    let again = stage.wanted(&json!({"networks": [{"port": id(&port)}]}));
    let answer = nova(&mut stage.world, "member", "POST servers", Some(again));
    assert_eq!(refusal(&answer), (409, format!("Port {} is still in use.", id(&port))));
    let line = format!("DELETE servers/{}", id(&server));
    assert_eq!(nova(&mut stage.world, "member", &line, None).status, 204);
    let left = stage.ports();
    assert_eq!(left.len(), 1, "only the given one stays: {left:?}");
    assert_eq!((left[0]["id"].as_str(), &left[0]["device_id"]), (port["id"].as_str(), &json!("")));
    assert_eq!(left[0]["status"], "DOWN");
    assert_eq!(nova(&mut stage.world, "member", &line, None).status, 404);
}

#[test]
fn a_server_that_is_refused_leaves_nothing() {
    let mut stage = stage();
    let before = rows(stage.world.cloud.state());
    let other = stage.world.net("admin", "10.1.0.0/24").0;
    let known = rows(stage.world.cloud.state());
    assert!(known.len() > before.len());
    let nobody = "00000000-0000-4000-8000-000000000000";
    for (more, status, message) in [
        (json!({"name": ""}), 400, "name"),
        (json!({"flavorRef": "none"}), 400, "Flavor none could not be found."),
        (json!({"imageRef": nobody}), 400, "Can not find requested image"),
        (json!({"key_name": "none"}), 400, "Invalid key_name provided."),
        (json!({"availability_zone": "mars"}), 400, "availability zone"),
        (json!({"availability_zone": "nova:host"}), 403, "forced_host"),
        (json!({"networks": [{"uuid": stage.network}, {"uuid": nobody}]}), 400, nobody),
        (json!({"networks": [{"uuid": stage.network}, {"uuid": other}]}), 400, other.as_str()),
        (json!({"networks": [{"uuid": stage.network}, {"port": nobody}]}), 400, nobody),
        (json!({"networks": [{}]}), 400, "missing 'uuid'"),
        (json!({"networks": "some"}), 400, "networks"),
        (json!({"security_groups": [{"name": "none"}]}), 400, "Security group none not found."),
        (json!({"min_count": 1000}), 400, "1000"),
    ] {
        let wanted = stage.wanted(&more);
        let answer = nova(&mut stage.world, "member", "POST servers", Some(wanted));
        let (got, words) = refusal(&answer);
        assert!(got == status && words.contains(message), "{more}: {got} {words}");
        assert_eq!(rows(stage.world.cloud.state()), known, "{more}");
    }
    let reader = stage.wanted(&json!({}));
    assert_eq!(nova(&mut stage.world, "reader", "POST servers", Some(reader)).status, 403);
    assert_eq!(nova(&mut stage.world, "nobody", "GET servers", None).status, 401);
}

#[test]
fn ports_of_servers_count_against_the_quota_of_the_project() {
    let mut stage = stage();
    let project = stage.world.projects["demo"].clone();
    let line = format!("PUT quotas/{project}");
    stage.world.neutron_with("admin", &line, &json!({"quota": {"port": 1}}));
    stage.boot(&json!({}));
    let wanted = stage.wanted(&json!({}));
    let answer = nova(&mut stage.world, "member", "POST servers", Some(wanted));
    assert_eq!(refusal(&answer), (403, "Quota exceeded for resources: ['port'].".to_owned()));
}

#[test]
fn who_is_of_another_project_sees_no_server() {
    let mut stage = stage();
    let server = id(&stage.boot(&json!({})));
    let line = format!("servers/{server}");
    assert_eq!(nova(&mut stage.world, "reader", &format!("GET {line}"), None).status, 200);
    for (who, method, status) in [
        ("other", "GET", 404),
        ("other", "DELETE", 404),
        ("reader", "DELETE", 403),
        ("admin", "GET", 200),
    ] {
        let answer = nova(&mut stage.world, who, &format!("{method} {line}"), None);
        assert_eq!(answer.status, status, "{who} {method}");
    }
    let listed = |world: &mut World, who: &str, line: &str| {
        nova(world, who, line, None).value()["servers"].as_array().map(Vec::len)
    };
    assert_eq!(listed(&mut stage.world, "member", "GET servers/detail?name=v"), Some(1));
    assert_eq!(listed(&mut stage.world, "member", "GET servers/detail?name=x"), Some(0));
    assert_eq!(listed(&mut stage.world, "other", "GET servers"), Some(0));
    assert_eq!(listed(&mut stage.world, "admin", "GET servers"), Some(0));
    assert_eq!(listed(&mut stage.world, "admin", "GET servers?all_tenants=1"), Some(1));
    assert_eq!(nova(&mut stage.world, "member", "GET servers?all_tenants=1", None).status, 403);
}

#[test]
fn actions_move_a_server_from_state_to_state() {
    let mut stage = stage();
    let server = id(&stage.boot(&json!({})));
    let act = |stage: &mut Stage, who: &str, action: Value| {
        nova(&mut stage.world, who, &format!("POST servers/{server}/action"), Some(action))
            .status
            .as_u16()
    };
    let steps = [
        (json!({"os-start": null}), 409),
        (json!({"os-stop": null}), 202),
        (json!({"os-stop": null}), 409),
        (json!({"os-start": null}), 202),
        (json!({"pause": null}), 202),
        (json!({"suspend": null}), 409),
        (json!({"unpause": null}), 202),
        (json!({"reboot": {"type": "SOFT"}}), 202),
        (json!({"lock": null}), 202),
        (json!({"os-stop": null}), 409),
        (json!({"unlock": null}), 202),
        (json!({"dance": null}), 400),
        (json!({}), 400),
        (json!({"os-resetState": {"state": "error"}}), 403),
        (json!({"os-getConsoleOutput": {}}), 200),
    ];
    for (action, status) in steps {
        assert_eq!(act(&mut stage, "member", action.clone()), status, "{action}");
    }
    assert_eq!(act(&mut stage, "admin", json!({"os-resetState": {"state": "error"}})), 202);
    let group = stage.world.make("member", "security-groups", json!({"name": "web"}));
    assert_eq!(act(&mut stage, "member", json!({"addSecurityGroup": {"name": "web"}})), 202);
    let held = stage.ports()[0]["security_groups"].as_array().unwrap().clone();
    assert!(held.contains(&group["id"]) && held.len() == 2, "{held:?}");
    assert_eq!(act(&mut stage, "member", json!({"removeSecurityGroup": {"name": "web"}})), 202);
    assert_eq!(stage.ports()[0]["security_groups"].as_array().unwrap().len(), 1);
}

#[test]
fn interfaces_come_and_go() {
    let mut stage = stage();
    let server = id(&stage.boot(&json!({"networks": "none"})));
    let line = format!("servers/{server}/os-interface");
    let count = |stage: &mut Stage| {
        let answer = nova(&mut stage.world, "member", &format!("GET {line}"), None);
        answer.value()["interfaceAttachments"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut stage), 0);
    let body = json!({"interfaceAttachment": {"net_id": stage.network}});
    let made = nova(&mut stage.world, "member", &format!("POST {line}"), Some(body));
    let port = made.value()["interfaceAttachment"]["port_id"].as_str().unwrap().to_owned();
    assert_eq!(count(&mut stage), 1);
    let gone = nova(&mut stage.world, "member", &format!("DELETE {line}/{port}"), None);
    assert_eq!((gone.status.as_u16(), count(&mut stage), stage.ports().len()), (202, 0, 0));
    let none = nova(&mut stage.world, "member", &format!("DELETE {line}/{port}"), None);
    assert_eq!(none.status, 404);
}

#[test]
fn what_is_shown_follows_the_microversion_and_who_asks() {
    let mut stage = stage();
    let line = format!("GET servers/{}", id(&stage.boot(&json!({"description": "d"}))));
    let mut shown = |who: &str, version: &str| {
        call(&mut stage.world, Service::Compute, who, version, &line, None).value()["server"]
            .clone()
    };
    let old = shown("member", "compute 2.1");
    assert!(old["flavor"]["id"].is_string() && old.get("description").is_none(), "{old}");
    assert!(old.get("OS-EXT-SRV-ATTR:host").is_none());
    let new = shown("member", LATEST);
    assert_eq!((&new["flavor"]["original_name"], &new["description"]), (&json!("m1"), &json!("d")));
    assert_eq!(shown("admin", LATEST)["OS-EXT-SRV-ATTR:host"], "cloudlet");
    let answer = call(&mut stage.world, Service::Compute, "member", "compute 2.97", &line, None);
    assert_eq!(answer.status, 406);
    let answer = call(&mut stage.world, Service::Compute, "member", "compute 2.30", &line, None);
    assert_eq!(answer.header("openstack-api-version"), Some("compute 2.30"));
}

#[test]
fn keys_are_of_their_user() {
    let mut stage = stage();
    let body = || Some(json!({"keypair": {"name": "k", "public_key": KEY}}));
    let world = &mut stage.world;
    assert_eq!(nova(world, "member", "POST os-keypairs", body()).status, 201);
    assert_eq!(nova(world, "member", "POST os-keypairs", body()).status, 409);
    assert_eq!(nova(world, "other", "GET os-keypairs/k", None).status, 404);
    let listed = nova(world, "member", "GET os-keypairs", None).value();
    assert_eq!(listed["keypairs"][0]["keypair"]["name"], "k");
    let wrong = json!({"keypair": {"name": "l", "public_key": "nonsense"}});
    assert_eq!(nova(world, "member", "POST os-keypairs", Some(wrong)).status, 400);
    assert_eq!(nova(world, "member", "DELETE os-keypairs/k", None).status, 204);
}

#[test]
fn flavors_are_the_administrators_and_their_names_are_unique() {
    let mut stage = stage();
    let world = &mut stage.world;
    let flavor = |name: &str, ram: i64| {
        Some(json!({"flavor": {"name": name, "ram": ram, "vcpus": 1, "disk": 0}}))
    };
    assert_eq!(nova(world, "member", "POST flavors", flavor("x", 1)).status, 403);
    assert_eq!(nova(world, "admin", "POST flavors", flavor("m1", 1)).status, 409);
    assert_eq!(nova(world, "admin", "POST flavors", flavor("x", 0)).status, 400);
    let hidden = json!({"flavor": {"name": "h", "ram": 1, "vcpus": 1, "disk": 0, "os-flavor-access:is_public": false}});
    let hidden = id(&nova(world, "admin", "POST flavors", Some(hidden)).value()["flavor"]);
    assert_eq!(nova(world, "member", &format!("GET flavors/{hidden}"), None).status, 404);
    assert_eq!(
        nova(world, "member", "GET flavors", None).value()["flavors"].as_array().unwrap().len(),
        1
    );
    let all = nova(world, "admin", "GET flavors/detail?is_public=None", None).value();
    assert_eq!(all["flavors"].as_array().unwrap().len(), 2);
    let specs = json!({"extra_specs": {"a": "b"}});
    assert_eq!(
        nova(world, "admin", &format!("POST flavors/{hidden}/os-extra_specs"), Some(specs)).status,
        200
    );
    let held = nova(world, "admin", &format!("GET flavors/{hidden}/os-extra_specs"), None).value();
    assert_eq!(held["extra_specs"]["a"], "b");
    assert_eq!(nova(world, "admin", &format!("DELETE flavors/{hidden}"), None).status, 202);
}

#[test]
fn images_are_seen_by_whom_they_are_for() {
    let mut stage = stage();
    let world = &mut stage.world;
    let image = |more: Value| {
        let mut image = json!({"name": "own", "disk_format": "raw", "container_format": "bare"});
        image.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Some(image)
    };
    let own = glance(world, "member", "POST images", image(json!({"visibility": "private"})));
    let own = id(&own.value());
    assert_eq!(glance(world, "other", &format!("GET images/{own}"), None).status, 404);
    assert_eq!(glance(world, "reader", &format!("GET images/{own}"), None).status, 200);
    assert_eq!(glance(world, "reader", &format!("DELETE images/{own}"), None).status, 403);
    assert_eq!(
        glance(world, "member", "POST images", image(json!({"visibility": "public"}))).status,
        403
    );
    assert_eq!(
        glance(world, "member", "POST images", image(json!({"status": "active"}))).status,
        403
    );
    assert_eq!(glance(world, "member", "POST images", image(json!({"min_ram": -1}))).status, 400);
    let names = |world: &mut World, who: &str| {
        let images = glance(world, who, "GET images", None).value()["images"].clone();
        images.as_array().unwrap().len()
    };
    assert_eq!((names(world, "member"), names(world, "other")), (2, 1));
    let patch = json!([{"op": "replace", "path": "/protected", "value": true}]);
    assert_eq!(glance(world, "member", &format!("PATCH images/{own}"), Some(patch)).status, 200);
    assert_eq!(glance(world, "member", &format!("DELETE images/{own}"), None).status, 403);
    let upload = glance(world, "member", &format!("PUT images/{own}/file"), Some(json!("data")));
    assert_eq!(upload.status, 204);
    let active = glance(world, "member", &format!("GET images/{own}"), None).value();
    assert_eq!((&active["status"], &active["size"]), (&json!("active"), &json!(6)));
}

#[test]
fn garbage_is_refused_and_changes_nothing() {
    let mut stage = stage();
    let known = rows(stage.world.cloud.state());
    let deep =
        serde_json::from_str::<Value>(&format!("{}1{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let bodies = [
        json!(null),
        json!([]),
        json!({"server": []}),
        json!({"server": {"name": deep}}),
        json!({"flavor": 1}),
    ];
    for path in ["servers", "flavors", "os-keypairs", "servers/x/action", "nonsense"] {
        for body in &bodies {
            let answer =
                nova(&mut stage.world, "admin", &format!("POST {path}"), Some(body.clone()));
            assert!(answer.status.is_client_error(), "{path} {body}: {}", answer.status);
        }
    }
    for body in &bodies {
        let answer = glance(&mut stage.world, "admin", "PATCH images/x", Some(body.clone()));
        assert!(answer.status.is_client_error());
    }
    assert_eq!(rows(stage.world.cloud.state()), known);
}

#[test]
fn servers_spread_over_the_hosts_that_there_are() {
    let hosts = ["edpm-compute-0", "edpm-compute-1"].map(str::to_owned).to_vec();
    let config = Config { compute_hosts: hosts, ..world::config() };
    let mut stage = stage_in(World::with(config));
    let host = |stage: &mut Stage, server: &Value| {
        let line = format!("GET servers/{}", id(server));
        nova(&mut stage.world, "admin", &line, None).value()["server"]["OS-EXT-SRV-ATTR:host"]
            .clone()
    };
    let servers: Vec<Value> = (0..3).map(|_| stage.boot(&json!({}))).collect();
    let on: Vec<Value> = servers.iter().map(|server| host(&mut stage, server)).collect();
    assert_eq!(on, ["edpm-compute-0", "edpm-compute-1", "edpm-compute-0"]);
    let wanted = stage.wanted(&json!({"availability_zone": "nova:edpm-compute-9"}));
    let network = stage.world.net("admin", "10.2.0.0/24").0;
    let mut wanted = wanted;
    wanted["server"]["networks"] = json!([{"uuid": network}]);
    let answer = nova(&mut stage.world, "admin", "POST servers", Some(wanted.clone()));
    assert_eq!(
        refusal(&answer),
        (400, "Compute host edpm-compute-9 could not be found.".to_owned())
    );
    wanted["server"]["availability_zone"] = json!("nova:edpm-compute-0");
    let made = nova(&mut stage.world, "admin", "POST servers", Some(wanted));
    assert_eq!(host(&mut stage, &made.value()["server"]), "edpm-compute-0", "as it was told");
    let shown = nova(&mut stage.world, "admin", "GET os-hypervisors/detail", None).value();
    let loads: Vec<_> = shown["hypervisors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["hypervisor_hostname"].as_str().unwrap(), one["running_vms"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(loads, [("edpm-compute-0", 3), ("edpm-compute-1", 1)]);
}

#[test]
fn what_owners_write_on_servers_is_kept() {
    let mut stage = stage();
    let server = stage.boot(&json!({"metadata": {"a": "1"}}));
    let path = format!("servers/{}/metadata", id(&server));
    let mut call = |who: &str, method: &str, name: &str, body: Option<Value>| {
        let answer = nova(&mut stage.world, who, &format!("{method} {path}{name}"), body);
        (answer.status.as_u16(), answer.value())
    };
    let add = Some(json!({"metadata": {"b": "2"}}));
    assert_eq!(call("member", "POST", "", add), (200, json!({"metadata": {"a": "1", "b": "2"}})));
    let one = Some(json!({"meta": {"c": "3"}}));
    assert_eq!(call("member", "PUT", "/c", one.clone()), (200, json!({"meta": {"c": "3"}})));
    assert_eq!(call("member", "PUT", "/d", one).0, 400, "the name is in the path and in the body");
    assert_eq!(call("member", "GET", "/b", None), (200, json!({"meta": {"b": "2"}})));
    assert_eq!(call("member", "DELETE", "/a", None).0, 204);
    assert_eq!(call("member", "DELETE", "/a", None).0, 404);
    assert_eq!(call("reader", "PUT", "", Some(json!({"metadata": {}}))).0, 403);
    for bad in [
        json!({"metadata": []}),
        json!({"metadata": {"a": 1}}),
        json!({}),
        json!({"metadata": {"": "x"}}),
    ] {
        assert_eq!(call("member", "PUT", "", Some(bad.clone())).0, 400, "{bad}");
    }
    let many: Value = (0..200).map(|n| (n.to_string(), json!("x"))).collect();
    assert_eq!(call("member", "PUT", "", Some(json!({ "metadata": many }))).0, 403);
    assert_eq!(call("reader", "GET", "", None), (200, json!({"metadata": {"b": "2", "c": "3"}})));
    assert_eq!(call("member", "PUT", "", Some(json!({"metadata": {"z": "26"}}))).0, 200);
    assert_eq!(call("member", "GET", "", None), (200, json!({"metadata": {"z": "26"}})));
}
