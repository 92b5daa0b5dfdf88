//! A command in the namespaces of a pod.
//!
//! Images are not run, so programs are the node's; what they see of the network and of the host's name
//! is the pod's.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::query::Query;
use super::socket::{Incoming, Outgoing};
use super::terminal::{Size, Terminal};
use crate::pods::View;
use crate::pods::cloud;
use crate::pods::etc;
use crate::pods::process::{self, Hostname};

/// Channels of the protocol.
pub const STDIN: u8 = 0;
pub const STDOUT: u8 = 1;
pub const STDERR: u8 = 2;
pub const ERROR: u8 = 3;
pub const RESIZE: u8 = 4;
pub const CLOSE: u8 = 255;

/// Where programs are, when nobody has said.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What a command wrote is waited for this long after its end; a process it left behind may keep
/// its output open for ever.
const DRAIN: Duration = Duration::from_secs(5);
/// Read at once.
const PIECE: usize = 32 << 10;
/// Pieces of input that wait for a command.
const WAITING: usize = 16;

/// What is to be run and how it is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub command: Vec<String>,
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub tty: bool,
}

impl Request {
    /// Reads it from the parameters of a request.
    pub fn of(query: &Query) -> Result<Self, String> {
        let flag = |one, other| query.flag(one) || query.flag(other);
        let tty = query.flag("tty");
        let request = Self {
            command: query.all("command").map(str::to_owned).collect(),
            stdin: flag("stdin", "input"),
            stdout: flag("stdout", "output"),
            stderr: flag("stderr", "error") && !tty,
            tty,
        };
        if request.command.is_empty() {
            return Err("you must specify at least 1 command".to_owned());
        }
        if !(request.stdin || request.stdout || request.stderr) {
            return Err("you must specify at least 1 of stdin, stdout, stderr".to_owned());
        }
        Ok(request)
    }
}

/// Runs a command for a client, to its end or the client's.
pub async fn serve(
    view: View,
    container: String,
    request: Request,
    terminal: Arc<Vec<OsString>>,
    mut incoming: Incoming,
    outgoing: Outgoing,
) {
    // Clients take the first message as the sign that the connection stands.
    let first = if request.stdout { STDOUT } else { ERROR };
    if outgoing.send(first, &[]).await.is_err() {
        return;
    }
    let started = start(view, &container, &request, &terminal).await;
    let status = match started {
        Ok(mut session) => {
            match session.run(&mut incoming, &outgoing).await {
                // Nobody is left who could see or end it.
                None => return session.kill(),
                Some(Ok(status)) => exit_status(status),
                Some(Err(error)) => failure(&format!("cannot wait for the command: {error}")),
            }
        }
        Err(error) => {
            let program = request.command.first().map_or("", String::as_str);
            failure(&format!("cannot run {program:?} in the pod's namespaces: {error}"))
        }
    };
    let _ = outgoing.send(ERROR, status.to_string().as_bytes()).await;
    incoming.end().await;
}

/// A command that runs.
struct Session {
    child: Child,
    group: Option<Pid>,
    terminal: Option<Arc<Terminal>>,
    request: Request,
}

async fn start(
    view: View,
    container: &str,
    request: &Request,
    prefix: &[OsString],
) -> io::Result<Session> {
    let (terminal, other) = if request.tty {
        let (own, other) = Terminal::open()?;
        (Some(Arc::new(own)), Some(other))
    } else {
        (None, None)
    };
    // With a terminal, a program of ours takes it and then becomes the command.
    let prefix = if request.tty { prefix } else { &[] };
    let mut words = prefix.iter().cloned().chain(request.command.iter().map(OsString::from));
    let program = words.next().ok_or_else(|| io::Error::other("no command"))?;
    let mut command = Command::new(program);
    let mut variables = environment(&view, container);
    variables.extend(cloud::client(&variables, view.cloud.as_deref(), &view.files)?);
    command.args(words).env_clear().envs(variables).current_dir("/");
    // Programs are this machine's, wherever who started the lab has them.
    let path = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
    command.env("PATH", path).kill_on_drop(true);
    if let Some(other) = other {
        command.env("TERM", "xterm");
        command.stdin(other.try_clone()?).stdout(other.try_clone()?).stderr(other);
    } else {
        let pipe = |wanted: bool| if wanted { Stdio::piped() } else { Stdio::null() };
        command.process_group(0);
        command.stdin(pipe(request.stdin));
        command.stdout(pipe(request.stdout)).stderr(pipe(request.stderr));
    }
    let hostname = match (&view.network, view.pid) {
        (Some(_), Some(pid)) => Hostname::Of(pid),
        _ => Hostname::Node,
    };
    let runtime = tokio::runtime::Handle::current();
    let spawn = move || {
        let covers = etc::covers(&view.files.etc(), view.network.is_none());
        process::inside(view.network.as_deref(), &hostname, &covers, || {
            let _inside = runtime.enter();
            command.spawn()
        })
    };
    let child = tokio::task::spawn_blocking(spawn).await.map_err(io::Error::other)??;
    // Leader of its group either way: told to be, or as the leader of a session.
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    Ok(Session { child, group, terminal, request: request.clone() })
}

