//! Addresses and their names, and what is wrong with them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

use landbridge_api::network::is_hostname;
use serde_json::Value;

/// So many are named in a condition; whoever corrects these sees the next.
const MOST: usize = 10;

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In `spec.hosts` of a DNSData.
    Host(usize),
    /// In a text, counted from 1.
    Line(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(i) => write!(f, "spec.hosts[{i}]"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// An address and its names, as somebody has written them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Where.
    pub place: Place,
    /// The address, if it is one.
    pub ip: &'a str,
    /// The names.
    pub names: Vec<&'a str>,
}

impl Entry<'_> {
    /// Whether it cannot be a line of its own: it would begin another one, or worse.
    pub fn breaks_lines(&self) -> bool {
        self.names.iter().chain([&self.ip]).any(|text| text.contains(char::is_control))
    }
}

/// The entries of a DNSData.
pub fn of_data(spec: &Value) -> impl Iterator<Item = Entry<'_>> {
    let hosts = spec["hosts"].as_array().map_or(&[][..], Vec::as_slice);
    hosts.iter().enumerate().map(|(i, host)| {
        let names = host["hostnames"].as_array().map_or(&[][..], Vec::as_slice);
        Entry {
            place: Place::Host(i),
            ip: host["ip"].as_str().unwrap_or_default(),
            names: names.iter().filter_map(Value::as_str).collect(),
        }
    })
}

/// The entries of a hosts file. What follows `#` is for people.
pub fn of_text(text: &str) -> impl Iterator<Item = Entry<'_>> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let ip = words.next()?;
        Some(Entry { place: Place::Line(i + 1), ip, names: words.collect() })
    })
}

/// A name as it is compared.
pub fn folded(name: &str) -> Cow<'_, str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        name.to_ascii_lowercase().into()
    } else {
        name.into()
    }
}

/// What is wrong with entries of one source, each with its place. Whether one name may stand for several
/// addresses is for the caller to say: whoever generates entries means it.
pub fn faults<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    several_are_meant: bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: HashMap<Cow<'a, str>, Vec<(IpAddr, Place)>> = HashMap::new();
    for entry in entries {
        let place = entry.place;
        if entry.breaks_lines() {
            faults.push(format!(
                "{place}: holds a line break or another control character and is left out"
            ));
            continue;
        }
        let Ok(ip) = entry.ip.parse::<IpAddr>() else {
            let names = shortened(&entry.names);
            faults.push(format!(
                "{place}: {:?} is not an IP address, so {names} is not answered",
                entry.ip
            ));
            continue;
        };
        if entry.names.is_empty() {
            faults.push(format!("{place}: {ip} has no names"));
        }
        for name in entry.names {
            if !is_hostname(name) {
                faults.push(format!("{place}: {name:?} is not a host name and is not answered"));
                continue;
            }
            let known = seen.entry(folded(name)).or_default();
            if let Some((_, first)) = known.iter().find(|(other, _)| *other == ip) {
                faults.push(format!("{place}: {name} has {ip} already by {first}"));
            } else if let Some((other, first)) =
                known.iter().find(|(other, _)| other.is_ipv4() == ip.is_ipv4())
                && !several_are_meant
            {
                faults.push(format!(
                    "{place}: {name} is {ip} here and {other} in {first}: both are answered"
                ));
            }
            known.push((ip, place));
        }
    }
    faults
}

fn shortened(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first, others @ ..] => format!("{first} (and {} more names)", others.len()),
    }
}

/// The text of a condition; `None` when nothing is wrong.
pub fn summary(what: &str, faults: &[String]) -> Option<String> {
    let shown = faults.get(..MOST).unwrap_or(faults);
    let mut text = format!("{what}: {}", shown.join("; "));
    if faults.len() > shown.len() {
        let _ = write!(text, "; and {} more", faults.len() - shown.len());
    }
    (!faults.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_read_as_hosts_files() {
        let text = "# comment\n10.0.0.1\ta b\n\n  fd00::1 c # d\nlone\n";
        let entries: Vec<Entry<'_>> = of_text(text).collect();
        let expected = [
            Entry { place: Place::Line(2), ip: "10.0.0.1", names: vec!["a", "b"] },
            Entry { place: Place::Line(4), ip: "fd00::1", names: vec!["c"] },
            Entry { place: Place::Line(5), ip: "lone", names: vec![] },
        ];
        assert_eq!(entries, expected);
    }

    #[test]
    fn every_fault_names_its_entry() {
        let spec = json!({"hosts": [
            {"ip": "10.0.0.1", "hostnames": ["good.example", "Twice.example"]},
            {"ip": "host-ip-1", "hostnames": ["a", "b"]},
            {"ip": "10.0.0.2", "hostnames": ["not a name", "twice.example.", "-x"]},
            {"ip": "10.0.0.1", "hostnames": ["twice.example"]},
            {"ip": "10.0.0.3", "hostnames": []},
            {"ip": "10.0.0.3", "hostnames": ["x\n10.0.0.9 evil"]},
            {"ip": "fd00::1", "hostnames": ["good.example"]},
        ]});
        let expected = [
            r#"spec.hosts[1]: "host-ip-1" is not an IP address, so a (and 1 more names) is not answered"#,
            r#"spec.hosts[2]: "not a name" is not a host name and is not answered"#,
            "spec.hosts[2]: twice.example. is 10.0.0.2 here and 10.0.0.1 in spec.hosts[0]: both are answered",
            r#"spec.hosts[2]: "-x" is not a host name and is not answered"#,
            "spec.hosts[3]: twice.example has 10.0.0.1 already by spec.hosts[0]",
            "spec.hosts[4]: 10.0.0.3 has no names",
            "spec.hosts[5]: holds a line break or another control character and is left out",
        ];
        assert_eq!(faults(of_data(&spec), false), expected);
        let generated = faults(of_data(&spec), true);
        assert!(!generated.iter().any(|fault| fault.contains("both are answered")));
        assert_eq!(generated.len(), expected.len() - 1);
    }

    #[test]
    fn a_summary_has_an_end() {
        assert_eq!(summary("Wrong", &[]), None);
        let two: Vec<String> = ["a", "b"].map(str::to_owned).into();
        assert_eq!(summary("Wrong", &two).as_deref(), Some("Wrong: a; b"));
        let many: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(
            summary("Wrong", &many).as_deref(),
            Some("Wrong: 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more")
        );
    }
}
