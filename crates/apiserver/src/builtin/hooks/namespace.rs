//! Namespaces: the label every namespace carries, and how its life begins.

use landbridge_machinery::hooks::{Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::{Value, json};

use super::value::{items, map_at};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

/// Labels the namespace with its name; a new one is active and held by the `kubernetes` finalizer.
pub fn mutate(request: &Request<'_>, namespace: &mut Value) -> ApiResult<()> {
    let name = object::name(namespace).to_owned();
    if let Some(labels) = map_at(namespace, &["metadata", "labels"]).filter(|_| !name.is_empty()) {
        labels.insert(NAME_LABEL.into(), name.into());
    }
    if request.operation != Operation::Create {
        return Ok(());
    }
    let mut finalizers = items(&namespace["spec"]["finalizers"]).to_vec();
    if !finalizers.contains(&json!(FINALIZER)) {
        finalizers.push(json!(FINALIZER));
    }
    if let Some(spec) = map_at(namespace, &["spec"]) {
        spec.insert("finalizers".into(), finalizers.into());
    }
    if let Some(status) = map_at(namespace, &["status"]) {
        status.insert("phase".into(), "Active".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{admit, created};
    use super::*;

    #[test]
    fn a_new_namespace_is_labelled_active_and_held() {
        let namespace = created("", "Namespace", json!({"metadata": {"name": "a"}}));
        assert_eq!(namespace["metadata"]["labels"][NAME_LABEL], "a");
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
        assert_eq!(namespace["status"]["phase"], "Active");
    }

    #[test]
    fn an_update_may_empty_the_finalizers() {
        let old = created("", "Namespace", json!({"metadata": {"name": "a"}}));
        let mut new = old.clone();
        new["spec"] = json!({});
        let new = admit("", "Namespace", Some(&old), new).expect("admitted");
        assert_eq!(new["spec"], json!({}));
    }
}
