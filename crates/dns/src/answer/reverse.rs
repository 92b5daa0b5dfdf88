//! From addresses to names: `in-addr.arpa` and `ip6.arpa`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::sections::Reply;
use super::synth;
use crate::catalog::Catalog;
use crate::wire::{Section, rtype};

/// What is known of a reverse name.
pub(super) enum Known {
    /// The name is in the reply.
    Name,
    /// Nothing, and nobody outside can know more (`bogus-priv`).
    Private,
    Nothing,
}

/// Answers a reverse lookup from options, hosts and synthetic names.
pub(super) fn answer(catalog: &Catalog, name: &[u8], reply: &mut Reply<'_, '_>) -> Known {
    let mut buffer = [0; 255];
    if let Some(address) = address(name)
        && let Some((target, ttl)) = name_of(catalog, address, &mut buffer)
    {
        reply.name(Section::Answer, name, rtype::PTR, ttl, target);
        return Known::Name;
    }
    let private = catalog.settings().bogus_priv && network(name).is_some_and(is_private);
    if private { Known::Private } else { Known::Nothing }
}

/// The name of an address, in wire form, and its TTL.
pub(super) fn name_of<'b, 'c: 'b>(
    catalog: &'c Catalog,
    address: IpAddr,
    buffer: &'b mut [u8; 255],
) -> Option<(&'b [u8], u32)> {
    let settings = catalog.settings();
    if let Some((target, ttl)) = catalog.record_name_of(address) {
        return Some((target.wire(), *ttl));
    }
    if let Some(target) = catalog.host_name_of(address) {
        let plain = usize::from(*target.first()?) + 2 == target.len();
        if !(plain && settings.expand_hosts) {
            return Some((target, settings.local_ttl));
        }
        let Some(domain) = settings.domain_of(address) else {
            return Some((target, settings.local_ttl));
        };
        // The label without the root, then the domain.
        let label = target.get(..target.len() - 1)?;
        let length = label.len() + domain.wire().len();
        let joined = buffer.get_mut(..length)?;
        joined[..label.len()].copy_from_slice(label);
        joined[label.len()..].copy_from_slice(domain.wire());
        return Some((joined, settings.local_ttl));
    }
    let length = synth::name(settings, address, buffer)?;
    Some((buffer.get(..length)?, settings.local_ttl))
}

/// The address that a reverse name (lower case) is about.
pub(super) fn address(name: &[u8]) -> Option<IpAddr> {
    if let Some(digits) = name.strip_suffix(b"\x07in-addr\x04arpa\0") {
        let mut octets = [0u8; 4];
        let mut labels = labels(digits);
        for octet in octets.iter_mut().rev() {
            let text = std::str::from_utf8(labels.next()??).ok()?;
            // No sign, and not more digits than a byte has.
            if text.len() > 3 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            *octet = text.parse().ok()?;
        }
        return labels.next().is_none().then(|| Ipv4Addr::from(octets).into());
    }
    let digits = name.strip_suffix(b"\x03ip6\x04arpa\0")?;
    // Each nibble is a label of one character.
    if digits.len() != 64 {
        return None;
    }
    let mut bits = 0u128;
    for (place, label) in labels(digits).enumerate() {
        let [digit] = label? else { return None };
        let nibble = char::from(*digit).to_digit(16)?;
        bits |= u128::from(nibble) << (4 * place);
    }
    Some(Ipv6Addr::from_bits(bits).into())
}

/// The network that a reverse name is about, with zeros for what it does not say.
fn network(name: &[u8]) -> Option<IpAddr> {
    let is_number = |label: &[u8]| label.iter().all(u8::is_ascii_digit);
    if let Some(digits) = name.strip_suffix(b"\x07in-addr\x04arpa\0") {
        let count = labels(digits).count();
        if count == 0 || !labels(digits).all(|label| label.is_some_and(is_number)) {
            return None;
        }
        let mut octets = [0u8; 4];
        for (octet, place) in octets.iter_mut().zip((0..count).rev()) {
            let text = std::str::from_utf8(labels(digits).nth(place)??).ok()?;
            // A number that is no byte says nothing about the network any more.
            let Ok(number) = text.parse() else { break };
            *octet = number;
        }
        return Some(Ipv4Addr::from(octets).into());
    }
    let digits = name.strip_suffix(b"\x03ip6\x04arpa\0")?;
    let count = labels(digits).count();
    let mut bits = 0u128;
    for (place, label) in (0..count).rev().zip(labels(digits)) {
        let [digit] = label? else { return None };
        let nibble = u128::from(char::from(*digit).to_digit(16)?);
        if place < 32 {
            bits |= nibble << (124 - 4 * place);
        }
    }
    (count > 0).then(|| Ipv6Addr::from_bits(bits).into())
}

/// The labels of a piece of a name; `None` in between for one that is cut off.
fn labels(mut rest: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first()?;
        let Some((label, after)) = after.split_at_checked(usize::from(*length)) else {
            rest = &[];
            return Some(None);
        };
        rest = after;
        Some(Some(label))
    })
}

/// Networks whose reverse zones are empty everywhere but at home (RFC 6303).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            matches!(
                (a, b, c),
                (0 | 10 | 127, _, _)
                    | (172, 16..=31, _)
                    | (192, 168, _)
                    | (169, 254, _)
                    | (192, 0, 2)
                    | (198, 51, 100)
                    | (203, 0, 113)
            ) || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            address.is_unspecified()
                || address.is_loopback()
                || first & 0xffc0 == 0xfe80
                || first & 0xff00 == 0xfd00
                || (first, second) == (0x2001, 0x0db8)
        }
    }
}
