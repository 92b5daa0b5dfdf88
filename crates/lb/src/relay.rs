//! Sockets around [pools](crate::pool): connections and datagrams go through this process.
//!
//! Used where the kernel cannot forward by itself (no program `nft`). Each frontend has a task of its
//! own; a change of backends reaches it through its pool, and a frontend without backends has no
//! socket at all, so that the kernel refuses clients at once; at a link without routes there is one, and it
//! resets connections.

mod datagrams;
mod frontend;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use self::frontend::Frontend;

use crate::pool::Pool;
use crate::table::Protocol;

/// What stands behind a frontend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Who gets connections.
    pub backends: BTreeSet<SocketAddr>,
    /// For so long a client stays with its backend.
    pub affinity: Option<Duration>,
    /// Who may connect; empty: everybody.
    pub sources: Vec<IpNet>,
}

/// What every task of a frontend shares with the relay.
pub(crate) struct Shared {
    pool: Mutex<Pool>,
    started: Instant,
    sources: Mutex<Vec<IpNet>>,
    /// Backends that are dead: whoever is with one of them is cut off.
    dead: watch::Receiver<Arc<BTreeSet<IpAddr>>>,
}

impl Shared {
    /// A pool has no state that a panic elsewhere could spoil: it is only counters.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn may_come(&self, client: IpAddr) -> bool {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.is_empty() || sources.iter().any(|net| net.contains(&client))
    }
}

struct Running {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// All frontends of this process.
pub struct Relay {
    running: BTreeMap<Frontend, Running>,
    dead: watch::Sender<Arc<BTreeSet<IpAddr>>>,
}

impl Default for Relay {
    fn default() -> Self {
        Self { running: BTreeMap::new(), dead: watch::Sender::new(Arc::default()) }
    }
}

impl Relay {
    /// Makes these the frontends; returns those that could not be opened, with the reason. They are
    /// tried again with the next call.
    pub fn apply(
        &mut self,
        wanted: &BTreeMap<Frontend, Behind>,
    ) -> Vec<(Frontend, std::io::Error)> {
        // Where answers find no way back by routing, the kernel cannot refuse either: a socket has to.
        let serves = |frontend: &Frontend| {
            let behind = wanted.get(frontend);
            behind.is_some_and(|behind| !behind.backends.is_empty() || frontend.link.is_some())
        };
        self.running.retain(|frontend, running| {
            let stays = serves(frontend) && !running.task.is_finished();
            if !stays {
                running.task.abort();
            }
            stays
        });
        let mut failures = Vec::new();
        for (frontend, behind) in wanted.iter().filter(|(frontend, _)| serves(frontend)) {
            if let Some(running) = self.running.get(frontend) {
                running.shared.set(behind);
                continue;
            }
            let shared = Arc::new(Shared {
                pool: Mutex::default(),
                started: Instant::now(),
                sources: Mutex::default(),
                dead: self.dead.subscribe(),
            });
            shared.set(behind);
            let opened = match frontend.protocol {
                Protocol::Tcp => frontend
                    .listen()
                    .map(|listener| tokio::spawn(streams::serve(listener, Arc::clone(&shared)))),
                Protocol::Udp => frontend
                    .receive()
                    .map(|socket| tokio::spawn(datagrams::serve(socket, Arc::clone(&shared)))),
            };
            match opened {
                Ok(task) => {
                    self.running.insert(frontend.clone(), Running { shared, task });
                }
                Err(error) => failures.push((frontend.clone(), error)),
            }
        }
        failures
    }

    /// Cuts off everybody who is with a backend at one of these addresses.
    pub fn cut(&self, dead: BTreeSet<IpAddr>) {
        self.dead.send_replace(Arc::new(dead));
    }

    /// How many frontends have a socket.
    pub fn open(&self) -> usize {
        self.running.len()
    }
}

impl Shared {
    fn set(&self, behind: &Behind) {
        let weights = behind.backends.iter().map(|backend| (*backend, 1)).collect();
        self.pool().set(&weights, behind.affinity);
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.clone_from(&behind.sources);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.task.abort();
        }
    }
}
