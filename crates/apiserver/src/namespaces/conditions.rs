//! What a namespace says while it ends: upstream's five conditions, in upstream's words.
//!
//! Each names a way to fail, so `False` is good news. All five are there from the first look at the
//! namespace on; users and scripts read from them what a namespace is waiting for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What one look at an ending namespace found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How many objects are left, by `resource.group`; the core group is empty, the dot stays.
    pub remaining: BTreeMap<String, usize>,
    /// How many of them each finalizer holds.
    pub finalizers: BTreeMap<String, usize>,
    /// What kept objects from being deleted: one text per resource.
    pub failures: Vec<String>,
}

impl Findings {
    /// Nothing is left, and nothing went wrong.
    pub fn are_none(&self) -> bool {
        self.remaining.is_empty() && self.failures.is_empty()
    }

    /// Writes the conditions into a namespace; says whether that changed it. A condition keeps its
    /// time for as long as it keeps its status.
    pub fn write(&self, namespace: &mut Value, now: &str) -> bool {
        let old = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ours = self.conditions();
        let mut new: Vec<Value> =
            old.iter().filter(|c| ours.iter().all(|our| c["type"] != our.kind)).cloned().collect();
        for Condition { kind, failed, reason, message } in ours {
            let status = if failed { "True" } else { "False" };
            let same = old.iter().find(|c| c["type"] == kind && c["status"] == status);
            let since = same.map_or_else(|| json!(now), |c| c["lastTransitionTime"].clone());
            new.push(json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}));
        }
        if old == new && namespace["status"]["phase"] == "Terminating" {
            return false;
        }
        namespace["status"]["phase"] = "Terminating".into();
        namespace["status"]["conditions"] = new.into();
        true
    }

    fn conditions(&self) -> [Condition; 5] {
        let has =
            |(what, count): (&String, &usize)| format!("{what} has {count} resource instances");
        let holds =
            |(what, count): (&String, &usize)| format!("{what} in {count} resource instances");
        let mut failures = self.failures.clone();
        failures.sort();
        [
            // Neither can fail here: the server asks its own registry.
            Condition::fine(
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            Condition::fine(
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            Condition::fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            )
            .or(
                "ContentDeletionFailed",
                &format!("Failed to delete all resource types, {} remaining", failures.len()),
                &failures,
            ),
            Condition::fine(
                "NamespaceContentRemaining",
                "ContentRemoved",
                "All content successfully removed",
            )
            .or(
                "SomeResourcesRemain",
                "Some resources are remaining",
                &self.remaining.iter().map(has).collect::<Vec<_>>(),
            ),
            Condition::fine(
                "NamespaceFinalizersRemaining",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            )
            .or(
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining",
                &self.finalizers.iter().map(holds).collect::<Vec<_>>(),
            ),
        ]
    }
}

struct Condition {
    kind: &'static str,
    failed: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn fine(kind: &'static str, reason: &'static str, message: &str) -> Self {
        Self { kind, failed: false, reason, message: message.to_owned() }
    }

    /// Unless there is something to complain about.
    fn or(self, reason: &'static str, what: &str, details: &[String]) -> Self {
        if details.is_empty() {
            return self;
        }
        let message = format!("{what}: {}", details.join(", "));
        Self { kind: self.kind, failed: true, reason, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, usize)]) -> BTreeMap<String, usize> {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn said(namespace: &Value) -> Vec<String> {
        let list = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let text = |c: &Value, field: &str| c[field].as_str().unwrap_or_default().to_owned();
        list.iter()
            .map(|c| ["type", "status", "reason", "message"].map(|field| text(c, field)).join("|"))
            .collect()
    }

    #[test]
    fn nothing_left_is_said_five_times() {
        let mut namespace = json!({"metadata": {"name": "a"}});
        assert!(Findings::default().write(&mut namespace, "t1"));
        assert_eq!(
            said(&namespace),
            [
                "NamespaceDeletionDiscoveryFailure|False|ResourcesDiscovered|All resources successfully discovered",
                "NamespaceDeletionGroupVersionParsingFailure|False|ParsedGroupVersions|All legacy kube types successfully parsed",
                "NamespaceDeletionContentFailure|False|ContentDeleted|All content successfully deleted, may be waiting on finalization",
                "NamespaceContentRemaining|False|ContentRemoved|All content successfully removed",
                "NamespaceFinalizersRemaining|False|ContentHasNoFinalizers|All content-preserving finalizers finished",
            ]
        );
        assert!(!Findings::default().write(&mut namespace, "t2"), "nothing new, nothing written");
    }

    #[test]
    fn what_is_left_is_named_and_counted() {
        let findings = Findings {
            remaining: counts(&[("pods.", 1), ("widgets.example.com", 3)]),
            finalizers: counts(&[("b/x", 2), ("a/y", 1)]),
            failures: vec!["second".into(), "first".into()],
        };
        assert!(!findings.are_none());
        let mut namespace = json!({});
        findings.write(&mut namespace, "t1");
        assert_eq!(
            said(&namespace)[2..],
            [
                "NamespaceDeletionContentFailure|True|ContentDeletionFailed|Failed to delete all resource types, 2 remaining: first, second",
                "NamespaceContentRemaining|True|SomeResourcesRemain|Some resources are remaining: pods. has 1 resource instances, widgets.example.com has 3 resource instances",
                "NamespaceFinalizersRemaining|True|SomeFinalizersRemain|Some content in the namespace has finalizers remaining: a/y in 1 resource instances, b/x in 2 resource instances",
            ]
        );
    }

    #[test]
    fn the_time_is_that_of_the_last_change_of_status() {
        let mut namespace = json!({"status": {"conditions": [{"type": "Other"}]}});
        let some =
            |count| Findings { remaining: counts(&[("pods.", count)]), ..Findings::default() };
        let time = |namespace: &Value, kind: &str| {
            let list = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
            list.iter().find(|c| c["type"] == kind).map(|c| c["lastTransitionTime"].clone())
        };
        some(2).write(&mut namespace, "t1");
        assert!(some(1).write(&mut namespace, "t2"), "the message changed");
        assert_eq!(time(&namespace, "NamespaceContentRemaining"), Some(json!("t1")));
        Findings::default().write(&mut namespace, "t3");
        assert_eq!(time(&namespace, "NamespaceContentRemaining"), Some(json!("t3")));
        assert_eq!(time(&namespace, "NamespaceDeletionContentFailure"), Some(json!("t1")));
        assert_eq!(namespace["status"]["conditions"][0]["type"], "Other", "somebody else's stays");
    }
}
