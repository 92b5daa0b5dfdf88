//! tuning: changes a link that a plugin before it made, and changes it back.

mod backup;

use std::path::Path;

use landbridge_cni::environment::Command;
use landbridge_cni::plugins::Tuning;
use landbridge_cni::result::CniResult;
use landbridge_linux::link::Fine;
use landbridge_linux::{IfName, Link, LinkChange, Sysctl};
use regex::Regex;

use self::backup::Backup;
use crate::call::Call;
use crate::failure::{Context, Outcome, internal, refused};
use crate::pod::{Pod, mac_of, wanted_name};
use crate::verify;

/// The file whose lines are expressions for the settings that may be changed; absent, all may.
const ALLOWLIST: &str = "/etc/cni/tuning/allowlist.conf";

pub(crate) fn run(call: &Call) -> Outcome<Option<CniResult>> {
    let args = &call.environment.args;
    match call.environment.command {
        Command::Del => return del(call).map(|()| None),
        Command::Gc | Command::Status => return Ok(None),
        _ => {}
    }
    args.only(&["MAC"]).map_err(|error| refused(&error))?;
    let config = Tuning::read(&call.input, args).map_err(|error| refused(&error))?;
    match call.environment.command {
        Command::Check => check(call, &config).map(|()| None),
        _ => add(call, &config).map(Some),
    }
}

fn add(call: &Call, config: &Tuning) -> Outcome<CniResult> {
    let name = wanted_name(call)?;
    let result = config.result(&call.input, name.as_str()).map_err(|error| refused(&error))?;
    check_allowed(config, Path::new(ALLOWLIST))?;
    let settings = settings(config, &name)?;
    let pod = Pod::open(call)?;
    let mut undo = Vec::new();
    let outcome = write_all(&pod, &settings, &mut undo).and_then(|()| {
        if !config.changes_interface() {
            return Ok(());
        }
        let link = pod.net.expect_link(&name).doing(|| format!("failed to get \"{name}\""))?;
        let before = Backup::of(&link, &fine(&pod, &link)?, config);
        let file = config.backup_file(&call.environment.container_id, name.as_str());
        before.save(Path::new(&file))?;
        change(&pod, &link, config).inspect_err(|_| {
            before.restore(&pod, &link);
            backup::forget(Path::new(&file));
        })
    });
    if outcome.is_err() {
        for (setting, value) in undo.iter().rev() {
            let _ = pod.sysctls.write(setting, value);
        }
    }
    outcome.map(|()| result)
}

/// The settings and their values, in the order of their names.
fn settings(config: &Tuning, name: &IfName) -> Outcome<Vec<(Sysctl, String)>> {
    let files = config.files(name.as_str()).map_err(|error| refused(&error))?;
    let read = |(file, value): (String, String)| {
        let setting = Sysctl::parse(&file).doing(|| format!("invalid net sysctl key: {file:?}"))?;
        Ok((setting, value))
    };
    files.into_iter().map(read).collect()
}

/// Writes settings; what stood there before is kept in `undo`.
fn write_all(
    pod: &Pod,
    settings: &[(Sysctl, String)],
    undo: &mut Vec<(Sysctl, String)>,
) -> Outcome<()> {
    for (setting, value) in settings {
        if let Ok(before) = pod.sysctls.read(setting) {
            undo.push((setting.clone(), before));
        }
        pod.sysctls
            .write(setting, value)
            .doing(|| format!("failed to set {setting} to {value:?}"))?;
    }
    Ok(())
}

fn fine(pod: &Pod, link: &Link) -> Outcome<Fine> {
    pod.net.fine(link).doing(|| format!("failed to get \"{}\"", link.name))
}

/// Changes the link without switching it off: that would cost it its IPv6 addresses and routes.
fn change(pod: &Pod, link: &Link, config: &Tuning) -> Outcome<()> {
    let name = &link.name;
    if let Some(text) = &config.mac {
        let mac = mac_of(text)?;
        pod.net
            .set_mac(link, mac)
            .doing(|| format!("failed to set \"{name}\" address to \"{mac}\""))?;
    }
    if config.mtu != 0 {
        let mtu = config.mtu;
        pod.net.set_mtu(link, mtu).doing(|| format!("failed to set MTU {mtu} on \"{name}\""))?;
    }
    let wanted = Fine {
        promiscuous: config.promiscuous.then_some(true),
        all_multicast: config.all_multicast,
        send_queue: config.send_queue,
    };
    if wanted != Fine::default() {
        pod.net.set_fine(link, &wanted).doing(|| format!("failed to change \"{name}\""))?;
    }
    Ok(())
}

