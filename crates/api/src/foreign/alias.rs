//! Kinds of OpenStack take `networkAttachents` for `networkAttachments`, with a warning: the
//! document that describes the field misspells it in every example.
//!
//! The right field wins where both are given. An update whose right field is the one that is
//! already stored brings only the misspelt one, as `kubectl apply` of the same manifest does the
//! second time: then the misspelt one is what is wanted.

use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::status::ApiResult;
use serde_json::{Map, Value};

use super::Place;

const MISSPELT: &str = "networkAttachents";
const RIGHT: &str = "networkAttachments";
/// How deep sections may be nested.
const DEEPEST: usize = 64;

/// The rules of OpenStack's kinds.
pub struct OpenStackHooks;

impl Hooks for OpenStackHooks {
    fn remark(&self, request: &Request<'_>, object: &Value) -> Vec<String> {
        let mut said = Vec::new();
        let old = request.old.map(|old| &old["spec"]);
        if request.operation != Operation::Delete && old != Some(&object["spec"]) {
            walk(&object["spec"], old, &Place::new("spec"), &mut said, 0);
        }
        said
    }

    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation != Operation::Delete
            && let Some(spec) = object.get_mut("spec")
        {
            rename(spec, request.old.map(|old| &old["spec"]), 0);
        }
        Ok(())
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        super::rules::judge(request, object)
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("openstack.landbridge.dev")
    }
}

/// Whether the misspelt field of a section is taken for the right one.
fn is_taken(section: &Map<String, Value>, old: Option<&Value>) -> bool {
    section.get(RIGHT).is_none_or(|right| {
        section.get(MISSPELT) == Some(right) || old.and_then(|old| old.get(RIGHT)) == Some(right)
    })
}

fn walk(value: &Value, old: Option<&Value>, place: &Place, said: &mut Vec<String>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    if let Value::Array(list) = value {
        for (i, element) in list.iter().enumerate() {
            walk(element, old.and_then(|old| old.get(i)), &place.index(i), said, depth + 1);
        }
    }
    let Value::Object(section) = value else { return };
    if section.contains_key(MISSPELT) {
        let path = place.child(MISSPELT).path;
        said.push(if is_taken(section, old) {
            format!("{path}: taken as {RIGHT}")
        } else {
            format!("{path}: has no effect, because {RIGHT} is given, too")
        });
    }
    for (key, below) in section {
        if below.is_object() || below.is_array() {
            let old = old.and_then(|old| old.get(key));
            walk(below, old, &place.child(key), said, depth + 1);
        }
    }
}

fn rename(value: &mut Value, old: Option<&Value>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Array(list) => {
            for (i, element) in list.iter_mut().enumerate() {
                rename(element, old.and_then(|old| old.get(i)), depth + 1);
            }
        }
        Value::Object(section) => {
            if is_taken(section, old)
                && let Some(names) = section.remove(MISSPELT)
            {
                section.insert(RIGHT.to_owned(), names);
            }
            for (key, below) in section {
                rename(below, old.and_then(|old| old.get(key)), depth + 1);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use landbridge_machinery::gvk::GroupVersionKind;
    use serde_json::json;

    use super::*;
    use crate::foreign::testing::Nothing;

    /// What becomes of the spec, and what is said.
    fn written(old: Option<&Value>, spec: &Value) -> (Value, Vec<String>) {
        let old = old.map(|spec| json!({"spec": spec}));
        let mut object = json!({"spec": spec});
        let kind = GroupVersionKind::new("glance.openstack.org", "v1beta1", "Glance");
        let request = Request {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            kind: &kind,
            namespace: Some("openstack"),
            name: "glance",
            old: old.as_ref(),
            user: "tester",
            dry_run: false,
            objects: &Nothing,
        };
        let said = OpenStackHooks.remark(&request, &object);
        OpenStackHooks.mutate(&request, &mut object).unwrap();
        (object["spec"].take(), said)
    }

    #[test]
    fn the_misspelt_field_is_taken_wherever_it_stands() {
        let spec = json!({
            "networkAttachents": ["a"],
            "shares": [{"x": 1}, {"networkAttachents": ["b"]}],
            "api": {"networkAttachments": ["c"]},
        });
        let (spec, said) = written(None, &spec);
        let right = json!({
            "networkAttachments": ["a"],
            "shares": [{"x": 1}, {"networkAttachments": ["b"]}],
            "api": {"networkAttachments": ["c"]},
        });
        assert_eq!(spec, right);
        let taken = [
            "spec.networkAttachents: taken as networkAttachments",
            "spec.shares[1].networkAttachents: taken as networkAttachments",
        ];
        assert_eq!(said, taken);
        assert_eq!(written(None, &right), (right.clone(), Vec::new()));
    }

    #[test]
    fn where_both_are_given_the_right_one_wins() {
        let both = json!({"networkAttachments": ["a"], "networkAttachents": ["b"]});
        let said =
            "spec.networkAttachents: has no effect, because networkAttachments is given, too";
        assert_eq!(written(None, &both), (both.clone(), vec![said.to_owned()]));
        let old = json!({"networkAttachments": ["z"]});
        assert_eq!(written(Some(&old), &both).0, both, "both are new");
        assert_eq!(written(Some(&both), &both).1, [""; 0], "nothing is new");
    }

    #[test]
    fn a_second_apply_changes_nothing_and_a_changed_one_is_followed() {
        let old = json!({"networkAttachments": ["a"]});
        for names in [json!(["a"]), json!(["b"])] {
            let patched = json!({"networkAttachments": ["a"], "networkAttachents": names});
            let (spec, said) = written(Some(&old), &patched);
            assert_eq!(spec, json!({"networkAttachments": names}));
            assert_eq!(said.len(), 1);
        }
    }
}
