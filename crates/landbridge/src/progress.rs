//! One line per step, with the time it took.
//!
//! In the foreground the lines go to stdout; in the background they go to the parent as JSON, one
//! [`Message`] per line, and the parent prints them. Marks and colours only for a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What a server in the background tells the process that started it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Message {
    /// One step is done.
    Step {
        /// What.
        name: String,
        /// With which result.
        detail: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// Something the user should know.
    Note(String),
    /// It is up; nothing follows.
    Ready,
    /// It is not coming up; nothing follows.
    Failed(String),
}

/// Where the lines go.
#[derive(Clone, Copy)]
enum Style {
    /// Marks and colours.
    Terminal,
    /// Plain words.
    Plain,
    /// JSON for the parent, plain words for the log.
    Wire,
}

/// Prints steps as they are done.
pub struct Progress {
    style: Style,
    last: Instant,
}

impl Progress {
    /// For people, on stdout.
    pub fn stdout() -> Self {
        let style = if is_colourful(&std::io::stdout()) { Style::Terminal } else { Style::Plain };
        Self { style, last: Instant::now() }
    }

    /// For the parent of a process in the background.
    pub fn wire() -> Self {
        Self { style: Style::Wire, last: Instant::now() }
    }

    /// A step is done.
    pub fn step(&mut self, name: &str, detail: impl Into<String>) {
        let took = self.last.elapsed();
        self.last = Instant::now();
        self.show(&Message::Step {
            name: name.to_owned(),
            detail: detail.into(),
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Something worth knowing. The time of the next step counts from here.
    pub fn note(&mut self, text: impl Into<String>) {
        self.last = Instant::now();
        self.show(&Message::Note(text.into()));
    }

    /// Shows a message, one's own or one that came from the background.
    pub fn show(&self, message: &Message) {
        if let Some(line) = self.render(message) {
            say(&line);
        }
        if matches!(self.style, Style::Wire) {
            match message {
                Message::Step { name, detail, milliseconds } => {
                    tracing::info!(milliseconds, "{name}: {detail}");
                }
                Message::Note(text) => tracing::info!("{text}"),
                Message::Ready => tracing::info!("ready"),
                Message::Failed(why) => tracing::error!("{why}"),
            }
        }
    }

    fn render(&self, message: &Message) -> Option<String> {
        let (mark, note, dim, plain) = match self.style {
            Style::Terminal => ("\x1b[32m✓\x1b[0m", "\x1b[33m!\x1b[0m", "\x1b[2m", "\x1b[0m"),
            Style::Plain => ("ok", "note:", "", ""),
            Style::Wire => return serde_json::to_string(message).ok(),
        };
        match message {
            Message::Step { name, detail, milliseconds } => {
                Some(format!("{mark} {name:<16} {detail}  {dim}{milliseconds} ms{plain}"))
            }
            Message::Note(text) => Some(format!("{note} {text}")),
            Message::Ready | Message::Failed(_) => None,
        }
    }
}

/// Prints a line. A reader that went away is no reason to fall over.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Whether marks and colours can be shown.
pub fn is_colourful(stream: &impl IsTerminal) -> bool {
    stream.is_terminal()
        && std::env::var_os("NO_COLOR").is_none()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// `12 s`, `3 min 12 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Message {
        Message::Step { name: "store".into(), detail: "revision 7".into(), milliseconds: 12 }
    }

    #[test]
    fn plain_lines_have_no_marks_and_no_colour() {
        let progress = Progress { style: Style::Plain, last: Instant::now() };
        let line = progress.render(&step()).unwrap_or_default();
        assert_eq!(line, "ok store            revision 7  12 ms");
        assert!(line.is_ascii());
    }

    #[test]
    fn terminals_get_a_mark() {
        let progress = Progress { style: Style::Terminal, last: Instant::now() };
        assert!(progress.render(&step()).unwrap_or_default().contains('✓'));
    }

    #[test]
    fn the_parent_reads_back_what_the_child_says() {
        let progress = Progress::wire();
        for message in
            [step(), Message::Note("x\ny".into()), Message::Ready, Message::Failed("no".into())]
        {
            let line = progress.render(&message).unwrap_or_default();
            assert_eq!(line.lines().count(), 1);
            assert_eq!(serde_json::from_str::<Message>(&line).ok(), Some(message));
        }
    }

    #[test]
    fn durations_are_short() {
        for (seconds, words) in
            [(5, "5 s"), (192, "3 min 12 s"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")]
        {
            assert_eq!(duration(Duration::from_secs(seconds)), words);
        }
    }
}
