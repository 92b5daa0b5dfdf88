//! Asks for an address again and again. One line per probe: when it was sent (nanoseconds of the
//! machine's clock), and who answered in time.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};
use landbridge_linux::packet::Frames;
use landbridge_linux::{Handle, IfName, PacketSocket};

use crate::{Kind, ProbeArguments};

/// Nanoseconds of the machine's clock, the same in all namespaces.
pub fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Probes until it is killed, or nobody reads any more.
pub async fn run(arguments: &ProbeArguments) -> Result<()> {
    let every = Duration::from_millis(arguments.every.max(1));
    let asker = Asker::open(arguments)?;
    let mut out = std::io::stdout().lock();
    let mut next = tokio::time::Instant::now();
    loop {
        let sent = clock();
        let answers = asker.ask(next + every).await;
        let answers: Vec<String> = answers.into_iter().collect();
        if writeln!(out, "{sent} {}", answers.join(",")).and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        next += every;
        // A machine that was busy does not get its probes later all at once.
        next = next.max(tokio::time::Instant::now());
        tokio::time::sleep_until(next).await;
    }
}

enum Asker {
    Arp { socket: PacketSocket, own: Mac, from: Ipv4Addr, address: Ipv4Addr },
    Tcp { address: SocketAddr },
}

impl Asker {
    fn open(arguments: &ProbeArguments) -> Result<Self> {
        if arguments.kind == Kind::Tcp {
            return Ok(Self::Tcp { address: (arguments.address, 80).into() });
        }
        let net = Handle::open()?;
        let name = IfName::new(&arguments.interface)?;
        let link = net.expect_link(&name)?;
        let own = link.mac.context("the interface is not Ethernet")?;
        let socket = PacketSocket::open(link.index, Frames::Arp).context("needs CAP_NET_RAW")?;
        Ok(Self::Arp { socket, own: Mac(own.0), from: arguments.from, address: arguments.address })
    }

    /// Who answers until then. All are waited for: two are a fault that must be seen.
    async fn ask(&self, until: tokio::time::Instant) -> BTreeSet<String> {
        let mut answers = BTreeSet::new();
        match self {
            Self::Arp { socket, own, from, address } => {
                let request = Arp {
                    destination: Mac::BROADCAST,
                    source: *own,
                    operation: Operation::Request,
                    sender_mac: *own,
                    sender_ip: *from,
                    target_mac: Mac::ZERO,
                    target_ip: *address,
                };
                if socket.send(&request.write()).is_err() {
                    return answers;
                }
                while let Ok(Ok(frame)) = tokio::time::timeout_at(until, socket.receive()).await {
                    let reply = Arp::read(&frame).filter(|arp| {
                        arp.operation == Operation::Reply
                            && arp.sender_ip == *address
                            && arp.destination == *own
                    });
                    answers.extend(reply.map(|arp| arp.sender_mac.to_string()));
                }
            }
            Self::Tcp { address } => {
                let began = Instant::now();
                let connect = tokio::net::TcpStream::connect(address);
                // A connection needs more than one packet; it counts when it stands.
                let patience = until + Duration::from_millis(20);
                if let Ok(Ok(_)) = tokio::time::timeout_at(patience, connect).await {
                    answers.insert(format!("connected/{}us", began.elapsed().as_micros()));
                }
            }
        }
        answers
    }
}
