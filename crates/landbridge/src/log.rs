//! Logging to stderr. In the background stderr is `landbridge.log`.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// `--log-level`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What failed
    Error,
    /// And what looks wrong
    Warn,
    /// And what happens
    Info,
    /// And why
    Debug,
    /// And everything else
    Trace,
}

impl LogLevel {
    /// As typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Starts logging: what was typed, else `RUST_LOG`, else `usual`.
pub fn init(typed: Option<LogLevel>, usual: LogLevel) {
    let filter = match typed {
        Some(level) => EnvFilter::new(level.name()),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual.name())),
    };
    let colour = crate::progress::is_colourful(&std::io::stderr());
    // A second subscriber is refused; there is only this one.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .try_init();
}
