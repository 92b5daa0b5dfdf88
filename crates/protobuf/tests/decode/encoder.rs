//! Protobuf written by hand: the wire rules alone, nothing of the table.

pub type Bytes = Vec<u8>;

fn number(mut value: u64) -> Bytes {
    let mut bytes = Bytes::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

pub fn varint(field: u64, value: i64) -> Bytes {
    [number(field << 3), number(value.cast_unsigned())].concat()
}

pub fn length(field: u64, value: &[u8]) -> Bytes {
    [number(field << 3 | 2), number(value.len() as u64), value.to_vec()].concat()
}

pub fn text(field: u64, value: &str) -> Bytes {
    length(field, value.as_bytes())
}

pub fn double(field: u64, value: f64) -> Bytes {
    [number(field << 3 | 1), value.to_le_bytes().to_vec()].concat()
}

/// A message of these fields.
pub fn message(field: u64, fields: &[Bytes]) -> Bytes {
    length(field, &fields.concat())
}

/// One entry of a map.
pub fn entry(field: u64, key: &str, value: &[u8]) -> Bytes {
    message(field, &[text(1, key), length(2, value)])
}

pub fn body(api_version: &str, kind: &str, raw: &[u8]) -> Bytes {
    let meta = message(1, &[text(1, api_version), text(2, kind)]);
    [b"k8s\0".to_vec(), meta, length(2, raw)].concat()
}
