//! The server: sockets, threads and files around the parts that know nothing of them.
//!
//! ```text
//!  dns-udp-N   threads, one socket each: read many, answer from the catalogue or the cache, send many
//!  dns-follow  thread: files ─► Catalog, links ─► Reach; each a swapped pointer
//!  dns-journal thread: lines of log-queries
//!  runtime     forwarder and its sockets, TCP clients, /metrics
//! ```
//!
//! A worker never waits for anything but its socket, and never takes a lock.

mod bind;
mod crowd;
mod datagrams;
mod journal;
mod metrics;
mod pages;
mod privileges;
mod reach;
mod serve;
mod state;
mod streams;
mod upstreams;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use landbridge_linux::DatagramSocket;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

pub use self::bind::{Bound, Unbound};
use self::metrics::Counters;
pub use self::privileges::Dropped;
use self::reach::{Reach, locals};
use self::state::State;
use self::streams::Streams;
use self::upstreams::Figures;
use crate::cache::Cache;
use crate::follow::{Files, Options, Refreshed, Waker, Watch};
use crate::limit::Limiter;
use crate::settings::Settings;
use crate::warning::Warning;

/// Questions that may wait for the forwarder.
const ASKS: usize = 4096;
/// What a kept answer needs at most is small; dnsmasq's default of 150 is meant for small routers, and
/// is kept. More than this is not.
const MOST_CACHED: usize = 1_000_000;

