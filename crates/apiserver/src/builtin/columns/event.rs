//! Events, of the core group and of `events.k8s.io`: one story with two spellings.

use jiff::Timestamp;
use landbridge_machinery::object;
use landbridge_machinery::table::{Column, Columns, since};
use serde_json::Value;

use super::read::{number, text, text_or};

pub(super) fn columns() -> Columns {
    let columns = vec![
        Column::new("Last Seen", "When it happened last."),
        Column::new("Type", "Normal or Warning."),
        Column::new("Reason", "What happened, in one word."),
        Column::new("Object", "What it happened to."),
        Column::new("Subobject", "Part of the object it is about.").wide(),
        Column::new("Source", "Who reported it.").wide(),
        Column::new("Message", "What happened, in a sentence."),
        Column::new("First Seen", "When it happened first.").wide(),
        Column::new("Count", "How often it happened.").wide(),
        Column::name().wide(),
    ];
    Columns::Computed(columns, cells)
}

fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    let first = text_or(first, text(&event["eventTime"]));
    let last = text_or(either(event, "lastTimestamp", "deprecatedLastTimestamp"), first);
    let series = &event["series"];
    let (last, count) = if series.is_object() {
        (text(&series["lastObservedTime"]), number(&series["count"]))
    } else {
        // An event that happened once carries no count in the newer API.
        (last, number(either(event, "count", "deprecatedCount")).max(1))
    };
    let about = either(event, "involvedObject", "regarding");
    vec![
        since(last, now).into(),
        text(&event["type"]).into(),
        text(&event["reason"]).into(),
        target(about).into(),
        text(&about["fieldPath"]).into(),
        source(event).into(),
        text(either(event, "message", "note")).trim().into(),
        since(first, now).into(),
        count.into(),
        object::name(event).into(),
    ]
}

/// A field under its core name, or under its name in `events.k8s.io`.
fn either<'a>(event: &'a Value, core: &str, newer: &str) -> &'a Value {
    event.get(core).unwrap_or(&event[newer])
}

fn target(about: &Value) -> String {
    let kind = text(&about["kind"]).to_lowercase();
    match text(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    // The core group says reportingComponent, the newer one reportingController.
    let controller = text(either(event, "reportingComponent", "reportingController"));
    let component = text_or(&source["component"], controller);
    match text_or(&source["host"], text(&event["reportingInstance"])) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
