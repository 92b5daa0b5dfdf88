//! Who is asked for names that are not the cluster's: the ConfigMap `kube-system/kube-dns`, in the form
//! Kubernetes has for it.
//!
//! ```yaml
//! data:
//!   upstreamNameservers: '["192.0.2.53"]'
//!   stubDomains: '{"example.com": ["192.168.122.80", "192.168.122.81:5353"]}'
//! ```
//!
//! Without it nobody is asked. What is wrong in it is named, and the rest counts.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstreams {
    general: Vec<SocketAddr>,
    /// By the labels of the domain.
    domains: BTreeMap<Vec<String>, Vec<SocketAddr>>,
}

impl Upstreams {
    /// Reads the data of the ConfigMap, and says what is wrong with it.
    pub fn read(data: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let (mut own, mut wrong) = (Self::default(), Vec::new());
        for (key, text) in data {
            match key.as_str() {
                "upstreamNameservers" => match serde_json::from_str::<Vec<String>>(text) {
                    Ok(list) => own.general = servers(key, &list, &mut wrong),
                    Err(error) => wrong.push(format!(
                        "{key}: {error}; write a list of addresses, such as [\"192.0.2.53\"]"
                    )),
                },
                "stubDomains" => {
                    match serde_json::from_str::<BTreeMap<String, Vec<String>>>(text) {
                        Ok(domains) => own.take_domains(key, domains, &mut wrong),
                        Err(error) => wrong.push(format!(
                            "{key}: {error}; write lists of addresses by domain, such as {{\"example.com\": [\"192.0.2.53\"]}}"
                        )),
                    }
                }
                _ => wrong.push(format!(
                    "{key}: is not known; there are upstreamNameservers and stubDomains"
                )),
            }
        }
        (own, wrong)
    }

    fn take_domains(
        &mut self,
        key: &str,
        domains: BTreeMap<String, Vec<String>>,
        wrong: &mut Vec<String>,
    ) {
        for (domain, list) in domains {
            if let Err(why) = landbridge_dns::wire::Name::from_text(&domain) {
                wrong.push(format!("{key}: the domain {domain:?} {why}"));
                continue;
            }
            let labels = domain.trim_end_matches('.').split('.').map(str::to_ascii_lowercase);
            let servers = servers(&format!("{key}: {domain}"), &list, wrong);
            self.domains.insert(labels.collect(), servers);
        }
    }

    /// Whom to ask for a name, in this order; nobody where none is configured. The longest domain
    /// counts.
    pub fn of(&self, labels: &[&str]) -> &[SocketAddr] {
        let mut rest = labels;
        while !rest.is_empty() {
            let key: Vec<String> = rest.iter().map(|label| (*label).to_owned()).collect();
            if let Some(servers) = self.domains.get(&key) {
                return servers;
            }
            rest = &rest[1..];
        }
        // A name without a domain is nobody's outside.
        if labels.len() > 1 { &self.general } else { &[] }
    }

    /// Whether there is anybody.
    pub fn is_empty(&self) -> bool {
        self.general.is_empty() && self.domains.is_empty()
    }
}

fn servers(place: &str, list: &[String], wrong: &mut Vec<String>) -> Vec<SocketAddr> {
    let mut servers = Vec::new();
    for text in list {
        let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53));
        match alone.or_else(|_| text.parse::<SocketAddr>()) {
            Ok(server) => servers.push(server),
            Err(_) => wrong.push(format!(
                "{place}: {text:?} is no address; names cannot be asked for the address of a name server"
            )),
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Upstreams, Vec<String>) {
        let data = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Upstreams::read(&data)
    }

    #[test]
    fn the_longest_domain_counts() {
        let (all, wrong) = read(&[
            ("upstreamNameservers", r#"["192.0.2.1", "2001:db8::1"]"#),
            ("stubDomains", r#"{"Example.com": ["192.0.2.2:5353"], "a.example.com.": []}"#),
        ]);
        assert_eq!(wrong, Vec::<String>::new());
        let of = |name: &str| {
            let labels: Vec<&str> = name.split('.').collect();
            all.of(&labels).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of("www.example.org"), ["192.0.2.1:53", "[2001:db8::1]:53"]);
        assert_eq!(of("example.com"), ["192.0.2.2:5353"]);
        assert_eq!(of("b.example.com"), ["192.0.2.2:5353"]);
        assert_eq!(of("b.a.example.com"), [""; 0], "nobody, and not those of a shorter one");
        assert_eq!(of("myexample.com").len(), 2);
        assert_eq!(of("plain"), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_named_and_the_rest_counts() {
        let (all, wrong) = read(&[
            ("upstreamNameservers", r#"["dns.example.com", "192.0.2.1"]"#),
            ("stubDomains", r#"{"a..b": ["192.0.2.2"], "ok.example": ["192.0.2.3"]}"#),
            ("federations", "x"),
        ]);
        assert_eq!(all.of(&["x", "y"]).len(), 1);
        assert_eq!(all.of(&["ok", "example"]), ["192.0.2.3:53".parse().unwrap()]);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        for (words, part) in wrong.iter().zip(["federations", "a..b", "dns.example.com"]) {
            assert!(words.contains(part), "{words}");
        }
        let (all, wrong) = read(&[("stubDomains", "[]"), ("upstreamNameservers", "1.2.3.4")]);
        assert!(all.is_empty());
        assert_eq!(wrong.len(), 2);
    }
}
