//! Names of ports and domains of networks (extension dns-integration).

use serde_json::{Value, json};

use crate::config::Config;
use crate::network::check::{Checked, Wrong};
use crate::network::fault::Fault;
use crate::network::python;
use crate::object::Object;

/// The longest name.
const LONGEST: usize = 255;

/// `dns_name`: one label or more.
pub fn name(value: &Value) -> Checked {
    let name = lower(value)?;
    format(&name)?;
    Ok(name.into())
}

/// `dns_domain`: a name that ends with a dot.
pub fn domain(value: &Value) -> Checked {
    let name = lower(value)?;
    if name.is_empty() {
        return Ok(name.into());
    }
    if !name.ends_with('.') {
        return Wrong::reason(format!("'{name}' is not a FQDN"));
    }
    format(&name)?;
    if name.len() > LONGEST - 2 {
        return Wrong::reason(format!(
            "'{name}' contains {} characters. Adding a sub-domain will cause it to exceed the \
             maximum length of a FQDN of '{LONGEST}'",
            name.len()
        ));
    }
    Ok(name.into())
}

fn lower(value: &Value) -> Result<String, Wrong> {
    let wrong = || Fault::input(format!("Input value {} must be string type", python::str(value)));
    Ok(value.as_str().ok_or_else(wrong)?.to_lowercase())
}

fn format(name: &str) -> Result<(), Wrong> {
    if name.is_empty() {
        return Ok(());
    }
    let reason = |reason: String| {
        Wrong::reason(format!("'{name}' not a valid PQDN or FQDN. Reason: {reason}"))
    };
    let trimmed = name.strip_suffix('.').unwrap_or(name);
    if trimmed.len() > LONGEST {
        return reason(format!("'{trimmed}' exceeds the {LONGEST} character FQDN limit"));
    }
    let labels: Vec<&str> = trimmed.split('.').collect();
    for label in &labels {
        let letters = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if label.is_empty() {
            return reason("Encountered an empty component".to_owned());
        }
        if label.starts_with('-') || label.ends_with('-') {
            return reason(format!("Name '{label}' must not start or end with a hyphen"));
        }
        if !letters || label.len() > 63 {
            return reason(format!(
                "Name '{label}' must be 1-63 characters long, each of which can only be alphanumeric \
                 or a hyphen"
            ));
        }
    }
    let last = labels.last().copied().unwrap_or_default();
    if labels.len() > 1 && last.bytes().all(|b| b.is_ascii_digit()) {
        return reason(format!("TLD '{last}' must not be all numeric"));
    }
    Ok(())
}

/// `dns_assignment`: the names under which each address of a port is known.
pub fn assignment(config: &Config, port: &Object) -> Value {
    let domain = config.network.dns_domain.as_str();
    let dotted = if domain.is_empty() || domain.ends_with('.') {
        domain.to_owned()
    } else {
        format!("{domain}.")
    };
    let one = |fixed: &Value| {
        let ip = fixed.get("ip_address")?.as_str()?;
        let own = port.text("dns_name");
        let host = match own.strip_suffix('.') {
            Some(full) => {
                full.strip_suffix(&format!(".{}", dotted.trim_end_matches('.'))).unwrap_or(full)
            }
            None => own,
        };
        let host = if host.is_empty() {
            format!("host-{}", ip.replace(['.', ':'], "-"))
        } else {
            host.to_owned()
        };
        let fqdn = if dotted.is_empty() { host.clone() } else { format!("{host}.{dotted}") };
        Some(json!({"ip_address": ip, "hostname": host, "fqdn": fqdn}))
    };
    port.list("fixed_ips").iter().filter_map(one).collect()
}
