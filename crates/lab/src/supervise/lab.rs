//! The lab while it runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use landbridge_linux::link::VlanProtocol;
use landbridge_linux::monitor::{Event, Monitor};
use landbridge_nodestate::wires::{Wire, alias};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use tokio::sync::mpsc;

use super::agent::Agent;
use super::command::Values;
use super::{Settings, SwitchSide};
use crate::enter::Inside;
use crate::error::{Error, Result};
use crate::info::{LabInfo, NodeInfo, VERSION, Vlans};
use crate::node::{self, Spaces};
use crate::process::Process;
use crate::spec::{Kind, Node, Shape};
use crate::switches::{Port, Switches, is_about_a_nic, segments};
use crate::wires::{
    self, Answer, Asked, From, NODE_SOCKET, NodeRequest, OperatorRequest, Question,
    SUPERVISOR_SOCKET, SegmentRequest, VlanRequest,
};

/// The processes of a node that is switched off must be gone by then.
const OFF: Duration = Duration::from_secs(5);

/// Everything there is.
pub(super) struct Lab {
    supervisor: Process,
    keep: Vec<PathBuf>,
    shape: Shape,
    settings: Settings,
    switches: Switches,
    /// In the order of the shape.
    nodes: Vec<Running>,
    ready: bool,
    reported: Option<LabInfo>,
    /// Held for as long as the lab runs in its directory.
    _lock: File,
}

struct Running {
    spaces: Spaces,
    directory: PathBuf,
    agent: Agent,
    boots: u64,
}

impl Lab {
    /// Makes switches, nodes and sockets. Agents are started by [`start_due`](Self::start_due).
    pub fn build(
        inside: &Inside,
        shape: Shape,
        settings: Settings,
        questions: &mpsc::Sender<Question>,
    ) -> Result<Self> {
        let lock = lock(&settings.directory)?;
        let switches = Switches::build(&shape)?;
        let mut lab = Self {
            supervisor: inside.seen_from_outside,
            keep: inside.keep.clone(),
            shape,
            settings,
            switches,
            nodes: Vec::new(),
            ready: false,
            reported: None,
            _lock: lock,
        };
        let listen = |path: &Path, from| {
            wires::serve(path, from, questions.clone()).map_err(|source| {
                let long = path.as_os_str().len() > 107;
                let hint = if long {
                    " (107 bytes at most: choose a shorter state directory)"
                } else {
                    ""
                };
                Error::io(format!("listen on {}{hint}", path.display()), source)
            })
        };
        let now = Instant::now();
        for number in 0..lab.shape.nodes.len() {
            let directory = lab.node_directory(number)?;
            let spaces = lab.boot(number, &directory)?;
            listen(&directory.join(NODE_SOCKET), From::Node(number))?;
            lab.nodes.push(Running { spaces, directory, agent: Agent::new(now), boots: 1 });
        }
        lab.start_services()?;
        listen(&lab.settings.directory.join(SUPERVISOR_SOCKET), From::Operator)?;
        Ok(lab)
    }

    fn node_directory(&self, number: usize) -> Result<PathBuf> {
        let directory = self.settings.directory.join("nodes").join(&self.node(number)?.name);
        private_directory(&directory)?;
        Ok(directory)
    }

    /// Makes a node as it is after its boot, without an agent.
    fn boot(&self, number: usize, directory: &Path) -> Result<Spaces> {
        let node = self.node(number)?;
        let spaces =
            Spaces::make(&self.shape, node, &self.settings.directory, directory, &self.keep)?;
        self.switches.plug(&self.shape, number, &spaces.net)?;
        spaces.boot(node)?;
        Ok(spaces)
    }

    fn start_services(&self) -> Result<()> {
        for (number, switch) in self.shape.switches.iter().enumerate() {
            if switch.dhcp.is_none() {
                continue;
            }
            let Some(services) = &self.settings.services else {
                tracing::warn!("switch {} wants DHCP, which this lab has not", switch.name);
                continue;
            };
            let side = SwitchSide {
                switch,
                namespace: self.switches.namespace(),
                link: Switches::link(number)?,
            };
            services.start(&side).map_err(|reason| {
                Error::refused(format!("cannot start DHCP on switch {}: {reason}", switch.name))
            })?;
        }
        Ok(())
    }

    fn node(&self, number: usize) -> Result<&Node> {
        self.shape.nodes.get(number).ok_or_else(|| Error::refused("no such node"))
    }

    fn running(&mut self, number: usize) -> Result<&mut Running> {
        self.nodes.get_mut(number).ok_or_else(|| Error::refused("no such node"))
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.shape.node(name).map(|(number, _)| number).ok_or_else(|| {
            let names: Vec<&str> = self.shape.nodes.iter().map(|node| node.name.as_str()).collect();
            Error::refused(format!("no node is called {name:?} (there are: {})", names.join(", ")))
        })
    }

