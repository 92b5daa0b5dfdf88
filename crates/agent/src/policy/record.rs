//! What this node was made to look like, on disk: after a boot it is made so again, even if the API
//! cannot be reached yet.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

const VERSION: u32 = 1;

/// A state that was made true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The policy's name.
    pub policy: String,
    pub generation: i64,
    pub desired: Value,
}

/// What was made true, by uid of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    version: u32,
    /// Since when: what is made by netlink does not outlive it.
    pub boot: String,
    pub applied: BTreeMap<String, Applied>,
}

impl Record {
    /// Nothing was made true since that boot.
    pub fn new(boot: &str) -> Self {
        Self { version: VERSION, boot: boot.to_owned(), applied: BTreeMap::new() }
    }

    /// Reads it. A record that cannot be read is none: everything is applied again.
    pub fn load(path: &Path) -> Option<Self> {
        load(path).filter(|record: &Self| record.version == VERSION)
    }

    /// Writes it.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        save(path, self)
    }
}

/// Reads a file; one that is not there or cannot be understood is none.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot be read; going on without it");
            return None;
        }
    };
    serde_json::from_slice(&bytes)
        .inspect_err(|error| {
            tracing::warn!(path = %path.display(), %error, "not understood; going on without it");
        })
        .ok()
}

/// Writes a file for this process alone, whole or not at all.
pub(crate) fn save<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let new: PathBuf = path.with_extension("new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// What tells one boot of this node from another: the machine's, and the network's, which in a lab
/// is made anew while the machine runs on.
pub fn boot() -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", machine.trim(), network.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_record_is_private_and_survives_and_a_broken_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("policies.json");
        assert_eq!(Record::load(&path), None);
        let mut record = Record::new("boot");
        let applied = Applied { policy: "osp".into(), generation: 2, desired: Value::Null };
        record.applied.insert("uid".into(), applied);
        record.save(&path).unwrap();
        assert_eq!(Record::load(&path), Some(record.clone()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        Record { version: 9, ..record }.save(&path).unwrap();
        assert_eq!(Record::load(&path), None);
        fs::write(&path, "{").unwrap();
        assert_eq!(Record::load(&path), None);
        assert!(boot().len() > 20 && boot() == boot());
    }
}
