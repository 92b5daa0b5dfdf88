//! The same on servers that answer over HTTP: a real Keystone and Neutron, or the cloudlet.
//!
//! `KEYSTONE_URL` names them, separated by spaces (`http://127.0.0.1:5000`, as `scripts/openstack-peer` prints it); user, project and password are
//! admin, admin and `LANDBRIDGE_TEST_PASSWORD` (`secret`), and there is a physical network `octavia`.

use std::env;

use landbridge_controllers::octavia::pass::{Ended, Task, pass};
use landbridge_controllers::octavia::steps::Options;
use landbridge_openstack::{Call, Client, Service, Settings};
use landbridge_plan::octavia::Design;
use serde_json::{Value, json};

use crate::scene::{designed, keep, owner, seed};

/// Who answers; none, and it is told.
fn servers() -> Vec<(String, Client)> {
    let urls = env::var("KEYSTONE_URL").unwrap_or_default();
    let password = env::var("LANDBRIDGE_TEST_PASSWORD").unwrap_or("secret".to_owned());
    let connect = |url: &str| {
        let root = format!("{}/v3", url.trim_end_matches('/').trim_end_matches("/v3"));
        let settings = Settings::simple(&root, "admin", &password, "admin");
        (url.to_owned(), Client::connect(settings).unwrap())
    };
    let all: Vec<_> = urls.split_whitespace().map(connect).collect();
    if all.is_empty() {
        let why = "Octavia's networks on a real Neutron: KEYSTONE_URL names none";
        println!("skipped: {why}");
        if let Some(notes) = env::var_os("LANDBRIDGE_SKIP_FILE") {
            use std::io::Write as _;
            let mut notes =
                std::fs::OpenOptions::new().append(true).create(true).open(notes).unwrap();
            writeln!(notes, "{why}").unwrap();
        }
    }
    all
}

async fn settle(client: &Client, task: &Task) {
    let mut whys = Vec::new();
    for _ in 0..5 {
        match pass(client, &owner(), task).await {
            Ended::Done(_) => return,
            Ended::Short { why, .. } => whys.push(why),
        }
    }
    panic!("not settled: {whys:#?}");
}

async fn put(client: &Client, path: &str, body: Value) -> Value {
    client.call(Call::put(Service::Network, path, body)).await.unwrap().body
}

async fn all(client: &Client, collection: &str) -> Vec<Value> {
    let body =
        client.call(Call::get(Service::Network, format!("/{collection}"))).await.unwrap().body;
    body[collection.replace('-', "_")].as_array().unwrap().clone()
}

async fn named(client: &Client, collection: &str, name: &str) -> Value {
    let mut found = all(client, collection).await;
    found.retain(|object| object["name"] == name);
    assert_eq!(found.len(), 1, "{name}: {found:#?}");
    found.remove(0)
}

/// What of everything can be compared: nothing that a server chooses.
async fn shape(client: &Client) -> Vec<String> {
    let mut lines = Vec::new();
    let fields: [(&str, &[&str]); 5] = [
        (
            "networks",
            &[
                "name",
                "description",
                "admin_state_up",
                "shared",
                "router:external",
                "port_security_enabled",
            ],
        ),
        (
            "subnets",
            &[
                "name",
                "description",
                "cidr",
                "gateway_ip",
                "allocation_pools",
                "enable_dhcp",
                "dns_nameservers",
            ],
        ),
        ("routers", &["name", "description", "admin_state_up", "routes", "tags"]),
        (
            "ports",
            &[
                "name",
                "description",
                "admin_state_up",
                "device_owner",
                "port_security_enabled",
                "allowed_address_pairs",
            ],
        ),
        ("security-groups", &["name", "description", "stateful"]),
    ];
    for (collection, fields) in fields {
        for object in all(client, collection).await {
            // Neutron makes one for each project that is asked about.
            if collection == "security-groups" && object["name"] == "default" {
                continue;
            }
            let values: Vec<String> =
                fields.iter().map(|field| object[*field].to_string()).collect();
            let rules = object["security_group_rules"].as_array().map_or(0, Vec::len);
            lines.push(format!("{collection} {} {rules}", values.join(" ")));
        }
    }
    lines.sort();
    lines
}

async fn the_seed(client: &Client) {
    let provider = named(client, "networks", "octavia-provider-net").await;
    assert_eq!(
        (&provider["provider:network_type"], &provider["provider:physical_network"]),
        (&json!("flat"), &json!("octavia"))
    );
    assert_eq!(provider["router:external"], true);
    let subnet = named(client, "subnets", "octavia-provider-subnet").await;
    assert_eq!(
        (&subnet["cidr"], &subnet["network_id"]),
        (&json!("172.23.0.0/24"), &provider["id"])
    );
    let inner = named(client, "subnets", "lb-mgmt-subnet").await;
    assert_eq!((&inner["cidr"], &inner["gateway_ip"]), (&json!("172.24.0.0/16"), &Value::Null));
    let router = named(client, "routers", "octavia-link-router").await;
    let info = &router["external_gateway_info"];
    assert_eq!((&info["network_id"], &info["enable_snat"]), (&provider["id"], &json!(false)));
    assert_eq!(
        info["external_fixed_ips"],
        json!([{"subnet_id": subnet["id"], "ip_address": "172.23.0.150"}])
    );
    assert_eq!(
        (&router["description"], &router["tags"], &router["routes"]),
        (&json!(""), &json!([]), &json!([]))
    );
    let port = named(client, "ports", "lb-mgmt-router-port").await;
    assert_eq!(
        (&port["device_id"], &port["device_owner"]),
        (&router["id"], &json!("network:router_interface"))
    );
    assert_eq!((&port["description"], &port["tags"]), (&json!(""), &json!([])));
    assert_eq!(port["security_groups"].as_array().unwrap().len(), 2);
    let routes =
        json!([{"destination": "172.23.0.0/24", "nexthop": port["fixed_ips"][0]["ip_address"]}]);
    assert_eq!(inner["host_routes"], routes);
    let policies = all(client, "rbac-policies").await;
    let open: Vec<&Value> =
        policies.iter().filter(|policy| policy["object_id"] == provider["id"]).collect();
    assert_eq!(open.len(), 1, "{policies:#?}");
    assert_eq!(open[0]["target_tenant"], provider["project_id"]);
}

