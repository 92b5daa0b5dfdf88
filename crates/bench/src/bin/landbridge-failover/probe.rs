//! Asks for an address again and again. One line per probe: when it was sent (nanoseconds of the
//! machine's clock), and who answered in time.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use futures::StreamExt as _;
use landbridge_l2::packet::Mac;
use landbridge_l2::packet::arp::{Arp, Operation};
use landbridge_linux::packet::Frames;
use landbridge_linux::{Handle, IfName, PacketSocket};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{Kind, ProbeArguments};

/// Nanoseconds of the machine's clock, the same in all namespaces.
pub fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_millis(100);
/// No answer is longer.
const ANSWER_MAX: u64 = 64 << 10;
/// So many probes are told apart, by the address they ask from: more than are under way.
const SLOTS: u64 = 32;

/// A probe under way.
struct Pending {
    sent: u64,
    until: Instant,
    answers: BTreeSet<String>,
}

/// Probes until it is killed, or nobody reads any more.
pub async fn run(arguments: &ProbeArguments) -> Result<()> {
    match arguments.kind {
        Kind::Arp => arp(arguments).await,
        Kind::Http => http(arguments).await,
    }
}

fn tell(sent: u64, answers: &BTreeSet<String>) -> bool {
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{sent} {}", answers.join(",")).and_then(|()| out.flush()).is_ok()
}

async fn arp(arguments: &ProbeArguments) -> Result<()> {
    let net = Handle::open()?;
    let link = net.expect_link(&IfName::new(&arguments.interface)?)?;
    let own = Mac(link.mac.context("the interface is not Ethernet")?.0);
    let socket = PacketSocket::open(link.index, Frames::Arp).context("needs CAP_NET_RAW")?;
    let mut tick = tokio::time::interval(Duration::from_millis(arguments.every.max(1)));
    // A machine that was busy does not send its probes later all at once.
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let first = u32::from(arguments.from);
    let from = |number: u64| {
        let slot = u32::try_from(number % SLOTS).unwrap_or_default();
        Ipv4Addr::from(first.wrapping_add(slot))
    };
    let mut pending: VecDeque<(u64, Pending)> = VecDeque::new();
    let mut number = 0;
    loop {
        tokio::select! {
            _ = tick.tick() => {
                number += 1;
                let request = Arp {
                    destination: Mac::BROADCAST,
                    source: own,
                    operation: Operation::Request,
                    sender_mac: own,
                    sender_ip: from(number),
                    target_mac: Mac::ZERO,
                    target_ip: arguments.address,
                };
                let until = Instant::now() + PATIENCE;
                pending.push_back((number, Pending { sent: clock(), until, answers: BTreeSet::new() }));
                // What cannot be sent is not answered.
                let _ = socket.send(&request.write());
            }
            Ok(frame) = socket.receive() => {
                let reply = Arp::read(&frame).filter(|arp| {
                    arp.operation == Operation::Reply
                        && arp.sender_ip == arguments.address
                        && arp.destination == own
                });
                if let Some(reply) = reply {
                    let asked = pending.iter_mut().find(|(of, _)| from(*of) == reply.target_ip);
                    if let Some((_, probe)) = asked {
                        probe.answers.insert(reply.sender_mac.to_string());
                    }
                }
            }
        }
        // All answers are waited for: two are a fault that must be seen.
        while pending.front().is_some_and(|(_, probe)| probe.until <= Instant::now()) {
            let Some((_, probe)) = pending.pop_front() else { break };
            if !tell(probe.sent, &probe.answers) {
                return Ok(());
            }
        }
    }
}

/// Who answers a request: a pod, through the address and the node that has it.
async fn http(arguments: &ProbeArguments) -> Result<()> {
    let address = SocketAddr::from((arguments.address, 80));
    let mut tick = tokio::time::interval(Duration::from_millis(arguments.every.max(1)));
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut under_way = futures::stream::FuturesOrdered::new();
    loop {
        tokio::select! {
            _ = tick.tick() => under_way.push_back(async move {
                let sent = clock();
                let answer = tokio::time::timeout(PATIENCE, ask(address)).await;
                (sent, answer.ok().and_then(Result::ok).into_iter().collect())
            }),
            Some((sent, answers)) = under_way.next() => {
                if !tell(sent, &answers) {
                    return Ok(());
                }
            }
        }
    }
}

/// The pod that answers, as it names itself in the first line.
async fn ask(address: SocketAddr) -> Result<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: vip\r\nConnection: close\r\n\r\n").await?;
    let mut text = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut text).await?;
    let (head, body) = text.split_once("\r\n\r\n").context("half an answer")?;
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}");
    let words = body.split_whitespace().nth(1).context("the pod does not name itself")?;
    Ok(words.to_owned())
}
