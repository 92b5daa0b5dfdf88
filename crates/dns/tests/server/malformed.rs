//! Thousands of packets that are no queries, over the wire: the server lives, answers to none of
//! them with more than it got, and goes on answering others.

use std::io::Write as _;
use std::time::Duration;

use crate::lab::{A, Lab, connect, framed, query};

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.roll().to_ne_bytes()[0]
    }
}

/// A packet: a query with bytes turned, cut, added or counted wrong, or nothing but noise.
fn packet(dice: &mut Dice) -> Vec<u8> {
    let names = ["a.example", "", "x.y.z.a.example", "4.3.2.1.in-addr.arpa", "a"];
    let qtype = [1, 28, 12, 255, 41, 252, 0, 65535][dice.below(8)];
    let mut message = query(u16::from(dice.byte()), names[dice.below(5)], qtype);
    match dice.below(8) {
        0 => {
            let length = dice.below(60);
            message = (0..length).map(|_| dice.byte()).collect();
        }
        1 => message.truncate(dice.below(message.len() + 1)),
        2 => {
            for _ in 0..=dice.below(6) {
                let at = dice.below(message.len());
                message[at] = dice.byte();
            }
        }
        3 => {
            let at = 4 + dice.below(8);
            message[at] = dice.byte();
        }
        4 => {
            // Pointers to anywhere.
            let at = dice.below(message.len() - 1);
            message[at] = 0xc0 | dice.byte();
        }
        5 => message.extend((0..dice.below(1500)).map(|_| dice.byte()).collect::<Vec<_>>()),
        6 => {
            // OPT of all sorts.
            message[11] = 1 + u8::from(dice.below(4) == 0);
            message.extend([
                0,
                0,
                41,
                dice.byte(),
                dice.byte(),
                dice.byte(),
                dice.byte(),
                dice.byte(),
                0,
            ]);
            let length = dice.below(20);
            message.extend([0, u8::try_from(length).unwrap()]);
            message.extend((0..dice.below(20)).map(|_| dice.byte()).collect::<Vec<_>>());
        }
        _ => {
            // Labels without end.
            message.truncate(12);
            for _ in 0..dice.below(40) {
                let length = dice.below(64);
                message.push(u8::try_from(length).unwrap());
                message.extend((0..length).map(|_| dice.byte()).collect::<Vec<_>>());
            }
        }
    }
    message
}

#[test]
fn nothing_that_is_sent_breaks_it() {
    let conf = "txt-record=t.example,hello\nsynth-domain=s.example,192.0.2.0/24,p-\n\
                auth-zone=z.example\ncname=c.example,a.example\naddress=/x.y.z.a.example/192.0.2.9\n";
    let lab = Lab::start(&[("conf", conf), ("hosts/data", "192.0.2.1 a.example\n")], &[]);
    let client = lab.client();
    client.socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut dice = Dice(0x5eed);
    let mut buffer = vec![0; 65_535];
    for round in 0..20_000 {
        let message = packet(&mut dice);
        client.socket.send(&message).unwrap();
        if round % 16 == 0 {
            while let Ok(length) = client.socket.recv(&mut buffer) {
                assert!(length <= 1232, "{length} bytes");
                assert!(buffer[2] & 0x80 != 0, "what comes back is a response");
            }
        }
        if round % 1000 == 0 {
            assert_eq!(lab.ask("a.example", A).addresses, ["192.0.2.1"], "after {round}");
        }
    }
    for _ in 0..300 {
        let mut stream = connect(lab.address);
        let message = packet(&mut dice);
        let _ = stream.write_all(&framed(&message));
        if dice.below(2) == 0 {
            let _ = stream.write_all(&message);
        }
    }
    assert_eq!(lab.ask("a.example", A).addresses, ["192.0.2.1"]);
}

#[test]
fn responses_are_never_answered() {
    let lab = Lab::start(&[("hosts/data", "192.0.2.1 a.example\n")], &[]);
    let client = lab.client();
    client.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    for flags in [0x80, 0x84, 0xf8] {
        let mut response = query(1, "a.example", A);
        response[2] = flags;
        assert_eq!(client.raw(&response), None, "flags {flags:x}");
    }
    assert_eq!(client.raw(&[]), None);
    assert_eq!(client.raw(&[0; 11]), None, "shorter than a header");
}
