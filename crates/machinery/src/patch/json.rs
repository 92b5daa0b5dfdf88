//! JSON patch (RFC 6902), with limits that keep a small patch from making a huge document.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::schema::MAX_DEPTH;
use crate::status::{ApiError, ApiResult};

/// How many operations one patch may hold.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes all `copy` operations of one patch may copy together; a doubling `copy` would
/// otherwise fill the memory in a few dozen steps.
const MAX_COPIED_BYTES: usize = 32 << 20;

/// Applies an RFC 6902 patch. A patch that cannot be read is a bad request (400), one that does not
/// fit the document is refused as invalid (422).
pub fn json_patch(document: &Value, patch: &Value) -> ApiResult<Value> {
    if let Some(count) = patch.as_array().map(Vec::len).filter(|count| *count > MAX_OPERATIONS) {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(ApiError::new(413, "RequestEntityTooLarge", message));
    }
    let Patch(operations) = serde_json::from_value(patch.clone())
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    let mut document = document.clone();
    let mut copied = 0;
    for (index, operation) in operations.iter().enumerate() {
        let refuse = |why: &str| {
            ApiError::new(
                422,
                "Invalid",
                format!(
                    "the server rejected our request due to an error in our request: operation {index} ({} {:?}): {why}",
                    name(operation),
                    operation.path().as_str(),
                ),
            )
        };
        if is_test_for_absence(&document, operation) {
            continue;
        }
        check_growth(&document, operation, &mut copied).map_err(refuse)?;
        json_patch::patch(&mut document, std::slice::from_ref(operation))
            .map_err(|error| refuse(&error.kind.to_string()))?;
    }
    Ok(document)
}

/// Whether an operation tests that a member is not there and is right: the API server's library takes
/// a missing member for null there, and clients rely on it to add only what nobody else has added.
fn is_test_for_absence(document: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let parent = test.path.parent().and_then(|parent| document.pointer(parent.as_str()));
    test.value.is_null()
        && parent.is_some_and(Value::is_object)
        && document.pointer(test.path.as_str()).is_none()
}

fn name(operation: &PatchOperation) -> &'static str {
    match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
    }
}

/// Refuses an operation after which the document would be too large or too deep.
fn check_growth(
    document: &Value,
    operation: &PatchOperation,
    copied: &mut usize,
) -> Result<(), &'static str> {
    let arriving = match operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        PatchOperation::Move(moving) => document.pointer(moving.from.as_str()),
        PatchOperation::Copy(copy) => document.pointer(copy.from.as_str()),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    let Some(value) = arriving else { return Ok(()) };
    if operation.path().count() + depth(value) > MAX_DEPTH {
        return Err("the document would be nested too deeply");
    }
    if matches!(operation, PatchOperation::Copy(_)) {
        *copied = copied.saturating_add(size(value));
        if *copied > MAX_COPIED_BYTES {
            return Err("too much would be copied");
        }
    }
    Ok(())
}

/// Levels of nesting. No value here is deeper than [`MAX_DEPTH`] by much, as none may become so.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// About as many bytes as the value takes when written.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 2 + list.iter().map(|value| size(value) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + size(value) + 4).sum::<usize>()
        }
        Value::String(text) => text.len() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}
