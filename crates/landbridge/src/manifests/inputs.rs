//! Which files are meant, and their bytes.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use landbridge_manifest::{Diagnostic, Label, Limits};

use crate::codes::UNREADABLE;

/// What manifests are called. In a directory nothing else is looked at.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// Standard input.
const STDIN: &str = "-";
/// Directories below directories; a loop of links ends here at the latest.
const DEEPEST: usize = 32;

/// Named texts, and what could not be had.
#[derive(Default)]
pub struct Inputs {
    /// Name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// What could not be read.
    pub problems: Vec<Diagnostic>,
    seen: BTreeSet<PathBuf>,
    /// Files that were found, whether they could be read or not.
    found: usize,
}

impl Inputs {
    /// Reads what was named on the command line.
    pub fn gather(named: &[PathBuf]) -> Self {
        let mut inputs = Self::default();
        for path in named {
            if path.as_os_str() == STDIN {
                inputs.stdin();
                continue;
            }
            let before = inputs.found;
            inputs.path(path, true, 0);
            if inputs.found == before {
                inputs.problem(
                    &path.display().to_string(),
                    "holds no manifest",
                    "in a directory, files that end in .yaml, .yml or .json are read; other files can be named",
                );
            }
        }
        inputs
    }

    fn stdin(&mut self) {
        if !self.seen.insert(PathBuf::from(STDIN)) {
            return;
        }
        let limit = u64::try_from(Limits::default().bytes).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        match std::io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut bytes) {
            Ok(_) => self.files.push(("<stdin>".to_owned(), bytes)),
            Err(error) => self.unreadable("<stdin>", &error),
        }
    }

    fn path(&mut self, path: &Path, named: bool, depth: usize) {
        let name = path.display().to_string();
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) => return self.unreadable(&name, &error),
        };
        // A file that is given twice, or lies in a directory that is given too, counts once.
        if let Ok(real) = path.canonicalize()
            && !self.seen.insert(real)
        {
            self.found += 1;
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
            let why = format!("lies more than {DEEPEST} directories deep");
            return self.problem(&name, &why, "name the directories below it");
        }
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(&name, &error),
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
            Ok(_) => {
                self.found += 1;
                self.files.push((name.to_owned(), bytes));
            }
            Err(error) => self.unreadable(name, &error),
        }
    }

    fn unreadable(&mut self, name: &str, error: &std::io::Error) {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "is the path right, seen from the current directory?",
            std::io::ErrorKind::PermissionDenied => "may this user read it?",
            _ => "correct the path, or leave it out",
        };
        self.problem(name, &format!("cannot be read: {error}"), help);
    }

    fn problem(&mut self, name: &str, why: &str, help: &str) {
        self.found += 1;
        let problem = Diagnostic::error(UNREADABLE, format!("{name} {why}"));
        self.problems.push(problem.with_label(Label::whole(name)).with_help(help));
    }
}
