//! Files of pods whose agent was killed after their sandbox was gone and before their files were.

use std::io;
use std::path::{Path, PathBuf};

/// The directories of pods that nobody knows.
pub fn leftovers(directory: &Path, known: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(&known) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_knows() {
        let dir = tempfile::tempdir().unwrap();
        assert!(leftovers(&dir.path().join("none"), |_| true).unwrap().is_empty());
        for uid in ["a", "b", "c"] {
            std::fs::create_dir(dir.path().join(uid)).unwrap();
        }
        let found = leftovers(dir.path(), |uid| uid != "b").unwrap();
        assert_eq!(found, [dir.path().join("b")]);
    }
}
