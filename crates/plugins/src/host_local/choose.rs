//! Which address is given next: the one after the last one, round and round.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::number::successor;
use landbridge_cni::plugins::LocalRange;

/// An address with the length of its subnet, and the subnet's gateway.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub address: IpNet,
    pub gateway: IpAddr,
}

/// The range of a set that holds an address.
pub(super) fn range_of(set: &[LocalRange], ip: IpAddr) -> Option<&LocalRange> {
    set.iter().find(|range| range.bounds.contains(ip))
}

fn choice(range: &LocalRange, ip: IpAddr) -> Result<Choice, String> {
    let address = IpNet::new(ip, range.subnet.prefix_len()).map_err(|error| error.to_string())?;
    Ok(Choice { address, gateway: range.gateway })
}

fn shown(set: &[LocalRange]) -> String {
    let ranges: Vec<String> = set.iter().map(|range| range.bounds.to_string()).collect();
    ranges.join(",")
}

/// This one or none.
pub(super) fn exactly(
    set: &[LocalRange],
    is_taken: impl Fn(&IpAddr) -> bool,
    ip: IpAddr,
) -> Result<Choice, String> {
    let range = range_of(set, ip).ok_or_else(|| format!("{ip} not in range set {}", shown(set)))?;
    if ip == range.gateway {
        return Err(format!("requested ip {ip} is subnet's gateway"));
    }
    if is_taken(&ip) {
        return Err(format!(
            "requested IP address {ip} is not available in range set {}",
            shown(set)
        ));
    }
    choice(range, ip)
}

/// The first free one after the last one given, gateways left out. Looks at no more addresses than
/// are taken, and at none twice.
pub(super) fn next(
    set: &[LocalRange],
    is_taken: impl Fn(&IpAddr) -> bool,
    last: Option<IpAddr>,
) -> Result<Choice, String> {
    let start = last.and_then(|last| {
        let place = set.iter().position(|range| range.bounds.contains(last))?;
        Some((place, last))
    });
    // From after the last one to the end of its range, the other ranges, and round to the last one.
    let mut ways = Vec::with_capacity(set.len() + 1);
    let begin = start.map_or(0, |(place, _)| place);
    if let Some((place, last)) = start
        && let Some(range) = set.get(place)
        && last < range.bounds.last()
    {
        ways.extend(successor(last).map(|first| (range, first, range.bounds.last())));
    }
    let whole = if start.is_some() { 1..set.len() } else { 0..set.len() };
    for step in whole {
        let range = set.get((begin + step) % set.len());
        ways.extend(range.map(|range| (range, range.bounds.first(), range.bounds.last())));
    }
    if let Some((place, last)) = start {
        ways.extend(set.get(place).map(|range| (range, range.bounds.first(), last)));
    }
    for (range, first, end) in ways {
        let mut ip = Some(first);
        while let Some(candidate) = ip.filter(|ip| *ip <= end) {
            if candidate != range.gateway && !is_taken(&candidate) {
                return choice(range, candidate);
            }
            ip = successor(candidate);
        }
    }
    Err(format!("no IP addresses available in range set: {}", shown(set)))
}

#[cfg(test)]
mod tests {
    use landbridge_cni::config::Input;
    use landbridge_cni::plugins::HostLocal;
    use proptest::prelude::*;

    use std::collections::BTreeSet;

    use super::*;

    fn set(ranges: &str) -> Vec<LocalRange> {
        let text = format!(
            r#"{{"cniVersion":"1.0.0","name":"n","type":"x","ipam":{{"type":"host-local",
               "ranges":[[{ranges}]]}}}}"#
        );
        let input = Input::parse(text.as_bytes()).unwrap();
        HostLocal::read(&input).unwrap().sets.remove(0)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn after(set: &[LocalRange], taken: &[&str], last: Option<&str>) -> String {
        let taken: BTreeSet<IpAddr> = taken.iter().map(|text| ip(text)).collect();
        match next(set, |ip| taken.contains(ip), last.map(ip)) {
            Ok(choice) => choice.address.addr().to_string(),
            Err(error) => error,
        }
    }

    #[test]
    fn round_and_round() {
        let one = set(r#"{"subnet":"10.0.0.0/29"}"#);
        assert_eq!(after(&one, &[], None), "10.0.0.2", "the gateway .1 is left out");
        assert_eq!(after(&one, &[], Some("10.0.0.4")), "10.0.0.5");
        assert_eq!(after(&one, &[], Some("10.0.0.6")), "10.0.0.2");
        assert_eq!(after(&one, &["10.0.0.5", "10.0.0.6"], Some("10.0.0.4")), "10.0.0.2");
        assert_eq!(after(&one, &[], Some("10.9.9.9")), "10.0.0.2", "of another range");
        let all = ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"];
        let full = "no IP addresses available in range set: 10.0.0.1-10.0.0.6";
        assert_eq!(after(&one, &all, Some("10.0.0.4")), full);
        assert_eq!(after(&one, &all[..4], Some("10.0.0.6")), "10.0.0.6", "the last one itself");
    }

    #[test]
    fn several_ranges_are_one_ring() {
        let two = set(r#"{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.8","rangeEnd":"10.0.0.9"},
               {"subnet":"10.1.0.0/24","rangeStart":"10.1.0.8","rangeEnd":"10.1.0.9"}"#);
        assert_eq!(after(&two, &[], Some("10.0.0.9")), "10.1.0.8");
        assert_eq!(after(&two, &[], Some("10.1.0.9")), "10.0.0.8");
        assert_eq!(after(&two, &["10.1.0.9", "10.0.0.8"], Some("10.1.0.8")), "10.0.0.9");
    }

    #[test]
    fn a_wish_is_met_or_refused() {
        let one = set(r#"{"subnet":"fd00::/64"}"#);
        let taken = |other: &IpAddr| *other == ip("fd00::5");
        assert_eq!(exactly(&one, taken, ip("fd00::9")).unwrap().address.to_string(), "fd00::9/64");
        assert_eq!(
            exactly(&one, taken, ip("fd00::1")).unwrap_err(),
            "requested ip fd00::1 is subnet's gateway"
        );
        assert!(exactly(&one, taken, ip("fd00::5")).unwrap_err().contains("is not available"));
        assert!(exactly(&one, taken, ip("fd01::5")).is_err());
    }

    proptest! {
        /// A free address is found whenever there is one, and never a taken one or the gateway.
        #[test]
        fn free_addresses_are_found(
            taken in prop::collection::btree_set(1_u8..=14, 0..15), last in prop::option::of(0_u8..=20),
        ) {
            let one = set(r#"{"subnet":"10.0.0.0/28","gateway":"10.0.0.7"}"#);
            let of = |n: u8| IpAddr::from([10, 0, 0, n]);
            let taken: BTreeSet<IpAddr> = taken.into_iter().map(of).collect();
            let free = (1..=14).map(of).filter(|ip| !taken.contains(ip) && *ip != of(7)).count();
            let found = next(&one, |ip| taken.contains(ip), last.map(of)).ok().map(|choice| choice.address.addr());
            prop_assert_eq!(found.is_some(), free > 0);
            prop_assert!(found.is_none_or(|ip| !taken.contains(&ip) && ip != of(7)));
        }
    }
}
