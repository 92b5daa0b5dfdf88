//! Bodies that a real kubectl sent, and what they say in JSON.

use std::path::Path;

use landbridge_protobuf::{decode, knows};
use serde_json::Value;

pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn recorded_bodies_are_the_json_that_kubectl_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let decoded = decode(&unhex(&read(&path))).unwrap();
        let wanted: Value = serde_json::from_str(&read(&path.with_extension("json"))).unwrap();
        let mut wrong = Vec::new();
        compare(&wanted, &decoded.value, "", &mut wrong);
        assert!(wrong.is_empty(), "{}:\n{}", path.display(), wrong.join("\n"));
        assert_eq!(decoded.value["apiVersion"], decoded.api_version);
        assert_eq!(decoded.value["kind"], decoded.kind);
        assert!(knows(&decoded.api_version, &decoded.kind));
        count += 1;
    }
    assert!(count >= 20, "only {count} bodies");
}

/// The differences one by one: whole pods side by side would be hard to read.
fn compare(wanted: &Value, found: &Value, path: &str, wrong: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for key in wanted.keys().chain(found.keys()) {
                let null = Value::Null;
                let (a, b) = (wanted.get(key).unwrap_or(&null), found.get(key).unwrap_or(&null));
                compare(a, b, &format!("{path}.{key}"), wrong);
            }
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (place, (a, b)) in wanted.iter().zip(found).enumerate() {
                compare(a, b, &format!("{path}[{place}]"), wrong);
            }
        }
        _ if wanted == found => {}
        _ => wrong.push(format!("{path}: wanted {wanted}, found {found}")),
    }
}
