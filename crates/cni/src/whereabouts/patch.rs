//! Changes of a pool, and the JSON patch that asks the server for them.
//!
//! The patch first insists on the version it was made from, then that what it adds is not there,
//! then changes. When any of that fails the server answers 422 and the caller reads and decides
//! again. Many changes go into one patch; a key that is freed and given again becomes a change of
//! its fields.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::ledger::Allocation;

/// One key of a pool before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key: an offset as a decimal number.
    pub key: String,
    /// What was there.
    pub before: Option<Allocation>,
    /// What is there now.
    pub after: Option<Allocation>,
}

impl Change {
    /// The change that takes this one back.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { key: self.key, before: self.after, after: self.before }
    }
}

/// One operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// The value must be this one; `null` where nothing may be.
    Test {
        /// Where.
        path: String,
        /// What must be there.
        value: Value,
    },
    /// Puts a value where none is.
    Add {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Puts a value in the place of another.
    Replace {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Takes a value away.
    Remove {
        /// Where.
        path: String,
    },
}

/// The patch for changes made one after the other; empty when nothing is left of them.
pub fn patch(resource_version: &str, changes: &[Change]) -> Vec<Operation> {
    let mut net: BTreeMap<&str, (Option<&Allocation>, Option<&Allocation>)> = BTreeMap::new();
    for change in changes {
        let entry = net.entry(&change.key).or_insert((change.before.as_ref(), None));
        entry.1 = change.after.as_ref();
    }
    let mut operations = Vec::new();
    for (key, (before, after)) in net {
        let path = format!("/spec/allocations/{}", escaped(key));
        match (before, after) {
            (None, Some(after)) => {
                operations.push(Operation::Add { path, value: after.to_value() });
            }
            (Some(_), None) => operations.push(Operation::Remove { path }),
            (Some(before), Some(after)) => fields(&path, before, after, &mut operations),
            (None, None) => {}
        }
    }
    if operations.is_empty() {
        return operations;
    }
    let version = Operation::Test {
        path: "/metadata/resourceVersion".to_owned(),
        value: resource_version.into(),
    };
    let absent = operations.iter().filter_map(|operation| match operation {
        Operation::Add { path, .. } => {
            Some(Operation::Test { path: path.clone(), value: Value::Null })
        }
        _ => None,
    });
    let absent: Vec<_> = absent.collect();
    [version].into_iter().chain(absent).chain(operations).collect()
}

/// The fields in which two allocations differ.
fn fields(path: &str, before: &Allocation, after: &Allocation, operations: &mut Vec<Operation>) {
    let pairs = [
        ("id", &before.id, &after.id),
        ("ifname", &before.ifname, &after.ifname),
        ("podref", &before.podref, &after.podref),
    ];
    for (field, old, new) in pairs.into_iter().filter(|(_, old, new)| old != new) {
        let path = format!("{path}/{field}");
        let value = new.as_str().into();
        operations.push(match (field, old.is_empty(), new.is_empty()) {
            // Only the interface's name may be absent.
            ("ifname", true, _) => Operation::Add { path, value },
            ("ifname", _, true) => Operation::Remove { path },
            _ => Operation::Replace { path, value },
        });
    }
}

/// A key inside a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(id: &str, podref: &str, ifname: &str) -> Allocation {
        Allocation { id: id.into(), podref: podref.into(), ifname: ifname.into() }
    }

    fn text(changes: &[Change]) -> String {
        crate::json::compact(&patch("812", changes)).unwrap()
    }

    fn change(key: &str, before: Option<Allocation>, after: Option<Allocation>) -> Change {
        Change { key: key.into(), before, after }
    }

    #[test]
    fn an_allocation_is_tested_and_added() {
        let new = change("32", None, Some(allocation("c1", "openstack/p-2", "net1")));
        assert_eq!(
            text(std::slice::from_ref(&new)),
            r#"[{"op":"test","path":"/metadata/resourceVersion","value":"812"},{"op":"test","path":"/spec/allocations/32","value":null},{"op":"add","path":"/spec/allocations/32","value":{"id":"c1","ifname":"net1","podref":"openstack/p-2"}}]"#
        );
        assert_eq!(text(&[new.clone(), new.inverse()]), "[]");
    }

    #[test]
    fn a_release_is_removed_and_a_new_container_replaced() {
        let old = allocation("c1", "n/p", "net1");
        assert_eq!(
            text(&[change("5", Some(old.clone()), None)]),
            r#"[{"op":"test","path":"/metadata/resourceVersion","value":"812"},{"op":"remove","path":"/spec/allocations/5"}]"#
        );
        let again = allocation("c2", "n/p", "net1");
        assert_eq!(
            text(&[change("5", Some(old), Some(again))]),
            r#"[{"op":"test","path":"/metadata/resourceVersion","value":"812"},{"op":"replace","path":"/spec/allocations/5/id","value":"c2"}]"#
        );
    }

    #[test]
    fn a_key_freed_and_given_again_changes_its_fields() {
        let old = allocation("c1", "n/p", "");
        let new = allocation("c2", "n/q", "net1");
        let changes = [change("5", Some(old), None), change("5", None, Some(new))];
        assert_eq!(
            text(&changes),
            r#"[{"op":"test","path":"/metadata/resourceVersion","value":"812"},{"op":"test","path":"/spec/allocations/5/ifname","value":null},{"op":"replace","path":"/spec/allocations/5/id","value":"c2"},{"op":"add","path":"/spec/allocations/5/ifname","value":"net1"},{"op":"replace","path":"/spec/allocations/5/podref","value":"n/q"}]"#
        );
    }
}
