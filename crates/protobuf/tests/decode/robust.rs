//! Nothing that can be sent makes it panic, hang or fill the memory.

use std::path::Path;
use std::time::{Duration, Instant};

use landbridge_protobuf::{DecodeError, MAX_DEPTH, decode, decode_as, kinds};
use proptest::prelude::*;

use super::encoder::{Bytes, body, length, varint};
use super::recorded::unhex;

fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bodies").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    unhex(&text)
}

#[test]
fn every_beginning_of_a_body_is_an_answer() {
    for name in ["deployment.hex", "job-full.hex", "rolebinding.hex"] {
        let whole = recorded(name);
        decode(&whole).unwrap();
        for end in 0..whole.len() {
            // The envelope ends with fields that are empty, so that some beginnings are complete.
            if let Err(error) = decode(&whole[..end]) {
                assert!(!error.to_string().is_empty());
            }
        }
        assert!(matches!(decode(&whole[..3]), Err(DecodeError::Magic)));
        let half = decode(&whole[..whole.len() / 2]).unwrap_err();
        assert!(matches!(half, DecodeError::Truncated(_)), "{half}");
    }
}

#[test]
fn errors_name_message_field_and_byte() {
    // metadata is a message, not a number
    let error = decode(&body("v1", "Pod", &varint(1, 7))).unwrap_err();
    assert_eq!(error.to_string(), "core.v1.Pod field 1 at byte 17: wire type 0 instead of 2");
    let inner = length(1, &length(1, &[0xff, 0xfe]));
    let error = decode_as("core.v1.Pod", &inner).unwrap_err();
    assert_eq!(error.to_string(), "meta.v1.ObjectMeta field 1 at byte 2: the string is not UTF-8");
    let error = decode(&body("example.org/v1", "Thing", &[])).unwrap_err();
    assert!(matches!(error, DecodeError::UnknownKind { .. }));
    let error = decode_as("core.v1.Thing", &[]).unwrap_err();
    assert!(matches!(error, DecodeError::UnknownMessage(_)));
    for raw in [&[0x00, 0x01][..], &[0x0b], &[0x0c], &[0x0e], &[0x0f]] {
        let error = decode_as("core.v1.Pod", raw).unwrap_err();
        assert!(matches!(error, DecodeError::Tag { .. }), "{error}");
    }
    let error = decode_as("core.v1.Pod", &[0xff; 12]).unwrap_err();
    assert!(matches!(error, DecodeError::Varint(_)), "{error}");
}

#[test]
fn unknown_fields_of_every_type_are_skipped() {
    let mut raw = Bytes::new();
    raw.extend(varint(1000, 5));
    raw.extend(length(1001, b"later"));
    raw.extend([0xd1, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8]); // 1002, eight bytes
    raw.extend([0xdd, 0x3e, 1, 2, 3, 4]); // 1003, four bytes
    raw.extend(length(1, &length(1, b"here")));
    let value = decode_as("core.v1.Pod", &raw).unwrap();
    assert_eq!(value, serde_json::json!({"metadata": {"name": "here"}}));
}

#[test]
fn an_envelope_must_hold_plain_protobuf() {
    let mut gzip = body("v1", "Pod", &[]);
    gzip.extend(length(3, b"gzip"));
    assert!(matches!(decode(&gzip), Err(DecodeError::Envelope { field: "contentEncoding", .. })));
    let mut json = body("v1", "Pod", &[]);
    json.extend(length(4, b"application/json"));
    assert!(matches!(decode(&json), Err(DecodeError::Envelope { field: "contentType", .. })));
    let mut plain = body("v1", "Pod", &[]);
    plain.extend(length(3, b""));
    plain.extend(length(4, landbridge_protobuf::CONTENT_TYPE.as_bytes()));
    decode(&plain).unwrap();
}

#[test]
fn nesting_has_an_end() {
    let nest = |levels: usize| (0..levels).fold(Bytes::new(), |inner, _| length(28, &inner));
    decode_as("apiextensions.v1.JSONSchemaProps", &nest(MAX_DEPTH)).unwrap();
    let error = decode_as("apiextensions.v1.JSONSchemaProps", &nest(MAX_DEPTH + 1)).unwrap_err();
    assert!(matches!(error, DecodeError::Depth(_)), "{error}");

    // Envelopes in envelopes, through the raw object of a ControllerRevision.
    let revision =
        |inner: Bytes| body("apps/v1", "ControllerRevision", &length(2, &length(1, &inner)));
    let deep = (0..MAX_DEPTH).fold(body("v1", "Pod", &[]), |inner, _| revision(inner));
    assert!(matches!(decode(&deep), Err(DecodeError::Depth(_))));
    let two = decode(&revision(body("v1", "Pod", &[]))).unwrap();
    assert_eq!(two.value["data"]["kind"], "Pod");
}

#[test]
fn small_bytes_cannot_become_much_memory() {
    // 750,000 containers of four bytes each would take half a gigabyte as objects.
    let containers = length(2, &length(1, b"")).repeat(3 << 18);
    let error = decode_as("core.v1.PodSpec", &containers).unwrap_err();
    assert!(matches!(error, DecodeError::Cost(_)), "{error}");
}

#[test]
fn the_largest_bodies_take_little_time() {
    const SIZE: usize = 3 << 20;
    let start = Instant::now();
    // One field again and again, one message merged again and again, a map, a long text.
    let name = length(1, b"x").repeat(SIZE / 3);
    decode_as("meta.v1.ObjectMeta", &name).ok();
    let metadata = length(1, &length(1, b"x")).repeat(SIZE / 5);
    decode_as("core.v1.Pod", &metadata).ok();
    let entry = |key: usize| length(2, &length(1, key.to_string().as_bytes()));
    let data: Bytes = (0..SIZE / 11).flat_map(entry).collect();
    let value = decode_as("core.v1.ConfigMap", &data).unwrap();
    assert_eq!(value["data"].as_object().unwrap().len(), SIZE / 11);
    let text = length(2, &[length(1, b"key"), length(2, &vec![b'a'; SIZE])].concat());
    decode_as("core.v1.ConfigMap", &text).unwrap();
    // A wide message within the deepest nesting that is allowed.
    let wide = length(23, b"a").repeat(SIZE / 4);
    let deep = (0..MAX_DEPTH - 1).fold(wide, |inner, _| length(28, &inner));
    decode_as("apiextensions.v1.JSONSchemaProps", &deep).ok();
    // Debug builds on a busy machine; something quadratic would take hours.
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), pick in any::<prop::sample::Index>()) {
        decode(&bytes).ok();
        let kinds: Vec<_> = kinds().collect();
        let (version, kind, message) = kinds[pick.index(kinds.len())];
        decode_as(message, &bytes).ok();
        decode(&body(version, kind, &bytes)).ok();
    }

    #[test]
    fn changed_bodies_are_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        name in prop::sample::select(vec!["deployment.hex", "service.hex", "ingress.hex", "job-zero.hex"]),
    ) {
        let mut bytes = recorded(name);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(decoded) = decode(&bytes) {
            prop_assert!(serde_json::to_vec(&decoded.value).unwrap().len() < 100 * bytes.len() + 1000);
        }
    }
}
