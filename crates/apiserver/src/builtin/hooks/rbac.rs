//! Roles and bindings. They are kept and judged here; what they allow is decided by `access`.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::hooks::Request;
use landbridge_machinery::names::NameRule;
use landbridge_machinery::status::ApiResult;
use serde_json::Value;

use super::value::{is_empty, items, items_mut, set, text};
use super::{name_errors, one_of};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Users and groups belong to the group of RBAC, service accounts to the core group.
pub fn mutate_binding(_: &Request<'_>, binding: &mut Value) -> ApiResult<()> {
    for subject in items_mut(binding, &["subjects"]) {
        if is_empty(&subject["apiGroup"]) && matches!(text(&subject["kind"]), "User" | "Group") {
            set(subject, "apiGroup", GROUP);
        }
    }
    Ok(())
}

/// Everything wrong with a Role or ClusterRole.
pub fn check_role(request: &Request<'_>, role: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("rules");
    let namespaced = request.kind.kind == "Role";
    let rules = items(&role["rules"]).iter().enumerate();
    rules.flat_map(|(i, rule)| check_rule(&path.index(i), rule, namespaced)).collect()
}

fn check_rule(path: &FieldPath, rule: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let missing = |field: &str, why: &str| FieldError::required(&path.child(field), why);
    if is_empty(&rule["verbs"]) {
        errors.push(missing("verbs", "verbs must contain at least one value"));
    }
    if !is_empty(&rule["nonResourceURLs"]) {
        let wrong = |why: &str| {
            FieldError::invalid(
                &path.child("nonResourceURLs"),
                rule["nonResourceURLs"].clone(),
                why,
            )
        };
        if namespaced {
            errors.push(wrong("namespaced rules cannot apply to non-resource URLs"));
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|f| !is_empty(&rule[*f])) {
            errors
                .push(wrong("rules cannot apply to both regular resources and non-resource URLs"));
        }
        return errors;
    }
    if is_empty(&rule["apiGroups"]) {
        errors.push(missing("apiGroups", "resource rules must supply at least one api group"));
    }
    if is_empty(&rule["resources"]) {
        errors.push(missing("resources", "resource rules must supply at least one resource"));
    }
    if !is_empty(&rule["resourceNames"]) && items(&rule["resources"]).len() > 1 {
        errors.push(missing("resourceNames", "resource names cannot apply to multiple resources"));
    }
    errors
}

/// Everything wrong with a RoleBinding or ClusterRoleBinding.
pub fn check_binding(request: &Request<'_>, binding: &Value) -> Vec<FieldError> {
    let namespaced = request.kind.kind == "RoleBinding";
    let role = &binding["roleRef"];
    let path = FieldPath::new("roleRef");
    let mut errors = Vec::new();
    errors.extend(one_of(&path.child("apiGroup"), text(&role["apiGroup"]), &[GROUP]));
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.extend(one_of(&path.child("kind"), text(&role["kind"]), kinds));
    match text(&role["name"]) {
        "" => errors.push(FieldError::required(&path.child("name"), "")),
        name => errors.extend(name_errors(&path.child("name"), name, NameRule::PathSegment)),
    }
    for (i, subject) in items(&binding["subjects"]).iter().enumerate() {
        errors.extend(check_subject(&FieldPath::new("subjects").index(i), subject, namespaced));
    }
    if request.old.is_some_and(|old| old["roleRef"] != *role) {
        errors.push(FieldError::invalid(&path, role.clone(), "cannot change roleRef"));
    }
    errors
}

fn check_subject(path: &FieldPath, subject: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(&subject["name"]);
    let group = text(&subject["apiGroup"]);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    match text(&subject["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.extend(name_errors(&path.child("name"), name, NameRule::Subdomain));
            }
            errors.extend(one_of(&path.child("apiGroup"), group, &[""]));
            if !namespaced && is_empty(&subject["namespace"]) {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => errors.extend(one_of(&path.child("apiGroup"), group, &[GROUP])),
        kind => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.extend(one_of(&path.child("kind"), kind, &kinds));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{admit, created, lines};
    use super::*;

    #[test]
    fn rules_say_what_they_allow() {
        let role = |rule: Value| json!({"metadata": {"name": "a"}, "rules": [rule]});
        let cases = [
            ("Role", json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), vec![]),
            (
                "Role",
                json!({}),
                vec![
                    "rules[0].verbs: Required value: verbs must contain at least one value",
                    "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                    "rules[0].resources: Required value: resource rules must supply at least one resource",
                ],
            ),
            ("ClusterRole", json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}), vec![]),
            (
                "Role",
                json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}),
                vec![
                    r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
                ],
            ),
        ];
        for (kind, rule, wanted) in cases {
            assert_eq!(lines(&admit(GROUP, kind, None, role(rule))), wanted);
        }
    }

    #[test]
    fn bindings_are_completed_and_keep_their_role() {
        let binding = |role: &str| {
            json!({"metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "name": "u"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]})
        };
        let old = created(GROUP, "ClusterRoleBinding", binding("r"));
        assert_eq!(old["roleRef"]["apiGroup"], GROUP);
        assert_eq!(old["subjects"][0]["apiGroup"], GROUP);
        assert!(old["subjects"][1].get("apiGroup").is_none());
        let found = lines(&admit(GROUP, "ClusterRoleBinding", Some(&old), binding("s")));
        assert!(found.len() == 1 && found[0].ends_with("cannot change roleRef"), "{found:?}");
        let mut wrong = binding("r");
        wrong["roleRef"]["kind"] = "Role".into();
        wrong["subjects"][1].as_object_mut().expect("map").remove("namespace");
        assert_eq!(
            lines(&admit(GROUP, "ClusterRoleBinding", None, wrong)),
            [
                r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
                "subjects[1].namespace: Required value",
            ]
        );
    }
}
