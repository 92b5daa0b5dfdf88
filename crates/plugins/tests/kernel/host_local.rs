//! host-local needs no kernel and no root: its records are files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use landbridge_plugins::{NoIpams, Output, main_as};
use serde_json::{Value, json};

use crate::harness::{Asked, failed, ok};

const DUAL: &str = r#"[[{"subnet": "10.2.0.0/29"}], [{"subnet": "fd00:2::/64"}]]"#;

fn config(data: &Path, ranges: &str) -> Value {
    let ranges: Value = serde_json::from_str(ranges).unwrap();
    json!({"cniVersion": "1.1.0", "name": "net", "type": "any",
        "ipam": {"type": "host-local", "dataDir": data, "ranges": ranges,
                 "routes": [{"dst": "0.0.0.0/0"}]}})
}

fn call(command: &str, container: &str, args: &str, config: &Value) -> Output {
    let asked = Asked { container, args, ..Asked::new(command, "/none", config) };
    let variables: BTreeMap<_, _> = asked.variables("/none");
    let stdin = config.to_string();
    main_as("host-local", &|name| variables.get(name).cloned(), stdin.as_bytes(), &NoIpams)
}

fn addresses(result: &Value) -> Vec<String> {
    let ips = result["ips"].as_array().unwrap();
    ips.iter().map(|ip| ip["address"].as_str().unwrap().to_owned()).collect()
}

fn records(data: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(data.join("net")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.parse::<IpAddr>().is_ok()).collect()
}

#[test]
fn both_families_are_given_recorded_and_taken_back() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path(), DUAL);
    let result = ok(&call("ADD", "c1", "", &config));
    assert_eq!(addresses(&result), ["10.2.0.2/29", "fd00:2::2/64"]);
    assert_eq!(result["ips"][0]["gateway"], "10.2.0.1");
    assert_eq!(result["routes"][0]["dst"], "0.0.0.0/0");
    let read = |name: &str| std::fs::read_to_string(data.path().join("net").join(name)).unwrap();
    assert_eq!(read("10.2.0.2"), "c1\r\nnet1");
    assert_eq!(read("last_reserved_ip.1"), "fd00:2::2");
    ok(&call("CHECK", "c1", "", &config));
    assert_eq!(failed(&call("CHECK", "c2", "", &config)).0, 999);
    let (_, message) = failed(&call("ADD", "c1", "", &config));
    assert!(message.contains("duplicate allocation is not allowed"), "{message}");
    assert_eq!(records(data.path()).len(), 2, "the first ADD's addresses stay");
    // Another one, then back: the next address is the one after the last.
    ok(&call("DEL", "c1", "", &config));
    ok(&call("DEL", "c1", "", &config));
    assert!(records(data.path()).is_empty());
    assert_eq!(addresses(&ok(&call("ADD", "c2", "", &config)))[0], "10.2.0.3/29");
}

#[test]
fn an_address_asked_for_is_given_or_refused() {
    let data = tempfile::tempdir().unwrap();
    let plain = config(data.path(), DUAL);
    let mut told = plain.clone();
    told["runtimeConfig"] = json!({"ips": ["10.2.0.5/29", "fd00:2::55"]});
    let result = ok(&call("ADD", "c1", "", &told));
    assert_eq!(addresses(&result), ["10.2.0.5/29", "fd00:2::55/64"]);
    let result = ok(&call("ADD", "c2", "IP=10.2.0.6", &plain));
    assert_eq!(addresses(&result)[0], "10.2.0.6/29");
    let mut by_args = plain.clone();
    by_args["args"] = json!({"cni": {"ips": ["10.2.0.4"]}});
    assert_eq!(addresses(&ok(&call("ADD", "c3", "", &by_args)))[0], "10.2.0.4/29");
    let before = records(data.path());
    for (ip, text) in [
        ("10.2.0.5", "requested IP address 10.2.0.5 is not available in range set"),
        ("10.2.0.1", "requested ip 10.2.0.1 is subnet's gateway"),
        ("192.0.2.1", "failed to allocate all requested IPs: 192.0.2.1"),
        ("10.2.0.3,fd00:2::55", "requested IP address fd00:2::55 is not available"),
        ("odd", "invalid IP address \"odd\" requested"),
    ] {
        let args = format!("IP={ip}");
        let (code, message) = failed(&call("ADD", "c9", &args, &plain));
        assert!(code == 999 && message.contains(text), "{message}");
        assert_eq!(records(data.path()), before, "{ip}");
    }
}

