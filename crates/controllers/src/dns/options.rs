//! The file with the options of a name server, and those that it would refuse.

use landbridge_dns::settings::Settings;
use serde_json::Value;

/// The file, and what is wrong with its lines.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One line for each option, in their order.
    pub text: String,
    /// What the name server would refuse, each with its place.
    pub faults: Vec<String>,
}

/// Reads the options of a DNSMasq.
pub fn options(spec: &Value) -> Options {
    let mut found = Options { text: String::new(), faults: Vec::new() };
    let mut settings = Settings::default();
    for (i, option) in spec["options"].as_array().into_iter().flatten().enumerate() {
        let key = option["key"].as_str().unwrap_or_default();
        let values = option["values"].as_array().into_iter().flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let value = values.join(",");
        if value.contains(char::is_control) {
            found.faults.push(format!(
                "spec.options[{i}] ({key}): holds a line break or another control character and is left out"
            ));
            continue;
        }
        let given = (!values.is_empty()).then_some(value.as_str());
        if let Err(bad) = settings.option(key, given) {
            let line = line(key, given);
            let help = if bad.help.is_empty() { String::new() } else { format!(" ({})", bad.help) };
            found.faults.push(format!("spec.options[{i}]: {line:?}: {}{help}", bad.why));
        }
        found.text.push_str(&line(key, given));
        found.text.push('\n');
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
        assert_eq!(
            found.faults,
            [
                "spec.options[3] (txt-record): holds a line break or another control character and is left out"
            ]
        );
        assert_eq!(options(&json!({})), Options { text: String::new(), faults: Vec::new() });
    }
}
