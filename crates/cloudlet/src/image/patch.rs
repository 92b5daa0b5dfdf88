//! Glance's JSON patches: only whole members are added, replaced and removed.

use serde_json::Value;

use super::FIXED;
use crate::object::Object;

/// The image with the operations of the body done, or why they cannot be.
pub fn apply(mut image: Object, body: &[u8]) -> Result<Object, String> {
    let body = serde_json::from_slice::<Value>(body).ok();
    let Some(Value::Array(operations)) = body else {
        return Err("Request body must be a JSON array of operation objects.".to_owned());
    };
    for operation in &operations {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let path = text("path").and_then(|path| path.strip_prefix('/'));
        let path = path.filter(|path| !path.is_empty() && !path.contains('/'));
        let Some(name) = path else {
            return Err("Invalid JSON pointer for this resource".to_owned());
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        if FIXED.contains(&name.as_str()) {
            return Err(format!("Attribute '{name}' is read-only."));
        }
        match (text("op"), operation.get("value")) {
            (Some("add" | "replace"), Some(value)) => image.set(&name, value.clone()),
            (Some("remove"), _) => {
                image.remove(&name).ok_or_else(|| format!("Property {name} does not exist."))?;
            }
            _ => return Err("Operations are add, replace and remove".to_owned()),
        }
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(operations: &Value) -> Result<Object, String> {
        let image = Object::from_value(json!({"id": "i", "name": "a", "os": "x"}));
        apply(image, operations.to_string().as_bytes())
    }

    #[test]
    fn members_are_added_replaced_and_removed_but_for_those_of_the_service() {
        let done = patched(&json!([
            {"op": "replace", "path": "/name", "value": "b"},
            {"op": "add", "path": "/hw~1disk", "value": "virtio"},
            {"op": "remove", "path": "/os"},
        ]));
        let done = done.unwrap_or_default();
        assert_eq!(Value::from(done), json!({"id": "i", "name": "b", "hw/disk": "virtio"}));
        for wrong in [
            json!([{"op": "replace", "path": "/id", "value": "j"}]),
            json!([{"op": "remove", "path": "/none"}]),
            json!([{"op": "move", "path": "/name"}]),
            json!([{"op": "replace", "path": "name", "value": "b"}]),
            json!({"op": "replace"}),
        ] {
            assert!(patched(&wrong).is_err(), "{wrong}");
        }
    }
}