#[test]
fn exhaustion_gives_back_the_other_family() {
    let data = tempfile::tempdir().unwrap();
    let config =
        config(data.path(), r#"[[{"subnet": "fd00:2::/64"}], [{"subnet": "10.2.0.0/30"}]]"#);
    ok(&call("ADD", "c1", "", &config));
    let (_, message) = failed(&call("ADD", "c2", "", &config));
    assert_eq!(
        message,
        "failed to allocate for range 1: no IP addresses available in range set: 10.2.0.1-10.2.0.2"
    );
    assert_eq!(records(data.path()).len(), 2);
}

#[test]
fn many_at_once_get_different_addresses() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path(), r#"[[{"subnet": "10.2.0.0/24"}]]"#);
    let given: Vec<String> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let config = &config;
            move || addresses(&ok(&call("ADD", &format!("c{number}"), "", config))).remove(0)
        };
        let threads: Vec<_> = (0..40).map(|number| scope.spawn(one(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 40);
    assert_eq!(records(data.path()).len(), 40);
}

#[test]
fn a_record_cut_off_by_a_crash_is_used_again() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path(), r#"[[{"subnet": "10.2.0.0/30"}]]"#);
    std::fs::create_dir_all(data.path().join("net")).unwrap();
    std::fs::write(data.path().join("net/10.2.0.2"), "").unwrap();
    std::fs::write(data.path().join("net/notes"), "no record").unwrap();
    assert_eq!(addresses(&ok(&call("ADD", "c1", "", &config))), ["10.2.0.2/30"]);
}

#[test]
fn records_without_an_interface_are_understood() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path(), r#"[[{"subnet": "10.2.0.0/29"}]]"#);
    std::fs::create_dir_all(data.path().join("net")).unwrap();
    std::fs::write(data.path().join("net/10.2.0.2"), "old").unwrap();
    assert_eq!(addresses(&ok(&call("ADD", "c1", "", &config))), ["10.2.0.3/29"]);
    ok(&call("DEL", "old", "", &config));
    assert_eq!(records(data.path()), BTreeSet::from(["10.2.0.3".to_owned()]));
}

#[test]
fn garbage_is_collected() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path(), r#"[[{"subnet": "10.2.0.0/29"}]]"#);
    for container in ["c1", "c2", "c3"] {
        ok(&call("ADD", container, "", &config));
    }
    config["cni.dev/valid-attachments"] = json!([
        {"containerID": "c2", "ifname": "net1"}, {"containerID": "c3", "ifname": "other"},
    ]);
    ok(&call("GC", "", "", &config));
    assert_eq!(records(data.path()), BTreeSet::from(["10.2.0.3".to_owned()]));
}

#[test]
fn what_others_record_and_remove_meanwhile_counts() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path(), r#"[[{"subnet": "10.2.0.0/29"}]]"#);
    let file = |ip: &str| data.path().join("net").join(ip);
    let one = |container: &str| addresses(&ok(&call("ADD", container, "", &config)))[0].clone();
    // Right after a call of ours, so that the directory's time may not tell.
    for round in 0..20 {
        let ours = one("c1");
        let ours = ours.trim_end_matches("/29");
        std::fs::remove_file(file(ours)).unwrap();
        std::fs::write(file(ours), "other\r\nnet1").unwrap();
        ok(&call("DEL", "c1", "", &config));
        assert!(file(ours).exists(), "round {round}: a record of another was removed");
        let second = one("c2");
        assert_ne!(second.trim_end_matches("/29"), ours, "round {round}");
        let third = ["10.2.0.2", "10.2.0.3", "10.2.0.4", "10.2.0.5", "10.2.0.6"];
        for ip in third.iter().filter(|ip| !file(ip).exists()) {
            std::fs::write(file(ip), "third\r\nnet1").unwrap();
        }
        failed(&call("ADD", "c3", "", &config));
        std::fs::remove_file(file(ours)).unwrap();
        assert_eq!(one("c3").trim_end_matches("/29"), ours, "round {round}");
        for ip in third {
            std::fs::remove_file(file(ip)).unwrap();
        }
    }
}
