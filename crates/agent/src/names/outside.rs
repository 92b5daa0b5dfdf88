//! Questions that are handed on to others, one socket and one random number for each.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use landbridge_dns::cache::Stored;
use landbridge_dns::stream;
use landbridge_dns::wire::{HEADER, Name, Query, class, flag, rtype};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;

/// A server that says nothing for so long is not waited for: clients ask again after five seconds.
const PATIENCE: Duration = Duration::from_millis(1500);
/// So many questions are with others at once.
const AT_ONCE: usize = 150;

/// Room for questions that are with others.
#[derive(Clone, Debug)]
pub struct Outside {
    room: Arc<Semaphore>,
}

impl Default for Outside {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

/// Why nobody has answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    #[error("{AT_ONCE} questions are waited for already")]
    Busy,
    #[error("{}", .0.join("; "))]
    Nobody(Vec<String>),
}

impl Outside {
    /// Hands a query on to one after another; the first answer is returned, with the query's number.
    pub async fn ask(&self, query: &[u8], servers: &[SocketAddr]) -> Result<Vec<u8>, Silence> {
        let _room = self.room.try_acquire().map_err(|_| Silence::Busy)?;
        let mut failures = Vec::new();
        for server in servers {
            let asked = tokio::time::timeout(PATIENCE, one(query, *server)).await;
            match asked {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => failures.push(format!("{server}: {error}")),
                Err(_) => {
                    failures
                        .push(format!("{server}: no answer within {} ms", PATIENCE.as_millis()));
                }
            }
        }
        Err(Silence::Nobody(failures))
    }

    /// The addresses of a name, of the family that is asked for.
    pub async fn addresses(
        &self,
        name: &Name,
        kind: u16,
        servers: &[SocketAddr],
    ) -> Result<Vec<IpAddr>, Silence> {
        let mut query = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend_from_slice(name.wire());
        query.extend_from_slice(&kind.to_be_bytes());
        query.extend_from_slice(&class::IN.to_be_bytes());
        let answer = self.ask(&query, servers).await?;
        Ok(addresses_in(&query, &answer, kind))
    }
}

async fn one(query: &[u8], server: SocketAddr) -> io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() { [0, 0, 0, 0].into() } else { [0u16; 8].into() };
    // A port of its own, which the kernel picks by chance; connected, so that only that one is heard.
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    let mut number = [0; 2];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let mut sent = query.to_vec();
    let own = sent.get_mut(..2).ok_or(io::ErrorKind::InvalidData)?;
    own.copy_from_slice(&number);
    socket.send(&sent).await?;
    let mut answer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut answer).await?;
        if is_answer(&sent, &answer[..length]) {
            answer.truncate(length);
            break;
        }
    }
    if answer.get(2).is_some_and(|flags| flags & 0x02 != 0) {
        answer = by_tcp(&sent, server).await?;
    }
    answer[..2].copy_from_slice(&query[..2]);
    Ok(answer)
}

async fn by_tcp(query: &[u8], server: SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let answer = stream::exchange(&mut stream, query).await?;
    if !is_answer(query, &answer) {
        return Err(io::Error::other("answers another question"));
    }
    Ok(answer)
}

/// Whether it answers exactly this query: number, question, and that it is an answer at all.
fn is_answer(query: &[u8], answer: &[u8]) -> bool {
    let Ok(asked) = Query::parse(query) else { return false };
    let flags = answer.get(2).copied().unwrap_or(0);
    let end = HEADER + asked.question().len();
    let question = answer.get(HEADER..end).unwrap_or_default();
    answer.get(..2) == query.get(..2)
        && u16::from(flags) << 8 & flag::QR != 0
        && answer.get(4..6) == Some(&[0, 1])
        && question.eq_ignore_ascii_case(asked.question())
}

/// The addresses in the answer section, whichever names they stand at: aliases end in them.
fn addresses_in(query: &[u8], answer: &[u8], kind: u16) -> Vec<IpAddr> {
    let Ok(asked) = Query::parse(query) else { return Vec::new() };
    let read = Stored::read(answer, HEADER + asked.question().len(), Duration::ZERO);
    let Ok(stored) = read else { return Vec::new() };
    stored.addresses().filter(|ip| ip.is_ipv4() == (kind == rtype::A)).collect()
}
