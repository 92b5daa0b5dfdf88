//! Which files of a directory count.

use std::fs;
use std::path::{Path, PathBuf};

/// Whether a name is nobody's backup: dnsmasq passes over these, and over names that begin with a dot,
/// among them what Kubernetes keeps beside the files it mounts.
fn counts(name: &str) -> bool {
    let hash = name.starts_with('#') && name.ends_with('#');
    !name.is_empty() && !name.starts_with('.') && !name.ends_with('~') && !hash
}

/// The files of a directory in the order of their names; none when it is not there.
pub fn files_of(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| counts(name) && wanted(name)))
        .map(|entry| entry.path())
        // Through symbolic links: Kubernetes mounts nothing else.
        .filter(|path| path.metadata().is_ok_and(|metadata| metadata.is_file()))
        .collect();
    files.sort();
    files
}

/// `conf-dir`: a directory, and after commas what names must end in (`*.conf`) or must not (`.bak`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfDir {
    pub directory: PathBuf,
    only: Vec<String>,
    never: Vec<String>,
}

impl ConfDir {
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split(',').map(str::trim);
        let directory = PathBuf::from(parts.next().unwrap_or_default());
        let (only, never): (Vec<&str>, Vec<&str>) =
            parts.filter(|part| !part.is_empty()).partition(|part| part.starts_with('*'));
        let only = only.into_iter().map(|part| part[1..].to_owned()).collect();
        let never = never.into_iter().map(str::to_owned).collect();
        Self { directory, only, never }
    }

    pub fn files(&self) -> Vec<PathBuf> {
        files_of(&self.directory, |name| self.wants(name))
    }

    fn wants(&self, name: &str) -> bool {
        let ends = |list: &[String]| list.iter().any(|end| name.ends_with(end.as_str()));
        (self.only.is_empty() || ends(&self.only)) && !ends(&self.never)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_and_hidden_files_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b.conf", "a.conf", "a.conf~", "#a.conf#", ".hidden", "x.bak", "..data"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        fs::create_dir(directory.path().join("hosts")).unwrap();
        let path = directory.path().to_str().unwrap();
        let names = |text: &str| -> Vec<String> {
            let files = ConfDir::parse(&text.replace("DIR", path)).files();
            files
                .iter()
                .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names("DIR"), ["a.conf", "b.conf", "x.bak"]);
        assert_eq!(names("DIR,.bak"), ["a.conf", "b.conf"]);
        assert_eq!(names("DIR,*.bak"), ["x.bak"]);
        assert_eq!(names("DIR/none"), Vec::<String>::new());
    }
}
