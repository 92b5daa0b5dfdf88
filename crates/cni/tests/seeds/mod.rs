//! Definitions and annotations of the documents this project grew from.
#![allow(dead_code)] // each test file uses some of them

pub const INTERNALAPI: &str = r#"{
  "cniVersion": "0.3.1",
  "name": "internalapi",
  "type": "macvlan",
  "master": "enp6s0.20",
  "ipam": {
    "type": "whereabouts",
    "range": "172.17.0.0/24",
    "range_start": "172.17.0.30",
    "range_end": "172.17.0.70"
  }
}"#;

pub const STORAGE: &str = r#"{
  "cniVersion": "0.3.1",
  "name": "storage",
  "type": "macvlan",
  "master": "enp6s0.21",
  "ipam": {
    "type": "whereabouts",
    "range": "172.18.0.0/24",
    "range_start": "172.18.0.30",
    "range_end": "172.18.0.70"
  }
}"#;

pub const OCTAVIA: &str = r#"{
  "cniVersion": "0.3.1",
  "name": "octavia",
  "type": "bridge",
  "bridge": "octbr",
  "ipam": {
    "type": "whereabouts",
    "range": "172.23.0.0/24",
    "range_start": "172.23.0.30",
    "range_end": "172.23.0.70",
    "routes": [
       {
         "dst": "172.24.0.0/16",
         "gw" : "172.23.0.150"
       }
     ]
  }
}"#;

pub const WITH_ADDRESS: &str =
    r#"[{"name": "internalapi", "namespace": "openstack", "ips": ["172.17.0.20/24"]}]"#;

pub const TWO_NETWORKS: &str = r#"[{"name": "internalapi", "namespace": "openstack"},{"name": "storage", "namespace": "openstack"}]"#;
