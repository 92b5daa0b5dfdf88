//! Over the loopback link: who asked gets the answer, from the address that was asked.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use super::{Batch, DatagramSocket};

fn client(bind: &str) -> UdpSocket {
    let socket = UdpSocket::bind(bind).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// Answers every datagram with itself reversed, until the socket is closed.
fn reverse(socket: &DatagramSocket, capacity: usize) -> usize {
    let mut batch = Batch::new(capacity, 64, 64);
    let mut served = 0;
    while batch.receive(socket).unwrap_or(0) > 0 {
        let before = served;
        batch.for_each(socket, |slot| {
            if !slot.question.is_empty() {
                served += 1;
                assert_eq!(slot.cut, slot.question.len() == 64);
                for (to, byte) in slot.answer.iter_mut().zip(slot.question.iter().rev()) {
                    *to = *byte;
                }
                *slot.answer_length = slot.question.len();
            }
        });
        batch.send(socket);
        if served == before {
            break;
        }
    }
    served
}

#[test]
fn every_question_of_a_batch_gets_its_own_answer() {
    let server = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let clients: Vec<UdpSocket> = (0..20).map(|_| client("127.0.0.1:0")).collect();
    // All are there before the first is read.
    for (number, socket) in clients.iter().enumerate() {
        socket.send_to(&[b'a', u8::try_from(number).unwrap()], server.local()).unwrap();
    }
    thread::scope(|scope| {
        let worker = scope.spawn(|| reverse(&server, 8));
        for (number, socket) in clients.iter().enumerate() {
            let mut buffer = [0; 64];
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], [u8::try_from(number).unwrap(), b'a']);
            assert_eq!(from, server.local());
        }
        server.close_for_reading();
        assert_eq!(worker.join().unwrap(), 20);
    });
}

#[test]
fn a_wildcard_answers_from_the_address_that_was_asked() {
    for (wildcard, asked) in
        [("0.0.0.0:0", vec!["127.0.0.1", "127.0.0.77"]), ("[::]:0", vec!["::1"])]
    {
        let server = DatagramSocket::bind(wildcard.parse().unwrap(), true).unwrap();
        let port = server.local().port();
        thread::scope(|scope| {
            let worker = scope.spawn(|| reverse(&server, 8));
            for address in &asked {
                let to = SocketAddr::new(address.parse().unwrap(), port);
                let asking = client(if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" });
                // Connected: the kernel drops what comes from any other address.
                asking.connect(to).unwrap();
                asking.send(b"xy").unwrap();
                let mut buffer = [0; 64];
                let length = asking.recv(&mut buffer).unwrap();
                assert_eq!(&buffer[..length], b"yx", "asked {to}");
                // The same way for an answer that comes later.
                let later = super::Arrival { address: to.ip(), link: 1 };
                server.send(b"later", asking.local_addr().unwrap(), Some(later)).unwrap();
                assert_eq!(asking.recv(&mut buffer).unwrap(), 5);
            }
            server.close_for_reading();
            assert_eq!(worker.join().unwrap(), asked.len());
        });
    }
}

#[test]
fn a_datagram_that_is_too_long_is_marked() {
    let server = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let asking = client("127.0.0.1:0");
    asking.send_to(&[7; 200], server.local()).unwrap();
    let mut batch = Batch::new(4, 64, 70_000);
    assert_eq!(batch.receive(&server).unwrap(), 1);
    let mut seen = 0;
    batch.for_each(&server, |slot| {
        seen += 1;
        assert!(slot.cut);
        assert_eq!(slot.question.len(), 64);
        assert_eq!(slot.peer, asking.local_addr().unwrap());
    });
    assert_eq!(seen, 1);
}

#[test]
fn an_answer_the_kernel_refuses_does_not_stop_the_others() {
    let server = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let asking = client("127.0.0.1:0");
    for byte in 0..3 {
        asking.send_to(&[byte], server.local()).unwrap();
    }
    let mut batch = Batch::new(4, 64, 70_000);
    assert_eq!(batch.receive(&server).unwrap(), 3);
    batch.for_each(&server, |slot| match slot.question[0] {
        // No datagram is that long.
        1 => *slot.answer_length = 70_000,
        byte => {
            slot.answer[0] = byte;
            *slot.answer_length = 1;
        }
    });
    assert_eq!(batch.send(&server), 1);
    let mut buffer = [0; 8];
    for byte in [0, 2] {
        assert_eq!(asking.recv(&mut buffer).unwrap(), 1);
        assert_eq!(buffer[0], byte);
    }
}