/// The variables the container sets with a plain value, and the pod's name.
fn environment(view: &View, container: &str) -> Vec<(String, String)> {
    let containers = view.pod.spec.iter().flat_map(|spec| &spec.containers);
    let own = containers.into_iter().filter(|known| known.name == container);
    let set = own.flat_map(|container| container.env.iter().flatten());
    let name = view.pod.metadata.name.clone().unwrap_or_default();
    [("HOSTNAME".to_owned(), name), ("HOME".to_owned(), "/root".to_owned())]
        .into_iter()
        .chain(set.filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?))))
        .filter(|(key, value)| {
            !key.is_empty() && !key.contains(['=', '\0']) && !value.contains('\0')
        })
        .collect()
}

impl Session {
    /// Connects command and client until one of them ends. Nothing when it was the client.
    async fn run(
        &mut self,
        incoming: &mut Incoming,
        outgoing: &Outgoing,
    ) -> Option<io::Result<ExitStatus>> {
        let mut outputs = self.outputs(outgoing);
        let input = self.input();
        let terminal = self.terminal.clone();
        let listen = async {
            let mut input = input;
            while let Some((channel, data)) = incoming.next().await {
                match channel {
                    STDIN => {
                        if let Some(sender) = &input
                            && sender.send(data).await.is_err()
                        {
                            input = None;
                        }
                    }
                    RESIZE => {
                        if let (Some(terminal), Ok(size)) =
                            (&terminal, serde_json::from_slice::<Size>(&data))
                        {
                            let _ = terminal.resize(size);
                        }
                    }
                    CLOSE if data.first() == Some(&STDIN) => input = None,
                    _ => {}
                }
            }
        };
        let status = tokio::select! {
            status = self.child.wait() => status,
            () = listen => return None,
        };
        for output in &mut outputs {
            if tokio::time::timeout(DRAIN, &mut *output).await.is_err() {
                output.abort();
            }
        }
        Some(status)
    }

    fn outputs(&mut self, outgoing: &Outgoing) -> Vec<JoinHandle<()>> {
        if let Some(terminal) = self.terminal.clone() {
            let outgoing = outgoing.clone();
            return vec![tokio::spawn(async move {
                let mut buffer = vec![0; PIECE];
                while let Ok(length) = terminal.read(&mut buffer).await
                    && length > 0
                    && outgoing.send(STDOUT, &buffer[..length]).await.is_ok()
                {}
            })];
        }
        let mut outputs = Vec::new();
        if let Some(stdout) = self.child.stdout.take() {
            outputs.push(tokio::spawn(pump(stdout, STDOUT, outgoing.clone())));
        }
        if let Some(stderr) = self.child.stderr.take() {
            outputs.push(tokio::spawn(pump(stderr, STDERR, outgoing.clone())));
        }
        outputs
    }

    /// Where input goes, when there is any. It ends when the sender is dropped.
    fn input(&mut self) -> Option<mpsc::Sender<Vec<u8>>> {
        if !self.request.stdin {
            return None;
        }
        let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(WAITING);
        if let Some(terminal) = self.terminal.clone() {
            tokio::spawn(async move {
                while let Some(data) = receiver.recv().await {
                    if terminal.write(&data).await.is_err() {
                        return;
                    }
                }
                // The end of the input, as a person would type it.
                let _ = terminal.write(&[4]).await;
            });
        } else {
            let mut stdin = self.child.stdin.take()?;
            tokio::spawn(async move {
                while let Some(data) = receiver.recv().await {
                    if stdin.write_all(&data).await.is_err() || stdin.flush().await.is_err() {
                        return;
                    }
                }
            });
        }
        Some(sender)
    }

    /// Ends the command and whatever it has started.
    fn kill(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

async fn pump(mut from: impl AsyncRead + Unpin, channel: u8, to: Outgoing) {
    let mut buffer = vec![0; PIECE];
    while let Ok(length) = from.read(&mut buffer).await
        && length > 0
        && to.send(channel, &buffer[..length]).await.is_ok()
    {}
}

/// The Status a client turns into its own exit code.
fn exit_status(status: ExitStatus) -> Value {
    let code = process::code(status);
    if code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}

fn failure(message: &str) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "InternalError",
        "code": 500,
    })
}
