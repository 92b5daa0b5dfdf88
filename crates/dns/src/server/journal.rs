//! `log-queries`: a line for each query, written by a thread of its own. A pipe that nobody reads must
//! not stop the answers, so lines that do not fit are counted and left out.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use crate::wire::{Query, rtype};

/// Lines that may wait.
const LINES: usize = 4096;

/// What became of a query.
#[derive(Debug, Clone, Copy)]
pub enum Fate<'a> {
    /// Answered from local data or the cache; the reply tells how.
    Reply(&'static str, &'a [u8]),
    Forwarded,
    Refused,
}

/// Where lines go.
pub struct Journal {
    lines: SyncSender<String>,
    lost: Arc<AtomicU64>,
}

impl Journal {
    /// Writes to stderr, as dnsmasq with `log-facility=-`.
    pub fn start() -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::Builder::new().name("dns-journal".into()).spawn(move || {
            let mut text = String::new();
            while let Ok(line) = waiting.recv() {
                text.clear();
                text.push_str(&line);
                // Many lines with one write, as far as they are there.
                text.extend(waiting.try_iter().take(64));
                let lost = counted.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(text, "({lost} lines of log-queries left out)");
                }
                // Nothing to be done when even stderr is gone.
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        })?;
        Ok(Self { lines, lost })
    }

    /// Notes a query.
    pub fn note(&self, message: &[u8], source: IpAddr, fate: Fate<'_>) {
        let Ok(query) = Query::parse(message) else { return };
        let mut line = format!("query[{}] {} from {source}", kind(query.qtype), query.name);
        let _ = match fate {
            Fate::Reply(from, reply) => {
                let code = reply.get(3).map_or(0, |byte| byte & 0x0f);
                let count = reply.get(6..8).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
                writeln!(line, ": {from}, {}, {count} records", code_name(code))
            }
            Fate::Forwarded => writeln!(line, ": forwarded"),
            Fate::Refused => writeln!(line, ": refused, others are not asked for this client"),
        };
        if let Err(TrySendError::Full(_)) = self.lines.try_send(line) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn kind(qtype: u16) -> String {
    let name = match qtype {
        rtype::A => "A",
        rtype::AAAA => "AAAA",
        rtype::PTR => "PTR",
        rtype::CNAME => "CNAME",
        rtype::NS => "NS",
        rtype::SOA => "SOA",
        rtype::MX => "MX",
        rtype::TXT => "TXT",
        rtype::SRV => "SRV",
        rtype::NAPTR => "NAPTR",
        rtype::CAA => "CAA",
        rtype::ANY => "ANY",
        other => return format!("type={other}"),
    };
    name.to_owned()
}

fn code_name(code: u8) -> &'static str {
    match code {
        0 => "NOERROR",
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        _ => "another code",
    }
}
