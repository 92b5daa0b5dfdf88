//! Bad input: whatever comes, there is an answer, nothing panics, and a refusal changes nothing.

use bytes::Bytes;
use http::Method;
use landbridge_cloudlet::{Request, Service};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{World, rows};

const PATHS: [&str; 22] = [
    "/",
    "/v2.0/",
    "/v2.0/networks",
    "/v2.0/networks/x",
    "/v2.0/networks/x/tags",
    "/v2.0/networks/x/tags/y",
    "/v2.0/subnets",
    "/v2.0/ports",
    "/v2.0/ports/x/add_it",
    "/v2.0/rbac-policies",
    "/v2.0/quotas/x",
    "/v2.0/subnetpools",
    "/v2.0/extensions/x",
    "/v2.0/nothing",
    "/v3",
    "/v3/auth/tokens",
    "/v3/users",
    "/v3/projects/x/users/y/roles/z",
    "/v3/role_assignments",
    "/v3/endpoints",
    "/v3/users/x/password",
    "/v3/regions/x",
];

/// Any JSON, with names that mean something here and there.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        "[a-z0-9.:/*$\u{1}é-]{0,12}".prop_map(Value::from),
        Just(json!("10.0.0.0/24")),
        Just(json!("31343e00-8e1d-4ca0-9097-758e19e542b7")),
    ];
    let names = prop::sample::select(vec![
        "network",
        "networks",
        "subnet",
        "port",
        "ports",
        "tags",
        "auth",
        "identity",
        "methods",
        "password",
        "user",
        "name",
        "domain",
        "id",
        "cidr",
        "ip_version",
        "network_id",
        "fixed_ips",
        "ip_address",
        "allocation_pools",
        "start",
        "end",
        "gateway_ip",
        "host_routes",
        "destination",
        "nexthop",
        "prefixes",
        "segments",
        "quota",
        "provider:network_type",
        "allowed_address_pairs",
        "extra_dhcp_opts",
        "mtu",
        "subnetpool",
        "rbac_policy",
        "object_type",
        "object_id",
        "target_tenant",
        "action",
        "endpoint",
        "region",
        "url",
        "interface",
        "scope",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..6).prop_map(|map| {
                Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_call_has_an_answer(
        path in prop::sample::select(PATHS.to_vec()),
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
        query in "([a-z_:-]{1,12}=[a-z0-9,%=*é]{0,8}&){0,4}",
        body in any_json(),
        raw in prop::collection::vec(any::<u8>(), 0..40),
        as_raw in any::<bool>(),
        who in prop::sample::select(vec!["admin", "member", "nobody"]),
    ) {
        let mut world = World::new();
        let before = rows(world.cloud.state());
        let service = if path.starts_with("/v3") { Service::Identity } else { Service::Network };
        let method: Method = method.parse().unwrap();
        let mut request = Request::new(service, method, &format!("{path}?{query}"));
        if let Some(token) = world.tokens.get(who) {
            request = request.token(token);
        }
        request.body = if as_raw { Bytes::from(raw) } else { body.to_string().into() };
        let answer = world.send(request);
        let status = answer.status.as_u16();
        prop_assert!(status != 500 && status >= 200, "{status}");
        if status >= 400 {
            prop_assert_eq!(rows(world.cloud.state()), before);
            prop_assert!(world.changes.is_empty());
        }
    }

    /// Every attribute of every resource takes anything without harm.
    #[test]
    fn any_attribute_has_an_answer(value in any_json(), which in any::<prop::sample::Index>()) {
        use landbridge_cloudlet::network::RESOURCES;
        let all: Vec<(&str, &str, &str)> = RESOURCES.iter().flat_map(|resource| {
            resource.attributes.iter().map(|a| (resource.path, resource.single, a.name))
        }).collect();
        let (path, single, name) = all[which.index(all.len())];
        let mut world = World::new();
        let (net, _) = world.net("admin", "10.0.0.0/24");
        let mut object = json!({"network_id": net, "ip_version": 4, "cidr": "10.9.0.0/24", "name": "n",
            "prefixes": ["10.0.0.0/8"], "object_type": "network", "object_id": net,
            "target_tenant": "*", "action": "access_as_shared"});
        let table = RESOURCES.iter().find(|resource| resource.path == path).unwrap();
        object.as_object_mut().unwrap().retain(|key, _| {
            table.attributes.iter().any(|a| a.name == key && a.post)
        });
        object[name] = value;
        let answer = world.neutron_with("admin", &format!("POST {path}"), &json!({ single: object }));
        let status = answer.status.as_u16();
        prop_assert!(status != 500 && (status == 201 || status >= 400), "{status}: {}", answer.value());
    }
}

#[test]
fn huge_and_deep_bodies_are_refused() {
    let mut world = World::new();
    let deep = "[".repeat(100_000);
    let long = format!(r#"{{"network": {{"name": "{}"}}}}"#, "x".repeat(1_000_000));
    let many = json!({"networks": vec![json!({}); 5000]}).to_string();
    for body in [deep, long, many] {
        let token = world.tokens["admin"].clone();
        let mut request =
            Request::new(Service::Network, Method::POST, "/v2.0/networks").token(&token);
        request.body = body.into();
        assert_eq!(world.send(request).status, 400);
    }
    assert_eq!(world.neutron("admin", "GET networks").value()["networks"], json!([]));
}
