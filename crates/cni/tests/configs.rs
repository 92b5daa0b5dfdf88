//! Network configurations: the seeds', the specification's, and those that are refused.

mod seeds;

use landbridge_cni::config::{Attachment, Input, Network};
use landbridge_cni::json::Object;
use landbridge_cni::{CniResult, Code, Coded, Version};
use serde_json::{Value, json};

#[test]
fn the_seeds_definitions_are_single_configurations() {
    for (name, text, kind) in [
        ("internalapi", seeds::INTERNALAPI, "macvlan"),
        ("storage", seeds::STORAGE, "macvlan"),
        ("octavia", seeds::OCTAVIA, "bridge"),
    ] {
        let network = Network::of_definition("other", text).unwrap().unwrap();
        assert_eq!((network.name.as_str(), network.version), (name, Version::V0_3_1));
        assert!(!network.is_list);
        let [plugin] = network.plugins.as_slice() else { panic!("{:?}", network.plugins) };
        assert_eq!((plugin.kind.as_str(), plugin.ipam.as_str()), (kind, "whereabouts"));
    }
}

#[test]
fn a_definition_lends_its_name_and_may_be_empty() {
    let network = |text| Network::of_definition("nad", text).unwrap();
    for text in
        [r#"{"type":"macvlan"}"#, r#"{"name":"","type":"x"}"#, r#"{"name":null,"type":"x"}"#]
    {
        assert_eq!(network(text).unwrap().name, "nad");
    }
    assert_eq!(network(" \n"), None);
    assert_eq!(network(r#"{"type":"x"}"#).unwrap().version, Version::V0_1_0);
}

#[test]
fn a_list_is_read_with_its_switches() {
    let text = json!({
        "cniVersion": "0.4.0", "cniVersions": ["1.1.0", "9.0.0"], "name": "cbr0",
        "disableCheck": "TRUE", "disableGC": true, "loadOnlyInlinedPlugins": false,
        "plugins": [{"type": "bridge"}, {"type": "portmap", "capabilities": {"portMappings": true}}]
    });
    let network = Network::parse(text.to_string().as_bytes()).unwrap();
    assert_eq!(network.version, Version::V1_1_0);
    assert!(network.is_list && network.disable_check && network.disable_gc);
    assert!(!network.load_only_inlined_plugins);
    let kinds: Vec<_> = network.plugins.iter().map(|plugin| plugin.kind.as_str()).collect();
    assert_eq!(kinds, ["bridge", "portmap"]);
}

#[test]
fn what_is_wrong_is_named_with_its_number() {
    let cases = [
        (
            "",
            6,
            "the network configuration is no JSON object: EOF while parsing a value at line 1 column 0",
        ),
        (r#"{"name":"a"}"#, 7, "the network configuration has neither \"type\" nor \"plugins\""),
        (r#"{"name":"a","plugins":[]}"#, 7, "the network configuration lists no plugins"),
        (
            r#"{"name":"a","plugins":[{}]}"#,
            7,
            "a plugin of the network configuration has no \"type\"",
        ),
        (
            r#"{"name":"a","plugins":[1]}"#,
            7,
            "the network configuration has a value of the wrong type under \"plugins\"",
        ),
        (r#"{"name":"a","type":""}"#, 7, "a plugin of the network configuration has no \"type\""),
        (r#"{"type":"x"}"#, 7, "missing network name"),
        (r#"{"name":"a b","type":"x"}"#, 7, "invalid characters found in network name"),
        (r#"{"name":"a","type":"../x"}"#, 7, "invalid plugin name: ../x"),
        (r#"{"name":"a","type":"x","ipam":{"type":"/x"}}"#, 7, "invalid plugin name: /x"),
        (r#"{"name":"a","type":"x","cniVersion":"0.9.9"}"#, 1, "incompatible CNI versions"),
        (
            r#"{"name":"a","type":"x","cniVersion":1}"#,
            7,
            "the network configuration has a value of the wrong type under \"cniVersion\"",
        ),
        (
            r#"{"name":"a","plugins":[{"type":"x"}],"disableCheck":"maybe"}"#,
            7,
            "the network configuration has a value of the wrong type under \"disableCheck\"",
        ),
    ];
    for (text, code, message) in cases {
        let error = Network::parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), (Code(code), message), "{text}");
    }
}

#[test]
fn a_plugin_is_handed_only_what_it_declares() {
    let text = r#"{"cniVersion":"0.3.1","name":"internalapi","type":"macvlan",
        "master":"enp6s0.20","capabilities":{"ips":true,"mac":false},"ipam":{"type":"static"}}"#;
    let network = Network::parse(text.as_bytes()).unwrap();
    let Value::Object(told) = json!({"ips": ["172.17.0.20/24"], "mac": "02::", "other": 1}) else {
        panic!("no object")
    };
    let stdin = network.stdin_for(&network.plugins[0], None, &told).unwrap();
    assert_eq!(
        stdin,
        r#"{"capabilities":{"ips":true,"mac":false},"cniVersion":"0.3.1","ipam":{"type":"static"},"master":"enp6s0.20","name":"internalapi","runtimeConfig":{"ips":["172.17.0.20/24"]},"type":"macvlan"}"#
    );
    let input = Input::parse(stdin.as_bytes()).unwrap();
    assert_eq!(input.runtime.ips, ["172.17.0.20/24"]);
    assert_eq!((input.runtime.mac.as_str(), input.ipam_kind().unwrap().as_str()), ("", "static"));
}

#[test]
fn the_previous_result_is_handed_on_in_the_networks_version() {
    let list = r#"{"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"},{"type":"b"}]}"#;
    let network = Network::parse(list.as_bytes()).unwrap();
    let result = br#"{"cniVersion":"1.1.0","interfaces":[{"name":"net1","mtu":9000}],
        "ips":[{"address":"10.0.0.5/24","interface":0}]}"#;
    let (_, result) = CniResult::parse(result).unwrap();
    let stdin = network.stdin_for(&network.plugins[1], Some(&result), &Object::new()).unwrap();
    assert_eq!(
        stdin,
        r#"{"cniVersion":"0.3.1","name":"n","prevResult":{"cniVersion":"0.3.1","interfaces":[{"name":"net1"}],"ips":[{"address":"10.0.0.5/24","interface":0,"version":"4"}]},"type":"b"}"#
    );
    let previous = Input::parse(stdin.as_bytes()).unwrap().previous.unwrap();
    assert_eq!(previous.ips, result.ips);
}

#[test]
fn arguments_and_devices_are_merged_in() {
    let text = r#"{"name":"n","type":"x","args":{"cni":{"a":1,"b":1},"other":2}}"#;
    let mut network = Network::parse(text.as_bytes()).unwrap();
    let plugin = &mut network.plugins[0];
    let Value::Object(args) = json!({"b": 2}) else { panic!("no object") };
    plugin.add_cni_args(&args);
    plugin.set_device("0000:01:00.0");
    assert_eq!(plugin.keys["args"], json!({"cni": {"a": 1, "b": 2}, "other": 2}));
    assert_eq!(plugin.keys["pciBusID"], plugin.keys["deviceID"]);
    plugin.keys.insert("args".into(), Value::Null);
    plugin.add_cni_args(&args);
    assert_eq!(plugin.keys["args"], json!({"cni": {"b": 2}}));
}

#[test]
fn gc_is_told_what_to_keep() {
    let text = br#"{"cniVersion":"1.1.0","name":"n","type":"x",
        "cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}]}"#;
    let keep = Input::parse(text).unwrap().valid_attachments.unwrap();
    assert_eq!(keep, [Attachment { container_id: "c1".into(), ifname: "eth0".into() }]);
}
