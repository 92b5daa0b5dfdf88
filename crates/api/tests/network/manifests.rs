//! Manifests from elsewhere: our examples, the seed documents, upstream's samples. None of them
//! may be refused.

use std::path::{Path, PathBuf};
use std::{env, fs};

use landbridge_api::network::GROUP;
use landbridge_machinery::object;
use serde_json::{Value, json};

use crate::support::{World, object as make};

fn parse(text: &str, what: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|e| panic!("{what}: {e}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The folder with the seeds and samples, when this machine has it.
fn shared() -> Option<PathBuf> {
    let folder = env::var_os("LANDBRIDGE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no folder {} (LANDBRIDGE_SHARED names another)", folder.display());
    None
}

/// YAML files of a folder in the order `kubectl apply -f` takes them.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn is_ours(manifest: &Value) -> bool {
    object::kind(manifest).is_some_and(|kind| kind.group == GROUP)
}

#[test]
fn examples_apply_in_name_order() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/seeds");
    let mut kinds = Vec::new();
    for folder in fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.is_dir() {
            continue;
        }
        let mut world = World::default();
        for file in yaml_files(&folder) {
            for manifest in parse(&read(&file), &file.display().to_string()) {
                let kind = object::kind(&manifest).expect("apiVersion and kind").kind;
                for server_set in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
                    let value = &manifest["metadata"][server_set];
                    assert!(value.is_null(), "{}: {server_set}", file.display());
                }
                if is_ours(&manifest) {
                    let namespace = object::namespace(&manifest);
                    assert_eq!(namespace, "openstack", "{}", file.display());
                    let answer = world.apply(manifest);
                    answer.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                }
                kinds.push(kind);
            }
        }
    }
    for kind in ["Namespace", "NetConfig", "IPSet", "DNSMasq", "DNSData"] {
        assert!(kinds.iter().any(|found| found == kind), "no example of {kind}");
    }
}

/// The code blocks of the seeds that hold one of our kinds, with no more help than the missing
/// apiVersion.
#[test]
fn seed_manifests_pass() {
    let Some(shared) = shared() else { return };
    let mut found = Vec::new();
    for entry in fs::read_dir(shared.join("seeds")).unwrap() {
        let path = entry.unwrap().path();
        let mut world = World::default();
        for block in read(&path).split("```").skip(1).step_by(2) {
            let kinds = ["NetConfig", "IPSet", "Reservation", "DNSMasq", "DNSData"];
            let Some(kind) = kinds.iter().find(|kind| block.contains(&format!("\nkind: {kind}\n")))
            else {
                continue;
            };
            let yaml = block.split_once('\n').unwrap().1;
            for mut manifest in parse(yaml, kind) {
                if manifest["apiVersion"].is_null() {
                    manifest["apiVersion"] = format!("{GROUP}/v1beta1").into();
                }
                let answer = world.apply(manifest);
                let warnings = answer.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                found.push((*kind, warnings));
            }
        }
    }
    // The seed routes through an address that it may give to a node. Worth a word, no more.
    let warning = "spec.networks[2].subnets[0].allocationRanges[0]: holds the next hop 10.0.0.100; exclude it";
    let expected =
        [("DNSData", vec![]), ("NetConfig", vec![warning.to_owned()]), ("IPSet", vec![])];
    assert_eq!(found, expected);
}

#[test]
fn upstream_samples_pass() {
    let Some(shared) = shared() else { return };
    let files = yaml_files(&shared.join("samples/infra-operator"));
    let mut manifests: Vec<Value> = files
        .iter()
        .flat_map(|file| parse(&read(file), &file.display().to_string()))
        .filter(is_ours)
        .collect();
    assert!(manifests.len() >= 4, "{manifests:?}");
    // An IPSet needs its NetConfig.
    manifests.sort_by_key(|manifest| manifest["kind"] != "NetConfig");
    let mut world = World::default();
    for manifest in manifests {
        let name = format!("{} {}", manifest["kind"], object::name(&manifest));
        assert_eq!(world.apply(manifest), Ok(vec![]), "{name}");
    }
}

/// A control plane's `dns.template` is a DNSMasq without image, in both generations.
#[test]
fn control_plane_dns_templates_pass() {
    let Some(shared) = shared() else { return };
    let mut generations = [false, false];
    for file in yaml_files(&shared.join("samples/openstack-operator")) {
        for manifest in parse(&read(&file), &file.display().to_string()) {
            let Some(template) = manifest.pointer("/spec/dns/template") else { continue };
            generations[0] |= template.get("externalEndpoints").is_some();
            generations[1] |= template.get("override").is_some();
            let answer = World::default().apply(make("DNSMasq", "dns", template.clone()));
            assert_eq!(answer, Ok(vec![]), "{}", file.display());
        }
    }
    assert_eq!(json!(generations), json!([true, true]), "both generations were tried");
}
