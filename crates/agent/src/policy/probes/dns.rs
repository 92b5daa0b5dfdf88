//! One question to a name server: has this name an address? (RFC 1035, section 4.)

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Asks for the IPv4 and then the IPv6 address.
pub fn ask(server: IpAddr, host: &str, within: Duration) -> Result<(), String> {
    ask_at(SocketAddr::new(server, 53), host, within)
}

fn ask_at(server: SocketAddr, host: &str, within: Duration) -> Result<(), String> {
    let mut last = String::new();
    for (number, kind) in [(1, 1), (2, 28)] {
        match one(server, number, &question(number, host, kind), within / 2) {
            Ok(()) => return Ok(()),
            Err(why) => last = why,
        }
    }
    Err(last)
}

fn question(number: u16, host: &str, kind: u16) -> Vec<u8> {
    let mut message = Vec::new();
    for word in [number, 0x0100, 1, 0, 0, 0] {
        message.extend(u16::to_be_bytes(word)); // recursion desired, one question
    }
    for label in host.trim_end_matches('.').split('.') {
        message.push(u8::try_from(label.len()).unwrap_or(63).min(63));
        message.extend(label.bytes().take(63));
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend(1u16.to_be_bytes());
    message
}

fn one(server: SocketAddr, number: u16, question: &[u8], within: Duration) -> Result<(), String> {
    let failed = |error: io::Error| format!("{server}: {error}");
    let any: SocketAddr =
        if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(server).map_err(failed)?;
    socket.send(question).map_err(failed)?;
    let begin = Instant::now();
    let mut answer = [0; 512];
    loop {
        let left = within.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(format!("{server}: no answer within {} ms", within.as_millis()));
        }
        socket.set_read_timeout(Some(left)).map_err(failed)?;
        let length = match socket.recv(&mut answer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            other => other.map_err(failed)?,
        };
        let word = |at: usize| {
            answer[..length].get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
        };
        let (Some(id), Some(flags), Some(answers)) = (word(0), word(2), word(6)) else { continue };
        if id != number || flags & 0x8000 == 0 {
            continue; // not the answer to this question
        }
        return match (flags & 15, answers) {
            (0, 1..) => Ok(()),
            (0, 0) => Err(format!("{server}: the name has no address")),
            (code, _) => Err(format!("{server}: the answer is error {code}")),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name server that knows one name, and answers nonsense first.
    fn serve(code: u8, answers: u8) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        std::thread::spawn(move || {
            let mut message = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut message) {
                assert_eq!(&message[12..26], b"\x04host\x07example\x00");
                let mut answer = message[..length].to_vec();
                socket.send_to(b"x", from).unwrap();
                socket.send_to(&answer, from).unwrap();
                (answer[2], answer[3], answer[7]) = (0x80, code, answers);
                socket.send_to(&answer, from).unwrap();
            }
        });
        address
    }

    #[test]
    fn only_an_address_is_an_answer() {
        let second = Duration::from_secs(1);
        assert_eq!(ask_at(serve(0, 1), "host.example.", second), Ok(()));
        assert!(ask_at(serve(3, 0), "host.example", second).unwrap_err().contains("error 3"));
        assert!(ask_at(serve(0, 0), "host.example", second).unwrap_err().contains("no address"));
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = ask_at(silent.local_addr().unwrap(), "a", Duration::from_millis(60));
        assert!(error.unwrap_err().contains("no answer within 30 ms"));
    }
}
