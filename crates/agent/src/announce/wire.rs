//! The thread that hears, answers and announces.
//!
//! It has a runtime of its own: other duties of the agent block now and then, and a member that does
//! not speak in time counts as dead. For the same reason it asks for a better priority, where it may.
//! It alone knows the time; everything it decides is decided by `landbridge_l2`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use landbridge_l2::Moment;
use landbridge_l2::announcer::{self, Announcer, Counts};
use landbridge_l2::interfaces::{EXCLUDED, Excluded};
use landbridge_l2::members::message::{LONGEST, Phase};
use landbridge_l2::members::{Engine, Keys, Output, Settings, Unit};
use landbridge_linux::monitor::{Event, Monitor, Watch};
use landbridge_linux::neighbour::NeighbourState;
use landbridge_linux::packet::Frames;
use landbridge_linux::{Handle, LinkIndex, MacAddr, Namespace, Neighbour, PacketSocket};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::links::{Links, Matters};
use super::plan::Plan;
use crate::members::Dead;

/// How often interfaces are listed although nothing was heard of them.
const SCAN: Duration = Duration::from_secs(10);
/// How often figures are reported.
const FIGURES: Duration = Duration::from_secs(1);
/// So many frames wait to be looked at.
const QUEUE: usize = 4096;
/// A neighbour that was told to the kernel is not told again for this long.
const REMEMBERED: Duration = Duration::from_secs(20);
/// So many neighbours are remembered.
const NEIGHBOURS: usize = 4096;
/// Better than others', as far as an ordinary process may ask.
const NICE: i32 = -10;

/// What the thread is told.
#[derive(Debug)]
pub enum Command {
    /// What is to be announced, and who else is there.
    Plan(Box<Plan>),
    /// The keys of members.
    Keys(Keys),
    /// Interfaces that are left out.
    Excluded(Excluded),
    /// The plan was read from the API after it was asked for.
    Reread,
    /// Give everything away, say goodbye, and end.
    Leave(oneshot::Sender<()>),
}

/// What the thread tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Units that are held, by their first address, and whether there is an interface for them.
    pub held: BTreeMap<IpAddr, bool>,
    /// What was done for each address.
    pub counts: BTreeMap<IpAddr, Counts>,
    /// Other members that live.
    pub live: BTreeSet<String>,
    /// Whether this agent takes part.
    pub ready: bool,
    /// How often the plan is to be read again, counted.
    pub rereads: u64,
    /// Datagrams that were not authentic or not readable.
    pub refused: u64,
}

/// A hold on the thread.
#[derive(Debug)]
pub struct Wire {
    commands: mpsc::UnboundedSender<Command>,
    reports: watch::Receiver<Report>,
}

