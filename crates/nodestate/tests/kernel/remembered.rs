//! What outlives the agent.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::{Lab, Switch};
use crate::seeds::{OCTAVIA, OSP};

/// A node that boots without the API brings back all policies it had, also those a later one has
/// replaced.
#[test]
fn a_boot_without_the_api() {
    let Some(switch) = Switch::new() else { return };
    let lab = Lab::on(&switch);
    assert!(lab.node.reapply().unwrap().is_none());
    lab.apply(OSP);
    lab.apply(OCTAVIA);
    lab.apply("interfaces: [{name: enp6s0.22, state: absent}]");
    let file = lab.dir.path().join("state/applied.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The machine boots: a new namespace with bare NICs, the same disk.
    let booted = Lab::on(&switch);
    let node = Lab::node_of(&booted.namespace, &lab.dir, Some(&switch));
    let applied = node.reapply().unwrap().unwrap();
    assert!(!applied.plan.is_empty());
    assert_eq!(booted.shown("enp6s0.20")["vlan"]["id"], 20);
    assert_eq!(booted.shown("enp6s0.24")["controller"], "octbr");
    assert_eq!(booted.shown("enp6s0.22"), json!(null));
    assert!(node.reapply().unwrap().unwrap().plan.is_empty());
    // A desired state that failed is not remembered.
    let text = std::fs::read_to_string(&file).unwrap();
    node.apply(&json!({"hostname": {"running": "-"}}), &|| Ok(())).unwrap_err();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    std::fs::write(&file, r#"{"version":99,"desired":{}}"#).unwrap();
    assert!(node.reapply().unwrap_err().to_string().contains("version 99"));
}
