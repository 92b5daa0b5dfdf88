//! `landbridge up --detach`: the same program again, in the background.
//!
//! The child tells its progress on stdout, one JSON message per line, until it is ready; its stderr
//! is the log. The end of stdout without `ready` means that it did not come up.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};

use crate::args::UpArgs;
use crate::log::LogLevel;
use crate::progress::{Message, Progress};
use crate::state::{Server, StateDir};
use crate::up;

/// A step that takes longer has gone wrong.
const PATIENCE: Duration = Duration::from_mins(1);
const LOG_LINES: usize = 15;

/// Starts a server in the background, shows its progress, and returns when it is ready.
pub fn run(args: &UpArgs, log_level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    let state = StateDir::new(&args.dir.dir);
    state.prepare()?;
    if let Server::Running(_) = state.server()? {
        return Err(up::already_up(&state));
    }
    let mut child = spawn(args, log_level, &state)?;
    let stdout = child.stdout.take().context("the background process has no output")?;
    match follow(stdout) {
        Outcome::Ready => {
            up::usage(state.path(), true);
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed(why) => {
            let _ = child.wait();
            Err(anyhow!(why))
        }
        Outcome::Ended => {
            let status = child.wait().context("cannot wait for the background process")?;
            show_log(&state);
            bail!("the server ended before it was ready ({status})");
        }
        Outcome::Stuck => {
            child.kill().context("cannot stop the background process")?;
            let _ = child.wait();
            show_log(&state);
            bail!("the server was not ready in time and has been stopped");
        }
    }
}

/// In the child: a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it.
pub fn leave_terminal() {
    // Refused only when it has one already.
    let _ = rustix::process::setsid();
}

enum Outcome {
    Ready,
    /// It said why.
    Failed(String),
    /// It did not.
    Ended,
    Stuck,
}

fn spawn(args: &UpArgs, log_level: Option<LogLevel>, state: &StateDir) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find out where this program is")?;
    let mut command = Command::new(&program);
    command
        .args(["up", "--detached-child", "--dir"])
        .arg(state.path())
        .args(["--bind", &args.bind.to_string(), "--lab", &args.lab])
        .args(["--ingress-domain", &args.ingress_domain, "--services", args.services.word()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(state.open_log()?);
    if let Some(port) = args.port {
        command.args(["--port", &port.to_string()]);
    }
    if let Some(class) = &args.lb_class {
        command.args(["--lb-class", class]);
    }
    if let Some(port) = args.ingress_port {
        command.args(["--ingress-port", &port.to_string()]);
    }
    if let Some(cloud) = &args.cloud {
        command.args(["--cloud", cloud]);
    }
    if let Some((namespace, name)) = &args.cloud_secret {
        command.args(["--cloud-secret", &format!("{namespace}/{name}")]);
    }
    if args.no_controllers {
        command.arg("--no-controllers");
    }
    if let Some(level) = log_level {
        command.args(["--log-level", level.name()]);
    }
    command.spawn().with_context(|| format!("cannot start {}", program.display()))
}

/// Shows what the child says until it has said all.
fn follow(stdout: ChildStdout) -> Outcome {
    let (sender, messages) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for message in lines.filter_map(|line| serde_json::from_str::<Message>(&line).ok()) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let progress = Progress::stdout();
    loop {
        match messages.recv_timeout(PATIENCE) {
            Ok(Message::Ready) => return Outcome::Ready,
            Ok(Message::Failed(why)) => return Outcome::Failed(why),
            Ok(message) => progress.show(&message),
            Err(RecvTimeoutError::Disconnected) => return Outcome::Ended,
            Err(RecvTimeoutError::Timeout) => return Outcome::Stuck,
        }
    }
}

fn show_log(state: &StateDir) {
    let path: &Path = &state.log();
    let mut err = std::io::stderr().lock();
    // Nothing to be done when even stderr is gone.
    let _ = writeln!(err, "last lines of {}:", path.display());
    for line in state.log_tail(LOG_LINES) {
        let _ = writeln!(err, "  {line}");
    }
}