impl Wire {
    /// Starts the thread in the network namespace of the calling thread.
    pub fn start(settings: Settings, port: u16, dead: watch::Sender<Dead>) -> io::Result<Self> {
        let (commands, told) = mpsc::unbounded_channel();
        let (report, reports) = watch::channel(Report::default());
        let socket = socket(port)?;
        std::thread::Builder::new().name("announce".to_owned()).spawn(move || {
            let own = Some(rustix::thread::gettid());
            if let Err(error) = rustix::process::setpriority_process(own, NICE) {
                tracing::debug!(%error, "announcing has an ordinary priority");
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = runtime.and_then(|runtime| {
                runtime.block_on(async {
                    let socket = UdpSocket::from_std(socket.into())?;
                    Running::new(settings, port, socket, dead, report)?.run(told).await;
                    Ok(())
                })
            });
            if let Err(error) = ended {
                tracing::error!(%error, "nothing can be announced from this node");
            }
        })?;
        Ok(Self { commands, reports })
    }

    /// Tells it something. Once it has ended nobody listens, and that is told by the reports.
    pub fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    /// What it tells.
    pub fn reports(&self) -> watch::Receiver<Report> {
        self.reports.clone()
    }

    /// Says goodbye to the other members and ends.
    pub async fn leave(&self) {
        let (said, done) = oneshot::channel();
        self.tell(Command::Leave(said));
        let _ = tokio::time::timeout(Duration::from_secs(1), done).await;
    }
}

/// One socket for both families, where the kernel has IPv6.
fn socket(port: u16) -> io::Result<Socket> {
    let open = |domain: Domain, address: IpAddr| {
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if domain == Domain::IPV6 {
            socket.set_only_v6(false)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::new(address, port).into())?;
        Ok::<_, io::Error>(socket)
    };
    open(Domain::IPV6, Ipv6Addr::UNSPECIFIED.into()).or_else(|error| {
        // Where the port is taken the other family would only hide that.
        if error.kind() == io::ErrorKind::AddrInUse {
            return Err(error);
        }
        open(Domain::IPV4, Ipv4Addr::UNSPECIFIED.into())
    })
}

/// An interface that is listened on.
struct Listener {
    socket: Arc<PacketSocket>,
    task: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Running {
    origin: Instant,
    port: u16,
    socket: UdpSocket,
    ipv6: bool,
    engine: Engine,
    announcer: Announcer,
    plan: Plan,
    excluded: Excluded,
    net: Handle,
    links: Links,
    /// What mattered of them when last looked at.
    matters: Option<Matters>,
    /// Addresses announced for each unit held.
    holding: BTreeMap<IpAddr, BTreeSet<IpAddr>>,
    listeners: BTreeMap<(u32, bool), Listener>,
    frames: mpsc::Sender<(u32, Vec<u8>)>,
    heard: mpsc::Receiver<(u32, Vec<u8>)>,
    groups: Groups,
    neighbours: BTreeMap<(u32, IpAddr), (MacAddr, Moment)>,
    dead: watch::Sender<Dead>,
    report: watch::Sender<Report>,
    rereads: u64,
    refused: u64,
}

enum Happened {
    Time,
    Command(Option<Command>),
    Datagram(io::Result<usize>),
    Frame(u32, Vec<u8>),
    Link(landbridge_linux::Result<Event>),
    Scan,
    Figures,
}

impl Running {
    fn new(
        settings: Settings,
        port: u16,
        socket: UdpSocket,
        dead: watch::Sender<Dead>,
        report: watch::Sender<Report>,
    ) -> io::Result<Self> {
        let (frames, heard) = mpsc::channel(QUEUE);
        let net = Handle::open().map_err(io::Error::other)?;
        let usual = Excluded::new(&EXCLUDED).map_err(io::Error::other)?;
        Ok(Self {
            origin: Instant::now(),
            port,
            ipv6: socket.local_addr()?.is_ipv6(),
            socket,
            engine: Engine::new(settings, Duration::ZERO),
            announcer: Announcer::default(),
            plan: Plan::default(),
            excluded: usual,
            net,
            links: Links::default(),
            matters: None,
            holding: BTreeMap::new(),
            listeners: BTreeMap::new(),
            frames,
            heard,
            groups: Groups::default(),
            neighbours: BTreeMap::new(),
            dead,
            report,
            rereads: 0,
            refused: 0,
        })
    }

    fn now(&self) -> Moment {
        self.origin.elapsed()
    }

    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let watched = Watch { routes: false, ..Watch::default() };
        let opened = Namespace::current().and_then(|own| Monitor::in_namespace(&own, watched));
        let mut monitor = opened
            .inspect_err(|error| tracing::warn!(%error, "cannot listen for changes of interfaces"))
            .ok();
        self.list();
        let mut scan = tokio::time::interval(SCAN);
        let mut figures = tokio::time::interval(FIGURES);
        for interval in [&mut scan, &mut figures] {
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        let mut buffer = [0; LONGEST + 1];
        loop {
            let engine = self.engine.wake();
            let wake = self.announcer.wake().map_or(engine, |round| round.min(engine));
            let wake = tokio::time::Instant::from_std(self.origin + wake);
            let happened = tokio::select! {
                () = tokio::time::sleep_until(wake) => Happened::Time,
                command = commands.recv() => Happened::Command(command),
                received = self.socket.recv(&mut buffer) => Happened::Datagram(received),
                Some((link, frame)) = self.heard.recv() => Happened::Frame(link, frame),
                news = next(&mut monitor) => Happened::Link(news),
                _ = scan.tick() => Happened::Scan,
                _ = figures.tick() => Happened::Figures,
            };
            // First the time: if this process was stopped, that is noticed before anything is answered.
            let now = self.now();
            if now >= self.engine.wake() {
                if !self.engine.was_stopped(now) {
                    // What others said before now is heard before they are judged.
                    self.take_datagrams(now);
                }
                self.engine.tick(now);
                self.carry_out(now);
            }
            match happened {
                Happened::Time => {}
                Happened::Command(None) => break,
                Happened::Command(Some(Command::Leave(said))) => {
                    self.engine.leave(now);
                    self.carry_out(now);
                    let _ = said.send(());
                    break;
                }
                Happened::Command(Some(command)) => self.told(now, command),
                Happened::Datagram(Ok(length)) => {
                    self.receive(now, buffer.get(..length).unwrap_or_default());
                }
                Happened::Datagram(Err(error)) => {
                    tracing::debug!(%error, "the socket of members");
                }
                Happened::Frame(link, frame) => {
                    let outputs = self.announcer.receive(link, &frame);
                    self.say(now, outputs);
                }
                Happened::Link(Ok(event)) => {
                    if self.links.hear(event) {
                        self.list();
                    }
                    self.look(now);
                }
                Happened::Link(Err(error)) => {
                    tracing::warn!(%error, "cannot listen for changes of interfaces any more");
                    monitor = None;
                }
                Happened::Scan => {
                    self.list();
                    self.look_again(now);
                    self.forget(now);
                }
                Happened::Figures => self.tell_figures(),
            }
            self.carry_out(now);
            let outputs = self.announcer.tick(now);
            self.say(now, outputs);
        }
    }

