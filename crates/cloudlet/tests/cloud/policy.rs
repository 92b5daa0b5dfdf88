//! Who may do what: every resource, three kinds of people.

use serde_json::{Value, json};

use crate::world::{World, id, refusal};

/// One attempt: who, call, body, the expected status.
type Row<'a> = (&'a str, String, Option<Value>, u16);

fn try_all(world: &mut World, rows: Vec<Row<'_>>) {
    for (who, line, body, status) in rows {
        let before = crate::world::rows(world.cloud.state());
        let answer = match &body {
            Some(body) => world.neutron_with(who, &line, body),
            None => world.neutron(who, &line),
        };
        assert_eq!(answer.status.as_u16(), status, "{who}: {line} {body:?}: {}", answer.value());
        if who == "reader" || status >= 400 {
            assert_eq!(
                crate::world::rows(world.cloud.state()),
                before,
                "{who}: {line} changed something"
            );
        }
    }
}

#[test]
fn everybody_sees_and_changes_what_is_theirs() {
    let mut world = World::new();
    let (net, subnet) = world.net("member", "10.0.0.0/24");
    let port = id(&world.make("member", "ports", json!({"network_id": net})));
    let mut table: Vec<Row<'_>> = Vec::new();
    for (path, object, single) in [
        (format!("networks/{net}"), json!({"name": "x"}), "network"),
        (format!("subnets/{subnet}"), json!({"name": "x"}), "subnet"),
        (format!("ports/{port}"), json!({"name": "x"}), "port"),
    ] {
        let body = json!({ single: object });
        for (who, see, change) in
            [("admin", 200, 200), ("member", 200, 200), ("reader", 200, 403), ("other", 404, 404)]
        {
            table.push((who, format!("GET {path}"), None, see));
            table.push((who, format!("PUT {path}"), Some(body.clone()), change));
        }
        table.push(("nobody", format!("GET {path}"), None, 401));
        table.push(("reader", format!("DELETE {path}"), None, 403));
        table.push(("other", format!("DELETE {path}"), None, 404));
    }
    for (plural, body) in [
        ("networks", json!({"network": {}})),
        ("subnets", json!({"subnet": {"network_id": net, "cidr": "10.1.0.0/24", "ip_version": 4}})),
        ("ports", json!({"port": {"network_id": net}})),
        ("subnetpools", json!({"subnetpool": {"name": "p", "prefixes": ["10.0.0.0/8"]}})),
    ] {
        table.push(("reader", format!("POST {plural}"), Some(body), 403));
    }
    // What only an administrator may say.
    for attribute in [
        json!({"shared": true}),
        json!({"router:external": true}),
        json!({"provider:network_type": "vlan"}),
    ] {
        let body = json!({ "network": attribute });
        table.push(("member", "POST networks".into(), Some(body.clone()), 403));
        table.push(("member", format!("PUT networks/{net}"), Some(body), 403));
    }
    for attribute in [json!({"binding:host_id": "h"}), json!({"binding:profile": {"a": 1}})] {
        let mut port = attribute;
        port["network_id"] = net.clone().into();
        table.push(("member", "POST ports".into(), Some(json!({ "port": port })), 403));
    }
    table.push(("member", "GET quotas".into(), None, 403));
    try_all(&mut world, table);
}

#[test]
fn a_refusal_names_every_rule_that_was_asked() {
    let mut world = World::new();
    let (net, _) = world.net("admin", "10.0.0.0/24");
    let share = json!({"rbac_policy": {"object_type": "network", "object_id": net,
        "action": "access_as_shared", "target_tenant": world.projects["demo"]}});
    assert_eq!(world.neutron_with("admin", "POST rbac-policies", &share).status, 201);
    let port = json!({"port": {"network_id": net, "mac_address": "fa:16:3e:00:00:01",
        "fixed_ips": [{"ip_address": "10.0.0.9"}]}});
    let (status, kind, message) = refusal(&world.neutron_with("member", "POST ports", &port));
    assert_eq!((status, kind.as_str()), (403, "PolicyNotAuthorized"));
    assert_eq!(
        message,
        "((rule:create_port and rule:create_port:mac_address) and (rule:create_port:fixed_ips and \
         (rule:create_port:fixed_ips:ip_address))) is disallowed by policy"
    );
}

#[test]
fn sharing_opens_and_closes() {
    let mut world = World::new();
    let (net, subnet) = world.net("admin", "10.0.0.0/24");
    let port = json!({"port": {"network_id": net}});
    assert_eq!(world.neutron_with("member", "POST ports", &port).status, 404, "not seen");
    let shared = |yes: bool| json!({"network": {"shared": yes}});
    let path = format!("PUT networks/{net}");
    assert_eq!(world.neutron_with("admin", &path, &shared(true)).status, 200);
    for path in [format!("GET networks/{net}"), format!("GET subnets/{subnet}")] {
        assert_eq!(world.neutron("other", &path).status, 200);
    }
    let policies = world.neutron("admin", &format!("GET rbac-policies?object_id={net}")).value();
    assert_eq!(policies["rbac_policies"][0]["target_tenant"], "*");
    let made = world.neutron_with("member", "POST ports", &port);
    assert_eq!(made.status, 201, "{}", made.value());
    let used = refusal(&world.neutron_with("admin", &path, &shared(false)));
    assert_eq!((used.0, used.1.as_str()), (409, "InvalidSharedSetting"));
    let made = id(&made.value()["port"]);
    assert_eq!(world.neutron("member", &format!("DELETE ports/{made}")).status, 204);
    assert_eq!(world.neutron_with("admin", &path, &shared(false)).status, 200);
    assert_eq!(world.neutron("other", &format!("GET networks/{net}")).status, 404);
}

#[test]
fn an_external_network_is_narrowed_as_octavia_does() {
    let mut world = World::new();
    let net = id(&world.make("admin", "networks", json!({"router:external": true})));
    assert_eq!(world.neutron("other", &format!("GET networks/{net}")).status, 200);
    let list = format!(
        "GET rbac-policies?object_id={net}&target_tenant=*&tenant_id={}",
        world.projects["admin"]
    );
    let policy = id(&world.neutron("admin", &list).value()["rbac_policies"][0]);
    let target = json!({"rbac_policy": {"target_tenant": world.projects["admin"]}});
    let narrowed = world.neutron_with("admin", &format!("PUT rbac-policies/{policy}"), &target);
    assert_eq!(narrowed.status, 200, "{}", narrowed.value());
    assert_eq!(world.neutron("other", &format!("GET networks/{net}")).status, 404);
    assert_eq!(
        world.neutron("admin", &format!("GET networks/{net}")).value()["network"]["router:external"],
        true
    );
}
