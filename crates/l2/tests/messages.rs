//! What members tell each other: sealed and opened, forged, doubled, cut short.

#![allow(clippy::unwrap_used)] // all of this is test code

use std::net::IpAddr;
use std::time::Duration;

use Verdict::{Hold, Nothing, Want};
use landbridge_l2::members::Keys;
use landbridge_l2::members::message::{
    Body, LONGEST, MemberId, Message, Phase, Refused, SEEN, Seen, Stake, parts,
};
use landbridge_l2::members::ownership::{Other, Situation, Verdict, decide};
use landbridge_l2::members::replay::Window;
use proptest::prelude::*;

fn keys(byte: u8, others: &[u8]) -> Keys {
    let others: Vec<[u8; 32]> = others.iter().map(|byte| [*byte; 32]).collect();
    let others: Vec<&[u8]> = others.iter().map(<[u8; 32]>::as_slice).collect();
    Keys::new(&[byte; 32], &others).unwrap()
}

fn message(body: Body) -> Message {
    Message { sender: "worker-0".into(), life: 7 << 16, number: 3, body }
}

fn bodies() -> Vec<Body> {
    let seen = Seen { member: MemberId::of("worker-1"), life: 9, age: Duration::from_millis(35) };
    let stake = Stake { able: true, wants: false, holds: true };
    vec![
        Body::Beat { phase: Phase::Ready, version: 4, echo: 9, seen: vec![seen; SEEN] },
        Body::Beat { phase: Phase::Leaving, version: 0, echo: 0, seen: Vec::new() },
        Body::State {
            version: 5,
            part: 0,
            parts: 1,
            stakes: vec![
                ("172.17.0.80".parse().unwrap(), stake),
                ("fd00::80".parse().unwrap(), Stake { wants: true, ..Stake::default() }),
            ],
        },
        Body::Ask { version: 6 },
    ]
}

#[test]
fn what_is_sealed_is_opened() {
    for body in bodies() {
        let message = message(body);
        let bytes = message.seal(&keys(1, &[])).unwrap();
        assert_eq!(Message::open(&bytes, &keys(1, &[])), Ok(message));
    }
    assert_eq!(message(bodies().remove(3)).seal(&Keys::default()), None, "no key, no word");
}

#[test]
fn no_byte_can_be_changed() {
    for body in bodies() {
        let bytes = message(body).seal(&keys(1, &[])).unwrap();
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[at] ^= 0x10;
            assert_eq!(Message::open(&forged, &keys(1, &[])), Err(Refused::Unsigned), "byte {at}");
        }
        for length in 0..bytes.len() {
            assert!(Message::open(&bytes[..length], &keys(1, &[])).is_err());
        }
    }
}

/// While a key is exchanged everybody understands everybody: accepted first, then signed with, then
/// still accepted.
#[test]
fn keys_are_exchanged_without_a_gap() {
    let (before, early) = (keys(1, &[]), keys(1, &[2]));
    let (late, after) = (keys(2, &[1]), keys(2, &[]));
    let said = |keys: &Keys| message(Body::Ask { version: 1 }).seal(keys).unwrap();
    for (one, other) in [(&before, &early), (&early, &late), (&late, &after)] {
        assert!(Message::open(&said(one), other).is_ok());
        assert!(Message::open(&said(other), one).is_ok());
    }
    assert_eq!(Message::open(&said(&before), &after), Err(Refused::Unsigned));
    assert_eq!(Keys::new(&[1; 31], &[]).unwrap_err().0, 31);
    assert!(!format!("{before:?}").contains("1, 1"), "keys are not for logs");
}

