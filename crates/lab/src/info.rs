//! What runs, written by the supervisor for those outside: `lab.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::Process;
use crate::spec::Kind;

/// The form of the file; another one is another program's.
pub const VERSION: u32 = 1;
/// A lab of the largest size needs a small part of it.
const MAX_BYTES: u64 = 1 << 20;

/// A running lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabInfo {
    pub version: u32,
    /// Pid 1 of the lab as those outside see it.
    pub supervisor: Process,
    /// Whether every node is there and every agent was started once.
    pub ready: bool,
    /// How VLANs are made.
    pub vlans: Vlans,
    /// The network namespace of the switches.
    pub switches: Held,
    pub nodes: Vec<NodeInfo>,
}

/// How a node gets a VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Vlans {
    /// By itself: the kernel has 8021q, and the switches pass tagged frames on.
    Kernel,
    /// From the supervisor: each VLAN of a switch is a segment of its own.
    Segments,
}

/// A namespace that the supervisor holds open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its descriptor in the supervisor.
    pub fd: i32,
    /// Its number, by which it is known to be the one that was meant.
    pub inode: u64,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    pub name: String,
    pub kind: Kind,
    pub namespaces: Namespaces,
    pub agent: AgentInfo,
    /// How often it was rebooted.
    pub boots: u64,
    /// NICs whose cable is pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}

/// The namespaces of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    pub net: Held,
    pub mnt: Held,
    pub uts: Held,
}

/// A node's agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Inside the lab; nothing while it waits to be started again.
    pub pid: Option<u32>,
    pub restarts: u64,
    /// How it ended the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<String>,
}

/// Why there is no running lab to be found.
#[derive(Debug, thiserror::Error)]
pub enum InfoError {
    #[error("no lab runs in {}: start one with landbridge up", .0.display())]
    None(PathBuf),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not of this landbridge: {reason}", path.display())]
    Foreign { path: PathBuf, reason: String },
}

impl LabInfo {
    /// The file in a lab's directory.
    pub fn path(directory: &Path) -> PathBuf {
        directory.join("lab.json")
    }

    /// The lab that runs in a directory.
    pub fn read(directory: &Path) -> Result<Self, InfoError> {
        let path = Self::path(directory);
        let none = || InfoError::None(directory.to_owned());
        let text = match read_bounded(&path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Err(none()),
            Err(source) => return Err(InfoError::Read { path, source }),
            Ok(text) => text,
        };
        let info: Self = match serde_json::from_slice(&text) {
            Ok(info) => info,
            Err(error) => return Err(InfoError::Foreign { path, reason: error.to_string() }),
        };
        if info.version != VERSION {
            let reason = format!("version {} is not {VERSION}", info.version);
            return Err(InfoError::Foreign { path, reason });
        }
        // Killed labs cannot take their file away.
        if info.supervisor.is_alive() { Ok(info) } else { Err(none()) }
    }

    /// Writes it so that readers see the old or the new one, never half of it.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let next = directory.join("lab.json.new");
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(next, Self::path(directory))
    }

    /// The names of the nodes.
    pub fn names(&self) -> Vec<&str> {
        self.nodes.iter().map(|node| node.name.as_str()).collect()
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(supervisor: Process) -> LabInfo {
        let held = Held { fd: 3, inode: 4 };
        LabInfo {
            version: VERSION,
            supervisor,
            ready: true,
            vlans: Vlans::Segments,
            switches: held,
            nodes: vec![NodeInfo {
                name: "worker-0".into(),
                kind: Kind::Kubernetes,
                namespaces: Namespaces { net: held, mnt: held, uts: held },
                agent: AgentInfo { pid: Some(5), ..AgentInfo::default() },
                boots: 1,
                cut: vec![],
            }],
        }
    }

    #[test]
    fn only_a_living_lab_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let none = |text: &str| {
            let told = LabInfo::read(directory.path()).unwrap_err().to_string();
            assert!(told.contains(text), "{told}");
        };
        none("no lab runs in");
        let me = Process::myself().unwrap();
        let alive = info(me);
        alive.write(directory.path()).unwrap();
        assert_eq!(LabInfo::read(directory.path()).unwrap(), alive);
        info(Process { started: me.started + 1, ..me }).write(directory.path()).unwrap();
        none("no lab runs in");
        std::fs::write(LabInfo::path(directory.path()), "{").unwrap();
        none("is not of this landbridge");
        LabInfo { version: 2, ..alive }.write(directory.path()).unwrap();
        none("version 2 is not 1");
    }
}