/// What others do, and what it does to whom.
async fn meddle(client: &Client, number: usize) -> bool {
    let id = |object: &Value| object["id"].as_str().unwrap().to_owned();
    let inner = id(&named(client, "subnets", "lb-mgmt-subnet").await);
    let network = id(&named(client, "networks", "lb-mgmt-net").await);
    let provider = id(&named(client, "networks", "octavia-provider-net").await);
    let router = named(client, "routers", "octavia-link-router").await;
    let port = id(&named(client, "ports", "lb-mgmt-router-port").await);
    let group = named(client, "security-groups", "lb-mgmt-sec-grp").await;
    match number {
        0 => drop(
            put(
                client,
                &format!("/subnets/{inner}"),
                json!({"subnet": {"host_routes": [], "name": "x", "enable_dhcp": false}}),
            )
            .await,
        ),
        1 => drop(
            put(
                client,
                &format!("/networks/{network}"),
                json!({"network": {"name": "x", "admin_state_up": false, "shared": true}}),
            )
            .await,
        ),
        2 => drop(
            put(
                client,
                &format!("/networks/{provider}"),
                json!({"network": {"description": "x", "name": "y"}}),
            )
            .await,
        ),
        3 => {
            let mut info = router["external_gateway_info"].clone();
            info["enable_snat"] = true.into();
            let body =
                json!({"router": {"name": "x", "description": "y", "external_gateway_info": info}});
            drop(put(client, &format!("/routers/{}", id(&router)), body).await);
        }
        4 => drop(
            put(
                client,
                &format!("/ports/{port}"),
                json!({"port": {"name": "x", "security_groups": [], "description": "y"}}),
            )
            .await,
        ),
        5 => {
            let path = format!("/routers/{}/remove_router_interface", id(&router));
            drop(put(client, &path, json!({"port_id": port})).await);
        }
        6 => {
            let rule = group["security_group_rules"]
                .as_array()
                .unwrap()
                .iter()
                .find(|r| r["direction"] == "ingress")
                .unwrap();
            client
                .call(Call::delete(Service::Network, format!("/security-group-rules/{}", id(rule))))
                .await
                .unwrap();
            let body = json!({"security_group_rule": {"security_group_id": group["id"], "direction": "ingress", "ethertype": "IPv4", "protocol": "icmp"}});
            client.call(Call::post(Service::Network, "/security-group-rules", body)).await.unwrap();
        }
        7 => {
            let body = json!({"rbac_policy": {"object_id": provider, "object_type": "network", "action": "access_as_external", "target_tenant": "*"}});
            client.call(Call::post(Service::Network, "/rbac-policies", body)).await.unwrap();
        }
        8 => {
            let path = format!("/routers/{}", id(&router));
            drop(put(client, &path, json!({"router": {"external_gateway_info": {}}})).await);
        }
        _ => return false,
    }
    true
}

async fn story(url: &str, client: &Client) {
    let nothing = shape(client).await;
    settle(client, &keep(&seed())).await;
    the_seed(client).await;
    let expected = shape(client).await;
    for number in 0.. {
        if !meddle(client, number).await {
            break;
        }
        settle(client, &keep(&seed())).await;
        assert_eq!(shape(client).await, expected, "{url}: after change {number}");
        the_seed(client).await;
    }
    // Changes that Neutron follows, and one that it does not.
    let moved = designed(
        &json!({"lbMgmtNetwork": {"availabilityZoneCIDRs": {}}}),
        &json!({"range_end": "172.23.0.80",
        "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.160"}]}),
    );
    settle(client, &keep(&moved)).await;
    let router = named(client, "routers", "octavia-link-router").await;
    assert_eq!(
        router["external_gateway_info"]["external_fixed_ips"][0]["ip_address"],
        "172.23.0.160"
    );
    let other: Design =
        designed(&json!({}), &json!({"routes": [{"dst": "172.28.0.0/16", "gw": "172.23.0.150"}]}));
    match pass(client, &owner(), &keep(&other)).await {
        Ended::Short { why, .. } => {
            assert!(why.contains("subnet lb-mgmt-subnet has cidr"), "{why}");
        }
        Ended::Done(_) => panic!("{url}: a prefix was changed"),
    }
    settle(client, &Task::Keep(other.into(), Options { may_recreate: true, is_careful: true }))
        .await;
    assert_eq!(named(client, "subnets", "lb-mgmt-subnet").await["cidr"], "172.28.0.0/16");
    settle(client, &Task::Remove).await;
    assert_eq!(shape(client).await, nothing, "{url}: what is left");
}

#[test]
fn the_same_on_real_servers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (url, client) in servers() {
        runtime.block_on(story(&url, &client));
    }
}
