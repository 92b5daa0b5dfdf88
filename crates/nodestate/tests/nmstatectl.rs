//! nmstate's own program, played by a script that writes down how it was called.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // all of this is test code

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use landbridge_nodestate::{Applier, Nmstatectl};
use serde_json::json;
use tempfile::TempDir;

struct Fake {
    dir: TempDir,
}

impl Fake {
    fn new(body: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let calls = dir.path().join("calls");
        let script = format!("#!/bin/sh\necho \"$*\" >> {}\n{body}\n", calls.display());
        let program = dir.path().join("nmstatectl");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("nmstatectl")
    }

    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

const APPLY: &str = "apply --no-commit --timeout 480";

#[test]
fn applied_probed_committed() {
    let fake =
        Fake::new(&format!("[ \"$1\" = apply ] && cat > {0}/input; exit 0", "$(dirname $0)"));
    let nmstate = Nmstatectl::new(fake.program());
    let desired = json!({"interfaces": [{"name": "eth1", "mtu": 1500}]});
    nmstate.apply(&desired, &|| Ok(())).unwrap();
    assert_eq!(fake.calls(), ["rollback", APPLY, "commit"]);
    let input = std::fs::read_to_string(fake.dir.path().join("input")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&input).unwrap(), desired);
    let error = nmstate.apply(&desired, &|| Err("no API".into())).unwrap_err();
    assert_eq!(error.to_string(), "probe failed: no API; rolled back");
    assert_eq!(fake.calls()[3..], ["rollback", APPLY, "rollback"]);
}

#[test]
fn its_own_words_are_told() {
    let fake = Fake::new("echo 'eth9 does not exist' >&2; exit 1");
    let nmstate = Nmstatectl::new(fake.program());
    let error = nmstate.apply(&json!({}), &|| panic!("not probed")).unwrap_err();
    assert_eq!(error.to_string(), format!("nmstatectl {APPLY}: eth9 does not exist"));
    assert_eq!(fake.calls(), ["rollback", APPLY]);
    let missing = Nmstatectl::new(Path::new("/nowhere/nmstatectl").to_owned());
    assert!(missing.show().unwrap_err().to_string().contains("cannot run"));
}

#[test]
fn shown_and_bounded() {
    let fake = Fake::new("echo '{\"interfaces\": []}'");
    let nmstate = Nmstatectl::new(fake.program());
    assert_eq!(nmstate.show().unwrap(), json!({"interfaces": []}));
    assert_eq!(fake.calls(), ["show --json"]);
    let odd = Fake::new("echo nonsense");
    assert!(Nmstatectl::new(odd.program()).show().unwrap_err().to_string().contains("no JSON"));
    let slow = Fake::new("exec sleep 60");
    let began = Instant::now();
    let nmstate = Nmstatectl::new(slow.program()).with_patience(Duration::from_millis(200));
    assert!(nmstate.show().unwrap_err().to_string().contains("no answer within"));
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn only_where_networkmanager_runs() {
    let fake = Fake::new("");
    let path = fake.dir.path().as_os_str();
    let root = TempDir::new().unwrap();
    assert!(Nmstatectl::detect(path, root.path()).is_none());
    std::fs::create_dir_all(root.path().join("run/dbus")).unwrap();
    std::fs::write(root.path().join("run/dbus/system_bus_socket"), "").unwrap();
    assert!(Nmstatectl::detect(path, root.path()).is_none());
    std::fs::create_dir_all(root.path().join("run/NetworkManager")).unwrap();
    assert!(Nmstatectl::detect(path, root.path()).is_some());
    assert!(Nmstatectl::detect("/nowhere".as_ref(), root.path()).is_none());
}
