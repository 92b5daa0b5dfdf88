//! What the embedded cloud keeps beside its state: ports, the password, and clouds.yaml for clients.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use anyhow::Context as _;
use landbridge_apiserver::pki::write_private;
use landbridge_cloudlet::Service;
use landbridge_cloudlet::chance::{Chance, System};
use serde_json::json;

/// The cloud in clouds.yaml, for programs on this machine.
pub const NAME: &str = "landbridge";
/// The same cloud for programs on nodes of the lab, through the control plane's own Services.
pub const LAB: &str = "lab";
/// Keystone as the seeds' control plane has it, in the namespace `openstack`.
pub const INSIDE: &str = "http://keystone-internal.openstack.svc:5000";
const REGION: &str = "regionOne";

/// Makes a directory that is the owner's alone.
pub fn private_directory(directory: &Path) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("cannot create {}", directory.display()))
}

/// The password of all accounts, made once.
pub fn password(directory: &Path) -> anyhow::Result<String> {
    private_directory(directory)?;
    let path = directory.join("password");
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot read {}", path.display()))
        }
        _ => {
            let password = (&mut System as &mut dyn Chance).hex_id();
            write_private(&path, password.as_bytes())?;
            Ok(password)
        }
    }
}

/// The ports used last, by type of service.
pub fn ports(directory: &Path) -> BTreeMap<String, u16> {
    let text = fs::read(directory.join("ports.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Keeps them, so that a clouds.yaml that somebody copied stays good.
pub fn remember_ports(directory: &Path, ports: &BTreeMap<&str, u16>) -> anyhow::Result<()> {
    Ok(write_private(&directory.join("ports.json"), &serde_json::to_vec(ports)?)?)
}

/// The roots of services that were elsewhere the last time: before, and now.
pub fn moved(before: &BTreeMap<String, u16>, now: &BTreeMap<&str, u16>) -> Vec<(String, String)> {
    let root = |port: u16| format!("http://127.0.0.1:{port}");
    let both = now.iter().filter_map(|(service, port)| Some((*before.get(*service)?, *port)));
    both.filter(|(old, new)| old != new).map(|(old, new)| (root(old), root(new))).collect()
}

/// clouds.yaml. A control plane registers where its Services are, which this machine does not reach: so
/// programs here are told where everything is.
pub fn clouds(urls: &BTreeMap<Service, String>, password: &str) -> String {
    let url = |service| urls.get(&service).map_or("", String::as_str);
    let auth = |auth_url: String| {
        json!({
            "auth_url": auth_url,
            "username": "admin",
            "password": password,
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        })
    };
    let here = json!({
        "auth": auth(format!("{}/v3", url(Service::Identity))),
        "region_name": REGION,
        "interface": "public",
        "identity_api_version": 3,
        "identity_endpoint_override": format!("{}/v3", url(Service::Identity)),
        "network_endpoint_override": url(Service::Network),
        "compute_endpoint_override": format!("{}/v2.1", url(Service::Compute)),
        "image_endpoint_override": url(Service::Image),
    });
    let lab = json!({
        "auth": auth(format!("{INSIDE}/v3")),
        "region_name": REGION,
        "interface": "internal",
        "identity_api_version": 3,
    });
    let mut text = String::from(
        "# Written by `landbridge up`. `landbridge` is for programs on this machine, `lab` for those on nodes of the lab:\n\
         #   landbridge exec edpm-compute-0 -- openstack --os-cloud lab token issue\n\
         clouds:\n",
    );
    for (name, entry) in [(NAME, here), (LAB, lab)] {
        let _ = writeln!(text, "  {name}:"); // a String takes everything
        entries(&entry, 4, &mut text);
    }
    text
}

/// Keys and values, one on a line.
fn entries(value: &serde_json::Value, indent: usize, text: &mut String) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let margin = " ".repeat(indent);
        if value.is_object() {
            let _ = writeln!(text, "{margin}{key}:");
            entries(value, indent + 2, text);
        } else {
            // JSON is YAML, and quotes what has to be quoted.
            let _ = writeln!(text, "{margin}{key}: {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use landbridge_openstack::config::{Environment, load};

    use super::*;

    #[test]
    fn the_password_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("cloud");
        let first = password(&directory).unwrap();
        assert_eq!(first.len(), 32);
        assert_eq!(password(&directory).unwrap(), first);
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(directory.join("password")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn ports_are_remembered_and_nonsense_is_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ports(dir.path()).is_empty());
        let now = BTreeMap::from([("identity", 5000), ("network", 9696)]);
        assert_eq!(moved(&ports(dir.path()), &now), []);
        remember_ports(dir.path(), &now).unwrap();
        assert_eq!(moved(&ports(dir.path()), &now), []);
        let later = BTreeMap::from([("identity", 5001), ("network", 9696)]);
        let expected = [("http://127.0.0.1:5000".to_owned(), "http://127.0.0.1:5001".to_owned())];
        assert_eq!(moved(&ports(dir.path()), &later), expected);
        fs::write(dir.path().join("ports.json"), "{").unwrap();
        assert!(ports(dir.path()).is_empty());
    }

    #[test]
    fn clients_understand_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clouds.yaml");
        let urls = Service::ALL.map(|service| (service, "http://127.0.0.1:1".to_owned()));
        fs::write(&file, clouds(&urls.into(), "a: \"b")).unwrap();
        let environment = Environment {
            variables: BTreeMap::from([(
                "OS_CLIENT_CONFIG_FILE".to_owned(),
                file.to_string_lossy().into_owned(),
            )]),
            directory: dir.path().to_owned(),
        };
        for cloud in [NAME, LAB] {
            let read = load(&environment, Some(cloud)).unwrap();
            assert_eq!(read.cloud, cloud);
        }
    }
}
