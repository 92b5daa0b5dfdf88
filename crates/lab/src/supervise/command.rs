//! The command line of an agent.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::enter::MARKER;

/// A log of this size is put aside when its agent starts again.
const MAX_LOG: u64 = 16 << 20;

/// A command line with holes: `{node}` is the node's name, `{directory}` its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Added to the environment; the values may have holes, too.
    pub environment: Vec<(String, String)>,
}

/// What fills the holes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    pub node: &'a str,
    pub directory: &'a Path,
}

impl Template {
    /// The command of one node, with its output in the node's `agent.log`.
    pub(super) fn command(&self, values: Values<'_>) -> io::Result<Command> {
        let log = values.directory.join("agent.log");
        if std::fs::metadata(&log).is_ok_and(|found| found.len() > MAX_LOG) {
            std::fs::rename(&log, values.directory.join("agent.log.old"))?;
        }
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments.iter().map(|argument| fill(argument, values)))
            .envs(self.environment.iter().map(|(name, value)| (name, fill(value, values))))
            .env_remove(MARKER)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(command)
    }
}

fn fill(text: &str, values: Values<'_>) -> String {
    let directory = values.directory.to_string_lossy();
    let mut filled = String::new();
    let mut rest = text;
    // In one pass, so that a hole in a value stays text.
    while let Some(start) = rest.find('{') {
        let (before, hole) = rest.split_at(start);
        filled.push_str(before);
        let known = [("{node}", values.node), ("{directory}", &directory)];
        if let Some((name, value)) = known.iter().find(|(name, _)| hole.starts_with(name)) {
            filled.push_str(value);
            rest = hole.strip_prefix(name).unwrap_or_default();
        } else {
            filled.push('{');
            rest = hole.strip_prefix('{').unwrap_or_default();
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_once() {
        let values = Values { node: "worker-0", directory: Path::new("/s/lab/nodes/{node}") };
        for (text, filled) in [
            ("--node={node}", "--node=worker-0"),
            ("{directory}/api.sock", "/s/lab/nodes/{node}/api.sock"),
            ("{lab}{node}{", "{lab}worker-0{"),
            ("{\"a\":{}}", "{\"a\":{}}"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(fill(text, values), filled, "{text}");
        }
    }
}
