//! What must still work after a change of the network, or the change is taken back.
//!
//! Before the change it is noted what works (within a second each); after it, the same has to work
//! again within the policy's budget. What did not work before is not asked for.
//!
//! | probe | holds when |
//! |---|---|
//! | address | the addresses of the Node object that were on a link that is up still are |
//! | gateway | a default gateway answers ARP or neighbour discovery, for each family where one did |
//! | dns | the name resolves at one of the running name servers |
//! | api | the API server answers; always asked for |

mod dns;
pub mod here;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::settings::Settings;

/// So long a probe may take before the change.
const BEFOREHAND: Duration = Duration::from_secs(1);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// A default gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub address: IpAddr,
    /// The number of the link it is on.
    pub link: u32,
}

/// What can be asked about the network around this node. Calls block.
pub trait Surroundings {
    /// Whether the API server answers.
    fn api(&self, within: Duration) -> Result<(), String>;
    /// The default gateways of the main table.
    fn gateways(&self) -> Result<Vec<Gateway>, String>;
    /// Whether a gateway is there.
    fn reaches(&self, gateway: &Gateway, within: Duration) -> Result<(), String>;
    /// The addresses on links that are up.
    fn addresses(&self) -> Result<BTreeSet<IpAddr>, String>;
    /// Whether a name resolves at one of the running name servers.
    fn resolves(&self, host: &str, within: Duration) -> Result<(), String>;
}

/// What worked before the change.
#[derive(Debug)]
pub struct Expected {
    timeout: Duration,
    api: bool,
    addresses: Vec<IpAddr>,
    /// IPv4, IPv6.
    gateway: [bool; 2],
    dns: Option<String>,
}

/// Notes what works.
pub fn beforehand(
    settings: &Settings,
    published: &[IpAddr],
    around: &dyn Surroundings,
) -> Expected {
    let mut expected = Expected {
        timeout: settings.timeout,
        api: settings.api,
        addresses: Vec::new(),
        gateway: [false; 2],
        dns: None,
    };
    if settings.address {
        let there = around.addresses().unwrap_or_default();
        expected.addresses = published.iter().filter(|ip| there.contains(ip)).copied().collect();
    }
    if settings.gateway {
        for gateway in around.gateways().unwrap_or_default() {
            let family = usize::from(gateway.address.is_ipv6());
            expected.gateway[family] |= around.reaches(&gateway, BEFOREHAND).is_ok();
        }
    }
    let works = |host: &&String| around.resolves(host, BEFOREHAND).is_ok();
    expected.dns = settings.dns.as_ref().filter(works).cloned();
    expected
}

impl Expected {
    /// Asks for all of it again.
    pub fn check(&self, around: &dyn Surroundings) -> Result<(), String> {
        self.within(|_| self.check_addresses(around))?;
        for (family, name) in [(0, "IPv4"), (1, "IPv6")] {
            if self.gateway[family] {
                self.within(|left| check_gateway(family == 1, name, around, left))?;
            }
        }
        if let Some(host) = &self.dns {
            self.within(|left| {
                around
                    .resolves(host, left)
                    .map_err(|why| format!("dns: {host} does not resolve any more: {why}"))
            })?;
        }
        if self.api {
            self.within(|left| {
                around
                    .api(left)
                    .map_err(|why| format!("api: the API server cannot be reached any more: {why}"))
            })?;
        }
        Ok(())
    }