    fn receive(&mut self, now: Moment, datagram: &[u8]) {
        if let Err(error) = self.engine.receive(now, datagram) {
            self.refused += 1;
            tracing::debug!(%error, "a datagram on the port of members");
        }
    }

    /// Takes what has come in, as much as there can be of a time between two looks at the clock.
    fn take_datagrams(&mut self, now: Moment) {
        let mut buffer = [0; LONGEST + 1];
        for _ in 0..QUEUE {
            let Ok(length) = self.socket.try_recv(&mut buffer) else { return };
            self.receive(now, buffer.get(..length).unwrap_or_default());
        }
    }

    fn told(&mut self, now: Moment, command: Command) {
        match command {
            Command::Plan(plan) => {
                let roster = plan.roster.clone();
                self.plan = *plan;
                self.engine.set_roster(now, roster);
                self.look_again(now);
                self.follow(now);
            }
            Command::Keys(keys) => self.engine.set_keys(keys),
            Command::Excluded(excluded) => {
                self.excluded = excluded;
                self.look(now);
            }
            Command::Reread => self.engine.reread(now),
            Command::Leave(_) => {}
        }
    }

    /// Lists the interfaces anew.
    fn list(&mut self) {
        let read = || Ok::<_, landbridge_linux::Error>((self.net.links()?, self.net.addresses()?));
        match read() {
            Ok((links, addresses)) => self.links = Links::new(links, addresses),
            Err(error) => tracing::warn!(%error, "cannot list the interfaces"),
        }
    }

    /// Makes of the interfaces what they mean for the plan, where they have changed. Pods come and go
    /// with interfaces that mean nothing here.
    fn look(&mut self, now: Moment) {
        let matters = self.links.what_matters(&self.excluded);
        if self.matters.as_ref() != Some(&matters) {
            self.matters = Some(matters);
            self.look_again(now);
        }
    }

    fn look_again(&mut self, now: Moment) {
        let able = self.links.able(&self.excluded);
        let units = self.plan.units.iter().map(|(key, planned)| {
            let unit = Unit {
                candidates: planned.candidates.clone(),
                able: self.links.can(planned, &able),
                sticky: planned.wishes.sticky,
                spread: planned.wishes.spread,
            };
            (*key, unit)
        });
        let units = units.collect();
        let connected = self.links.is_connected(self.plan.own_address);
        let wanted = |name: &str| {
            let mut all = self.plan.units.values().flat_map(|unit| unit.addresses.values());
            all.any(|wheres| wheres.as_ref().is_some_and(|wheres| wheres.includes(name)))
        };
        let able: BTreeMap<_, _> = able.into_iter().filter(|(_, (name, _))| wanted(name)).collect();
        let mut open = BTreeSet::new();
        for (index, (_, ability)) in &able {
            open.extend(ability.arp.then_some((*index, true)));
            open.extend(ability.ndp.map(|_| (*index, false)));
        }
        self.listeners.retain(|key, _| open.contains(key));
        for key in open {
            self.listen(key);
        }
        self.engine.set_connected(now, connected);
        // First what is able no more: an interface that is gone announces nothing.
        let outputs = self.announcer.set_interfaces(now, able);
        self.say(now, outputs);
        self.engine.set_units(now, units);
        self.carry_out(now);
    }

