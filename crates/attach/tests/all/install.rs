//! The CNI entry of a node.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use landbridge_attach::install::{InstallError, InstallOptions, NAMES, install, uninstall};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::mode;

fn node() -> (TempDir, InstallOptions) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in ["bin", "net.d"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("landbridge"), "ours 1").unwrap();
    fs::write(root.join("bin/macvlan"), "theirs").unwrap();
    fs::write(root.join("bin/portmap"), "not ours to touch").unwrap();
    let primary = r#"{"cniVersion":"0.4.0","name":"ovn","type":"ovn-k8s-cni-overlay"}"#;
    fs::write(root.join("net.d/10-ovn.conf"), primary).unwrap();
    let options = InstallOptions {
        binary: root.join("landbridge"),
        thin: None,
        bin_dir: root.join("bin"),
        conf_dir: root.join("net.d"),
        kubeconfig: "/etc/cni/net.d/multus.d/multus.kubeconfig".into(),
        socket: Some("/run/landbridge/cni.sock".into()),
        names: NAMES.map(str::to_owned).to_vec(),
    };
    (directory, options)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn listing(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn installed_twice_is_installed_once_and_uninstalled_is_as_before() {
    let (directory, options) = node();
    let root = directory.path();
    let before = (listing(&options.bin_dir), listing(&options.conf_dir));
    let report = install(&options).unwrap();
    assert_eq!(report.steps.len(), 1 + NAMES.len() + 1, "{report:?}");
    for name in NAMES {
        assert_eq!(text(&options.bin_dir.join(name)), "ours 1");
        assert_eq!(mode(&options.bin_dir.join(name)), 0o755);
    }
    let conf: Value = serde_json::from_str(&text(&root.join("net.d/00-multus.conf"))).unwrap();
    assert_eq!(conf["delegates"][0]["type"], "ovn-k8s-cni-overlay");
    assert_eq!(install(&options).unwrap().steps, Vec::<String>::new());
    let report = uninstall(&options.bin_dir, &options.conf_dir).unwrap();
    assert!(!report.steps.is_empty());
    assert_eq!(text(&root.join("bin/macvlan")), "theirs");
    assert_eq!((listing(&options.bin_dir), listing(&options.conf_dir)), before);
    assert_eq!(uninstall(&options.bin_dir, &options.conf_dir).unwrap().steps, Vec::<String>::new());
}

#[test]
fn a_new_binary_takes_the_place_of_the_old_one_and_the_saved_one_stays() {
    let (directory, options) = node();
    let root = directory.path();
    install(&options).unwrap();
    let running = fs::File::open(root.join("bin/macvlan")).unwrap();
    fs::write(root.join("landbridge"), "ours 2").unwrap();
    install(&options).unwrap();
    assert_eq!(text(&root.join("bin/macvlan")), "ours 2");
    // Whoever runs the old one keeps it: it was replaced, not written over.
    assert_ne!(
        running.metadata().unwrap().ino(),
        fs::metadata(root.join("bin/macvlan")).unwrap().ino()
    );
    // Somebody updates the plugins of the distribution under us.
    fs::remove_file(root.join("bin/macvlan")).unwrap();
    fs::write(root.join("bin/macvlan"), "theirs, newer").unwrap();
    install(&options).unwrap();
    assert_eq!(text(&root.join("bin/macvlan")), "ours 2");
    uninstall(&options.bin_dir, &options.conf_dir).unwrap();
    assert_eq!(text(&root.join("bin/macvlan")), "theirs, newer");
    assert!(!root.join("bin/bridge").exists());
}

#[test]
fn a_binary_put_there_after_us_is_not_removed() {
    let (directory, options) = node();
    let root = directory.path();
    install(&options).unwrap();
    fs::remove_file(root.join("bin/bridge")).unwrap();
    fs::write(root.join("bin/bridge"), "theirs").unwrap();
    fs::write(root.join("net.d/00-multus.conf"), r#"{"type":"multus","name":"theirs"}"#).unwrap();
    uninstall(&options.bin_dir, &options.conf_dir).unwrap();
    assert_eq!(text(&root.join("bin/bridge")), "theirs");
    assert!(root.join("net.d/00-multus.conf").exists());
}

#[test]
fn the_clusters_network_has_to_be_there_and_readable() {
    let (directory, options) = node();
    let root = directory.path();
    fs::remove_file(root.join("net.d/10-ovn.conf")).unwrap();
    let before = listing(&options.bin_dir);
    let error = install(&options).unwrap_err();
    assert!(matches!(error, InstallError::NoPrimary(_)), "{error}");
    assert!(error.to_string().contains("install that first"), "{error}");
    // A Multus is no network to stand on.
    fs::write(root.join("net.d/05-multus.conf"), r#"{"type":"multus","name":"m"}"#).unwrap();
    assert!(matches!(install(&options), Err(InstallError::NoPrimary(_))));
    assert_eq!(listing(&options.bin_dir), before);
    fs::write(root.join("net.d/10-ovn.conf"), "{").unwrap();
    assert!(matches!(install(&options), Err(InstallError::BadPrimary { .. })));
}

#[test]
fn the_thin_program_is_what_is_called() {
    let (directory, mut options) = node();
    let root = directory.path();
    let before = listing(&options.bin_dir);
    install(&options).unwrap();
    // An upgrade to a release that has one, and back to one without.
    fs::write(root.join("landbridge-shim"), "thin").unwrap();
    options.thin = Some(root.join("landbridge-shim"));
    install(&options).unwrap();
    let called = |name: &str| text(&options.bin_dir.join(name));
    assert_eq!((called("multus"), called("macvlan")), ("thin".into(), "thin".into()));
    assert_eq!(called(".landbridge/landbridge"), "ours 1");
    assert_eq!(install(&options).unwrap().steps, Vec::<String>::new());
    options.thin = None;
    install(&options).unwrap();
    assert_eq!(text(&options.bin_dir.join("multus")), "ours 1");
    uninstall(&options.bin_dir, &options.conf_dir).unwrap();
    assert_eq!(listing(&options.bin_dir), before);
    assert_eq!(text(&options.bin_dir.join("macvlan")), "theirs");
}
