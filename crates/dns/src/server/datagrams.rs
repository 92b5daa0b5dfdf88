//! The workers: each a thread with a socket of its own, which answers what it reads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use landbridge_linux::DatagramSocket;
use landbridge_linux::datagram::Batch;
use tokio::sync::mpsc;

use super::metrics::Counters;
use super::serve::Desk;
use super::state::{Ask, Client, State};

/// Datagrams that are taken with one call.
const BATCH: usize = 32;
/// From so many at once on others get the processor first, as they may have more for us: where workers and clients
/// share processors, a worker would else wake for a few queries each time (1.18 of the CPU per query with two workers on two
/// processors, 1.03 so).
const MANY: usize = 8;
/// What is kept of a query; no honest one is longer.
const QUERY: usize = 2048;
/// No reply by UDP is longer, whatever is set.
const REPLY: usize = 4096;

/// Starts a worker.
pub fn start(
    number: usize,
    socket: Arc<DatagramSocket>,
    state: Arc<State>,
    counters: Arc<Counters>,
    asks: mpsc::Sender<Ask>,
    stopping: Arc<AtomicBool>,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("dns-udp-{number}")).spawn(move || {
        let mut batch = Batch::new(BATCH, QUERY, REPLY);
        let mut catalog = arc_swap::Cache::new(&state.catalog);
        let mut reach = arc_swap::Cache::new(&state.reach);
        let bound = socket.local().ip();
        let mut had_many = false;
        while !stopping.load(Ordering::Relaxed) {
            if had_many {
                thread::yield_now();
            }
            match batch.receive(&socket) {
                Ok(taken) => had_many = taken >= MANY,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // Out of memory, an interface that goes: it passes, but not by asking at once.
                    tracing::warn!(address = %socket.local(), %error, "cannot read queries");
                    thread::sleep(Duration::from_millis(100));
                    continue;
                }
            }
            let catalog = catalog.load();
            let desk = Desk {
                state: &state,
                catalog,
                reach: reach.load(),
                counters: &counters,
                asks: &asks,
                now: state.now(),
            };
            let room = usize::from(catalog.settings().edns_packet_max).clamp(512, REPLY);
            batch.for_each(&socket, |slot| {
                if slot.cut {
                    counters.dropped.add(1);
                    return;
                }
                let (peer, arrival) = (slot.peer, slot.arrival);
                let out = slot.answer.get_mut(..room).unwrap_or_default();
                *slot.answer_length =
                    desk.datagram(slot.question, peer, bound, arrival, out, || Client::Udp {
                        socket: Arc::clone(&socket),
                        peer,
                        arrival,
                    });
            });
            let refused = batch.send(&socket);
            if refused > 0 {
                counters.unsent.add(refused as u64);
            }
        }
    })
}
