//! What every pod spec obeys, whether it stands in a pod or in a template.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath, Problem};
use landbridge_machinery::names::NameRule;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use super::value::{is_empty, items, items_mut, map_at, set, text};
use super::{name_errors, not_negative, one_of, port, quantity};

/// The lists of containers a spec may have.
pub const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Defaults that depend on other fields. `kind` is named when a quantity is malformed.
pub fn defaults(kind: &str, spec: &mut Value) -> ApiResult<()> {
    for list in CONTAINER_LISTS {
        for container in items_mut(spec, &[list]) {
            if is_empty(&container["imagePullPolicy"]) {
                let policy = pull_policy(text(&container["image"]));
                set(container, "imagePullPolicy", policy);
            }
            for amounts in ["limits", "requests"] {
                quantity::normalise(kind, container.pointer_mut(&format!("/resources/{amounts}")))?;
            }
        }
    }
    for volume in items_mut(spec, &["volumes"]) {
        if volume.as_object().is_some_and(|v| v.keys().all(|field| field == "name")) {
            set(volume, "emptyDir", json!({}));
        }
        if volume["image"].is_object() && is_empty(&volume["image"]["pullPolicy"]) {
            let policy = pull_policy(text(&volume["image"]["reference"]));
            set(&mut volume["image"], "pullPolicy", policy);
        }
    }
    account_names_agree(spec);
    Ok(())
}

/// `serviceAccount` is an old name of `serviceAccountName`; both are always shown.
fn account_names_agree(spec: &mut Value) {
    let (new, old) = (spec["serviceAccountName"].clone(), spec["serviceAccount"].clone());
    let name = if is_empty(&new) { old } else { new };
    let Some(spec) = map_at(spec, &[]).filter(|_| !is_empty(&name)) else { return };
    spec.insert("serviceAccountName".into(), name.clone());
    spec.insert("serviceAccount".into(), name);
}

/// Images without a tag, or tagged `latest`, are pulled every time.
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    let latest = match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !digest && !image.is_empty(),
    };
    if latest { "Always" } else { "IfNotPresent" }
}

/// Everything wrong with a pod spec.
pub fn check(path: &FieldPath, spec: &Value) -> Vec<FieldError> {
    let mut errors = check_volumes(path, spec);
    if items(&spec["containers"]).is_empty() {
        errors.push(FieldError::required(&path.child("containers"), ""));
    }
    let volumes: BTreeSet<&str> =
        items(&spec["volumes"]).iter().map(|v| text(&v["name"])).collect();
    let mut names = BTreeSet::new();
    for list in CONTAINER_LISTS {
        for (i, container) in items(&spec[list]).iter().enumerate() {
            let path = path.child(list).index(i);
            errors.extend(check_container(&path, container, spec, &volumes));
            let name = text(&container["name"]);
            if !name.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
    }
    let restart = ["Always", "OnFailure", "Never"];
    errors.extend(one_of(&path.child("restartPolicy"), text(&spec["restartPolicy"]), &restart));
    errors.extend(one_of(&path.child("dnsPolicy"), text(&spec["dnsPolicy"]), DNS_POLICIES));
    let grace = path.child("terminationGracePeriodSeconds");
    errors.extend(not_negative(&grace, &spec["terminationGracePeriodSeconds"]));
    let in_range = |seconds: &i64| (1..=i64::from(i32::MAX)).contains(seconds);
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64().filter(|s| !in_range(s)) {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(&path.child("activeDeadlineSeconds"), seconds, why));
    }
    for field in ["nodeName", "serviceAccountName", "priorityClassName"] {
        if !is_empty(&spec[field]) {
            errors.extend(name_errors(&path.child(field), text(&spec[field]), NameRule::Subdomain));
        }
    }
    for field in ["hostname", "subdomain"] {
        if !is_empty(&spec[field]) {
            errors.extend(name_errors(&path.child(field), text(&spec[field]), NameRule::Label));
        }
    }
    errors
}

fn check_volumes(path: &FieldPath, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (i, volume) in items(&spec["volumes"]).iter().enumerate() {
        let path = path.child("volumes").index(i);
        let name = text(&volume["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            errors.extend(name_errors(&path.child("name"), name, NameRule::Label));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        let sources = volume.as_object().into_iter().flat_map(|v| v.keys());
        for source in sources.filter(|field| *field != "name").skip(1) {
            let why = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&path.child(source), why));
        }
    }
    errors
}

