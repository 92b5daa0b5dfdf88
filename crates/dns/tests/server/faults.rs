//! Servers that are asked and fail, each in its own way.

use std::time::{Duration, Instant};

use crate::lab::{A, Lab, Said, Upstream, answer, ask_by_tcp, connect, free_port, query, say};

const TRUE: [u8; 4] = [198, 51, 100, 1];
const LIE: [u8; 4] = [6, 6, 6, 6];

#[test]
fn a_server_that_is_down_is_passed_over() {
    let up = Upstream::honest(TRUE);
    let down = format!("--server=127.0.0.1#{}", free_port());
    let lab = Lab::start(&[], &[&down, &up.option(), "--strict-order"]);
    let began = Instant::now();
    assert_eq!(lab.ask("a.example", A).addresses, ["198.51.100.1"]);
    assert!(
        began.elapsed() < Duration::from_millis(900),
        "the kernel says at once that nobody is there"
    );
}

#[test]
fn when_all_are_down_the_client_is_told_in_time() {
    let down = format!("--server=127.0.0.1#{}", free_port());
    let lab = Lab::start(&[("hosts/data", "192.0.2.1 here.example\n")], &[&down]);
    let began = Instant::now();
    assert_eq!(lab.ask("a.example", A).rcode, 2);
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(
        lab.ask("here.example", A).addresses,
        ["192.0.2.1"],
        "what is known here does not suffer"
    );
}

#[test]
fn a_silent_server_is_passed_over() {
    let silent = Upstream::start(|_| vec![], |_| None);
    let up = Upstream::honest(TRUE);
    let lab = Lab::start(&[], &[&silent.option(), &up.option(), "--strict-order"]);
    let began = Instant::now();
    assert_eq!(lab.ask("a.example", A).addresses, ["198.51.100.1"]);
    assert!(began.elapsed() < Duration::from_secs(3));
    assert!(silent.asked() >= 1);
}

#[test]
fn a_slow_server_holds_nobody_else_up() {
    let slow = Upstream::start(
        |asked| {
            let message = answer(asked, &[TRUE]);
            vec![Said { message, from_elsewhere: false, after: Duration::from_millis(700) }]
        },
        |_| None,
    );
    let lab = Lab::start(&[("hosts/data", "192.0.2.1 here.example\n")], &[&slow.option()]);
    let waiting = lab.client();
    waiting.socket.send(&query(5, "slow.example", A)).unwrap();
    let mut slowest = Duration::ZERO;
    for _ in 0..100 {
        let began = Instant::now();
        assert_eq!(lab.ask("here.example", A).addresses, ["192.0.2.1"]);
        slowest = slowest.max(began.elapsed());
    }
    assert!(slowest < Duration::from_millis(600), "{slowest:?}");
    let mut buffer = [0; 512];
    let length = waiting.socket.recv(&mut buffer).unwrap();
    assert_eq!(crate::lab::read_reply(&buffer[..length]).addresses, ["198.51.100.1"]);
}

#[test]
fn liars_are_not_believed() {
    let liar = Upstream::start(
        |asked| {
            let mut wrong_id = answer(asked, &[LIE]);
            wrong_id[0] ^= 0x55;
            let mut wrong_name = answer(asked, &[LIE]);
            wrong_name[13] ^= 1;
            let mut no_reply = answer(asked, &[LIE]);
            no_reply[2] &= 0x7f;
            let elsewhere = Said {
                message: answer(asked, &[LIE]),
                from_elsewhere: true,
                after: Duration::ZERO,
            };
            let truth = Said {
                message: answer(asked, &[TRUE]),
                from_elsewhere: false,
                after: Duration::from_millis(100),
            };
            vec![
                say(wrong_id),
                say(wrong_name),
                say(no_reply),
                elsewhere,
                say(vec![1, 2, 3]),
                truth,
            ]
        },
        |_| None,
    );
    let lab = Lab::start(&[], &[&liar.option()]);
    for number in 0..20 {
        assert_eq!(lab.ask(&format!("n{number}.example"), A).addresses, ["198.51.100.1"]);
    }
    assert!(lab.metric("upstream_ignored_total") >= 20 * 3);
}

