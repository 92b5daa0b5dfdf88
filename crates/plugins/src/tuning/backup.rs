//! What a link was before it was tuned, kept in a file until DEL, in the reference plugin's form.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use landbridge_cni::plugins::Tuning;
use landbridge_linux::Link;
use landbridge_linux::link::Fine;
use serde::{Deserialize, Serialize};

use super::change_back;
use crate::failure::{Context, Outcome, internal};
use crate::pod::{Pod, mac_of};

/// What is changed, as it was; what is not changed is not there.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Backup {
    #[serde(skip_serializing_if = "String::is_empty")]
    mac: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    promisc: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allmulti: Option<bool>,
    #[serde(rename = "txQLen", skip_serializing_if = "Option::is_none")]
    tx_q_len: Option<u32>,
}

impl Backup {
    /// Of what the configuration is about to change.
    pub fn of(link: &Link, fine: &Fine, config: &Tuning) -> Self {
        let mac = config.mac.as_ref().and(link.mac);
        Self {
            mac: mac.map(|mac| mac.to_string()).unwrap_or_default(),
            promisc: fine.promiscuous.filter(|_| config.promiscuous),
            mtu: (config.mtu != 0).then_some(link.mtu),
            allmulti: fine.all_multicast.filter(|_| config.all_multicast.is_some()),
            tx_q_len: fine.send_queue.filter(|_| config.send_queue.is_some()),
        }
    }

    /// Keeps it. One that is there stays: it is from before an ADD that was not undone, and closer
    /// to what was at first.
    pub fn save(&self, file: &Path) -> Outcome<()> {
        let what = || format!("failed to save file {}", file.display());
        if Self::load(file).is_some() {
            return Ok(());
        }
        if let Some(directory) = file.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).doing(what)?;
        }
        let text =
            serde_json::to_vec(self).map_err(|error| internal(format!("{}: {error}", what())))?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(file).and_then(|mut file| file.write_all(&text)).doing(what)
    }

    /// What was kept; nothing where nothing was, or where it cannot be read.
    pub fn load(file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    /// Puts it back as far as it goes.
    pub fn restore(&self, pod: &Pod, link: &Link) {
        let mac = mac_of(&self.mac).ok();
        let fine = Fine {
            promiscuous: self.promisc,
            all_multicast: self.allmulti,
            send_queue: self.tx_q_len,
        };
        let outcomes =
            [pod.net.change_link(link, &change_back(mac, self.mtu)), pod.net.set_fine(link, &fine)];
        for error in outcomes.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, interface = %link.name, "a tuned link is not as it was");
        }
    }
}

/// Forgets it.
pub(super) fn forget(file: &Path) {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, file = %file.display(), "a kept state cannot be removed");
        }
        _ => {}
    }
}
