//! The status of a CRD: accepted names, conditions, stored versions.

use landbridge_machinery::object;
use serde_json::{Value, json};

use crate::chance;
use crate::server::Inner;

/// Whether the CRD says that it is being served.
pub fn is_established(crd: &Value) -> bool {
    condition(crd, "Established") == Some("True")
}

fn condition<'a>(crd: &'a Value, kind: &str) -> Option<&'a str> {
    let list = crd["status"]["conditions"].as_array()?;
    list.iter().find(|c| c["type"] == kind)?["status"].as_str()
}

/// Another resource of the group has one of the names: reason and message.
pub fn name_conflict(server: &Inner, crd: &Value) -> Option<(String, String)> {
    let spec = &crd["spec"];
    let (group, names) = (spec["group"].as_str()?, &spec["names"]);
    let registry = server.registry();
    // Also a built-in resource of the very same name: its objects are not this CRD's to delete.
    let others = registry
        .all()
        .filter(|r| r.group == group && r.crd_uid.as_deref() != Some(object::uid(crd)));
    for other in others {
        let resource_names: Vec<&str> = [other.plural.as_str(), other.singular.as_str()]
            .into_iter()
            .chain(other.short_names.iter().map(String::as_str))
            .collect();
        let short = names["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut wanted: Vec<(&str, &str)> =
            short.map(|name| ("ShortNamesConflict", name)).collect();
        wanted.push(("PluralConflict", names["plural"].as_str().unwrap_or_default()));
        wanted.push(("SingularConflict", names["singular"].as_str().unwrap_or_default()));
        for (reason, name) in wanted {
            if !name.is_empty() && resource_names.contains(&name) {
                return Some((reason.to_owned(), format!("{name:?} is already in use")));
            }
        }
        for (reason, field, taken) in [
            ("KindConflict", "kind", [&other.kind, &other.list_kind]),
            ("ListKindConflict", "listKind", [&other.kind, &other.list_kind]),
        ] {
            if let Some(name) = names[field].as_str().filter(|name| taken.iter().any(|t| t == name))
            {
                return Some((reason.to_owned(), format!("{name:?} is already in use")));
            }
        }
    }
    None
}

/// The CRD with the status it should have.
pub fn updated(crd: &Value, problem: &Result<(), (String, String)>) -> Value {
    let mut new = crd.clone();
    let storage = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|v| v["storage"] == true)
        .map(|v| v["name"].clone());
    let mut stored = crd["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    stored.extend(storage.filter(|name| !stored.contains(name)));
    new["status"]["storedVersions"] = Value::Array(stored);
    match problem {
        Ok(()) => {
            new["status"]["acceptedNames"] = crd["spec"]["names"].clone();
            set(&mut new, "NamesAccepted", "True", "NoConflicts", "no conflicts found");
            set(
                &mut new,
                "Established",
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            );
        }
        Err((reason, message)) => {
            if new["status"]["acceptedNames"].is_null() {
                new["status"]["acceptedNames"] = json!({"kind": "", "plural": ""});
            }
            set(&mut new, "NamesAccepted", "False", reason, message);
            if condition(&new, "Established") != Some("True") {
                set(&mut new, "Established", "False", "NotAccepted", "not all names are accepted");
            }
        }
    }
    new
}

/// Sets a condition; its time changes only with its status.
fn set(crd: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    let mut list = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let place = list.iter().position(|c| c["type"] == kind);
    let since = place
        .filter(|i| list[*i]["status"] == status)
        .map_or_else(|| json!(chance::timestamp()), |i| list[i]["lastTransitionTime"].clone());
    let condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    match place {
        Some(i) => list[i] = condition,
        None => list.push(condition),
    }
    crd["status"]["conditions"] = Value::Array(list);
}
