//! The logs of a container: chosen lines, and those that are still to come.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;

use super::query::Query;
use crate::responder::moved_log;

/// How often a log is looked at for new lines.
const LOOK: Duration = Duration::from_millis(200);

/// Which lines are wanted, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub follow: bool,
    pub previous: bool,
    pub tail: Option<usize>,
    pub since: Option<Timestamp>,
    pub timestamps: bool,
    pub limit: Option<usize>,
}

impl Wanted {
    /// Reads it from the parameters of a request.
    pub fn of(query: &Query, now: Timestamp) -> Result<Self, String> {
        let seconds: Option<i64> = query.number("sinceSeconds")?;
        let since = match (seconds, query.first("sinceTime")) {
            (Some(_), Some(_)) => {
                return Err("at most one of sinceTime or sinceSeconds may be specified".to_owned());
            }
            (Some(seconds), None) => now.checked_sub(SignedDuration::from_secs(seconds)).ok(),
            (None, Some(time)) => {
                Some(time.parse().map_err(|_| format!("sinceTime={time} is no time"))?)
            }
            (None, None) => None,
        };
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            // A negative number means all lines.
            tail: query.number::<i64>("tailLines")?.and_then(|lines| usize::try_from(lines).ok()),
            since,
            timestamps: query.flag("timestamps"),
            limit: query.number("limitBytes")?,
        })
    }
}

/// Chooses from the lines of a log. Some may be left out at its beginning, never in between.
pub fn select<'a>(lines: impl DoubleEndedIterator<Item = &'a str>, wanted: &Wanted) -> Vec<u8> {
    let tail = wanted.tail.unwrap_or(usize::MAX);
    let mut chosen: Vec<&str> =
        lines.rev().take(tail).take_while(|line| new(line, wanted)).collect();
    chosen.reverse();
    let mut text = Vec::new();
    for line in chosen {
        text.extend(print(line, wanted).into_bytes());
    }
    text
}

/// Whether a line is not older than wanted.
fn new(line: &str, wanted: &Wanted) -> bool {
    wanted.since.is_none_or(|since| Line::parse(line).is_none_or(|line| line.time >= since))
}

fn print(line: &str, wanted: &Wanted) -> String {
    match Line::parse(line) {
        Some(Line { stamp, text, .. }) if wanted.timestamps => format!("{stamp} {text}\n"),
        Some(Line { text, .. }) => format!("{text}\n"),
        // Nothing that stands in a log is kept from who reads it.
        None => format!("{line}\n"),
    }
}

/// A line as container runtimes write it: time, stream, whether it is whole, text.
struct Line<'a> {
    stamp: &'a str,
    time: Timestamp,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let (stamp, stream, tag) = (parts.next()?, parts.next()?, parts.next()?);
        if !matches!(stream, "stdout" | "stderr") || !matches!(tag, "F" | "P") {
            return None;
        }
        Some(Self { stamp, time: stamp.parse().ok()?, text: parts.next().unwrap_or_default() })
    }
}

/// A log file that is read on from where the last reading ended.
pub struct Follower {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Follower {
    /// Opens a log and reads what is in it and in the file that was moved away before it.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<String>)> {
        let mut lines = Vec::new();
        if let Ok(mut file) = File::open(moved_log(path)) {
            read_lines(&mut file, &mut Vec::new(), &mut lines)?;
        }
        let mut own = Self { path: path.to_owned(), file: File::open(path)?, rest: Vec::new() };
        read_lines(&mut own.file, &mut own.rest, &mut lines)?;
        Ok((own, lines))
    }

    /// Lines that have been written since.
    pub fn more(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        read_lines(&mut self.file, &mut self.rest, &mut lines)?;
        let now = std::fs::metadata(&self.path).map(|meta| meta.ino()).ok();
        if now.is_some_and(|now| self.file.metadata().is_ok_and(|own| own.ino() != now)) {
            // Moved away: its last lines may have come after the reading above.
            read_lines(&mut self.file, &mut self.rest, &mut lines)?;
            self.file = File::open(&self.path)?;
            self.rest.clear();
            read_lines(&mut self.file, &mut self.rest, &mut lines)?;
        }
        Ok(lines)
    }
}

