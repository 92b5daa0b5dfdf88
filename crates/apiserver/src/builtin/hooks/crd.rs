//! CustomResourceDefinitions: names and versions. Schemas are judged when they are compiled.

use std::collections::BTreeSet;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::NameRule;
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{is_empty, items, map_at, set_default, text, texts};
use super::{immutable, one_of, webhook};

const APPROVED: &str = "api-approved.kubernetes.io";

/// Singular and list kind follow from the kind.
pub fn mutate(_: &Request<'_>, crd: &mut Value) -> ApiResult<()> {
    let kind = text(&crd["spec"]["names"]["kind"]).to_owned();
    if let Some(names) = map_at(crd, &["spec", "names"]).filter(|_| !kind.is_empty()) {
        set_default(names, "singular", kind.to_lowercase());
        set_default(names, "listKind", format!("{kind}List"));
    }
    Ok(())
}

/// Everything wrong with a CRD but its schemas.
pub fn check(request: &Request<'_>, crd: &Value) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let path = FieldPath::new("spec");
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let mut errors = Vec::new();
    let name = object::name(crd);
    if name != format!("{plural}.{group}") {
        let why = r#"must be spec.names.plural+"."+spec.group"#;
        errors.push(FieldError::invalid(&FieldPath::new("metadata.name"), name, why));
    }
    errors.extend(check_group(crd, &path.child("group")));
    match text(&spec["scope"]) {
        "" => errors.push(FieldError::required(&path.child("scope"), "")),
        scope => errors.extend(one_of(&path.child("scope"), scope, &["Cluster", "Namespaced"])),
    }
    errors.extend(check_versions(spec, &path.child("versions")));
    errors.extend(check_names(&spec["names"], &path.child("names")));
    errors.extend(check_conversion(&spec["conversion"], &path.child("conversion")));
    if spec["preserveUnknownFields"] == true {
        errors.push(FieldError::invalid(
            &path.child("preserveUnknownFields"),
            true,
            "must be false",
        ));
    }
    if let Some(old) = request.old {
        errors.extend(check_change(old, crd, &path));
    }
    errors
}

fn joined(path: &FieldPath, name: &str, rule: NameRule, start: &str) -> Option<FieldError> {
    let wrong = rule.check(name, false).join(",");
    (!wrong.is_empty()).then(|| FieldError::invalid(path, name, format!("{start}{wrong}")))
}

fn check_group(crd: &Value, path: &FieldPath) -> Option<FieldError> {
    let group = text(&crd["spec"]["group"]);
    if group.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    if let Some(error) = joined(path, group, NameRule::Subdomain, "") {
        return Some(error);
    }
    if !group.contains('.') {
        return Some(FieldError::invalid(path, group, "should be a domain with at least one dot"));
    }
    let within = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    let protected = within("k8s.io") || within("kubernetes.io");
    (protected && object::annotation(crd, APPROVED).is_none()).then(|| {
        let why = format!(
            "protected groups must have approval annotation {APPROVED:?}, see https://github.com/kubernetes/enhancements/pull/1111"
        );
        FieldError::required(&FieldPath::new("metadata.annotations").key(APPROVED), why)
    })
}

fn check_versions(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let versions = items(&spec["versions"]);
    let mut errors = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let path = path.index(i);
        errors.extend(joined(&path.child("name"), text(&version["name"]), NameRule::Label1035, ""));
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let path = path.child("schema.openAPIV3Schema");
            errors.push(FieldError::required(&path, "schemas are required"));
        }
        errors.extend(check_subresources(version, &path.child("subresources")));
        for (i, column) in items(&version["additionalPrinterColumns"]).iter().enumerate() {
            errors.extend(check_column(column, &path.child("additionalPrinterColumns").index(i)));
        }
    }
    let wrong = |why: &str| FieldError::invalid(path, spec["versions"].clone(), why);
    let names: BTreeSet<_> = versions.iter().map(|v| text(&v["name"])).collect();
    if names.len() != versions.len() {
        errors.push(wrong("must contain unique version names"));
    }
    if versions.iter().filter(|v| v["storage"] == true).count() != 1 {
        errors.push(wrong("must have exactly one version marked as storage version"));
    }
    errors
}