#[test]
fn records_slipped_into_an_answer_poison_nothing() {
    let poisoner = Upstream::start(
        |asked| {
            let mut message =
                answer(asked, &[if asked[13] == b'b' { TRUE } else { [10, 0, 0, 1] }]);
            message[11] = 1;
            message.extend(crate::lab::wire_name("bank.example"));
            message.extend([0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
            message.extend(LIE);
            vec![say(message)]
        },
        |_| None,
    );
    let lab = Lab::start(&[], &[&poisoner.option()]);
    lab.ask("a.example", A);
    assert_eq!(lab.ask("bank.example", A).addresses.len(), 1);
    assert_ne!(lab.ask("bank.example", A).addresses, ["6.6.6.6"]);
    assert_eq!(poisoner.asked(), 2, "it was asked for");
}

#[test]
fn an_answer_that_does_not_fit_comes_by_tcp() {
    let many: Vec<[u8; 4]> = (0..100).map(|host| [198, 51, 100, host]).collect();
    let whole = many.clone();
    let upstream = Upstream::start(
        |asked| {
            let mut message = answer(asked, &[]);
            message[2] |= 2;
            vec![say(message)]
        },
        move |asked| Some(answer(asked, &whole)),
    );
    let lab = Lab::start(&[], &[&upstream.option()]);
    let short = lab.ask("many.example", A);
    assert!(short.cut && short.addresses.is_empty() && short.length <= 512);
    let mut stream = connect(lab.address);
    let whole = ask_by_tcp(&mut stream, "many.example", A).unwrap();
    assert_eq!(whole.addresses.len(), 100);
    assert!(!whole.cut);
    let tcp = upstream.asked_by_tcp.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((upstream.asked(), tcp), (1, 1), "the second answer was kept");
}

#[test]
fn private_addresses_from_outside_are_withheld() {
    let upstream = Upstream::honest([10, 0, 0, 1]);
    let lab = Lab::start(
        &[("conf", "stop-dns-rebind\nrebind-domain-ok=/inside.example/\n")],
        &[&upstream.option()],
    );
    assert!(lab.ask("evil.example", A).addresses.is_empty());
    assert_eq!(lab.ask("www.inside.example", A).addresses, ["10.0.0.1"]);
    assert_eq!(lab.metric("rebinds_total"), 1);
}

#[test]
fn a_loop_ends_by_itself() {
    // Two servers that ask each other.
    let first = Lab::start(&[], &[]);
    let option = format!("--server=127.0.0.1#{}", first.address.port());
    let second = Lab::start(&[], &[&option]);
    let back = format!("server=127.0.0.1#{}\n", second.address.port());
    std::fs::write(first.path("conf"), back).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let reply = first.ask("loop.example", A);
    assert_ne!(reply.rcode, 0);
    assert!(first.metric("upstream_sent_total") < 50 && second.metric("upstream_sent_total") < 50);
    // One that is told to ask itself does not.
    let own = Lab::start(&[], &[]);
    std::fs::write(own.path("conf"), format!("server=127.0.0.1#{}\n", own.address.port())).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(own.ask("loop.example", A).rcode, 5);
    assert_eq!(own.metric("upstream_sent_total"), 0);
}

#[test]
fn equal_questions_are_asked_once() {
    let slow = Upstream::start(
        |asked| {
            let message = answer(asked, &[TRUE]);
            vec![Said { message, from_elsewhere: false, after: Duration::from_millis(300) }]
        },
        |_| None,
    );
    let lab = Lab::start(&[], &[&slow.option()]);
    let clients: Vec<_> = (0..50).map(|_| lab.client()).collect();
    for client in &clients {
        client.socket.send(&query(9, "popular.example", A)).unwrap();
    }
    for client in &clients {
        let mut buffer = [0; 512];
        let length = client.socket.recv(&mut buffer).unwrap();
        assert_eq!(crate::lab::read_reply(&buffer[..length]).addresses, ["198.51.100.1"]);
    }
    assert_eq!(slow.asked(), 1);
}
