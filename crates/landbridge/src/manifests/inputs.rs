//! Which files are meant, and their bytes.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use landbridge_manifest::{Diagnostic, Label, Limits};

/// What manifests are called. In a directory nothing else is looked at.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// Standard input.
const STDIN: &str = "-";
/// Directories below directories; a loop of links ends here at the latest.
const DEEPEST: usize = 32;

/// An input that could not be had.
pub const UNREADABLE: &str = "LB800";

/// Named texts, and what could not be had.
#[derive(Default)]
pub struct Inputs {
    /// Name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// What could not be read.
    pub problems: Vec<Diagnostic>,
    seen: BTreeSet<PathBuf>,
}

impl Inputs {
    /// Reads what was named on the command line.
    pub fn gather(named: &[PathBuf]) -> Self {
        let mut inputs = Self::default();
        for path in named {
            if path.as_os_str() == STDIN {
                inputs.stdin();
            } else {
                inputs.path(path, true, 0);
            }
        }
        if inputs.files.is_empty() && inputs.problems.is_empty() {
            let names: Vec<_> = named.iter().map(|path| path.display().to_string()).collect();
            inputs.problem(&names.join(", "), "there is no manifest here: no .yaml, .yml or .json");
        }
        inputs
    }

    fn stdin(&mut self) {
        let limit = u64::try_from(Limits::default().bytes).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        match std::io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut bytes) {
            Ok(_) => self.files.push(("<stdin>".to_owned(), bytes)),
            Err(error) => self.problem("<stdin>", &format!("cannot be read: {error}")),
        }
    }

    fn path(&mut self, path: &Path, named: bool, depth: usize) {
        let name = path.display().to_string();
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) => return self.problem(&name, &format!("cannot be read: {error}")),
        };
        // A file that is given twice, or lies in a directory that is given too, counts once.
        if let Ok(real) = path.canonicalize()
            && !self.seen.insert(real)
        {
            return;
        }
        if meta.is_dir() {
            self.directory(path, depth);
        } else if meta.is_file() {
            self.file(path, &name);
        } else if named {
            // A pipe, as the shell makes for `<(…)`.
            self.file(path, &name);
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) {
        let name = path.display().to_string();
        if depth >= DEEPEST {
            return self.problem(&name, &format!("lies more than {DEEPEST} directories deep"));
        }
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.problem(&name, &format!("cannot be listed: {error}")),
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if !hidden && (path.is_dir() || ENDINGS.contains(&ending)) {
                self.path(&path, false, depth + 1);
            }
        }
    }

    fn file(&mut self, path: &Path, name: &str) {
        // One byte more than is allowed is enough to see that it is too much.
        let limit = u64::try_from(Limits::default().bytes).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path)
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes));
        match read {
            Ok(_) => self.files.push((name.to_owned(), bytes)),
            Err(error) => self.problem(name, &format!("cannot be read: {error}")),
        }
    }

    fn problem(&mut self, name: &str, why: &str) {
        let problem = Diagnostic::error(UNREADABLE, format!("{name} {why}"));
        self.problems.push(problem.with_label(Label::whole(name)));
    }
}