    fn listen(&mut self, (link, arp): (u32, bool)) {
        if self.listeners.get(&(link, arp)).is_some_and(|known| !known.task.is_finished()) {
            return;
        }
        let frames = if arp { Frames::Arp } else { Frames::NeighbourDiscovery };
        let socket = match PacketSocket::open(LinkIndex(link), frames) {
            Ok(socket) => Arc::new(socket),
            Err(error) => {
                // Gone again before it was opened, or not allowed; the next scan tries again.
                tracing::warn!(link, %error, "cannot listen for {frames:?} on an interface");
                return;
            }
        };
        let (own, heard) = (Arc::clone(&socket), self.frames.clone());
        let task = tokio::spawn(async move {
            // An interface that went down is an error once, and works again when it comes up.
            let mut failed = 0;
            while failed < 100 {
                if let Ok(frame) = own.receive().await {
                    failed = 0;
                    // Who cannot be answered in time asks again.
                    let _ = heard.try_send((link, frame));
                } else {
                    failed += 1;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        });
        self.listeners.insert((link, arp), Listener { socket, task });
    }

    /// Does what the engine wants, in its order.
    fn carry_out(&mut self, now: Moment) {
        let (mut taken, mut changed) = (false, false);
        for output in self.engine.outputs() {
            match output {
                Output::Announce(key) => {
                    tracing::info!(address = %key, "announcing");
                    self.holding.entry(key).or_default();
                    (taken, changed) = (true, true);
                }
                Output::Withdraw(key) => {
                    tracing::info!(address = %key, "no longer announcing");
                    changed = true;
                    for ip in self.holding.remove(&key).unwrap_or_default() {
                        let outputs = self.announcer.release(ip);
                        self.say(now, outputs);
                    }
                }
                Output::Renew(key) => {
                    for ip in self.holding.get(&key).cloned().unwrap_or_default() {
                        let outputs = self.announcer.renew(now, ip);
                        self.say(now, outputs);
                    }
                }
                Output::Send { to, address, bytes } => self.send(&to, address, &bytes),
                Output::Dead(dead) => {
                    if !dead.is_empty() {
                        tracing::warn!(nodes = ?dead, "agents of other nodes are dead");
                    }
                    self.dead.send_replace(Arc::new(dead));
                    changed = true;
                }
                Output::Reread => {
                    tracing::warn!("this agent was stopped; silent until the API was read again");
                    self.rereads += 1;
                    self.tell_figures();
                }
            }
        }
        if taken {
            self.follow(now);
        }
        if changed {
            self.tell_held();
        }
    }

    fn send(&mut self, to: &str, address: IpAddr, bytes: &[u8]) {
        let address = match address {
            IpAddr::V4(ip) if self.ipv6 => ip.to_ipv6_mapped().into(),
            other => other,
        };
        if let Err(error) = self.socket.try_send_to(bytes, SocketAddr::new(address, self.port)) {
            tracing::debug!(to, %error, "a member cannot be told");
        }
    }

    /// Announces what the units held consist of now.
    fn follow(&mut self, now: Moment) {
        let (mut said, mut held) = (Vec::new(), Vec::new());
        for (key, announced) in &mut self.holding {
            let planned = self.plan.units.get(key);
            let mut wanted = BTreeMap::new();
            for (ip, wheres) in planned.iter().flat_map(|unit| &unit.addresses) {
                let subnets = planned.is_some_and(|unit| unit.wishes.subnets);
                let wheres = wheres.as_ref().map(|it| self.links.wheres(*ip, it, subnets));
                wanted.extend(wheres.map(|wheres| (*ip, wheres)));
            }
            for gone in announced.iter().filter(|ip| !wanted.contains_key(ip)) {
                said.extend(self.announcer.release(*gone));
            }
            *announced = wanted.keys().copied().collect();
            held.extend(wanted);
        }
        said.extend(self.announcer.hold_all(now, held));
        self.say(now, said);
    }

    /// Does what the announcer wants.
    fn say(&mut self, now: Moment, outputs: Vec<announcer::Output>) {
        for output in outputs {
            match output {
                announcer::Output::Frame { interface, bytes } => {
                    let arp = bytes.get(12..14) == Some(&[8, 6]);
                    let Some(listener) = self.listeners.get(&(interface, arp)) else { continue };
                    if let Err(error) = listener.socket.send(&bytes) {
                        tracing::debug!(interface, %error, "a frame was not sent");
                    }
                }
                announcer::Output::Learned { interface, ip, mac } => {
                    self.learned(now, interface, ip, MacAddr(mac.0));
                }
                announcer::Output::Foreign { ip, mac } => {
                    let unit = self.holding.iter().find(|(_, ips)| ips.contains(&ip));
                    if let Some(key) = unit.map(|(key, _)| *key)
                        && self.engine.foreign(now, key)
                    {
                        let what = "somebody else announces an address held here";
                        tracing::warn!(address = %ip, %mac, "{what}");
                    }
                }
                announcer::Output::Join { interface, group } => self.groups.join(interface, group),
                announcer::Output::Leave { interface, group } => {
                    self.groups.leave(interface, group);
                }
            }
        }
    }

    /// A node without an address of IPv4 on an interface cannot ask there where somebody is; who
    /// asked has told it.
    fn learned(&mut self, now: Moment, interface: u32, ip: IpAddr, mac: MacAddr) {
        if !ip.is_ipv4() || self.links.has_ipv4(interface) {
            return;
        }
        let known = self.neighbours.get(&(interface, ip));
        let fresh = known.is_some_and(|(as_mac, until)| *as_mac == mac && *until > now);
        if fresh || (known.is_none() && self.neighbours.len() >= NEIGHBOURS) {
            return;
        }
        let neighbour = Neighbour {
            state: NeighbourState::Stale,
            ..Neighbour::permanent(LinkIndex(interface), ip, mac)
        };
        match self.net.replace_neighbour(&neighbour) {
            Ok(()) => {
                self.neighbours.insert((interface, ip), (mac, now + REMEMBERED));
            }
            Err(error) => tracing::debug!(%error, "a neighbour was not noted"),
        }
    }

    fn forget(&mut self, now: Moment) {
        self.neighbours.retain(|_, (_, until)| *until > now);
    }

    fn held(&self) -> BTreeMap<IpAddr, bool> {
        let has = |key: &IpAddr| {
            let Some(unit) = self.plan.units.get(key) else { return false };
            unit.addresses.iter().any(|(ip, wheres)| {
                let wheres =
                    wheres.as_ref().map(|it| self.links.wheres(*ip, it, unit.wishes.subnets));
                wheres.is_some_and(|wheres| self.announcer.has_interface(&wheres, *ip))
            })
        };
        self.engine.held().iter().map(|key| (*key, has(key))).collect()
    }

    fn tell_held(&self) {
        let held = self.held();
        let live = self.engine.live();
        self.report.send_if_modified(|report| {
            let new = report.held != held || report.live != *live;
            if new {
                report.held = held;
                report.live.clone_from(live);
            }
            new
        });
    }

    fn tell_figures(&self) {
        let report = Report {
            held: self.held(),
            counts: self.announcer.counts().clone(),
            live: self.engine.live().clone(),
            ready: self.engine.phase() == Phase::Ready,
            rereads: self.rereads,
            refused: self.refused,
        };
        self.report.send_if_modified(|known| {
            let new = *known != report;
            *known = report;
            new
        });
    }
}

async fn next(monitor: &mut Option<Monitor>) -> landbridge_linux::Result<Event> {
    match monitor {
        Some(monitor) => monitor.next().await,
        None => std::future::pending().await,
    }
}

/// Memberships in groups. The kernel gives one socket room for some hundred of them.
#[derive(Default)]
struct Groups {
    sockets: Vec<Socket>,
    joined: BTreeMap<(u32, Ipv6Addr), usize>,
}

impl Groups {
    fn join(&mut self, interface: u32, group: Ipv6Addr) {
        let joined = |socket: Option<&Socket>| {
            socket.is_some_and(|socket| socket.join_multicast_v6(&group, interface).is_ok())
        };
        if !joined(self.sockets.last()) {
            match Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)) {
                Ok(socket) => self.sockets.push(socket),
                Err(error) => tracing::warn!(%error, "cannot take part in groups of IPv6"),
            }
            if !joined(self.sockets.last()) {
                tracing::warn!(interface, %group, "cannot take part in a group of IPv6");
                return;
            }
        }
        self.joined.insert((interface, group), self.sockets.len() - 1);
    }

    fn leave(&mut self, interface: u32, group: Ipv6Addr) {
        let socket = self.joined.remove(&(interface, group));
        if let Some(socket) = socket.and_then(|place| self.sockets.get(place)) {
            // An interface that is gone has taken its groups along.
            let _ = socket.leave_multicast_v6(&group, interface);
        }
    }
}