    /// Starts every agent whose time has come.
    pub fn start_due(&mut self, now: Instant) {
        for (running, node) in self.nodes.iter_mut().zip(&self.shape.nodes) {
            if running.agent.due().is_none_or(|due| due > now) {
                continue;
            }
            let template = match node.kind {
                Kind::Kubernetes => &self.settings.kubernetes,
                Kind::Host => &self.settings.host,
            };
            let values = Values { node: &node.name, directory: &running.directory };
            let started =
                template.command(values).and_then(|mut command| running.spaces.spawn(&mut command));
            match started {
                Ok(pid) => running.agent.started(pid, now),
                Err(error) => {
                    let how = format!("cannot start {}: {error}", template.program.display());
                    tracing::error!(node = node.name, "{how}");
                    running.agent.ended(how, now);
                }
            }
        }
        self.ready = true;
    }

    /// When the next agent is to be started.
    pub fn next_start(&self) -> Option<Instant> {
        self.nodes.iter().filter_map(|running| running.agent.due()).min()
    }

    /// Buries all dead children: agents, and whatever they left behind.
    pub fn bury(&mut self, now: Instant) {
        // Signals of one kind come once for many deaths.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let dead = u32::try_from(pid.as_raw_pid()).ok();
            let mut all = self.nodes.iter_mut().zip(&self.shape.nodes);
            let found = all.find(|(running, _)| running.agent.pid() == dead);
            if let Some((running, node)) = found {
                let how = describe(status);
                let pause = running.agent.ended(how.clone(), now);
                tracing::warn!(node = node.name, "the agent ended ({how}), again in {pause:?}");
            }
        }
    }

    /// Does what is asked.
    pub fn answer(&mut self, asked: Asked) -> Answer {
        let outcome = match asked {
            Asked::Node(number, NodeRequest::Vlan(request)) => self.vlan(number, request),
            Asked::Node(number, NodeRequest::Segment(request)) => self.segment(number, &request),
            Asked::Operator(OperatorRequest::Reboot { node }) => self.reboot(&node),
            Asked::Operator(OperatorRequest::Link { node, nic, up }) => self.cable(&node, &nic, up),
            Asked::Operator(OperatorRequest::Status {}) => {
                return match self.info().map(serde_json::to_value) {
                    Ok(Ok(value)) => Answer::Done(value),
                    Ok(Err(error)) => Answer::Refused { text: error.to_string(), errno: None },
                    Err(error) => refused(&error),
                };
            }
        };
        match outcome {
            Ok(()) => Answer::Done(serde_json::Value::Null),
            Err(error) => refused(&error),
        }
    }

    fn vlan(&mut self, number: usize, request: VlanRequest) -> Result<()> {
        let node = self.node(number)?;
        let mut nics = request.candidates.iter().filter_map(|name| node.nic(name.as_str()));
        let (place, nic) = nics.next().ok_or_else(|| {
            Error::refused(format!("{} leads to no NIC of {}", request.base, node.name))
        })?;
        if let Some((_, other)) = nics.find(|(_, other)| other.switch != nic.switch) {
            return Err(Error::refused(format!(
                "{} leads to two switches, by {} and by {}; such a VLAN needs a kernel with 8021q",
                request.base, nic.name, other.name
            )));
        }
        let wire =
            Wire { base: request.base.clone(), id: request.id, protocol: VlanProtocol::Customer };
        let port = Port {
            id: request.id,
            alias: alias(&wire, None),
            name: request.name,
            mtu: request.mtu,
            mac: request.mac,
        };
        let running = self.nodes.get(number).ok_or_else(|| Error::refused("no such node"))?;
        self.switches.vlan(&self.shape, number, place, &running.spaces.net, &port)
    }

    fn segment(&self, number: usize, request: &SegmentRequest) -> Result<()> {
        let node = self.node(number)?;
        let running = self.nodes.get(number).ok_or_else(|| Error::refused("no such node"))?;
        let wire = segments::Wire {
            node: number,
            called: &node.name,
            segment: &request.segment,
            name: &request.name,
            mtu: request.mtu,
            alias: &request.alias,
        };
        self.switches.segment(&wire, &running.spaces.net)
    }

    fn cable(&mut self, node: &str, nic: &str, up: bool) -> Result<()> {
        let number = self.find(node)?;
        let node = self.node(number)?;
        let (place, _) = node.nic(nic).ok_or_else(|| {
            let names: Vec<&str> = node.nics.iter().map(|nic| nic.name.as_str()).collect();
            let names = names.join(", ");
            Error::refused(format!("{} has no NIC {nic:?} (it has: {names})", node.name))
        })?;
        self.switches.set_cable(number, place, up)
    }

    /// Where VLANs are segments somebody must see to it that they go down with their NIC; and a segment
    /// of its own goes with the last wire into it.
    pub fn watch_cables(&self) -> Result<Monitor> {
        self.switches.monitor()
    }

    pub fn cable_changed(&self, event: &Event) {
        if self.switches.vlans() == Vlans::Segments
            && is_about_a_nic(event)
            && let Err(error) = self.switches.follow()
        {
            tracing::error!("VLANs do not follow their NIC: {error}");
        }
        if segments::may_have_ended_one(event)
            && let Err(error) = self.switches.sweep()
        {
            tracing::error!("segments that nobody is on any more stay: {error}");
        }
    }

    /// Switches a node off, as pulling its plug does, and on again.
    fn reboot(&mut self, name: &str) -> Result<()> {
        let number = self.find(name)?;
        self.switches.unplug(number)?;
        self.kill_everything_on(number)?;
        node::forget_named(self.node(number)?)?;
        let directory = self.running(number)?.directory.clone();
        let spaces = self.boot(number, &directory)?;
        let running = self.running(number)?;
        // The old namespaces go here, with the last that holds them.
        running.spaces = spaces;
        running.boots += 1;
        running.agent.rebooted(Instant::now());
        Ok(())
    }

    fn kill_everything_on(&mut self, number: usize) -> Result<()> {
        let deadline = Instant::now() + OFF;
        loop {
            let node = self.node(number)?;
            let running = self.nodes.get(number).ok_or_else(|| Error::refused("no such node"))?;
            let pids = running.spaces.processes(node)?;
            if pids.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Error::refused(format!(
                    "processes {pids:?} on {} do not die",
                    node.name
                )));
            }
            for pid in pids {
                kill(pid, Signal::KILL);
            }
            // The dead keep their number until they are buried, and the living need a moment.
            self.bury(Instant::now());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn ask_agents_to_stop(&self) {
        for pid in self.nodes.iter().filter_map(|running| running.agent.pid()) {
            kill(pid, Signal::TERM);
        }
    }

    pub fn agents_run(&self) -> bool {
        self.nodes.iter().any(|running| running.agent.pid().is_some())
    }

    fn info(&self) -> Result<LabInfo> {
        let nodes = self.nodes.iter().zip(&self.shape.nodes).enumerate();
        let nodes = nodes.map(|(number, (running, node))| {
            Ok(NodeInfo {
                name: node.name.clone(),
                kind: node.kind,
                namespaces: running.spaces.held()?,
                agent: running.agent.info(),
                boots: running.boots,
                cut: self.switches.cut(number, node),
            })
        });
        Ok(LabInfo {
            version: VERSION,
            supervisor: self.supervisor,
            ready: self.ready,
            vlans: self.switches.vlans(),
            switches: node::held(self.switches.namespace())?,
            nodes: nodes.collect::<Result<_>>()?,
        })
    }

    /// Writes down what runs, where it has changed.
    pub fn report(&mut self) {
        let outcome = self.info().and_then(|info| {
            if self.reported.as_ref() != Some(&info) {
                info.write(&self.settings.directory)
                    .map_err(|source| Error::io("write lab.json", source))?;
                self.reported = Some(info);
            }
            Ok(())
        });
        if let Err(error) = outcome {
            tracing::error!("{error}");
        }
    }

    /// Takes away what tells others that a lab runs here.
    pub fn leave(&self) {
        let _ = std::fs::remove_file(LabInfo::path(&self.settings.directory));
        let _ = std::fs::remove_file(self.settings.directory.join(SUPERVISOR_SOCKET));
        for running in &self.nodes {
            let _ = std::fs::remove_file(running.directory.join(NODE_SOCKET));
        }
    }
}

fn refused(error: &Error) -> Answer {
    Answer::Refused { text: error.to_string(), errno: error.errno() }
}

fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already, which is as good.
        let _ = kill_process(pid, signal);
    }
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "no status".to_owned(),
    }
}

/// Makes the directory the owner's alone, and sees that no other lab runs in it.
fn lock(directory: &Path) -> Result<File> {
    private_directory(directory)?;
    let path = directory.join("lock");
    let failed = |source: io::Error| Error::io(format!("lock {}", path.display()), source);
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => {
            Err(Error::refused(format!("another lab runs in {}", directory.display())))
        }
        Err(errno) => Err(failed(errno.into())),
    }
}

fn private_directory(directory: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |source| Error::io(format!("make {}", directory.display()), source);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let owner_only = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(directory, owner_only).map_err(failed)
}