fn check_subresources(version: &Value, path: &FieldPath) -> Vec<FieldError> {
    let scale = &version["subresources"]["scale"];
    let path = path.child("scale");
    let mut errors = Vec::new();
    if !scale.is_object() {
        return errors;
    }
    for (field, start) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
        ("labelSelectorPath", ""),
    ] {
        let (given, path) = (text(&scale[field]), path.child(field));
        if given.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(&path, ""));
            }
        } else if !given.starts_with(start) {
            let why = format!("should be a json path under {}", start.trim_end_matches('.'));
            errors.push(FieldError::invalid(&path, given, why));
        }
    }
    errors
}

fn check_column(column: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "jsonPath"] {
        if is_empty(&column[field]) {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let kinds = ["boolean", "date", "integer", "number", "string"];
    match text(&column["type"]) {
        "" => errors.push(FieldError::required(
            &path.child("type"),
            format!("must be one of {}", kinds.join(",")),
        )),
        kind if !kinds.contains(&kind) => {
            let why = format!("must be one of {}", kinds.join(","));
            errors.push(FieldError::invalid(&path.child("type"), kind, why));
        }
        _ => {}
    }
    errors
}

fn check_names(names: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["plural", "singular", "kind", "listKind"] {
        let (given, path) = (text(&names[field]), path.child(field));
        if given.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if field.ends_with("ind") {
            let start = "may have mixed case, but should otherwise match: ";
            let error = joined(&path, &given.to_lowercase(), NameRule::Label1035, start);
            errors.extend(error.map(|error| FieldError { value: given.into(), ..error }));
        } else {
            errors.extend(joined(&path, given, NameRule::Label1035, ""));
        }
    }
    if !is_empty(&names["kind"]) && names["kind"] == names["listKind"] {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), names["listKind"].clone(), why));
    }
    for list in ["shortNames", "categories"] {
        for (i, name) in texts(&names[list]).enumerate() {
            errors.extend(joined(&path.child(list).index(i), name, NameRule::Label1035, ""));
        }
    }
    errors
}

fn check_conversion(conversion: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let strategy = text(&conversion["strategy"]);
    errors.extend(one_of(&path.child("strategy"), strategy, &["None", "Webhook"]));
    // Errors name the fields of upstream's internal form.
    let client = path.child("webhookClientConfig");
    let versions = path.child("conversionReviewVersions");
    let webhook = &conversion["webhook"];
    if strategy == "Webhook" {
        if webhook["clientConfig"].is_object() {
            errors.extend(webhook::check_client(&client, &webhook["clientConfig"]));
        } else {
            errors.push(FieldError::required(&client, "required when strategy is set to Webhook"));
        }
        if is_empty(&webhook["conversionReviewVersions"]) {
            errors.push(FieldError::required(&versions, ""));
        } else if !texts(&webhook["conversionReviewVersions"]).any(|v| v == "v1" || v == "v1beta1")
        {
            let given = webhook["conversionReviewVersions"].clone();
            let why = "must include at least one of v1, v1beta1";
            errors.push(FieldError::invalid(&versions, given, why));
        }
    } else if webhook["clientConfig"].is_object() {
        let why = "should not be set when strategy is not set to Webhook";
        errors.push(FieldError::forbidden(&client, why));
    }
    errors
}

