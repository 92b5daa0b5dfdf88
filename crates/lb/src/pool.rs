//! Who gets the next connection.
//!
//! Time is an argument: how long it is since some moment that never changes. Nothing here does IO, so
//! thousands of random histories run in a second.
//!
//! - Turns are fair by weight (smooth weighted round robin): of weights 2 and 1, never two of the
//!   second in a row.
//! - A client that came before stays with its backend for as long as the affinity says, counted from
//!   its last connection, and as long as that backend takes connections.
//! - A backend that could not be reached is left out for a while, longer each time; when all are left
//!   out, all are tried: wrong news of health must not make a working service fail.
//! - A backend that is taken away drains: it gets nothing new, and keeps what it has.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// After a first failure a backend is left out for so long, then twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// So many clients are remembered; whoever was here longest ago is forgotten first.
const REMEMBERED: usize = 65_536;

/// What a backend counts beside the others. 0: none but those who are with it already.
pub type Weight = u32;

#[derive(Clone, Debug, Default)]
struct Backend {
    weight: Weight,
    /// Of the smooth round robin.
    credit: i64,
    failures: u32,
    /// Left out until then.
    until: Option<Duration>,
    open: usize,
    /// Taken away, and still busy.
    draining: bool,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Pool {
    backends: BTreeMap<SocketAddr, Backend>,
    affinity: Option<Duration>,
    clients: HashMap<IpAddr, (SocketAddr, Duration)>,
}

impl Pool {
    /// Makes these the backends. Those that stay keep what is known of them; those that go drain.
    pub fn set(&mut self, wanted: &BTreeMap<SocketAddr, Weight>, affinity: Option<Duration>) {
        self.affinity = affinity;
        if affinity.is_none() {
            self.clients.clear();
        }
        for (address, backend) in &mut self.backends {
            backend.draining = !wanted.contains_key(address);
        }
        for (address, weight) in wanted {
            let backend = self.backends.entry(*address).or_default();
            backend.weight = *weight;
        }
        self.backends.retain(|_, backend| !backend.draining || backend.open > 0);
        let backends = &self.backends;
        self.clients.retain(|_, (with, _)| backends.get(with).is_some_and(|b| !b.draining));
    }

    /// The backend of a new connection of a client; not one of those it has tried already.
    pub fn pick(
        &mut self,
        now: Duration,
        client: IpAddr,
        tried: &[SocketAddr],
    ) -> Option<SocketAddr> {
        let open =
            |address: &SocketAddr, backend: &Backend| !backend.draining && !tried.contains(address);
        let known = self.affinity.and_then(|affinity| {
            let (with, at) = self.clients.get(&client)?;
            let fresh = now.saturating_sub(*at) < affinity;
            let backend = self.backends.get(with)?;
            (fresh && open(with, backend) && backend.is_healthy(now)).then_some(*with)
        });
        let chosen = known
            .or_else(|| {
                self.turn(|address, backend| open(address, backend) && backend.is_healthy(now))
            })
            .or_else(|| self.turn(open))?;
        if self.affinity.is_some() {
            self.remember(client, chosen, now);
        }
        if let Some(backend) = self.backends.get_mut(&chosen) {
            backend.open += 1;
        }
        Some(chosen)
    }

    /// One step of the smooth weighted round robin among some.
    fn turn(&mut self, among: impl Fn(&SocketAddr, &Backend) -> bool) -> Option<SocketAddr> {
        let mut total = 0;
        let mut best: Option<(i64, SocketAddr)> = None;
        for (address, backend) in &mut self.backends {
            if backend.weight == 0 || !among(address, backend) {
                continue;
            }
            let weight = i64::from(backend.weight);
            total += weight;
            backend.credit += weight;
            if best.is_none_or(|(credit, _)| backend.credit > credit) {
                best = Some((backend.credit, *address));
            }
        }
        let (_, chosen) = best?;
        if let Some(backend) = self.backends.get_mut(&chosen) {
            backend.credit -= total;
        }
        Some(chosen)
    }

    fn remember(&mut self, client: IpAddr, with: SocketAddr, now: Duration) {
        if self.clients.len() >= REMEMBERED && !self.clients.contains_key(&client) {
            let limit = self.affinity.unwrap_or_default();
            self.clients.retain(|_, (_, at)| now.saturating_sub(*at) < limit);
            if self.clients.len() >= REMEMBERED {
                let oldest = self.clients.iter().min_by_key(|(_, (_, at))| *at).map(|(ip, _)| *ip);
                oldest.and_then(|oldest| self.clients.remove(&oldest));
            }
        }
        self.clients.insert(client, (with, now));
    }

    /// A connection that was [picked](Self::pick) reached its backend.
    pub fn reached(&mut self, backend: SocketAddr) {
        if let Some(backend) = self.backends.get_mut(&backend) {
            (backend.failures, backend.until) = (0, None);
        }
    }

    /// It could not be reached: somebody else is to be picked for a while.
    pub fn failed(&mut self, now: Duration, address: SocketAddr) {
        if let Some(backend) = self.backends.get_mut(&address) {
            let pause = FIRST_PAUSE.saturating_mul(1 << backend.failures.min(10));
            backend.failures = backend.failures.saturating_add(1);
            backend.until = Some(now + pause.min(LONGEST_PAUSE));
        }
        self.clients.retain(|_, (with, _)| *with != address);
        self.ended(address);
    }

    /// It has ended, well or badly.
    pub fn ended(&mut self, address: SocketAddr) {
        if let Some(backend) = self.backends.get_mut(&address) {
            backend.open = backend.open.saturating_sub(1);
            if backend.draining && backend.open == 0 {
                self.backends.remove(&address);
            }
        }
    }

    /// How many connections a backend has; nothing when it is unknown.
    pub fn open(&self, backend: SocketAddr) -> Option<usize> {
        self.backends.get(&backend).map(|backend| backend.open)
    }

    /// Whether a backend is one that new connections may get.
    pub fn takes(&self, backend: SocketAddr) -> bool {
        self.backends.get(&backend).is_some_and(|backend| !backend.draining)
    }

    /// Whether nobody takes connections.
    pub fn is_empty(&self) -> bool {
        !self.backends.values().any(|backend| !backend.draining)
    }
}

impl Backend {
    fn is_healthy(&self, now: Duration) -> bool {
        self.until.is_none_or(|until| until <= now)
    }
}
