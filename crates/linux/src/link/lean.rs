//! A message about a link without what nobody here reads.
//!
//! Half of such a message is counters. The crate that reads messages makes a text of each of them first, for an
//! error that never comes: a node where pods come and go would spend a sixth of its time with that.

use std::borrow::Cow;

/// The headers before the attributes: that of every message, and that of a link.
const HEADERS: usize = 32;
/// Where the family stands; only messages of no family in particular are known well enough.
const FAMILY: usize = 16;
/// `RTM_NEWLINK` and `RTM_DELLINK`.
const KINDS: [u16; 2] = [16, 17];
/// `IFLA_STATS`, `IFLA_MAP`, `IFLA_STATS64`, `IFLA_AF_SPEC`.
const UNREAD: [u16; 4] = [7, 14, 23, 26];
/// What is left of an attribute's kind without its flags.
const KIND: u16 = 0x3fff;

/// The same message, shorter if it is about a link.
pub(crate) fn lean(frame: &[u8]) -> Cow<'_, [u8]> {
    let about_a_link = u16_at(frame, 4).is_some_and(|kind| KINDS.contains(&kind));
    if !about_a_link || frame.get(FAMILY) != Some(&0) || frame.len() < HEADERS {
        return Cow::Borrowed(frame);
    }
    let (headers, mut rest) = frame.split_at(HEADERS);
    let mut kept = Vec::with_capacity(frame.len());
    kept.extend_from_slice(headers);
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        // Whoever reads the message has the words for what is wrong with it.
        if length < 4 || length > rest.len() {
            return Cow::Borrowed(frame);
        }
        let (attribute, after) = rest.split_at(length.next_multiple_of(4).min(rest.len()));
        if !UNREAD.contains(&(kind & KIND)) {
            kept.extend_from_slice(attribute);
        }
        rest = after;
    }
    match u32::try_from(kept.len()) {
        Ok(length) if rest.is_empty() => kept[..4].copy_from_slice(&length.to_ne_bytes()),
        _ => return Cow::Borrowed(frame),
    }
    Cow::Owned(kept)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, family: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEADERS];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[FAMILY] = family;
        for (kind, value) in attributes {
            let length = u16::try_from(value.len() + 4).unwrap();
            bytes.extend_from_slice(&length.to_ne_bytes());
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    #[test]
    fn what_is_read_stays_in_its_order() {
        let name = (3, &b"eth0\0"[..]);
        let mtu = (4, &[0, 5, 220, 0][..]);
        let whole =
            [(7, &[1; 96][..]), name, (14, &[2; 28]), (23, &[3; 200]), mtu, (0x801a, &[4; 8])];
        for kind in KINDS {
            assert_eq!(*lean(&message(kind, 0, &whole)), message(kind, 0, &[name, mtu]));
        }
        // VLANs of a bridge stand where the counters of others do.
        let bridge = message(16, 7, &whole);
        assert_eq!(*lean(&bridge), bridge);
        let address = message(20, 0, &whole);
        assert_eq!(*lean(&address), address);
    }

    #[test]
    fn what_is_no_message_stays_as_it_is() {
        let whole = message(16, 0, &[(3, b"eth0\0"), (23, &[3; 21])]);
        for end in (0..HEADERS).chain(HEADERS + 13..HEADERS + 12 + 25) {
            assert_eq!(*lean(&whole[..end]), whole[..end], "{end}");
        }
        let mut wrong = whole.clone();
        wrong[HEADERS] = 3;
        assert_eq!(*lean(&wrong), wrong);
    }
}