/// How a server is to run, beside dnsmasq's options.
#[derive(Debug, Clone)]
pub struct Config {
    /// dnsmasq's options.
    pub options: Options,
    /// Threads for each address; 0 for one per processor.
    pub workers: usize,
    /// Where `/metrics` and `/healthz` are.
    pub metrics: Option<SocketAddr>,
    /// Replies a second for each network that is not attached; 0 for no limit.
    pub rate_limit: u32,
    /// For whom others are asked; everybody who is served, when empty.
    pub recursion: Vec<IpNet>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            options: Options::default(),
            workers: 0,
            metrics: None,
            rate_limit: 2000,
            recursion: Vec::new(),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Options(Warning),
    #[error("port=0 turns DNS off, and there is nothing else here to do")]
    NoPort,
    #[error("the addresses of this machine cannot be read")]
    Locals(#[source] landbridge_linux::Error),
    #[error(transparent)]
    Bind(#[from] Unbound),
    #[error(
        "there is no user {user:?}, or no group {group:?}; --user and --group name whom to become"
    )]
    NoUser { user: String, group: Option<String> },
    #[error("root's rights cannot be given up")]
    Privileges(#[source] io::Error),
    #[error("threads cannot be started")]
    Threads(#[source] io::Error),
    #[error("files cannot be followed")]
    Watch(#[source] io::Error),
}

/// A server whose files are read and whose sockets are bound.
pub struct Ready {
    config: Config,
    files: Files,
    reach: Reach,
    bound: Bound,
    workers: usize,
}

impl Ready {
    /// Reads the files and binds the sockets.
    pub fn new(config: Config) -> Result<(Self, Vec<Warning>), Error> {
        let (files, Refreshed { warnings, .. }) = Files::open(config.options.clone());
        // Whoever types an option is there to correct it; a file may be somebody else's.
        if let Some(wrong) = files.command_line_warnings().next() {
            return Err(Error::Options(wrong.clone()));
        }
        let settings = Arc::clone(files.catalog().settings());
        if settings.port == 0 {
            return Err(Error::NoPort);
        }
        let reach = Reach::new(&settings, &config.recursion, locals().map_err(Error::Locals)?);
        let workers = match config.workers {
            0 => thread::available_parallelism().map_or(1, usize::from),
            some => some,
        };
        let bound = Bound::bind(&reach.sockets(&settings), workers, config.metrics)?;
        Ok((Self { config, files, reach, bound, workers }, warnings))
    }

    pub fn settings(&self) -> &Settings {
        self.files.catalog().settings()
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        &self.bound.addresses
    }

    /// Becomes an ordinary user, if we are root. Before any thread is there.
    pub fn drop_privileges(&self) -> Result<Dropped, Error> {
        let settings = self.settings();
        let user = settings.user.clone().unwrap_or_else(|| "nobody".to_owned());
        let group = settings.group.clone();
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        let found =
            privileges::find(&text("/etc/passwd"), &text("/etc/group"), &user, group.as_deref());
        let identity = match found {
            Some(identity) => identity,
            // An image without a passwd.
            None if user == "nobody" => privileges::Identity { user: 65534, group: 65534 },
            None => return Err(Error::NoUser { user, group }),
        };
        privileges::drop_to(identity).map_err(|error| Error::Privileges(error.into()))
    }

    /// Starts answering.
    pub fn start(self) -> Result<Server, Error> {
        let Self { config, files, reach, bound, workers } = self;
        let settings = Arc::clone(files.catalog().settings());
        let counters: Vec<Arc<Counters>> =
            (0..=bound.datagrams.len()).map(|_| Arc::new(Counters::default())).collect();
        let state = Arc::new(State {
            catalog: ArcSwap::from_pointee(files.catalog().clone()),
            reach: ArcSwap::from_pointee(reach),
            cache: Arc::new(Cache::new(settings.cache_size.min(MOST_CACHED))),
            limiter: Limiter::new(config.rate_limit),
            journal: journal::Journal::start().map_err(Error::Threads)?,
            recursion: config.recursion,
            counters,
            began: Instant::now(),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers.min(4))
            .thread_name("dns-runtime")
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let (asks, waiting) = mpsc::channel(ASKS);
        let stopping = Arc::new(AtomicBool::new(false));
        let figures = Arc::new(Figures::default());
        let last = state.counters.len() - 1;
        let streams =
            Streams::new(Arc::clone(&state), Arc::clone(&state.counters[last]), asks.clone());
        let inside = runtime.enter();
        runtime.spawn(upstreams::run(Arc::clone(&state), waiting, Arc::clone(&figures)));
        for listener in bound.streams {
            let listener = TcpListener::from_std(listener).map_err(Error::Threads)?;
            runtime.spawn(Arc::clone(&streams).accept(listener));
        }
        let pages = bound.pages.as_ref().and_then(|pages| pages.local_addr().ok());
        let mut server = Server {
            state: Arc::clone(&state),
            addresses: bound.addresses,
            pages,
            datagrams: bound.datagrams.clone(),
            threads: Vec::new(),
            waker: None,
            stopping: Arc::clone(&stopping),
            streams,
            figures,
            reloads: Arc::new(AtomicU64::new(0)),
            runtime: None,
        };
        if let Some(listener) = bound.pages {
            let listener = TcpListener::from_std(listener).map_err(Error::Threads)?;
            let (state, streams, figures) =
                (Arc::clone(&state), Arc::clone(&server.streams), Arc::clone(&server.figures));
            let reloads = Arc::clone(&server.reloads);
            let text = move || report(&state, &streams, &figures, &reloads);
            runtime.spawn(pages::run(listener, text));
        }
        for (number, socket) in bound.datagrams.into_iter().enumerate() {
            let counters = Arc::clone(&state.counters[number]);
            let worker = datagrams::start(
                number,
                socket,
                Arc::clone(&state),
                counters,
                asks.clone(),
                Arc::clone(&stopping),
            );
            server.threads.push(worker.map_err(Error::Threads)?);
        }
        drop(inside);
        server.runtime = Some(runtime);
        server.follow(files)?;
        Ok(server)
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    state: Arc<State>,
    addresses: Vec<SocketAddr>,
    pages: Option<SocketAddr>,
    datagrams: Vec<Arc<DatagramSocket>>,
    threads: Vec<JoinHandle<()>>,
    waker: Option<Waker>,
    stopping: Arc<AtomicBool>,
    streams: Arc<Streams>,
    figures: Arc<Figures>,
    reloads: Arc<AtomicU64>,
    runtime: Option<Runtime>,
}

impl Server {
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where `/metrics` is.
    pub fn pages(&self) -> Option<SocketAddr> {
        self.pages
    }

    /// Reads the files again, as SIGHUP asks for, and forgets the answers of others.
    pub fn reload(&self) {
        self.state.cache.clear();
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }

    /// The metrics, in the text form of Prometheus.
    pub fn report(&self) -> String {
        report(&self.state, &self.streams, &self.figures, &self.reloads)
    }

    /// Starts the thread that follows files and links.
    fn follow(&mut self, mut files: Files) -> Result<(), Error> {
        let mut watch = Watch::new().map_err(Error::Watch)?;
        self.waker = Some(watch.waker());
        watch.follow(&files.watched());
        let (state, stopping) = (Arc::clone(&self.state), Arc::clone(&self.stopping));
        let (addresses, reloads) = (self.addresses.clone(), Arc::clone(&self.reloads));
        let mut told = false;
        let run = move || {
            // What changed while the watch was made is found now.
            loop {
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                let began = Instant::now();
                let refreshed = files.refresh(|path| watch.is_busy(path));
                if refreshed.changed {
                    state.catalog.store(Arc::new(files.catalog().clone()));
                    reloads.fetch_add(1, Ordering::Relaxed);
                    tracing::info!(took = ?began.elapsed(), "files have changed and are answered from");
                }
                for warning in &refreshed.warnings {
                    tracing::warn!("{warning}");
                }
                follow_links(&state, &addresses, refreshed.settings, &mut told);
                watch.follow(&files.watched());
                watch.wait();
            }
        };
        let thread = thread::Builder::new().name("dns-follow".into()).spawn(run);
        self.threads.push(thread.map_err(Error::Threads)?);
        Ok(())
    }

    /// Stops: what is answered already is sent, what others were asked is not waited for.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        for socket in &self.datagrams {
            socket.close_for_reading();
        }
        if let Some(waker) = &self.waker {
            waker.wake();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Who is served depends on the addresses of this machine, too.
fn follow_links(state: &State, bound: &[SocketAddr], changed: bool, told: &mut bool) {
    let locals = match locals() {
        Ok(locals) => locals,
        Err(error) => {
            tracing::warn!(%error, "the addresses of this machine cannot be read");
            return;
        }
    };
    let settings = Arc::clone(state.catalog.load().settings());
    let reach = Reach::new(&settings, &state.recursion, locals);
    if changed && !*told {
        let wanted = reach.sockets(&settings);
        if wanted.iter().any(|socket| !bound.contains(socket)) {
            tracing::warn!("port, interface or listen-address changed: that needs a restart");
            *told = true;
        }
    }
    if reach != **state.reach.load() {
        state.reach.store(Arc::new(reach));
    }
}

fn report(state: &State, streams: &Streams, figures: &Figures, reloads: &AtomicU64) -> String {
    let mut text = metrics::render(state.counters.iter().map(AsRef::as_ref));
    let (counts, in_flight) = figures.get();
    let counter = |text: &mut String, name: &str, help: &str, value| {
        metrics::metric(text, &format!("landbridge_dns_{name}"), "counter", help, value);
    };
    counter(
        &mut text,
        "upstream_sent_total",
        "Datagrams and connections to other servers.",
        counts.sent,
    );
    counter(&mut text, "upstream_tcp_total", "Of these, connections.", counts.by_tcp);
    counter(
        &mut text,
        "upstream_answers_total",
        "Answers of others that were taken.",
        counts.answered,
    );
    counter(
        &mut text,
        "upstream_ignored_total",
        "Datagrams that were no answer: wrong sender, id or question.",
        counts.ignored,
    );
    counter(
        &mut text,
        "upstream_timeouts_total",
        "Queries nobody answered in time.",
        counts.timed_out,
    );
    counter(&mut text, "joined_total", "Queries that joined one in flight.", counts.joined);
    counter(
        &mut text,
        "full_total",
        "Queries refused because too many were in flight.",
        counts.refused,
    );
    counter(&mut text, "rebinds_total", "Answers withheld for a private address.", counts.rebinds);
    counter(&mut text, "reloads_total", "Changes of files.", reloads.load(Ordering::Relaxed));
    let gauge = |text: &mut String, name: &str, help: &str, value: usize| {
        metrics::metric(text, &format!("landbridge_dns_{name}"), "gauge", help, value as u64);
    };
    gauge(&mut text, "in_flight", "Questions in flight.", in_flight);
    gauge(&mut text, "cache_entries", "Answers of others that are kept.", state.cache.len());
    gauge(&mut text, "tcp_connections", "Connections by TCP.", streams.open());
    text
}

/// Asks a server of this machine whether it answers: for a health check without a client.
pub fn probe(server: SocketAddr, patience: Duration) -> io::Result<()> {
    let any: IpAddr =
        if server.is_ipv4() { [0; 4].into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = std::net::UdpSocket::bind((any, 0))?;
    socket.set_read_timeout(Some(patience))?;
    socket.connect(server)?;
    // The root's SOA, without wish for recursion: every server has an answer to that.
    socket.send(&[0x6c, 0x62, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1])?;
    let mut reply = [0; 512];
    let length = socket.recv(&mut reply)?;
    if length >= 12 && reply[..2] == [0x6c, 0x62] {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}
