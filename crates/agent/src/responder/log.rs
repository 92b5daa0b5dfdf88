//! Log files in the form container runtimes write, so that whatever reads those reads these.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A file that has grown to this is moved away, and the one moved before it is dropped.
const MOST: u64 = 1 << 20;

/// Where lines go.
#[derive(Debug)]
pub struct Log {
    to: Option<(PathBuf, File, u64)>,
}

impl Log {
    /// Appends to a file, or writes plain lines to standard output.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self { to: None }) };
        let (file, length) = append(path)?;
        Ok(Self { to: Some((path.to_owned(), file, length)) })
    }

    /// Writes one line. A log that cannot be written is no reason to stop answering.
    pub fn line(&mut self, now: Timestamp, text: &str) {
        let Some((path, file, length)) = &mut self.to else {
            let _ = writeln!(io::stdout(), "{text}");
            return;
        };
        if *length >= MOST
            && std::fs::rename(&*path, moved(path)).is_ok()
            && let Ok((fresh, _)) = append(path)
        {
            (*file, *length) = (fresh, 0);
        }
        let line = format_line(now, text);
        // One write per line: a reader never sees half of one.
        if file.write_all(line.as_bytes()).is_ok() {
            *length += line.len() as u64;
        }
    }
}

/// The file that holds what came before.
pub fn moved(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}

/// A line of a container on standard output, whole.
pub fn format_line(now: Timestamp, text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    format!("{now:.9} stdout F {text}\n")
}

fn append(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_container_runtimes_write_them() {
        let now = "2026-01-02T03:04:05.6Z".parse().unwrap();
        assert_eq!(
            format_line(now, "GET /\r\nx"),
            "2026-01-02T03:04:05.600000000Z stdout F GET /  x\n"
        );
    }

    #[test]
    fn a_log_is_bounded_and_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        let text = "x".repeat(1000);
        for _ in 0..3000 {
            // Opened again each time, as after a restart.
            Log::open(Some(&path)).unwrap().line(Timestamp::UNIX_EPOCH, &text);
        }
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) + size(&moved(&path)) <= 2 * MOST + 2000);
        assert!(size(&moved(&path)) >= MOST);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