fn check_container(
    path: &FieldPath,
    container: &Value,
    spec: &Value,
    volumes: &BTreeSet<&str>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(&container["name"]) {
        "" => errors.push(FieldError::required(&path.child("name"), "")),
        name => errors.extend(name_errors(&path.child("name"), name, NameRule::Label)),
    }
    match text(&container["image"]) {
        "" => errors.push(FieldError::required(&path.child("image"), "")),
        image if image.trim() != image => {
            let why = "must not have leading or trailing whitespace";
            errors.push(FieldError::invalid(&path.child("image"), image, why));
        }
        _ => {}
    }
    errors.extend(check_ports(path, container, spec["hostNetwork"] == true));
    for (i, variable) in items(&container["env"]).iter().enumerate() {
        let path = path.child("env").index(i);
        if is_empty(&variable["name"]) {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        if !is_empty(&variable["value"]) && !is_empty(&variable["valueFrom"]) {
            let why = "may not be specified when `value` is not empty";
            errors.push(FieldError::invalid(&path.child("valueFrom"), "", why));
        }
    }
    errors.extend(check_mounts(path, container, volumes));
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = text(&container["imagePullPolicy"]);
    errors.extend(one_of(&path.child("imagePullPolicy"), policy, &policies));
    let message = path.child("terminationMessagePolicy");
    let policies = ["FallbackToLogsOnError", "File"];
    errors.extend(one_of(&message, text(&container["terminationMessagePolicy"]), &policies));
    errors.extend(check_resources(&path.child("resources"), &container["resources"]));
    errors
}

fn check_ports(path: &FieldPath, container: &Value, host_network: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (i, item) in items(&container["ports"]).iter().enumerate() {
        let path = path.child("ports").index(i);
        let name = text(&item["name"]);
        if !name.is_empty() {
            errors.extend(port::name(&path.child("name"), name));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        match item["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            number => errors.extend(port::number(&path.child("containerPort"), number)),
        }
        if let Some(host) = item["hostPort"].as_i64().filter(|host| *host != 0) {
            errors.extend(port::number(&path.child("hostPort"), host));
            if host_network && item["containerPort"].as_i64() != Some(host) {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&path.child("hostPort"), host, why));
            }
        }
        errors.extend(port::protocol(&path.child("protocol"), &item["protocol"]));
    }
    errors
}

fn check_mounts(path: &FieldPath, container: &Value, volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut paths = BTreeSet::new();
    for (i, mount) in items(&container["volumeMounts"]).iter().enumerate() {
        let path = path.child("volumeMounts").index(i);
        match text(&mount["name"]) {
            "" => errors.push(FieldError::required(&path.child("name"), "")),
            name if !volumes.contains(name) => {
                errors.push(FieldError::new(Problem::NotFound, &path.child("name"), name, ""));
            }
            _ => {}
        }
        match text(&mount["mountPath"]) {
            "" => errors.push(FieldError::required(&path.child("mountPath"), "")),
            at if !paths.insert(at) => {
                errors.push(FieldError::invalid(&path.child("mountPath"), at, "must be unique"));
            }
            _ => {}
        }
    }
    errors
}

fn check_resources(path: &FieldPath, resources: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, wanted) in resources["requests"].as_object().into_iter().flatten() {
        let Some(limit) = resources["limits"].get(name) else { continue };
        let (asked, most) = (quantity::parse(text(wanted)), quantity::parse(text(limit)));
        if asked > most {
            let why = format!("must be less than or equal to {name} limit of {}", text(limit));
            errors.push(FieldError::invalid(&path.child("requests"), wanted.clone(), why));
        }
    }
    for list in ["limits", "requests"] {
        for (name, amount) in resources[list].as_object().into_iter().flatten() {
            if quantity::parse(text(amount)).is_some_and(|amount| amount < 0) {
                let path = path.child(list).key(name);
                let why = "must be greater than or equal to 0";
                errors.push(FieldError::invalid(&path, amount.clone(), why));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_decides_how_to_pull() {
        let cases = [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("registry:5000/nginx", "Always"),
            ("registry:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:00", "IfNotPresent"),
            ("nginx:latest@sha256:00", "Always"),
            ("", "IfNotPresent"),
        ];
        for (image, policy) in cases {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
