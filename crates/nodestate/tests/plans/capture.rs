//! Captures.

use std::collections::BTreeMap;

use landbridge_nodestate::render;
use serde_json::{Value, json};

fn current() -> Value {
    json!({
        "dns-resolver": {"running": {"server": ["192.0.2.53"], "search": []}},
        "routes": {"running": [
            {"destination": "0.0.0.0/0", "next-hop-interface": "eth1", "next-hop-address": "192.0.2.1", "table-id": 254},
            {"destination": "10.0.0.0/8", "next-hop-interface": "eth2", "next-hop-address": "198.51.100.1", "table-id": 254},
            {"destination": "192.0.2.0/24", "next-hop-interface": "eth1", "table-id": 254},
        ]},
        "interfaces": [
            {"name": "eth1", "type": "ethernet", "mtu": 1500, "mac-address": "02:00:00:00:00:01",
             "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.10", "prefix-length": 24}]}},
            {"name": "eth2", "type": "ethernet", "mtu": 9000, "ipv4": {"enabled": false}},
        ],
    })
}

fn captures(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The documentation's example: a bridge over the NIC of the default gateway, with its addresses, routes
/// and resolver.
#[test]
fn a_bridge_takes_over_the_default_gateway() {
    let capture = captures(&[
        ("default-gw", r#"routes.running.destination == "0.0.0.0/0""#),
        ("base-iface", "interfaces.name == capture.default-gw.routes.running.0.next-hop-interface"),
        (
            "its-routes",
            "routes.running.next-hop-interface == capture.default-gw.routes.running.0.next-hop-interface",
        ),
        ("bridge-routes", r#"capture.its-routes | routes.running.next-hop-interface := "br1""#),
        ("resolver", "dns-resolver.running"),
    ]);
    let desired = json!({
        "interfaces": [
            {"name": "br1", "type": "linux-bridge", "description": "over {{ capture.base-iface.interfaces.0.name }}, {{capture.base-iface.interfaces.0.mtu}}",
             "ipv4": "{{ capture.base-iface.interfaces.0.ipv4 }}",
             "bridge": {"port": [{"name": "{{ capture.base-iface.interfaces.0.name }}"}]}},
        ],
        "routes": {"config": "{{ capture.bridge-routes.routes.running }}"},
        "dns-resolver": {"config": "{{ capture.resolver.dns-resolver.running }}"},
    });
    let rendered = render(&desired, &capture, &current()).unwrap();
    assert_eq!(
        rendered.desired,
        json!({
            "interfaces": [
                {"name": "br1", "type": "linux-bridge", "description": "over eth1, 1500",
                 "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.10", "prefix-length": 24}]},
                 "bridge": {"port": [{"name": "eth1"}]}},
            ],
            "routes": {"config": [
                {"destination": "0.0.0.0/0", "next-hop-interface": "br1", "next-hop-address": "192.0.2.1", "table-id": 254},
                {"destination": "192.0.2.0/24", "next-hop-interface": "br1", "table-id": 254},
            ]},
            "dns-resolver": {"config": {"server": ["192.0.2.53"], "search": []}},
        })
    );
    assert_eq!(rendered.captured["base-iface"]["interfaces"].as_array().unwrap().len(), 1);
    assert_eq!(rendered.captured["base-iface"].get("routes"), None);
}

#[test]
fn filters() {
    for (text, found) in [
        ("interfaces.mtu == 9000", json!({"interfaces": [current()["interfaces"][1]]})),
        (r#"interfaces.mtu=="9000""#, json!({"interfaces": [current()["interfaces"][1]]})),
        ("interfaces.ipv4.enabled == true", json!({"interfaces": [current()["interfaces"][0]]})),
        (
            r#"interfaces.ipv4.address.ip == "192.0.2.10""#,
            json!({"interfaces": [current()["interfaces"][0]]}),
        ),
        (
            r#"dns-resolver.running.server == "192.0.2.53""#,
            json!({"dns-resolver": {"running": {"server": ["192.0.2.53"]}}}),
        ),
        ("dns-resolver", json!({"dns-resolver": current()["dns-resolver"]})),
    ] {
        let rendered = render(&json!({}), &captures(&[("x", text)]), &current()).unwrap();
        assert_eq!(rendered.captured["x"], found, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    for (list, text) in [
        (
            &[("x", "interfaces.name == \"eth9\"")][..],
            "capture.x: nothing has interfaces.name == \"eth9\"",
        ),
        (
            &[("x", "interfaces.name == eth1")],
            "capture.x: eth1 is neither a value nor capture.NAME.PATH: texts need quotes",
        ),
        (&[("x", "interfaces.name ==")], "capture.x: a value is missing"),
        (
            &[("x", "interfaces..name")],
            "capture.x: \"\" in \"interfaces..name\" is no step of a path",
        ),
        (&[("x", "nowhere | interfaces")], "capture.x: what stands before | is not capture.NAME"),
        (&[("x", "capture.y | interfaces")], "capture.x: there is no capture y"),
        (
            &[("x", "capture.y | interfaces"), ("y", "capture.x | interfaces")],
            "capture.x: it refers to itself by way of others",
        ),
        (&[("x", "a == 1 := 2")], "capture.x: == and := cannot stand together"),
        (&[("x", "ovn")], "capture.x: there is no ovn"),
    ] {
        let fault = render(&json!({}), &captures(list), &current()).unwrap_err();
        assert_eq!(fault.to_string(), text);
    }
    let all = captures(&[("all", "interfaces")]);
    for (template, text) in [
        (
            "{{ capture.all.interfaces.7.name }}",
            "interfaces[0].name: capture.all.interfaces.7.name leads nowhere",
        ),
        ("{{ capture.none.x }}", "interfaces[0].name: there is no capture none"),
        (
            "{{ interfaces }}",
            "interfaces[0].name: \"interfaces\" does not refer to a capture, as capture.NAME.PATH does",
        ),
        ("{{ capture.all", "interfaces[0].name: \"{{ capture.all\" has {{ without }}"),
        (
            "x{{ capture.all.interfaces }}",
            "interfaces[0].name: capture.all.interfaces is a list or an object, which cannot stand within a text",
        ),
    ] {
        let desired = json!({"interfaces": [{"name": template}]});
        let fault = render(&desired, &all, &current()).unwrap_err();
        assert_eq!(fault.to_string(), text);
    }
}
