//! tuning: changes an interface that a plugin before it made.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{BadPlugin, keys, mac, mac_of, mtu};
use crate::args::Args;
use crate::config::Input;
use crate::json;
use crate::result::CniResult;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Kernel settings; `IFNAME` stands for the interface.
    pub sysctl: BTreeMap<String, String>,
    /// The hardware address to set.
    pub mac: Option<String>,
    /// The MTU to set; 0 for none.
    pub mtu: u32,
    /// Whether it listens to everything.
    pub promiscuous: bool,
    /// Whether it listens to every group, where told.
    pub all_multicast: Option<bool>,
    /// The length of the send queue, where told.
    pub send_queue: Option<u32>,
    /// Where what was before is kept for DEL.
    pub data_dir: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    sysctl: Option<BTreeMap<String, String>>,
    mac: Option<String>,
    mtu: Option<i64>,
    promisc: Option<bool>,
    allmulti: Option<bool>,
    #[serde(rename = "txQLen")]
    tx_q_len: Option<u32>,
    data_dir: String,
}

impl Tuning {
    /// Reads the configuration: `args.cni`, then the runtime, then the pod's arguments, then the
    /// configuration.
    pub fn read(input: &Input, args: &Args) -> Result<Self, BadPlugin> {
        let keys: Keys = keys("tuning", input)?;
        let asked: Keys = json::typed(&input.cni_args)
            .map_err(|source| BadPlugin::Json { plugin: "tuning", source })?;
        let mut sysctl = keys.sysctl.unwrap_or_default();
        sysctl.extend(asked.sysctl.unwrap_or_default());
        let told = Some(input.runtime.mac.as_str());
        Ok(Self {
            sysctl,
            mac: mac(&[asked.mac.as_deref(), told, mac_of(args), keys.mac.as_deref()])?,
            mtu: mtu(asked.mtu.or(keys.mtu).unwrap_or_default())?,
            promiscuous: asked.promisc.or(keys.promisc).unwrap_or_default(),
            all_multicast: asked.allmulti.or(keys.allmulti),
            send_queue: asked.tx_q_len.or(keys.tx_q_len),
            data_dir: match keys.data_dir {
                none if none.is_empty() => "/run/cni/tuning".to_owned(),
                dir => dir,
            },
        })
    }

    /// The files below `/proc/sys` to write, and what. A setting of anything else than the
    /// network is refused, however it is spelt.
    pub fn files(&self, interface: &str) -> Result<BTreeMap<String, String>, BadPlugin> {
        let file = |(key, value): (&String, &String)| {
            sysctl_file(key, interface)
                .map(|file| (file, value.clone()))
                .ok_or_else(|| BadPlugin::Sysctl(key.clone()))
        };
        self.sysctl.iter().map(file).collect()
    }

    /// What to answer with: the previous result, with the new hardware address.
    pub fn result(&self, input: &Input, interface: &str) -> Result<CniResult, BadPlugin> {
        let mut result = input.previous.clone().ok_or(BadPlugin::NoPrevious)?;
        if let Some(mac) = &self.mac {
            let named = result.interfaces.iter_mut().filter(|found| found.name == interface);
            named.for_each(|found| found.mac.clone_from(mac));
        }
        Ok(result)
    }

    /// Whether there is something for DEL to put back.
    pub fn changes_interface(&self) -> bool {
        self.mac.is_some()
            || self.mtu != 0
            || self.promiscuous
            || self.all_multicast.is_some()
            || self.send_queue.is_some()
    }

    /// Where what was before is kept.
    pub fn backup_file(&self, container_id: &str, interface: &str) -> String {
        format!("{}/{container_id}_{interface}.json", self.data_dir)
    }
}

/// `net.ipv4.conf.IFNAME.arp_filter` and `net/ipv4/conf/IFNAME/arp_filter`: the separator that
/// comes first separates, the other one stands for it inside a part.
fn sysctl_file(key: &str, interface: &str) -> Option<String> {
    let separator = key.chars().find(|c| matches!(c, '.' | '/'))?;
    let other = if separator == '.' { '/' } else { '.' };
    let parts = key.split(separator).map(|part| match part {
        "IFNAME" => interface.to_owned(),
        // Inside dots, a slash stands for a dot; inside slashes a dot is a dot.
        _ if other == '/' => part.replace('/', "."),
        _ => part.to_owned(),
    });
    let parts: Vec<String> = parts.collect();
    let sound =
        |part: &String| !matches!(part.as_str(), "" | "." | "..") && !part.contains(['/', '\0']);
    let is_net = parts.len() > 1 && parts.first().is_some_and(|first| first == "net");
    (is_net && parts.iter().all(sound)).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_the_network() {
        let cases = [
            ("net.ipv4.conf.IFNAME.arp_filter", Some("net/ipv4/conf/eth0.20/arp_filter")),
            ("net/ipv4/conf/eth0.20/arp_filter", Some("net/ipv4/conf/eth0.20/arp_filter")),
            ("net.ipv4.conf.eth0/20.arp_filter", Some("net/ipv4/conf/eth0.20/arp_filter")),
            ("net.core.somaxconn", Some("net/core/somaxconn")),
            ("kernel.panic", None),
            ("net", None),
            ("net/../kernel/panic", None),
            ("net...kernel.panic", None),
            ("/net/core", None),
            ("", None),
        ];
        for (key, expected) in cases {
            assert_eq!(sysctl_file(key, "eth0.20").as_deref(), expected, "{key}");
        }
    }
}
