//! What all threads of a server share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use landbridge_linux::DatagramSocket;
use landbridge_linux::datagram::Arrival;
use tokio::sync::mpsc;

use super::journal::Journal;
use super::metrics::Counters;
use super::reach::Reach;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::forward;
use crate::limit::Limiter;

/// Everything a reader needs; each part is exchanged as a whole, and nobody locks.
pub struct State {
    pub catalog: ArcSwap<Catalog>,
    pub reach: ArcSwap<Reach>,
    pub cache: Arc<Cache>,
    pub limiter: Limiter,
    pub journal: Journal,
    pub recursion: Vec<IpNet>,
    pub counters: Vec<Arc<Counters>>,
    pub began: Instant,
}

impl State {
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Whoever waits for an answer of another server.
#[derive(Clone)]
pub enum Client {
    Udp { socket: Arc<DatagramSocket>, peer: SocketAddr, arrival: Option<Arrival> },
    Tcp { connection: u64, replies: mpsc::Sender<Vec<u8>> },
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Udp { peer: a, arrival: b, .. }, Self::Udp { peer: c, arrival: d, .. }) => {
                a == c && b == d
            }
            (Self::Tcp { connection: a, .. }, Self::Tcp { connection: b, .. }) => a == b,
            _ => false,
        }
    }
}

pub type Ask = forward::Ask<Client>;
