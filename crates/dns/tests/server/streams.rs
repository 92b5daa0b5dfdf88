//! Clients by TCP, among them those that only hold a connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::lab::{
    A, Lab, Said, Upstream, answer, ask_by_tcp, connect, framed, query, read_framed, read_reply,
};

const HOSTS: &str = "192.0.2.1 a.example\n";

#[test]
fn hundreds_of_idle_connections_keep_nobody_out() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    let mut idle: Vec<TcpStream> = Vec::new();
    for number in 0..700 {
        let mut stream = connect(lab.address);
        // Some send a part of a query and then nothing.
        if number % 3 == 0 {
            let _ = stream.write_all(&framed(&query(1, "a.example", A))[..number % 20]);
        }
        idle.push(stream);
        if number % 50 == 0 {
            let began = Instant::now();
            let mut other = connect(lab.address);
            assert_eq!(ask_by_tcp(&mut other, "a.example", A).unwrap().addresses, ["192.0.2.1"]);
            assert_eq!(lab.ask("a.example", A).addresses, ["192.0.2.1"]);
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "with {number} idle: {:?}",
                began.elapsed()
            );
        }
    }
    let open = lab.metric("tcp_connections");
    assert!((100..=300).contains(&open), "{open} connections of one source");
    // The first ones went, the last ones stay.
    let mut end = [0; 1];
    assert_eq!(idle[0].read(&mut end).unwrap_or(0), 0);
    // (The very last one has half a query on its way.)
    assert_eq!(ask_by_tcp(&mut idle[698], "a.example", A).unwrap().addresses, ["192.0.2.1"]);
}

#[test]
fn a_query_in_pieces_is_a_query() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    let mut stream = connect(lab.address);
    stream.set_nodelay(true).unwrap();
    for byte in framed(&query(3, "a.example", A)) {
        stream.write_all(&[byte]).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(read_reply(&read_framed(&mut stream).unwrap()).addresses, ["192.0.2.1"]);
}

#[test]
fn many_queries_at_once_are_all_answered() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    let mut stream = connect(lab.address);
    let mut all = Vec::new();
    for id in 0..500 {
        all.extend(framed(&query(id, "a.example", A)));
    }
    let mut writer = stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || writer.write_all(&all).unwrap());
    for id in 0..500 {
        let reply = read_reply(&read_framed(&mut stream).unwrap());
        assert_eq!((reply.id, &reply.addresses[..]), (id, &["192.0.2.1".to_owned()][..]));
    }
    sending.join().unwrap();
}

#[test]
fn forwarded_queries_do_not_hold_up_those_behind_them() {
    let slow = Upstream::start(
        |asked| {
            let message = answer(asked, &[[198, 51, 100, 1]]);
            vec![Said { message, from_elsewhere: false, after: Duration::from_millis(500) }]
        },
        |_| None,
    );
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[&slow.option()]);
    let mut stream = connect(lab.address);
    let mut both = framed(&query(1, "slow.example.org", A));
    both.extend(framed(&query(2, "a.example", A)));
    stream.write_all(&both).unwrap();
    assert_eq!(read_reply(&read_framed(&mut stream).unwrap()).id, 2);
    // A client that says no more still gets what it asked for.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read_reply(&read_framed(&mut stream).unwrap()).id, 1);
    assert_eq!(read_framed(&mut stream), None);
}

#[test]
fn what_is_no_query_ends_the_connection() {
    let lab = Lab::start(&[("hosts/data", HOSTS)], &[]);
    let mut stream = connect(lab.address);
    let mut response = query(1, "a.example", A);
    response[2] |= 0x80;
    stream.write_all(&framed(&response)).unwrap();
    assert_eq!(read_framed(&mut stream), None);
    assert_eq!(lab.ask("a.example", A).addresses, ["192.0.2.1"]);
}
