//! OpenAPI v2, as little of it as kubectl cannot do without.
//!
//! kubectl reads v3 for everything but one thing: a file with `kind: List` (what `kubectl get -o
//! yaml` prints) is checked on the client against v2, in gnostic's protobuf encoding, before it is
//! taken apart. The check only asks whether the kinds exist if their definitions say nothing more;
//! fields are then checked by the server, item by item. So this document names every kind and says
//! nothing about it.
//!
//! The numbers are the field numbers of `OpenAPIv2.proto` in gnostic.

use crate::registry::Registry;

/// What clients call this encoding; the second name is the older one.
pub const MEDIA_TYPES: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// The document for all kinds of a registry.
pub fn document(registry: &Registry) -> Vec<u8> {
    let mut definitions = Vec::new();
    for resource in registry.all() {
        for version in resource.versions.iter().filter(|v| v.served) {
            let name = format!("{}.{}.{}", resource.group, version.name, resource.kind);
            // YAML is what readers of vendor extensions expect here; JSON is YAML.
            let kinds = serde_json::json!([{
                "group": resource.group, "version": version.name, "kind": resource.kind,
            }]);
            let extension = message(&[
                (1, b"x-kubernetes-group-version-kind"),
                (2, &message(&[(2, kinds.to_string().as_bytes())])),
            ]);
            let schema = message(&[(22, &message(&[(1, b"object")])), (31, &extension)]);
            let named = message(&[(1, name.as_bytes()), (2, &schema)]);
            definitions.extend(message(&[(1, &named)]));
        }
    }
    let info = message(&[(1, b"Landbridge"), (2, env!("CARGO_PKG_VERSION").as_bytes())]);
    message(&[(1, b"2.0"), (2, &info), (8, b""), (9, &definitions)])
}

/// A protobuf message of length-delimited fields.
fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, bytes) in fields {
        varint(&mut out, u64::from(*number) << 3 | 2);
        varint(&mut out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_encoded_as_protobuf_says() {
        assert_eq!(message(&[(1, b"ab")]), [0x0a, 2, b'a', b'b']);
        assert_eq!(message(&[(22, b"")]), [0xb2, 0x01, 0]);
        assert_eq!(message(&[(1, &[0; 300])])[1..3], [0xac, 0x02]);
    }
}
