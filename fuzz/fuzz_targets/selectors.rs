//! Selectors and paths: small languages that users write by hand.
#![no_main]

use landbridge_machinery::selector::{FieldSelector, LabelSelector};
use landbridge_machinery::table::JsonPath;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    if let Ok(selector) = LabelSelector::parse(text) {
        let again = LabelSelector::parse(&selector.to_string());
        assert_eq!(again.map(|s| s.to_string()), Ok(selector.to_string()));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let again = FieldSelector::parse(&selector.to_string());
        assert_eq!(again.map(|s| s.to_string()), Ok(selector.to_string()));
    }
    if let Ok(path) = JsonPath::parse(text) {
        let object = json!({"a": {"b": [1, {"c": "d"}]}, "metadata": {"name": "x"}});
        let _ = path.find(&object);
    }
});
