//! Pods of a lab that have the embedded cloud behind them, and those that are its clients.
//!
//! `landbridge up` puts a directory into the node's: a socket for each service of the cloud, and what its
//! clients need to be let in. Images are not run, but whoever asks a pod of Keystone gets Keystone's
//! answer, and a program that is run in a pod whose environment names a cloud finds it.

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::process::Files;
use crate::responder::HandedPort;

/// The file with the password of `admin`.
pub const PASSWORD: &str = "password";
/// The file with the authority of certificates of pods, where there is one.
pub const AUTHORITY: &str = "ca.pem";

/// Label `service` of a pod, the port it is asked on, and the socket of who answers.
const SERVICES: [(&str, u16, &str); 4] = [
    ("keystone", 5000, "identity.sock"),
    ("neutron", 9696, "network.sock"),
    ("nova", 8774, "compute.sock"),
    ("glance", 9292, "image.sock"),
];

/// Where a service of the cloud listens, by the type it has in Keystone's catalogue.
pub fn socket(directory: &Path, service: &str) -> PathBuf {
    directory.join(format!("{service}.sock"))
}

/// The ports of a pod that the cloud answers.
pub fn handed(pod: &Pod, directory: Option<&Path>) -> Vec<HandedPort> {
    let Some(directory) = directory else { return Vec::new() };
    let labels = pod.metadata.labels.as_ref();
    let service = labels.and_then(|labels| labels.get("service")).map(String::as_str);
    let known = SERVICES
        .iter()
        .filter(|(name, _, socket)| Some(*name) == service && directory.join(socket).exists());
    let containers = || pod.spec.iter().flat_map(|spec| &spec.containers);
    known
        .flat_map(|(_, number, socket)| {
            let listens = move |port: &k8s_openapi::api::core::v1::ContainerPort| {
                port.container_port == i32::from(*number)
            };
            let by = containers().filter(move |c| c.ports.iter().flatten().any(listens));
            by.map(move |container| HandedPort {
                container: container.name.clone(),
                number: *number,
                socket: directory.join(socket),
            })
        })
        .collect()
}

/// The variables with which a command finds the cloud, if its environment names one and says where its
/// Keystone is, and nothing says who to be.
pub fn client(
    variables: &[(String, String)],
    directory: Option<&Path>,
    files: &Files,
) -> io::Result<Vec<(String, String)>> {
    let get = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let (Some(directory), Some(cloud), Some(auth_url)) =
        (directory, get("OS_CLOUD"), get("OS_AUTH_URL"))
    else {
        return Ok(Vec::new());
    };
    let password = directory.join(PASSWORD);
    if get("OS_CLIENT_CONFIG_FILE").is_some() || !password.exists() {
        return Ok(Vec::new());
    }
    let password = std::fs::read_to_string(password)?;
    let mut entry = json!({
        "auth": {
            "auth_url": auth_url,
            "username": "admin",
            "password": password.trim_end(),
            "project_name": "admin",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "identity_api_version": 3,
        "interface": "internal",
    });
    if let Some(region) = get("OS_REGION_NAME") {
        entry["region_name"] = region.as_str().into();
    }
    let authority = directory.join(AUTHORITY);
    if auth_url.starts_with("https:") && authority.exists() {
        entry["cacert"] = authority.to_string_lossy().into();
    }
    // JSON is YAML, and quotes what has to be quoted.
    let text = json!({"clouds": {cloud.as_str(): entry}}).to_string();
    let path = files.directory.join("clouds.yaml");
    let temporary = files.directory.join("clouds.yaml.new");
    let mut options = std::fs::OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    io::Write::write_all(&mut options.open(&temporary)?, text.as_bytes())?;
    // Another command may read it at this moment.
    std::fs::rename(&temporary, &path)?;
    Ok(vec![("OS_CLIENT_CONFIG_FILE".to_owned(), path.to_string_lossy().into_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(service: &str, port: i32) -> Pod {
        let pod = json!({"metadata": {"labels": {"service": service}}, "spec": {"containers": [
            {"name": "beside"},
            {"name": "api", "ports": [{"containerPort": port}]},
        ]}});
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn only_ports_of_services_that_the_cloud_has_are_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        assert!(handed(&pod("keystone", 5000), Some(dir.path())).is_empty(), "no socket, no cloud");
        let path = socket(dir.path(), "identity");
        std::fs::write(&path, "").unwrap();
        let expected = HandedPort { container: "api".into(), number: 5000, socket: path };
        assert_eq!(handed(&pod("keystone", 5000), Some(dir.path())), [expected]);
        assert!(handed(&pod("keystone", 5001), Some(dir.path())).is_empty());
        assert!(handed(&pod("placement", 5000), Some(dir.path())).is_empty());
        assert!(handed(&Pod::default(), Some(dir.path())).is_empty());
    }

    #[test]
    fn who_names_a_cloud_is_let_in() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files { directory: dir.path().to_owned() };
        let var = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let url = "http://keystone-internal.openstack.svc:5000/v3";
        let named = [var("OS_CLOUD", "default"), var("OS_AUTH_URL", url)];
        let none: Vec<(String, String)> = Vec::new();
        assert_eq!(client(&named, Some(dir.path()), &files).unwrap(), none, "no password here");
        std::fs::write(dir.path().join(PASSWORD), "a\"b: c\n").unwrap();
        assert_eq!(client(&named, None, &files).unwrap(), none);
        assert_eq!(client(&named[..1], Some(dir.path()), &files).unwrap(), none);

        let found = client(&named, Some(dir.path()), &files).unwrap();
        let [(key, path)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(key, "OS_CLIENT_CONFIG_FILE");
        let text = std::fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["clouds"]["default"]["auth"]["password"], "a\"b: c");
        assert_eq!(value["clouds"]["default"]["auth"]["auth_url"], url);
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
        let own = [named.to_vec(), vec![var("OS_CLIENT_CONFIG_FILE", "/mine")]].concat();
        assert_eq!(client(&own, Some(dir.path()), &files).unwrap(), none, "the pod has its own");
    }
}
