//! Bodies: JSON from outside through a schema, and schemas from outside through the compiler.
#![no_main]

use landbridge_machinery::decode;
use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::Schema;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Two documents: a schema and an object for it.
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(schema), Some(object)) = (parts.next(), parts.next()) else { return };
    let Ok(schema) = decode::json(schema, 128) else { return };
    let Ok(object) = decode::json(object, 128) else { return };
    let Ok(schema) = Schema::structural(&schema.value, &FieldPath::root()) else { return };
    let mut value = object.value;
    let _ = schema.validate(&value, None);
    schema.prune(&mut value);
    assert!(schema.unknown_fields(&value).is_empty(), "pruning leaves nothing unknown");
    schema.prune_nulls(&mut value);
    schema.apply_defaults(&mut value);
    assert!(schema.validate(&value, Some(&value)).is_empty(), "what did not change is not judged");
});
