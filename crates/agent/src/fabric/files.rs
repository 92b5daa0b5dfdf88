//! The plan as it is read, and the status as it is written.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landbridge_fabric::{NodePlan, NodeStatus, plan, status};

/// What tells one writing of a file from another: it is replaced, never changed.
type Stamp = (u64, i64, i64, u64);

/// The file of the plan.
pub struct PlanFile {
    path: PathBuf,
    seen: Option<Stamp>,
}

impl PlanFile {
    /// In a node's directory; nothing is read yet.
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join(plan::FILE), seen: None }
    }

    /// The plan, if it is another than last time. What cannot be read is an error each time, and the plan
    /// before stays in force.
    pub fn changed(&mut self) -> Result<Option<NodePlan>, String> {
        let failed = |error: &dyn std::fmt::Display| {
            format!("{} cannot be read: {error}", self.path.display())
        };
        let file = match File::open(&self.path) {
            // The cloud is not there yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| failed(&error))?,
        };
        let meta = file.metadata().map_err(|error| failed(&error))?;
        let stamp = (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len());
        if self.seen == Some(stamp) {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.take(plan::MAX_BYTES).read_to_end(&mut text).map_err(|error| failed(&error))?;
        let plan = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
        self.seen = Some(stamp);
        Ok(Some(plan))
    }
}

/// Writes the status so that readers see the old or the new one, never half of it.
pub fn write_status(directory: &Path, status: &NodeStatus) -> io::Result<()> {
    let next = directory.join(format!("{}.new", status::FILE));
    std::fs::write(&next, serde_json::to_vec_pretty(status)?)?;
    std::fs::rename(next, directory.join(status::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_once_and_a_wrong_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = PlanFile::new(dir.path());
        assert_eq!(file.changed(), Ok(None), "no file is no plan");
        let put = |text: &str| {
            let next = dir.path().join("next");
            std::fs::write(&next, text).unwrap();
            std::fs::rename(next, dir.path().join(plan::FILE)).unwrap();
        };
        put(r#"{"generation": 3}"#);
        assert_eq!(file.changed().unwrap().unwrap().generation, 3);
        assert_eq!(file.changed(), Ok(None));
        put("{");
        assert!(file.changed().unwrap_err().contains("cloud.json cannot be read"));
        assert!(file.changed().is_err(), "and stays one");
        put(r#"{"generation": 4}"#);
        assert_eq!(file.changed().unwrap().unwrap().generation, 4);
    }
}
