//! Port numbers, port names and protocols.

use landbridge_machinery::field::{FieldError, FieldPath};
use serde_json::Value;

use super::one_of;
use super::value::text;

/// The protocols a port may have, in upstream's order.
pub const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

const RANGE: &str = "must be between 1 and 65535, inclusive";

/// The error of a number that is no port.
pub fn number(path: &FieldPath, value: i64) -> Option<FieldError> {
    (!(1..=65535).contains(&value)).then(|| FieldError::invalid(path, value, RANGE))
}

/// The error of a protocol that is absent or unknown.
pub fn protocol(path: &FieldPath, value: &Value) -> Option<FieldError> {
    match text(value) {
        "" => Some(FieldError::required(path, "")),
        protocol => one_of(path, protocol, PROTOCOLS),
    }
}

/// What is wrong with a port given by number or name.
pub fn number_or_name(path: &FieldPath, value: &Value) -> Vec<FieldError> {
    match value.as_i64() {
        Some(value) => number(path, value).into_iter().collect(),
        None => name(path, text(value)),
    }
}

/// What is wrong with an IANA service name.
pub fn name(path: &FieldPath, name: &str) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong.into_iter().map(|why| FieldError::invalid(path, name, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_service_names() {
        let path = FieldPath::new("p");
        let cases = [
            ("http", 0),
            ("http-2", 0),
            ("80", 1),
            ("Http", 1),
            ("a--b", 1),
            ("-a", 1),
            ("sixteen-letters-", 2),
            ("", 1),
        ];
        for (name_, wrong) in cases {
            assert_eq!(name(&path, name_).len(), wrong, "{name_:?}");
        }
    }
}
