//! What annotations on a policy change about how it is applied.
//!
//! | annotation | meaning | without it |
//! |---|---|---|
//! | `landbridge.dev/probes` | what must still work after a change, of `api,gateway,address,dns`, or `none` | `api,gateway,address` |
//! | `landbridge.dev/probe-timeout` | how long each of them may take, such as `5s` or `500ms` | `5s`, at most `120s` |
//! | `landbridge.dev/probe-dns-host` | a name that must resolve; turns `dns` on | no DNS probe |
//! | `landbridge.dev/drift` | `correct`: what others change on the node is put back, looked after each 30 s | left alone |
//!
//! An annotation that cannot be read is as if it were not there, and a Warning says so.

use std::collections::BTreeMap;
use std::time::Duration;

const PROBES: &str = "landbridge.dev/probes";
const TIMEOUT: &str = "landbridge.dev/probe-timeout";
const DNS_HOST: &str = "landbridge.dev/probe-dns-host";
const DRIFT: &str = "landbridge.dev/drift";

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_mins(2);

/// How a policy is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The API server can be reached.
    pub api: bool,
    /// The default gateways that could be reached can be reached.
    pub gateway: bool,
    /// The addresses of the Node object are there.
    pub address: bool,
    /// This name resolves.
    pub dns: Option<String>,
    pub timeout: Duration,
    /// What others change is put back.
    pub correct_drift: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            api: true,
            gateway: true,
            address: true,
            dns: None,
            timeout: DEFAULT_TIMEOUT,
            correct_drift: false,
        }
    }
}

impl Settings {
    /// Reads them, with what could not be read.
    pub fn read(annotations: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut trouble = Vec::new();
        settings.dns = annotations.get(DNS_HOST).map(|host| host.trim().to_owned());
        settings.dns = settings.dns.filter(|host| {
            let good = is_name(host);
            if !good {
                trouble.push(format!("{DNS_HOST}: {host:?} is no host name"));
            }
            good
        });
        if let Some(text) = annotations.get(PROBES) {
            match probes(text) {
                Ok([api, gateway, address, dns]) => {
                    (settings.api, settings.gateway, settings.address) = (api, gateway, address);
                    if dns && settings.dns.is_none() {
                        trouble.push(format!("{PROBES}: dns needs a name in {DNS_HOST}"));
                    }
                }
                Err(why) => trouble.push(format!("{PROBES}: {why}")),
            }
        }
        if let Some(text) = annotations.get(TIMEOUT) {
            match duration(text) {
                Some(timeout) => settings.timeout = timeout.min(LONGEST),
                None => trouble.push(format!("{TIMEOUT}: {text:?} is no time such as 5s or 500ms")),
            }
        }
        match annotations.get(DRIFT).map(|text| text.trim()) {
            None | Some("ignore") => {}
            Some("correct") => settings.correct_drift = true,
            Some(other) => trouble.push(format!("{DRIFT}: {other:?} is not correct or ignore")),
        }
        (settings, trouble)
    }
}

fn probes(text: &str) -> Result<[bool; 4], String> {
    let mut wanted = [false; 4];
    for word in text.split(',').map(str::trim) {
        match ["api", "gateway", "address", "dns"].iter().position(|known| *known == word) {
            Some(at) => wanted[at] = true,
            None if word == "none" || word.is_empty() => {}
            None => return Err(format!("{word:?} is not one of api, gateway, address, dns, none")),
        }
    }
    Ok(wanted)
}

fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(number) = text.strip_suffix("ms") {
        return number.parse().ok().map(Duration::from_millis);
    }
    text.strip_suffix('s').unwrap_or(text).parse().ok().map(Duration::from_secs)
}

fn is_name(host: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    host.len() <= 253 && host.trim_end_matches('.').split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Settings::read(&pairs)
    }

    #[test]
    fn annotations_are_read() {
        assert_eq!(read(&[]), (Settings::default(), vec![]));
        let (settings, trouble) = read(&[
            (PROBES, "api, dns"),
            (TIMEOUT, "500ms"),
            (DNS_HOST, "root-servers.net"),
            (DRIFT, "correct"),
        ]);
        assert!(trouble.is_empty(), "{trouble:?}");
        assert!(settings.api && !settings.gateway && !settings.address && settings.correct_drift);
        assert_eq!(settings.dns.as_deref(), Some("root-servers.net"));
        assert_eq!(settings.timeout, Duration::from_millis(500));
        assert!(!read(&[(PROBES, "none")]).0.api);
        assert_eq!(read(&[(TIMEOUT, "9999")]).0.timeout, LONGEST);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_left_out() {
        for (key, value) in [
            (PROBES, "ping"),
            (PROBES, "dns"),
            (TIMEOUT, "soon"),
            (DNS_HOST, "a b"),
            (DNS_HOST, ""),
            (DRIFT, "yes"),
        ] {
            let (settings, trouble) = read(&[(key, value)]);
            assert!(trouble.len() == 1 && trouble[0].starts_with(key), "{key}: {trouble:?}");
            if value != "dns" {
                assert_eq!(settings, Settings::default(), "{key}={value}");
            }
        }
    }
}