/// Whether the node's administrator lets these settings be changed.
fn check_allowed(config: &Tuning, file: &Path) -> Outcome<()> {
    if config.sysctl.is_empty() {
        return Ok(());
    }
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        outcome => outcome.doing(|| format!("failed to read {}", file.display()))?,
    };
    let rules: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for key in config.sysctl.keys() {
        let mut allowed = false;
        for rule in &rules {
            let rule = Regex::new(rule)
                .doing(|| format!("{} has no expression in {rule:?}", file.display()))?;
            allowed |= rule.is_match(key);
        }
        if !allowed {
            return Err(internal(format!(
                "Sysctl {key} is not allowed. Only the following sysctls are allowed: {rules:?}"
            )));
        }
    }
    Ok(())
}

/// Puts back what was; whatever is gone meanwhile needs nothing.
fn del(call: &Call) -> Outcome<()> {
    let name = wanted_name(call)?;
    let Ok(config) = Tuning::read(&call.input, &call.environment.args) else {
        return Ok(());
    };
    let file = config.backup_file(&call.environment.container_id, name.as_str());
    let file = Path::new(&file);
    if let (Some(before), Some(pod)) = (Backup::load(file), Pod::if_there(call)?)
        && let Ok(Some(link)) = pod.net.link(&name)
    {
        before.restore(&pod, &link);
    }
    backup::forget(file);
    Ok(())
}

fn check(call: &Call, config: &Tuning) -> Outcome<()> {
    verify::previous(call)?;
    let name = wanted_name(call)?;
    let settings = settings(config, &name)?;
    let pod = Pod::open(call)?;
    let differs = |what: &str, wanted: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
        Err(internal(format!(
            "Error: Tuning configured value of {what} is {wanted}, current value is {found}"
        )))
    };
    for (setting, wanted) in &settings {
        let found = pod.sysctls.read(setting).doing(|| format!("failed to read {setting}"))?;
        if found != *wanted {
            return differs(&setting.to_string(), wanted, &found);
        }
    }
    let link = pod.net.expect_link(&name).doing(|| format!("Cannot find container link {name}"))?;
    if let Some(text) = &config.mac {
        let mac = mac_of(text)?;
        if link.mac != Some(mac) {
            let found = link.mac.map(|mac| mac.to_string()).unwrap_or_default();
            return differs("the address", &mac, &found);
        }
    }
    if config.mtu != 0 && link.mtu != config.mtu {
        return differs("MTU", &config.mtu, &link.mtu);
    }
    let found = fine(&pod, &link)?;
    if config.promiscuous && found.promiscuous != Some(true) {
        return differs("promiscuous mode", &true, &false);
    }
    if config.all_multicast.is_some() && found.all_multicast != config.all_multicast {
        return differs("all-multicast mode", &"otherwise", &"not");
    }
    if config.send_queue.is_some() && found.send_queue != config.send_queue {
        let show = |value: Option<u32>| value.unwrap_or_default();
        return differs("txQLen", &show(config.send_queue), &show(found.send_queue));
    }
    Ok(())
}

/// The change that puts a link back.
fn change_back(mac: Option<landbridge_linux::MacAddr>, mtu: Option<u32>) -> LinkChange {
    LinkChange { mac, mtu, ..LinkChange::default() }
}

#[cfg(test)]
mod tests {
    use landbridge_cni::args::Args;
    use landbridge_cni::config::Input;

    use super::*;

    #[test]
    fn only_allowed_settings_are_changed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("allowlist.conf");
        let config = |key: &str| {
            let text = format!(
                r#"{{"cniVersion":"1.0.0","name":"n","type":"tuning","sysctl":{{"{key}":"1"}}}}"#
            );
            Tuning::read(&Input::parse(text.as_bytes()).unwrap(), &Args::default()).unwrap()
        };
        let key = "net.ipv4.conf.IFNAME.log_martians";
        assert!(check_allowed(&config(key), &file).is_ok(), "no list, no limits");
        std::fs::write(&file, "\n^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]*$\n").unwrap();
        assert!(check_allowed(&config(key), &file).is_ok());
        let error = check_allowed(&config("net.core.somaxconn"), &file).unwrap_err();
        assert!(error.msg.starts_with("Sysctl net.core.somaxconn is not allowed."), "{error}");
        std::fs::write(&file, "(").unwrap();
        assert!(check_allowed(&config(key), &file).is_err());
        std::fs::write(&file, "").unwrap();
        assert!(check_allowed(&config(key), &file).is_err(), "an empty list allows nothing");
    }
}
