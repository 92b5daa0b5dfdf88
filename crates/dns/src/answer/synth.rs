//! Names that are made from addresses (`synth-domain`), and back.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::sections::is_of;
use crate::settings::{Settings, Synth};

/// The address that a name (lower case) stands for, if it answers `qtype`.
pub(crate) fn address(settings: &Settings, name: &[u8], qtype: u16) -> Option<IpAddr> {
    if settings.synth_domains.is_empty() {
        return None;
    }
    let (length, rest) = name.split_first()?;
    let (label, domain) = rest.split_at_checked(usize::from(*length))?;
    let label = std::str::from_utf8(label).ok()?;
    settings
        .synth_domains
        .iter()
        .filter(|synth| synth.domain.wire().eq_ignore_ascii_case(domain))
        .find_map(|synth| {
            let address = read(synth, label.strip_prefix(synth.prefix.as_str())?)?;
            (synth.range.contains(address) && is_of(address, qtype)).then_some(address)
        })
}

fn read(synth: &Synth, body: &str) -> Option<IpAddr> {
    if body.is_empty() || body.len() > 45 {
        return None;
    }
    if synth.numbered {
        if !body.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: u128 = body.parse().ok()?;
        return match synth.range.first {
            IpAddr::V4(first) => {
                let bits = first.to_bits().checked_add(u32::try_from(number).ok()?)?;
                Some(Ipv4Addr::from_bits(bits).into())
            }
            IpAddr::V6(first) => {
                Some(Ipv6Addr::from_bits(first.to_bits().checked_add(number)?).into())
            }
        };
    }
    let mut text = Text::new();
    if synth.range.first.is_ipv4() {
        text.dashes(body, '.')?;
        return text.as_str()?.parse::<Ipv4Addr>().ok().map(IpAddr::from);
    }
    // The last four parts of a mapped address are decimal.
    match body.split_once("--ffff-").filter(|(_, rest)| rest.matches('-').count() == 3) {
        Some((before, rest)) => {
            text.dashes(before, ':')?;
            text.write_str("::ffff:").ok()?;
            text.dashes(rest, '.')?;
        }
        None => text.dashes(body, ':')?,
    }
    text.as_str()?.parse::<Ipv6Addr>().ok().map(IpAddr::from)
}

/// Writes the name of an address in wire form and says how long it is.
pub(super) fn name(settings: &Settings, address: IpAddr, buffer: &mut [u8; 255]) -> Option<usize> {
    let synth = settings.synth_domains.iter().find(|synth| synth.range.contains(address))?;
    let mut label = Text::new();
    label.write_str(&synth.prefix).ok()?;
    if synth.numbered {
        let number = match (address, synth.range.first) {
            (IpAddr::V4(address), IpAddr::V4(first)) => {
                u128::from(address.to_bits().checked_sub(first.to_bits())?)
            }
            (IpAddr::V6(address), IpAddr::V6(first)) => {
                address.to_bits().checked_sub(first.to_bits())?
            }
            _ => return None,
        };
        write!(label, "{number}").ok()?;
    } else {
        let mut text = Text::new();
        write!(text, "{address}").ok()?;
        let text = text.as_str()?;
        // No label begins with a dash.
        if synth.prefix.is_empty() && text.starts_with(':') {
            label.write_str("0").ok()?;
        }
        for char in text.chars() {
            label.write_char(if matches!(char, '.' | ':') { '-' } else { char }).ok()?;
        }
    }
    let label = label.as_str()?.as_bytes();
    let domain = synth.domain.wire();
    let length = 1 + label.len() + domain.len();
    let to = buffer.get_mut(..length)?;
    to[0] = u8::try_from(label.len()).ok().filter(|length| *length < 64)?;
    to[1..=label.len()].copy_from_slice(label);
    to[1 + label.len()..].copy_from_slice(domain);
    Some(length)
}

/// A short text on the stack.
struct Text {
    bytes: [u8; 96],
    length: usize,
}

impl Text {
    fn new() -> Self {
        Self { bytes: [0; 96], length: 0 }
    }

    fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes[..self.length]).ok()
    }

    fn dashes(&mut self, text: &str, instead: char) -> Option<()> {
        text.chars()
            .try_for_each(|char| self.write_char(if char == '-' { instead } else { char }))
            .ok()
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let to =
            self.bytes.get_mut(self.length..self.length + text.len()).ok_or(std::fmt::Error)?;
        to.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}
