//! The addresses a pod asks for, wherever they stand.
//!
//! `ips` of the annotation reaches a plugin in two ways: as `runtimeConfig.ips`, when the
//! definition declares the capability, and as `IP=` of `CNI_ARGS` always. Both are read, so no
//! definition has to declare anything.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_cni::config::Input;
use landbridge_cni::environment::Environment;
use landbridge_cni::error::{Code, Coded};
use landbridge_cni::whereabouts::RangeSettings;
use thiserror::Error;

/// The addresses asked for, each once, in order. One without a length is a host of its own.
pub fn of_call(input: &Input, environment: &Environment) -> Result<Vec<IpNet>, BadRequest> {
    let args = environment.args.get("IP").unwrap_or_default();
    let texts = input.runtime.ips.iter().map(String::as_str).chain(args.split(','));
    let mut found: Vec<IpNet> = Vec::new();
    for text in texts.map(str::trim).filter(|text| !text.is_empty()) {
        let address = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let address = address.map_err(|_| BadRequest::NoAddress(text.to_owned()))?;
        if !found.iter().any(|known| known.addr() == address.addr()) {
            found.push(address);
        }
    }
    Ok(found)
}

/// Which address is wanted of each range. Every one has to find its range.
pub fn by_range(
    wanted: &[IpNet],
    ranges: &[RangeSettings],
) -> Result<Vec<Option<IpAddr>>, BadRequest> {
    let mut slots: Vec<Option<IpAddr>> = vec![None; ranges.len()];
    for wanted in wanted {
        let address = wanted.addr();
        let fits = |range: &RangeSettings| range.range.contains(&address);
        let mut places = ranges.iter().enumerate().filter(|(_, range)| fits(range)).peekable();
        if places.peek().is_none() {
            let ranges: Vec<_> = ranges.iter().map(|range| range.range.to_string()).collect();
            return Err(BadRequest::Outside { address, ranges: ranges.join(", ") });
        }
        let free = places.find(|(place, _)| slots.get(*place).is_some_and(Option::is_none));
        let Some((place, _)) = free else { return Err(BadRequest::TooMany { address }) };
        if let Some(slot) = slots.get_mut(place) {
            *slot = Some(address);
        }
    }
    Ok(slots)
}

/// Why a wish cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadRequest {
    /// Not an address.
    #[error("the requested address {0:?} is none")]
    NoAddress(String),
    /// In none of the ranges.
    #[error("the requested address {address} lies in none of the ranges of the network: {ranges}")]
    Outside {
        /// The address.
        address: IpAddr,
        /// The ranges.
        ranges: String,
    },
    /// Each range gives one address.
    #[error("the requested address {address} is one too many: each range gives one address")]
    TooMany {
        /// The address.
        address: IpAddr,
    },
}

impl Coded for BadRequest {
    fn code(&self) -> Code {
        Code::INVALID_CONFIG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(texts: &[&str]) -> Vec<RangeSettings> {
        let range = |text: &&str| RangeSettings {
            range: text.parse().unwrap(),
            start: None,
            end: None,
            exclude: vec![],
        };
        texts.iter().map(range).collect()
    }

    fn place(wanted: &[&str], of: &[&str]) -> Result<Vec<String>, String> {
        let wanted: Vec<IpNet> = wanted.iter().map(|text| text.parse().unwrap()).collect();
        let found = by_range(&wanted, &ranges(of)).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|ip| ip.map_or("-".to_owned(), |ip| ip.to_string())).collect())
    }

    #[test]
    fn each_wish_finds_its_range() {
        let both = ["172.17.0.0/24", "fd00::/64"];
        assert_eq!(place(&[], &both).unwrap(), ["-", "-"]);
        assert_eq!(place(&["fd00::5/64"], &both).unwrap(), ["-", "fd00::5"]);
        let two = place(&["fd00::5/64", "172.17.0.20/24"], &both).unwrap();
        assert_eq!(two, ["172.17.0.20", "fd00::5"]);
        assert_eq!(
            place(&["10.0.0.1/8"], &both).unwrap_err(),
            "the requested address 10.0.0.1 lies in none of the ranges of the network: \
             172.17.0.0/24, fd00::/64"
        );
        assert_eq!(
            place(&["172.17.0.20/24", "172.17.0.21/24"], &both).unwrap_err(),
            "the requested address 172.17.0.21 is one too many: each range gives one address"
        );
    }
}
