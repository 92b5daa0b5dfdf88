//! The file format of a shape.
//!
//! Everything is a text or a number here; [`Lab::shape`] makes values of them and says by the name
//! of the field what is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{Kind, Mistake, Shape, Taint, check};

/// A file of this size holds every lab there can be.
const MAX_BYTES: u64 = 1 << 20;

/// Why a file is no shape of a lab.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {path}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} is larger than a lab can be: at most {MAX_BYTES} bytes")]
    TooLarge { path: String },
    #[error("{path} is no lab:\n{reason}")]
    Syntax { path: String, reason: String },
    #[error("{path} is no lab:\n{}", lines(.mistakes))]
    Mistakes { path: String, mistakes: Vec<Mistake> },
}

fn lines(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(|mistake| format!("  {mistake}")).collect::<Vec<_>>().join("\n")
}

/// A lab as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lab {
    #[serde(default)]
    pub switches: Vec<Switch>,
    pub nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switch {
    pub name: String,
    #[serde(default)]
    pub addresses: Vec<String>,
    pub mtu: Option<u32>,
    pub dhcp: Option<Dhcp>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Dhcp {
    /// `172.22.0.10-172.22.0.100`
    pub range: String,
    pub router: Option<String>,
    pub lease_seconds: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub name: String,
    pub kind: Kind,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub taints: Vec<Taint>,
    #[serde(default)]
    pub nics: Vec<Nic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nic {
    pub name: String,
    pub switch: String,
    pub mtu: Option<u32>,
    pub mac: Option<String>,
    #[serde(default)]
    pub addresses: Vec<String>,
    #[serde(default)]
    pub gateways: Vec<String>,
}

/// Reads a shape from a file.
pub fn read(path: &Path) -> Result<Shape, FileError> {
    let name = path.display().to_string();
    let read = |source| FileError::Read { path: name.clone(), source };
    let size = std::fs::metadata(path).map_err(read)?.len();
    if size > MAX_BYTES {
        return Err(FileError::TooLarge { path: name });
    }
    parse(&std::fs::read_to_string(path).map_err(read)?, &name)
}

/// Reads a shape from text; the name of its file is for messages.
pub fn parse(text: &str, path: &str) -> Result<Shape, FileError> {
    let path = path.to_owned();
    if text.len() as u64 > MAX_BYTES {
        return Err(FileError::TooLarge { path });
    }
    let lab: Lab = match serde_saphyr::from_str(text) {
        Ok(lab) => lab,
        Err(error) => return Err(FileError::Syntax { path, reason: error.to_string() }),
    };
    check::shape(lab).map_err(|mistakes| FileError::Mistakes { path, mistakes })
}
