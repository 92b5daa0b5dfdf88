//! Which of the two generations of the API an object is written in.
//!
//! Both are accepted everywhere. They differ in what is made of them: the first makes plain HTTP
//! Routes and labels Services with the endpoint; today's makes HTTPS Routes.

use landbridge_machinery::object;
use serde_json::Value;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Of mid-2023: `externalEndpoints`.
    First,
    /// `override.service`.
    Today,
}

/// Says which generation an object is of that does not show it, and goes from a control plane to
/// its services: one without a virtual address looks the same in both.
pub const ANNOTATION: &str = "landbridge.dev/api-generation";
/// The value for the first one.
pub const FIRST: &str = "first";

/// Fields that only the first generation has.
const ONLY_FIRST: [&str; 6] = [
    "externalEndpoints",
    "externalEndpoint",
    "glanceAPIInternal",
    "glanceAPIExternal",
    "mariadb",
    "ceilometerCentral",
];
/// How deep sections may be nested.
const DEEPEST: usize = 64;

impl Generation {
    /// The generation of an object.
    pub fn of(object: &Value) -> Self {
        match object::annotation(object, ANNOTATION) {
            Some(FIRST) => Self::First,
            None if shows(&object["spec"], 0) => Self::First,
            _ => Self::Today,
        }
    }
}

fn shows(value: &Value, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    match value {
        Value::Array(list) => list.iter().any(|element| shows(element, depth + 1)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, below)| ONLY_FIRST.contains(&name.as_str()) || shows(below, depth + 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_one_generation_has_tells() {
        let spec = |spec: Value| Generation::of(&json!({"spec": spec}));
        assert_eq!(spec(json!({"keystone": {"template": {}}})), Generation::Today);
        assert_eq!(spec(json!({"a": [{"b": {"externalEndpoints": []}}]})), Generation::First);
        let told = json!({"metadata": {"annotations": {ANNOTATION: FIRST}}, "spec": {}});
        assert_eq!(Generation::of(&told), Generation::First);
    }
}
