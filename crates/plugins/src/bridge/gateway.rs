//! Which addresses a bridge gets as the gateway of its pods.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::number::successor;
use landbridge_cni::plugins::Bridge;
use landbridge_cni::result::{CniResult, Route};

/// Fills in the gateways and default routes of a result, says whose the addresses are, and returns
/// what the bridge is to have, IPv4 first.
pub(super) fn plan(result: &mut CniResult, config: &Bridge, container: usize) -> Vec<IpNet> {
    let mut gateways = Vec::new();
    for ip in &mut result.ips {
        ip.interface = Some(container);
        if config.is_gateway && ip.gateway.is_none() {
            ip.gateway = successor(ip.address.network());
        }
        let everywhere = everywhere(ip.address);
        let is_there = |route: &Route| route.gw.is_some() && route.dst == everywhere;
        if config.is_default_gateway && !result.routes.iter().any(is_there) {
            result.routes.push(Route::new(everywhere, ip.gateway));
        }
        if let Some(gateway) = ip.gateway.filter(|_| config.is_gateway) {
            gateways.extend(IpNet::new(gateway, ip.address.prefix_len()));
        }
    }
    gateways.sort_by_key(|net| net.addr().is_ipv6());
    gateways
}

fn everywhere(of: IpNet) -> IpNet {
    match of {
        IpNet::V4(_) => IpNet::V4(ipnet::Ipv4Net::default()),
        IpNet::V6(_) => IpNet::V6(ipnet::Ipv6Net::default()),
    }
}

/// Whether an address the bridge has stands in the way of another: IPv4 has one, and no two IPv6
/// ones share a network. A link-local one is the kernel's and stands in nobody's way.
pub(super) fn conflict(found: IpNet, wanted: IpNet) -> bool {
    match (found.addr(), wanted.addr()) {
        (IpAddr::V4(_), IpAddr::V4(_)) => true,
        (IpAddr::V6(here), IpAddr::V6(there)) => {
            here.is_unicast_link_local() == there.is_unicast_link_local()
                && (found.contains(&wanted.addr()) || wanted.contains(&found.addr()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use landbridge_cni::config::Input;
    use landbridge_cni::result::Ip;

    use super::*;

    fn config(text: &str) -> Bridge {
        let text = format!(r#"{{"cniVersion":"1.0.0","name":"n","type":"bridge"{text}}}"#);
        let input = Input::parse(text.as_bytes()).unwrap();
        Bridge::read(&input, &landbridge_cni::args::Args::default()).unwrap()
    }

    fn given(ips: &[&str]) -> CniResult {
        let ip =
            |text: &&str| Ip { address: text.parse().unwrap(), gateway: None, interface: None };
        CniResult { ips: ips.iter().map(ip).collect(), ..CniResult::default() }
    }

    #[test]
    fn a_gateway_is_the_first_address() {
        let mut result = given(&["fd00::5/64", "10.0.0.5/24"]);
        let gateways = plan(&mut result, &config(r#","isGateway":true"#), 2);
        let shown: Vec<_> = gateways.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.1/24", "fd00::1/64"]);
        assert!(result.routes.is_empty());
        assert!(result.ips.iter().all(|ip| ip.interface == Some(2)));
    }

    #[test]
    fn a_default_gateway_has_one_route_for_each_family() {
        let mut result = given(&["10.0.0.5/24", "10.0.1.5/24", "fd00::5/64"]);
        let own: Route = Route::new("::/0".parse().unwrap(), Some("fd00::9".parse().unwrap()));
        result.routes.push(own.clone());
        plan(&mut result, &config(r#","isDefaultGateway":true"#), 2);
        let four = Route::new("0.0.0.0/0".parse().unwrap(), Some("10.0.0.1".parse().unwrap()));
        assert_eq!(result.routes, [own, four]);
    }

    #[test]
    fn without_a_gateway_nothing_is_added() {
        let mut result = given(&["10.0.0.5/24"]);
        assert!(plan(&mut result, &config(""), 2).is_empty());
        assert_eq!(result.ips[0].gateway, None);
    }

    #[test]
    fn conflicts() {
        let net = |text: &str| -> IpNet { text.parse().unwrap() };
        for (found, wanted, expected) in [
            ("10.0.0.1/24", "10.1.0.1/24", true),
            ("fd00::1/64", "fd01::1/64", false),
            ("fd00::1/64", "fd00::2/64", true),
            ("fd00::1/48", "fd00:0:0:1::2/64", true),
            ("fe80::1/64", "fd00::2/64", false),
            ("fe80::1/64", "fe80::2/64", true),
            ("fe80::1/64", "::1/0", false),
            ("10.0.0.1/24", "fd00::2/64", false),
        ] {
            assert_eq!(conflict(net(found), net(wanted)), expected, "{found} {wanted}");
        }
    }
}
