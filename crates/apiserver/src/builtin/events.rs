//! The two shapes of an Event: core/v1, in which it is stored, and events.k8s.io/v1.

use std::borrow::Cow;

use serde_json::Value;

/// The group of the newer shape.
pub const GROUP: &str = "events.k8s.io";

/// Names of the same field: core/v1, events.k8s.io/v1. All other fields are called alike.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an event into core/v1. One that is in this shape already stays as it is.
pub fn to_core(event: &mut Value) {
    rename(event, "v1", NAMES.map(|(core, events)| (events, core)));
}

/// Turns an event into events.k8s.io/v1. One that is in this shape already stays as it is.
pub fn to_events(event: &mut Value) {
    rename(event, "events.k8s.io/v1", NAMES);
}

fn rename(event: &mut Value, api_version: &str, names: [(&str, &str); 7]) {
    let Some(event) = event.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = event.remove(from) {
            event.insert(to.to_owned(), value);
        }
    }
    if event.contains_key("apiVersion") {
        event.insert("apiVersion".into(), api_version.into());
    }
}

/// The event in its stored shape.
pub(super) fn as_core(event: &Value) -> Cow<'_, Value> {
    if NAMES.iter().all(|(_, name)| event.get(name).is_none()) {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    to_core(&mut event);
    Cow::Owned(event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schemas::{all as definitions, full_name};
    use super::*;

    #[test]
    fn there_and_back() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"},
            "involvedObject": {"kind": "Pod"}, "message": "m", "source": {"component": "c"},
            "firstTimestamp": "1", "lastTimestamp": "2", "count": 3, "eventTime": "4",
            "reportingComponent": "r", "reportingInstance": "i", "series": {"count": 2},
            "action": "a", "related": {}, "reason": "x", "type": "Normal",
        });
        let mut event = core.clone();
        to_events(&mut event);
        assert_eq!(event["apiVersion"], "events.k8s.io/v1");
        assert_eq!(event["regarding"], core["involvedObject"]);
        assert_eq!(event["note"], "m");
        assert_eq!(event["deprecatedCount"], 3);
        assert_eq!(event["reportingController"], "r");
        assert_eq!(event["reportingInstance"], "i");
        let again = event.clone();
        to_events(&mut event);
        assert_eq!(event, again);
        to_core(&mut event);
        assert_eq!(event, core);
    }

    #[test]
    fn the_shapes_have_these_fields_and_no_others_differ() {
        let fields = |name: &str| {
            definitions()[&full_name(name)]["properties"]
                .as_object()
                .expect(name)
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        let mut renamed: Vec<String> = fields("core.v1.Event");
        for field in &mut renamed {
            if let Some((_, to)) = NAMES.iter().find(|(from, _)| field == from) {
                *field = (*to).to_owned();
            }
        }
        renamed.sort();
        let mut wanted = fields("events.v1.Event");
        wanted.sort();
        assert_eq!(renamed, wanted);
    }
}
