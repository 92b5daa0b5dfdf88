//! Which addresses of a range may be given out.
//!
//! All but the first and the last of the subnet, for both families. A start counts only where it
//! lies among those, an end only where it lies between the start and the last of those; what does
//! not count is passed over in silence, as upstream does. Addresses that end in `.0` are given out
//! whatever the README says. Excluded subnets are excluded whole.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::RangeSet;
use landbridge_addr::net::Range;
use landbridge_addr::number::{predecessor, successor};
use thiserror::Error;

use super::settings::{RangeSettings, sloppy_prefix};
use crate::error::{Code, Coded};

/// The addresses of one range that may be given out, whoever holds them now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usable {
    prefix: IpNet,
    bounds: Range,
    /// As written, and as read.
    exclude: Vec<(String, IpNet)>,
}

impl Usable {
    /// Reads the settings of a range.
    pub fn of(settings: &RangeSettings) -> Result<Self, BadRange> {
        let prefix = settings.range.trunc();
        if prefix.max_prefix_len() - prefix.prefix_len() < 2 {
            return Err(BadRange::TooSmall(prefix));
        }
        let whole = successor(prefix.network()).zip(predecessor(prefix.broadcast()));
        let whole = whole.and_then(|(first, last)| Range::new(first, last));
        let whole = whole.ok_or(BadRange::TooSmall(prefix))?;
        let within =
            |address: Option<IpAddr>, range: &Range| address.filter(|a| range.contains(*a));
        let from = within(settings.start, &whole)
            .and_then(|start| Range::new(start, whole.last()))
            .unwrap_or(whole);
        let bounds = within(settings.end, &from)
            .and_then(|end| Range::new(from.first(), end))
            .unwrap_or(from);
        let exclude = settings.exclude.iter().map(|text| {
            let subnet = sloppy_prefix(text).ok_or_else(|| BadRange::Exclude(text.clone()))?;
            Ok((text.clone(), subnet))
        });
        Ok(Self { prefix, bounds, exclude: exclude.collect::<Result<_, _>>()? })
    }

    /// The subnet, whose length a given address carries.
    pub fn prefix(&self) -> IpNet {
        self.prefix
    }

    /// From the first to the last.
    pub fn bounds(&self) -> Range {
        self.bounds
    }

    /// What is left out between them.
    pub fn excluded(&self) -> RangeSet {
        let mut set = RangeSet::new();
        for (_, subnet) in &self.exclude {
            if let Some(range) = Range::new(subnet.network(), subnet.broadcast()) {
                set.insert(range);
            }
        }
        set
    }

    /// The subnets that are left out, as the peers print a list.
    pub fn exclude_text(&self) -> String {
        let texts: Vec<_> = self.exclude.iter().map(|(text, _)| text.as_str()).collect();
        format!("[{}]", texts.join(" "))
    }
}

/// Why nothing can be given out of a range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadRange {
    /// Nothing between the first and the last address.
    #[error("net mask is too short, subnet {0} has no usable IP addresses, it is too small")]
    TooSmall(IpNet),
    /// An excluded range is neither a prefix nor an address.
    #[error("could not parse exclude range, err: {0:?} is neither a prefix nor an address")]
    Exclude(String),
}

impl Coded for BadRange {
    fn code(&self) -> Code {
        Code::INVALID_CONFIG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(range: &str, start: &str, end: &str) -> Result<String, String> {
        let settings = RangeSettings {
            range: range.parse().unwrap(),
            start: start.parse().ok(),
            end: end.parse().ok(),
            exclude: Vec::new(),
        };
        Usable::of(&settings).map(|u| u.bounds().to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn start_and_end_count_only_where_they_fit() {
        let cases = [
            ("172.17.0.0/24", "172.17.0.30", "172.17.0.70", "172.17.0.30-172.17.0.70"),
            ("172.17.0.0/24", "", "", "172.17.0.1-172.17.0.254"),
            ("172.17.0.0/24", "172.17.0.0", "172.17.0.255", "172.17.0.1-172.17.0.254"),
            ("172.17.0.0/24", "10.0.0.1", "10.0.0.2", "172.17.0.1-172.17.0.254"),
            // Upside down: the start stays.
            ("172.17.0.0/24", "172.17.0.70", "172.17.0.30", "172.17.0.70-172.17.0.254"),
            ("192.168.2.225/28", "", "", "192.168.2.225-192.168.2.238"),
            ("10.0.0.0/30", "", "", "10.0.0.1-10.0.0.2"),
            ("fd00::/64", "fd00::10", "", "fd00::10-fd00::ffff:ffff:ffff:fffe"),
            ("fd00::/64", "10.0.0.1", "", "fd00::1-fd00::ffff:ffff:ffff:fffe"),
            ("fd00::/126", "", "", "fd00::1-fd00::2"),
        ];
        for (range, start, end, expected) in cases {
            assert_eq!(bounds(range, start, end).as_deref(), Ok(expected), "{range} {start} {end}");
        }
    }

    #[test]
    fn small_subnets_have_nothing_to_give() {
        for range in ["10.0.0.0/31", "10.0.0.1/32", "fd00::/127", "fd00::1/128"] {
            assert!(bounds(range, "", "").unwrap_err().starts_with("net mask is too short"));
        }
    }
}