    /// Tries until it works or the time is over.
    fn within(&self, probe: impl Fn(Duration) -> Result<(), String>) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let left = self.timeout.saturating_sub(begin.elapsed()).max(Duration::from_millis(100));
            let Err(why) = probe(left) else { return Ok(()) };
            if begin.elapsed() + PAUSE >= self.timeout {
                return Err(format!("{why} (tried for {} ms)", begin.elapsed().as_millis()));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn check_addresses(&self, around: &dyn Surroundings) -> Result<(), String> {
        if self.addresses.is_empty() {
            return Ok(());
        }
        let there = around.addresses()?;
        match self.addresses.iter().find(|address| !there.contains(address)) {
            None => Ok(()),
            Some(address) => Err(format!(
                "address: the node is known by {address}, which is on no link that is up any more"
            )),
        }
    }
}

fn check_gateway(
    six: bool,
    name: &str,
    around: &dyn Surroundings,
    within: Duration,
) -> Result<(), String> {
    let gateways = around.gateways()?;
    let mut last = format!("gateway: the node has no {name} default route any more");
    for gateway in gateways.iter().filter(|gateway| gateway.address.is_ipv6() == six) {
        match around.reaches(gateway, within) {
            Ok(()) => return Ok(()),
            Err(why) => {
                let address = gateway.address;
                last = format!("gateway: {address} was reached before and is not any more: {why}");
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Fake {
        api: bool,
        gateways: Vec<(&'static str, bool)>,
        addresses: Vec<&'static str>,
        dns: bool,
    }

    impl Surroundings for Fake {
        fn api(&self, _: Duration) -> Result<(), String> {
            if self.api { Ok(()) } else { Err("refused".into()) }
        }
        fn gateways(&self) -> Result<Vec<Gateway>, String> {
            let all = self.gateways.iter();
            Ok(all.map(|(ip, _)| Gateway { address: ip.parse().unwrap(), link: 1 }).collect())
        }
        fn reaches(&self, gateway: &Gateway, _: Duration) -> Result<(), String> {
            let found = self.gateways.iter().find(|(ip, _)| *ip == gateway.address.to_string());
            if found.unwrap().1 { Ok(()) } else { Err("no answer".into()) }
        }
        fn addresses(&self) -> Result<BTreeSet<IpAddr>, String> {
            Ok(self.addresses.iter().map(|ip| ip.parse().unwrap()).collect())
        }
        fn resolves(&self, _: &str, _: Duration) -> Result<(), String> {
            if self.dns { Ok(()) } else { Err("timed out".into()) }
        }
    }

    fn well() -> Fake {
        Fake {
            api: true,
            gateways: vec![("192.0.2.1", true), ("fe80::1", true)],
            addresses: vec!["192.0.2.10", "2001:db8::10"],
            dns: true,
        }
    }

    fn settings() -> Settings {
        Settings {
            dns: Some("host.example".into()),
            timeout: Duration::from_millis(20),
            ..Settings::default()
        }
    }

    type Change = fn(&mut Fake);

    fn after(before: &Fake, settings: &Settings, then: &Fake) -> Result<(), String> {
        let published = ["192.0.2.10".parse().unwrap(), "203.0.113.9".parse().unwrap()];
        beforehand(settings, &published, before).check(then)
    }

    #[test]
    fn what_worked_must_work_again() {
        assert_eq!(after(&well(), &settings(), &well()), Ok(()));
        let cases: [(Change, &str); 7] = [
            (|then| then.api = false, "api: the API server cannot be reached any more: refused"),
            (|then| then.gateways[0].1 = false, "gateway: 192.0.2.1 was reached before"),
            (|then| then.gateways.truncate(0), "gateway: the node has no IPv4 default route"),
            (|then| then.gateways.truncate(1), "gateway: the node has no IPv6 default route"),
            (|then| then.addresses.truncate(0), "address: the node is known by 192.0.2.10"),
            (|then| then.dns = false, "dns: host.example does not resolve any more: timed out"),
            (|then| then.gateways = vec![("192.0.2.9", false)], "gateway: 192.0.2.9"),
        ];
        for (change, text) in cases {
            let mut then = well();
            change(&mut then);
            let error = after(&well(), &settings(), &then).unwrap_err();
            assert!(error.starts_with(text), "{text}: {error}");
        }
        let moved = Fake { gateways: vec![("192.0.2.9", true), ("fe80::2", true)], ..well() };
        assert_eq!(after(&well(), &settings(), &moved), Ok(()), "another gateway is fine");
    }

    #[test]
    fn what_did_not_work_is_not_asked_for() {
        let dark =
            Fake { api: true, gateways: vec![("192.0.2.1", false)], addresses: vec![], dns: false };
        assert_eq!(after(&dark, &settings(), &dark), Ok(()));
        let none = Settings { api: false, gateway: false, address: false, dns: None, ..settings() };
        let nothing = Fake { api: false, gateways: vec![], addresses: vec![], dns: false };
        assert_eq!(after(&well(), &none, &nothing), Ok(()));
        assert!(after(&dark, &settings(), &nothing).unwrap_err().starts_with("api:"));
    }
}
