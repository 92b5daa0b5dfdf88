//! Whatever comes in, an answer goes out.

use landbridge_plugins::{KINDS, NoIpams, Output, main_as};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::Net;

/// In a namespace of its own, so that nothing it should happen to do is done to this machine.
fn call(kind: &str, variables: &[(String, String)], stdin: &[u8]) -> Option<Output> {
    let env =
        |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    if !rustix::process::geteuid().is_root() {
        crate::harness::skip("plugins", "needs root");
        return None;
    }
    let pod = Net::new();
    let path = pod.path();
    let env = |name: &str| env(name).map(|value| value.replace("POD", &path));
    let node = Net::new();
    node.pair("eth0", "far", 1500);
    Some(node.namespace.run(|| main_as(kind, &env, stdin, &NoIpams)).unwrap())
}

/// Either nothing wrong, or an error object with a number and a text.
fn is_answer(output: &Output) -> bool {
    if output.exit_code == 0 {
        return true;
    }
    let error: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    error["code"].as_u64().is_some_and(|code| code > 0)
        && error["msg"].as_str().is_some_and(|text| !text.is_empty())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("c1".to_owned()),
        Just("/nonexistent/netns".to_owned()),
        Just("/etc/passwd".to_owned()),
        Just("IP=10.0.0.1/24;IgnoreUnknown=1".to_owned()),
        "\\PC{0,20}",
    ]
}

/// As a runtime would call, with something wrong now and then.
fn good_variables() -> impl Strategy<Value = Vec<(String, String)>> {
    let mostly = |good: &'static str| prop_oneof![9 => Just(good.to_owned()), 1 => word()];
    let command = prop::sample::select(vec!["ADD", "DEL", "CHECK", "GC", "STATUS"]);
    (command, mostly("c1"), mostly("POD"), mostly("net1"), mostly(""), mostly("/nonexistent"))
        .prop_map(|(command, a, b, c, d, e)| named(command, [a, b, c, d, e]))
}

fn named(command: &str, values: [String; 5]) -> Vec<(String, String)> {
    let names = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"];
    let mut all = vec![("CNI_COMMAND".to_owned(), command.to_owned())];
    all.extend(names.iter().map(|name| (*name).to_owned()).zip(values));
    all
}

fn variables() -> impl Strategy<Value = Vec<(String, String)>> {
    let command = prop_oneof![
        Just("ADD"),
        Just("DEL"),
        Just("CHECK"),
        Just("GC"),
        Just("STATUS"),
        Just("VERSION"),
        Just("add"),
        Just(""),
    ];
    (command, word(), word(), word(), word(), word())
        .prop_map(|(command, a, b, c, d, e)| named(command, [a, b, c, d, e]))
}

/// JSON that looks like a configuration, with wrong values here and there.
fn config() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(-1)),
        Just(json!("x")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(1e300)),
        Just(json!([{}])),
        Just(json!({"type": "static"})),
        Just(json!({"type": "../x"})),
        Just(json!({"type": "host-local", "subnet": "10.0.0.0/24",
            "dataDir": "/nonexistent/\u{0}dir"})),
    ];
    let key = prop_oneof![
        Just("cniVersion"),
        Just("name"),
        Just("type"),
        Just("ipam"),
        Just("prevResult"),
        Just("master"),
        Just("mtu"),
        Just("bridge"),
        Just("sysctl"),
        Just("device"),
        Just("vlan"),
        Just("runtimeConfig"),
        Just("args"),
        Just("dns"),
        Just("kernelpath"),
        Just("pciBusID"),
        Just("mac"),
        Just("cni.dev/valid-attachments"),
    ];
    prop::collection::vec((key, value), 0..6).prop_map(|changes| {
        let mut config = json!({"cniVersion": "1.1.0", "name": "n", "type": "x", "master": "eth0",
            "dataDir": "/nonexistent/\u{0}", "ipam": {"type": "static", "addresses": [{"address": "10.0.0.2/24"}]}});
        for (key, value) in changes {
            config[key] = value;
        }
        config.to_string().into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes_are_answered(
        kind in prop::sample::select(KINDS.to_vec()), all in variables(),
        stdin in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let Some(output) = call(kind, &all, &stdin) else { return Ok(()) };
        prop_assert!(is_answer(&output), "{:?}", output);
    }

    #[test]
    fn configurations_are_answered(
        kind in prop::sample::select(KINDS.to_vec()), all in good_variables(), stdin in config(),
    ) {
        let Some(output) = call(kind, &all, &stdin) else { return Ok(()) };
        prop_assert!(is_answer(&output), "{:?}", output);
    }
}