fn check_change(old: &Value, new: &Value, path: &FieldPath) -> Vec<FieldError> {
    let (before, after) = (&old["spec"], &new["spec"]);
    let established = items(&old["status"]["conditions"])
        .iter()
        .any(|c| c["type"] == "Established" && c["status"] == "True");
    let mut errors = Vec::new();
    let mut fixed = vec!["/group", "/names/plural"];
    if established {
        fixed.extend(["/scope", "/names/kind"]);
    }
    for pointer in fixed {
        let null = Value::Null;
        let at = |spec: &Value| spec.pointer(pointer).unwrap_or(&null).clone();
        let path = path.child(&pointer[1..].replace('/', "."));
        errors.extend(immutable(&path, &at(after), &at(before)));
    }
    let served: BTreeSet<_> = items(&after["versions"]).iter().map(|v| text(&v["name"])).collect();
    for (i, stored) in texts(&new["status"]["storedVersions"]).enumerate() {
        if !served.contains(stored) {
            let path = FieldPath::new("status.storedVersions").index(i);
            let why = "missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions";
            errors.push(FieldError::invalid(&path, stored, why.replace("v1", stored)));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    const GROUP: &str = "apiextensions.k8s.io";
    const KIND: &str = "CustomResourceDefinition";

    fn crd() -> Value {
        json!({"metadata": {"name": "nets.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "nets", "kind": "Net"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        }})
    }

    #[test]
    fn names_and_conversion_are_filled_in() {
        let spec = &created(GROUP, KIND, crd())["spec"];
        assert_eq!(spec["names"]["singular"], "net");
        assert_eq!(spec["names"]["listKind"], "NetList");
        assert_eq!(spec["conversion"], json!({"strategy": "None"}));
    }

    #[test]
    fn wrong_crds_are_explained() {
        let cases: [(fn(&mut Value), &str); 13] = [
            (
                |c| c["metadata"]["name"] = "x.example.com".into(),
                r#"metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group"#,
            ),
            (|c| c["spec"]["scope"] = "".into(), "spec.scope: Required value"),
            (
                |c| c["spec"]["scope"] = "World".into(),
                r#"spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced""#,
            ),
            (
                |c| c["spec"]["versions"][0]["storage"] = false.into(),
                "spec.versions: Invalid value: ",
            ),
            (
                |c| {
                    let first = c["spec"]["versions"][0].clone();
                    c["spec"]["versions"] = json!([first, first]);
                    c["spec"]["versions"][1]["storage"] = false.into();
                },
                "spec.versions: Invalid value: ",
            ),
            (
                |c| c["spec"]["versions"][0]["schema"] = json!({}),
                "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
            ),
            (
                |c| c["spec"]["versions"][0]["name"] = "1".into(),
                r#"spec.versions[0].name: Invalid value: "1": a DNS-1035 label"#,
            ),
            (
                |c| c["spec"]["names"]["kind"] = "A b".into(),
                r#"spec.names.kind: Invalid value: "A b": may have mixed case, but should otherwise match: "#,
            ),
            (
                |c| c["spec"]["names"]["listKind"] = "Net".into(),
                r#"spec.names.listKind: Invalid value: "Net": kind and listKind may not be the same"#,
            ),
            (
                |c| {
                    c["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
                },
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            ),
            (
                |c| c["spec"]["versions"][0]["subresources"] = json!({"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".spec.n"}}),
                r#"spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status"#,
            ),
            (
                |c| {
                    c["spec"]["group"] = "x.k8s.io".into();
                    c["metadata"]["name"] = "nets.x.k8s.io".into();
                },
                "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have",
            ),
            (
                |c| {
                    c["spec"]["versions"][0]["additionalPrinterColumns"] =
                        json!([{"name": "A", "type": "text", "jsonPath": ".a"}]);
                },
                r#"spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string"#,
            ),
        ];
        for (edit, start) in cases {
            let mut object = crd();
            edit(&mut object);
            let found = lines(&admit(GROUP, KIND, None, object));
            let hits = found.iter().filter(|line| line.starts_with(start)).count();
            // A bad kind makes singular and list kind bad as well.
            assert!(hits == 1 && (found.len() == 1 || start.contains("kind")), "{start} {found:?}");
        }
    }

    #[test]
    fn what_is_stored_stays() {
        let mut old = created(GROUP, KIND, crd());
        old["status"] = json!({"conditions": [{"type": "Established", "status": "True"}],
            "storedVersions": ["v1"]});
        let mut new = old.clone();
        new["spec"]["scope"] = "Cluster".into();
        new["spec"]["versions"][0]["name"] = "v2".into();
        let found = lines(&admit(GROUP, KIND, Some(&old), new.clone()));
        assert_eq!(found[0], r#"spec.scope: Invalid value: "Cluster": field is immutable"#);
        assert!(
            found[1].starts_with(r#"status.storedVersions[0]: Invalid value: "v1": missing from"#)
        );
        assert_eq!(found.len(), 2);
        old["status"] = json!({});
        new["status"] = json!({});
        assert!(admit(GROUP, KIND, Some(&old), new).is_ok(), "not yet established");
    }
}
