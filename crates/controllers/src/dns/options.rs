//! The file with the options of a name server, and those that it would refuse.

use std::fmt;

use landbridge_dns::Warning;
use landbridge_dns::settings::Settings;
use serde_json::Value;

/// The file, and what is wrong with its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One line for each option, in their order.
    pub text: String,
    /// What the name server would refuse.
    pub faults: Vec<Fault>,
}

/// An option that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which one of `spec.options`.
    pub option: usize,
    /// Why.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spec.options[{}]: {}", self.option, self.why)
    }
}

/// Reads the options of a DNSMasq.
pub fn options(spec: &Value) -> Options {
    let mut found = Options { text: String::new(), faults: Vec::new() };
    // Which option each line is.
    let mut places = Vec::new();
    for (i, option) in spec["options"].as_array().into_iter().flatten().enumerate() {
        let key = option["key"].as_str().unwrap_or_default();
        let values = option["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let value = values.join(",");
        if value.contains(char::is_control) {
            let why = "holds a line break or another control character and is left out";
            found.faults.push(Fault { option: i, why: why.to_owned() });
            continue;
        }
        found.text.push_str(&line(key, (!values.is_empty()).then_some(value.as_str())));
        found.text.push('\n');
        places.push(i);
    }
    let (_, warnings) = Settings::parse("options", &found.text);
    for Warning { line, text, why, help, .. } in warnings {
        let at = usize::try_from(line).ok().and_then(|line| places.get(line.checked_sub(1)?));
        let help = if help.is_empty() { String::new() } else { format!(" ({help})") };
        let why = format!("{text:?}: {why}{help}");
        found.faults.extend(at.map(|option| Fault { option: *option, why }));
    }
    found
}

/// An option without values is only switched on.
fn line(key: &str, value: Option<&str>) -> String {
    value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_dnsmasq_would_refuse_is_named_by_its_place() {
        let spec = json!({"options": [
            {"key": "txt-record", "values": ["x\ny"]},
            {"key": "server", "values": ["192.168.122.1"]},
            {"key": "server", "values": ["no-address"]},
            {"key": "local", "values": ["/openstack.svc/"]},
            {"key": "max-ttl", "values": ["soon"]},
        ]});
        let found = options(&spec);
        let places: Vec<usize> = found.faults.iter().map(|fault| fault.option).collect();
        assert_eq!(places, [0, 2, 4]);
        let text = found.faults[1].to_string();
        assert!(text.starts_with(r#"spec.options[2]: "server=no-address": "#), "{text}");
        assert_eq!(found.text.lines().count(), 4, "the form stays upstream's");
    }

    #[test]
    fn every_option_of_the_api_is_known() {
        let good = [
            ("server", "192.168.122.1"),
            ("rev-server", "192.168.122.0/24,192.168.122.1"),
            ("srv-host", "_ldap._tcp.example.com,ldap.example.com,389"),
            ("txt-record", "example.com,text"),
            ("ptr-record", "1.122.168.192.in-addr.arpa,gateway.example.com"),
            ("rebind-domain-ok", "/example.com/"),
            ("naptr-record", "example.com,100,10,S,SIP+D2U,!^.*$!sip:x@example.com!"),
            ("cname", "alias.example.com,host.example.com"),
            ("host-record", "host.example.com,10.0.0.1"),
            ("caa-record", "example.com,0,issue,ca.example.net"),
            ("dns-rr", "example.com,51,01:23"),
            ("auth-zone", "example.com"),
            ("synth-domain", "example.com,10.0.0.0/24,host-"),
            ("no-negcache", ""),
            ("local", "/example.com/"),
            ("local-ttl", "60"),
            ("dhcp-ttl", "60"),
            ("max-ttl", "60"),
        ];
        for (key, value) in good {
            let values = if value.is_empty() { json!([]) } else { json!([value]) };
            let found = options(&json!({"options": [{"key": key, "values": values}]}));
            assert_eq!(found.faults, []);
        }
    }

    #[test]
    fn one_line_for_each_option_in_their_order() {
        let spec = json!({"options": [
            {"key": "server", "values": ["192.168.122.1"]},
            {"key": "no-negcache", "values": []},
            {"key": "host-record", "values": ["a.example", "10.0.0.1", "60"]},
            {"key": "txt-record", "values": ["x\ny"]},
        ]});
        let found = options(&spec);
        let expected = "server=192.168.122.1\nno-negcache\nhost-record=a.example,10.0.0.1,60\n";
        assert_eq!(found.text, expected);
        let why = "holds a line break or another control character and is left out".to_owned();
        assert_eq!(found.faults, [Fault { option: 3, why }]);
        assert_eq!(options(&json!({})), Options { text: String::new(), faults: Vec::new() });
    }
}
