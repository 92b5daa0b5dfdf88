//! Port security: an instance sends from its own addresses, and is no DHCP server and no router.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::set;
use crate::plan::Port;

/// What a port may send, in the family `bridge`; what is not dropped goes on.
pub fn rules(port: &Port) -> Vec<String> {
    let mut rules = Vec::new();
    if port.leased().is_some() {
        // The agent has answered it already, at the tap; as with OVN it goes no further.
        rules.push("ip protocol udp udp sport 68 udp dport 67 drop".to_owned());
    }
    let Some(security) = &port.security else { return rules };
    let mut macs = BTreeSet::from([port.mac]);
    macs.extend(security.pairs.iter().map(|pair| pair.mac));
    let own = port.fixed.iter().map(|fixed| IpNet::from(fixed.address.addr()));
    let all: Vec<IpNet> = own.chain(security.pairs.iter().map(|pair| pair.address)).collect();
    let four: Vec<IpNet> = all.iter().copied().filter(|net| net.addr().is_ipv4()).collect();
    let mut six: Vec<IpNet> = all.into_iter().filter(|net| net.addr().is_ipv6()).collect();
    six.extend(macs.iter().map(|mac| IpNet::from(std::net::IpAddr::from(mac.link_local()))));
    let macs: Vec<String> = macs.iter().map(ToString::to_string).collect();
    let macs = format!("{{ {} }}", macs.join(", "));
    rules.push(format!("ether saddr != {macs} drop"));
    rules.push("ether type != { arp, ip, ip6 } drop".to_owned());
    rules.push(format!("ether type arp arp saddr ether != {macs} drop"));
    // 0.0.0.0 asks whether an address is free (RFC 5227).
    let asks = four.iter().copied().chain([IpNet::from(std::net::IpAddr::from([0, 0, 0, 0]))]);
    rules.push(format!("ether type arp arp saddr ip != {} drop", set(asks)));
    rules.push("ip saddr 0.0.0.0 udp sport 68 udp dport 67 return".to_owned());
    if four.is_empty() {
        rules.push("ether type ip drop".to_owned());
    } else {
        rules.push(format!("ip saddr != {} drop", set(four)));
    }
    rules.push("ip protocol udp udp sport 67 udp dport 68 drop".to_owned());
    rules.push("icmpv6 type { nd-router-advert, nd-redirect } drop".to_owned());
    rules.push("ip6 nexthdr udp udp sport 547 udp dport 546 drop".to_owned());
    // The check for doubles, and the first word about groups, have no source yet.
    rules.push("ip6 saddr :: icmpv6 type { nd-neighbor-solicit, nd-router-solicit, mld2-listener-report } return".to_owned());
    rules.push(format!("ip6 saddr != {} drop", set(six)));
    rules
}