fn read_lines(file: &mut File, rest: &mut Vec<u8>, lines: &mut Vec<String>) -> io::Result<()> {
    file.read_to_end(rest)?;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = rest.drain(..=end).collect();
        lines.push(String::from_utf8_lossy(&line[..end]).into_owned());
    }
    Ok(())
}

/// Sends chosen lines, then new ones as long as `goes_on` says. Ends when nobody listens.
pub async fn send(
    mut follower: Follower,
    lines: Vec<String>,
    wanted: Wanted,
    goes_on: impl Fn() -> bool,
    to: mpsc::Sender<Bytes>,
) {
    let mut left = wanted.limit.unwrap_or(usize::MAX);
    let mut text = select(lines.iter().map(String::as_str), &wanted);
    loop {
        text.truncate(left);
        left -= text.len();
        if !text.is_empty() && to.send(text.into()).await.is_err() || left == 0 || !wanted.follow {
            return;
        }
        // Asked before the last look, so that the last lines of a process are not missed.
        let more = goes_on();
        match follower.more() {
            Ok(lines) => {
                text = lines.iter().flat_map(|line| print(line, &wanted).into_bytes()).collect();
            }
            Err(_) => return,
        }
        if !more && text.is_empty() {
            return;
        }
        if text.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = to.closed() => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: [&str; 4] = [
        "2026-01-01T00:00:01.000000000Z stdout F one",
        "2026-01-01T00:00:02.000000000Z stdout F two words",
        "not of the usual form",
        "2026-01-01T00:00:03.000000000Z stderr F ",
    ];

    fn chosen(query: &str) -> String {
        let now = "2026-01-01T00:00:04Z".parse().unwrap();
        let wanted = Wanted::of(&Query::parse(query), now).unwrap();
        String::from_utf8(select(LOG.into_iter(), &wanted)).unwrap()
    }

    #[test]
    fn lines_are_chosen() {
        assert_eq!(chosen(""), "one\ntwo words\nnot of the usual form\n\n");
        assert_eq!(chosen("tailLines=2"), "not of the usual form\n\n");
        assert_eq!(chosen("tailLines=0"), "");
        assert_eq!(chosen("tailLines=-1"), chosen(""));
        assert_eq!(chosen("sinceSeconds=2"), "two words\nnot of the usual form\n\n");
        assert_eq!(chosen("sinceTime=2026-01-01T00:00:03Z"), "not of the usual form\n\n");
        assert_eq!(chosen("tailLines=1&timestamps=true"), "2026-01-01T00:00:03.000000000Z \n");
        assert_eq!(chosen("sinceSeconds=1000000"), chosen(""));
    }

    #[test]
    fn wrong_parameters_are_named() {
        let wrong =
            |query: &str| Wanted::of(&Query::parse(query), Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(wrong("tailLines=x").contains("tailLines"));
        assert!(wrong("sinceTime=x").contains("sinceTime"));
        assert!(wrong("sinceTime=2026-01-01T00:00:03Z&sinceSeconds=1").contains("at most one"));
    }

    #[test]
    fn a_log_is_followed_across_being_moved_away() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        std::fs::write(moved_log(&path), "a\n").unwrap();
        let mut file = File::create(&path).unwrap();
        write!(file, "b\nc").unwrap();
        let (mut follower, lines) = Follower::open(&path).unwrap();
        assert_eq!(lines, ["a", "b"]);
        write!(file, "c\nd\n").unwrap();
        std::fs::rename(&path, moved_log(&path)).unwrap();
        std::fs::write(&path, "e\n").unwrap();
        assert_eq!(follower.more().unwrap(), ["cc", "d", "e"]);
        assert_eq!(follower.more().unwrap(), Vec::<String>::new());
    }
}
