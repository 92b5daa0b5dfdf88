//! Pid 1 of the lab: makes switches and nodes, keeps one agent running on each node, answers questions.
//!
//! One task does everything, one thing after the other, so nothing here needs a lock: questions come
//! through a channel, deaths and requests to stop through signals, restarts through a timer.

mod agent;
mod command;
mod lab;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use landbridge_linux::monitor::{Event, Monitor};
use landbridge_linux::{IfName, Namespace};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

pub use self::command::Template;
use self::lab::Lab;
use crate::enter::Inside;
use crate::error::{Error, Result};
use crate::spec::{Shape, Switch};
use crate::wires::Question;

/// What the supervisor is to do.
pub struct Settings {
    /// The lab's directory, for `lab.json`, the sockets and the nodes' directories.
    pub directory: PathBuf,
    /// The agent of a Kubernetes node.
    pub kubernetes: Template,
    /// The agent of a host.
    pub host: Template,
    /// What runs beside the switches.
    pub services: Option<Box<dyn Services>>,
    /// How long agents may take to stop.
    pub grace: Duration,
}

/// Servers that the lab has on its switches: DHCP.
pub trait Services {
    /// Starts those of one switch and returns; they end with the process.
    fn start(&self, side: &SwitchSide<'_>) -> std::result::Result<(), String>;
}

/// The switch's side of a network.
#[derive(Debug)]
pub struct SwitchSide<'a> {
    pub switch: &'a Switch,
    /// Where its link is.
    pub namespace: &'a Namespace,
    /// Its link, which has the switch's addresses.
    pub link: IfName,
}

/// Runs a lab until it is told to stop.
pub fn run(inside: &Inside, shape: Shape, mut settings: Settings) -> Result<ExitCode> {
    // Agents start elsewhere, and know it by this path.
    settings.directory = std::path::absolute(&settings.directory)
        .map_err(|source| Error::io("find the lab's directory", source))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::io("start a runtime", source))?;
    let outcome = runtime.block_on(supervise(inside, shape, settings));
    // Not waited for: with this process everything ends.
    runtime.shutdown_background();
    outcome
}

struct Signals {
    child: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

async fn supervise(inside: &Inside, shape: Shape, settings: Settings) -> Result<ExitCode> {
    // Pid 1 gets only the signals it listens to, so this comes first.
    let mut signals = Signals::listen().map_err(|source| Error::io("listen to signals", source))?;
    let (questions, mut asked) = mpsc::channel(64);
    let grace = settings.grace;
    let mut lab = Lab::build(inside, shape, settings, &questions)?;
    let mut cables = Some(lab.watch_cables()?);
    loop {
        lab.start_due(Instant::now());
        lab.report();
        let next = lab.next_start();
        tokio::select! {
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.child.recv() => lab.bury(Instant::now()),
            Some(Question { asked, answer }) = asked.recv() => {
                let reply = lab.answer(asked);
                // Who hears that it is done may look at once.
                lab.start_due(Instant::now());
                lab.report();
                // Who asked may have gone.
                let _ = answer.send(reply);
            }
            Some(event) = next_event(&mut cables) => lab.cable_changed(&event),
            () = until(next) => {}
        }
    }
    lab.ask_agents_to_stop();
    let deadline = tokio::time::sleep(grace);
    tokio::pin!(deadline);
    while lab.agents_run() {
        tokio::select! {
            _ = signals.child.recv() => lab.bury(Instant::now()),
            () = &mut deadline => break,
            // Asked a second time: now.
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
        }
    }
    lab.leave();
    Ok(ExitCode::SUCCESS)
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => std::future::pending().await,
    }
}

/// The next change among the switches; nothing where nobody listens any more.
async fn next_event(monitor: &mut Option<Monitor>) -> Option<Event> {
    match monitor.as_mut()?.next().await {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::error!("VLANs no longer follow their NICs, and empty segments stay: {error}");
            *monitor = None;
            None
        }
    }
}
