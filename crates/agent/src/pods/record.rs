//! What is kept on disk of a sandbox, so that nothing is lost with the agent.
//!
//! A record is written before its sandbox is made and removed after the last part of it is gone:
//! whenever the agent dies, what it leaves is written down.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::desired::PodIdentity;

/// How far a sandbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Namespace and attachments may be there, wholly or in part.
    Making,
    /// Both are there.
    Ready,
    /// Everything is being removed.
    Ending,
}

/// A sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub identity: PodIdentity,
    /// Its name towards network plugins.
    pub sandbox: String,
    /// The name of its network namespace; none when it shares the node's.
    pub netns: Option<String>,
    pub stage: Stage,
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// How often its process has been started again.
    #[serde(default)]
    pub restarts: u32,
    #[serde(default)]
    pub process: Option<Process>,
    #[serde(default)]
    pub last_exit: Option<Exit>,
}

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    pub pid: u32,
    /// In clock ticks since the machine started, as `/proc` says.
    pub born: u64,
    pub started: Timestamp,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    pub started: Timestamp,
    pub at: Timestamp,
    /// As a shell tells it: above 128 for a signal. Nothing when nobody saw it.
    pub code: Option<i32>,
}

/// New names for a new sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub sandbox: String,
    pub netns: String,
}

impl Names {
    /// Names nobody else has.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 48];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        let hex: String =
            bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
        let (sandbox, n) = hex.split_at(64);
        let netns =
            format!("cni-{}-{}-4{}-a{}-{}", &n[..8], &n[8..12], &n[13..16], &n[17..20], &n[20..32]);
        Ok(Self { sandbox: sandbox.to_owned(), netns })
    }
}

/// The directory of records.
#[derive(Clone, Debug)]
pub struct Records {
    sandboxes: PathBuf,
    releases: PathBuf,
}

impl Records {
    /// Opens the records below a state directory.
    pub fn open(state: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let own = Self { sandboxes: state.join("sandboxes"), releases: state.join("releases") };
        for directory in [&own.sandboxes, &own.releases] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        Ok(own)
    }

    /// All sandboxes. What cannot be read is told and left where it is.
    pub fn sandboxes(&self) -> io::Result<Vec<Record>> {
        read_all(&self.sandboxes)
    }

    /// All sandboxes that are gone but for their attachments' records.
    pub fn releases(&self) -> io::Result<Vec<Record>> {
        read_all(&self.releases)
    }

    /// Replaces a record; when this returns, it survives a crash.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let path = file(&self.sandboxes, &record.identity.uid)?;
        let temporary = path.with_extension("new");
        let mut open = OpenOptions::new();
        let mut to = open.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        to.write_all(&serde_json::to_vec(record)?)?;
        to.sync_data()?;
        std::fs::rename(&temporary, &path)?;
        File::open(&self.sandboxes)?.sync_all()
    }

    /// The sandbox is gone.
    pub fn forget(&self, record: &Record) -> io::Result<()> {
        absent_is_fine(std::fs::remove_file(file(&self.sandboxes, &record.identity.uid)?))
    }

    /// The sandbox is gone, but its attachments are still to be released.
    pub fn hand_over(&self, record: &Record) -> io::Result<()> {
        let to = file(&self.releases, &record.sandbox)?;
        absent_is_fine(std::fs::rename(file(&self.sandboxes, &record.identity.uid)?, to))
    }

    /// Its attachments are released.
    pub fn released(&self, record: &Record) -> io::Result<()> {
        absent_is_fine(std::fs::remove_file(file(&self.releases, &record.sandbox)?))
    }
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The file of a name, which comes from the API and must not lead elsewhere.
fn file(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
        let text = format!("{name:?} cannot be the name of a file");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(directory.join(format!("{name}.json")))
}

fn read_all(directory: &Path) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let read = std::fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?));
        match read {
            Ok(record) => records.push(record),
            Err(error) => tracing::error!(
                path = %path.display(), %error,
                "cannot read the record of a sandbox; what it stands for may have to be removed by hand"
            ),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn record(uid: &str) -> Record {
        Record {
            identity: PodIdentity { namespace: "n".into(), name: "p".into(), uid: uid.into() },
            sandbox: format!("s{uid}"),
            netns: None,
            stage: Stage::Making,
            addresses: vec!["192.0.2.1".parse().unwrap()],
            restarts: 3,
            process: Some(Process { pid: 1, born: 2, started: Timestamp::UNIX_EPOCH }),
            last_exit: None,
        }
    }

    #[test]
    fn records_survive_and_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open(dir.path()).unwrap();
        records.write(&record("a")).unwrap();
        records.write(&Record { restarts: 4, ..record("a") }).unwrap();
        records.write(&record("b")).unwrap();
        std::fs::write(dir.path().join("sandboxes/c.json"), "{").unwrap();
        let again = Records::open(dir.path()).unwrap();
        let mut all = again.sandboxes().unwrap();
        all.sort_by(|one, other| one.identity.uid.cmp(&other.identity.uid));
        assert_eq!(all, [Record { restarts: 4, ..record("a") }, record("b")]);
        let mode = std::fs::metadata(dir.path().join("sandboxes/a.json")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        again.hand_over(&record("a")).unwrap();
        again.forget(&record("b")).unwrap();
        again.forget(&record("b")).unwrap();
        assert_eq!(again.sandboxes().unwrap(), []);
        assert_eq!(again.releases().unwrap().len(), 1);
        again.released(&record("a")).unwrap();
        assert_eq!(again.releases().unwrap(), []);
    }

    #[test]
    fn names_lead_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open(dir.path()).unwrap();
        for uid in ["", "..", "a/b", "../x", "a.b"] {
            assert!(records.write(&record(uid)).is_err(), "{uid}");
        }
    }

    #[test]
    fn new_names_are_new_and_of_the_usual_form() {
        let (one, other) = (Names::random().unwrap(), Names::random().unwrap());
        assert_ne!(one.sandbox, other.sandbox);
        assert_eq!(one.sandbox.len(), 64);
        assert_eq!(one.netns.len(), "cni-".len() + 36);
        assert_ne!(one.netns, other.netns);
    }
}
