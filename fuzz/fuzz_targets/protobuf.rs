//! Protobuf bodies of Go clients.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = landbridge_protobuf::decode(data);
    let _ = landbridge_protobuf::decode_as("core.v1.Pod", data);
});
