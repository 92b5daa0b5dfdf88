//! Results in every version, both ways.

use landbridge_cni::{CniResult, Code, Coded, Version};
use serde_json::{Value, json};

/// Everything the newest version can say.
fn full() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": "octbr", "mac": "02:00:00:00:00:01"},
            {"name": "veth1", "mac": "02:00:00:00:00:02", "mtu": 1500},
            {"name": "net1", "mac": "02:00:00:00:00:03", "mtu": 1500, "sandbox": "/run/netns/a",
             "socketPath": "/run/s", "pciID": "0000:00:1f.6"}
        ],
        "ips": [
            {"address": "172.23.0.30/24", "gateway": "172.23.0.1", "interface": 2},
            {"address": "fd00::30/64", "interface": 2},
            {"address": "172.23.0.31/24"}
        ],
        "routes": [
            {"dst": "172.24.0.0/16", "gw": "172.23.0.150", "mtu": 1400, "advmss": 1360,
             "priority": 5, "table": 100, "scope": 0},
            {"dst": "::/0"}
        ],
        "dns": {"nameservers": ["172.23.0.2"], "domain": "x", "search": ["y"], "options": ["z"]}
    })
}

/// The same, as it must read in `version`.
fn golden(version: Version) -> Value {
    let mut value = full();
    value["cniVersion"] = version.as_str().into();
    if version >= Version::V1_0_0 {
        return value;
    }
    if version >= Version::V0_3_0 {
        value["interfaces"] = json!([
            {"name": "octbr", "mac": "02:00:00:00:00:01"},
            {"name": "veth1", "mac": "02:00:00:00:00:02"},
            {"name": "net1", "mac": "02:00:00:00:00:03", "sandbox": "/run/netns/a"}
        ]);
        for (place, family) in ["4", "6", "4"].iter().enumerate() {
            value["ips"][place]["version"] = (*family).into();
        }
        return value;
    }
    json!({
        "cniVersion": version.as_str(),
        "ip4": {"ip": "172.23.0.30/24", "gateway": "172.23.0.1",
                "routes": [{"dst": "172.24.0.0/16", "gw": "172.23.0.150"}]},
        "ip6": {"ip": "fd00::30/64", "routes": [{"dst": "::/0"}]},
        "dns": full()["dns"]
    })
}

#[test]
fn every_version_reads_as_the_reference_writes_it() {
    let (_, result) = CniResult::parse(full().to_string().as_bytes()).unwrap();
    for version in Version::ALL {
        let written = result.to_value(version).unwrap();
        assert_eq!(written, golden(version), "{version}");
        // What was written reads as its version, and writes the same again.
        let (read_version, read) = CniResult::parse(written.to_string().as_bytes()).unwrap();
        assert_eq!(read_version, version);
        assert_eq!(read.to_value(version).unwrap(), written, "{version}");
    }
    let (_, same) = CniResult::parse(golden(Version::V1_0_0).to_string().as_bytes()).unwrap();
    assert_eq!(same, result);
}

#[test]
fn the_text_has_sorted_keys_and_no_empty_ones() {
    let text =
        br#"{"cniVersion":"0.3.1","ips":[{"version":"4","address":"10.0.0.5/24"}],"dns":{}}"#;
    let (_, result) = CniResult::parse(text).unwrap();
    assert_eq!(
        result.print(Version::V0_3_1).unwrap(),
        "{\n    \"cniVersion\": \"0.3.1\",\n    \"ips\": [\n        {\n            \"address\": \
         \"10.0.0.5/24\",\n            \"version\": \"4\"\n        }\n    ]\n}"
    );
    assert_eq!(
        result.print(Version::V0_2_0).unwrap(),
        "{\n    \"cniVersion\": \"0.2.0\",\n    \"ip4\": {\n        \"ip\": \"10.0.0.5/24\"\n    \
         }\n}"
    );
    assert_eq!(
        result.print(Version::V1_1_0).unwrap(),
        "{\n    \"cniVersion\": \"1.1.0\",\n    \"ips\": [\n        {\n            \"address\": \
         \"10.0.0.5/24\"\n        }\n    ]\n}"
    );
}

#[test]
fn a_result_without_version_is_of_the_oldest() {
    let (version, result) = CniResult::parse(br#"{"ip6":{"ip":"fd00::1/64"}}"#).unwrap();
    assert_eq!((version, result.ips.len()), (Version::V0_1_0, 1));
}

#[test]
fn nulls_and_empty_gateways_are_absent() {
    let text = br#"{"cniVersion":"1.0.0","interfaces":null,"dns":null,
        "ips":[{"address":"10.0.0.5/24","gateway":"","interface":null}],"routes":[]}"#;
    let (_, result) = CniResult::parse(text).unwrap();
    assert_eq!((result.ips[0].gateway, result.ips[0].interface), (None, None));
}

#[test]
fn what_cannot_be_read_or_said_is_refused() {
    let cases: [(&[u8], u32); 6] = [
        (b"", 6),
        (b"[]", 6),
        (br#"{"cniVersion":"3.0.0"}"#, 1),
        (br#"{"cniVersion":7}"#, 1),
        (br#"{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.5"}]}"#, 6),
        (br#"{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.5/24","gateway":"x"}]}"#, 6),
    ];
    for (text, code) in cases {
        let error = CniResult::parse(text).unwrap_err();
        assert_eq!(error.code(), Code(code), "{}", String::from_utf8_lossy(text));
    }
    let error = CniResult::default().print(Version::V0_2_0).unwrap_err();
    assert_eq!(error.to_string(), "cannot convert: no valid IP addresses");
    assert!(CniResult::default().print(Version::V0_3_0).is_ok());
}