#[test]
fn many_stakes_come_in_parts_that_fit() {
    let stake = Stake { able: true, ..Stake::default() };
    let v4 = |n: u32| IpAddr::from(n.to_be_bytes());
    let v6 = |n: u32| IpAddr::from(u128::from(n).to_be_bytes());
    let many: Vec<_> =
        (0..1000).map(|n| (v4(n), stake)).chain((0..1000).map(|n| (v6(n), stake))).collect();
    let split = parts(&many);
    assert!(split.len() > 20);
    let count = u8::try_from(split.len()).unwrap();
    let long = "n".repeat(253);
    for (part, stakes) in (0..).zip(split.clone()) {
        let body = Body::State { version: 1, part, parts: count, stakes };
        let message = Message { sender: long.clone(), life: 1, number: 1, body };
        assert!(message.seal(&keys(1, &[])).unwrap().len() <= LONGEST);
    }
    assert_eq!(split.concat(), many);
    assert_eq!(parts(&[]), [vec![]], "nothing is told, too");
    // Beyond what numbers of parts can say, the rest is left out, and nothing breaks.
    let enormous: Vec<_> = (0..80_000).map(|n| (v4(n), stake)).collect();
    assert_eq!(parts(&enormous).len(), 255);
}

#[test]
fn nothing_is_heard_twice() {
    let mut window = Window::default();
    for (life, number, new) in [
        (5, 1, true),
        (5, 1, false),
        (5, 4, true),
        (5, 2, true),
        (5, 2, false),
        (5, 0, false),
        (5, 200, true),
        (5, 137, true),
        (5, 136, false),
        (5, 3, false),
        (4, 900, false),
        (6, 1, true),
        (5, 201, false),
    ] {
        assert_eq!(window.take(life, number), new, "life {life}, number {number}");
    }
}

#[test]
fn ownership_as_a_table() {
    let other = |holds: bool, wants: bool, is_first: bool, outranks_us: bool| Other {
        stake: Stake { able: true, wants, holds },
        is_first,
        outranks_us,
        hears_us: true,
        current: true,
    };
    let nobody: &[Other] = &[];
    let idle = [other(false, false, false, false)];
    let holder = [other(true, false, false, false)];
    let better = [other(true, false, false, true)];
    let deaf = [Other { hears_us: false, ..holder[0] }];
    let stale = [Other { current: false, ..better[0] }];
    let first = [other(false, false, true, false)];
    let wants = [other(false, true, true, false)];
    let pushy = [other(false, true, false, true)];
    // may, able, our turn, holds, unknown, others
    for (number, (flags, others, verdict)) in [
        ([false, true, true, true, false], nobody, Nothing),
        ([true, false, true, true, false], nobody, Nothing),
        ([true, true, true, false, false], nobody, Hold),
        ([true, true, true, false, true], nobody, Want),
        ([true, true, false, false, false], nobody, Nothing),
        ([true, true, true, false, false], &idle, Hold),
        ([true, true, true, false, false], &holder, Want),
        ([true, true, true, true, false], &holder, Hold),
        ([true, true, true, true, false], &better, Want),
        ([true, true, false, true, false], &better, Nothing),
        ([true, true, true, true, false], &deaf, Want),
        ([true, true, true, true, false], &stale, Hold),
        ([true, true, true, false, false], &stale, Want),
        ([true, true, false, true, false], &first, Hold),
        ([true, true, false, true, false], &wants, Nothing),
        ([true, true, false, true, false], &pushy, Hold),
        ([true, true, true, true, true], nobody, Hold),
    ]
    .into_iter()
    .enumerate()
    {
        let [may, able, our_turn, holds, unknown] = flags;
        let situation = Situation { may, able, our_turn, holds, unknown, others };
        assert_eq!(decide(&situation), verdict, "row {number}");
    }
}

proptest! {
    #[test]
    fn any_datagram_is_taken(bytes in proptest::collection::vec(any::<u8>(), 0..1500)) {
        prop_assert!(Message::open(&bytes, &keys(1, &[])).is_err());
    }

    /// Signed by a member of another version: nothing breaks.
    #[test]
    fn any_signed_bytes_are_taken(tail in proptest::collection::vec(any::<u8>(), 0..300), kind in 0u8..5) {
        let mut bytes = b"LBm1".to_vec();
        bytes.push(kind);
        bytes.extend([0; 16]);
        bytes.extend(&tail);
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[1; 32]);
        let tag = ring::hmac::sign(&key, &bytes);
        bytes.extend(tag.as_ref());
        let _ = Message::open(&bytes, &keys(1, &[]));
    }
}
