//! One situation each.

use std::time::Duration;

use landbridge_dns::Settings;
use landbridge_dns::cache::{Asked, Form};
use landbridge_dns::forward::PATIENCE;
use landbridge_dns::wire::Query;

use crate::world::{
    World, answers_of, cut, id_of, is_cut, no_such_name, query, question_of, rcode_of, reply,
    upstream, upstreams,
};

const A: u16 = 1;
const AAAA: u16 = 28;

fn world() -> World {
    World::new(Settings::default(), 7)
}

#[test]
fn a_question_is_asked_and_its_answer_passed_on() {
    let mut world = world();
    world.ask(1, query(77, "Www.Example.com", A, None), upstreams(1));
    let sent = world.sent();
    let [(token, server, asked, false)] = &sent[..] else { panic!("one datagram, not {sent:?}") };
    assert_eq!(*server, upstream(1).address);
    assert!(question_of(asked).eq_ignore_ascii_case(question_of(&query(
        0,
        "www.example.com",
        A,
        None
    ))));
    world.heard(*token, *server, &reply(asked, 0, 300, &[[198, 51, 100, 7]]));
    let replies = world.replies();
    let [(1, message)] = &replies[..] else { panic!("one reply, not {replies:?}") };
    assert_eq!(id_of(message), 77);
    // As the client wrote it, however it went out.
    assert_eq!(question_of(message), question_of(&query(77, "Www.Example.com", A, None)));
    assert_eq!((rcode_of(message), answers_of(message)), (0, 1));
    assert_eq!(&message[message.len() - 4..], [198, 51, 100, 7]);
    assert_eq!(world.forwarder.in_flight(), 0);
}

#[test]
fn ids_and_letters_are_not_to_be_guessed() {
    let mut world = world();
    let mut ids = std::collections::BTreeSet::new();
    let mut names = std::collections::BTreeSet::new();
    for number in 0..100_u16 {
        let name = format!("host{number:03}.example.com");
        world.ask(number.into(), query(1, &name, A, None), upstreams(1));
        let (_, _, asked, _) = world.sent().remove(0);
        ids.insert(id_of(&asked));
        names.insert(question_of(&asked)[9..20].to_vec());
    }
    assert!(ids.len() > 95, "{} different ids of 100", ids.len());
    assert!(names.len() > 90, "{} ways to write example.com of 100", names.len());
}

#[test]
fn what_is_no_answer_is_ignored() {
    let mut world = world();
    world.ask(1, query(1, "a.example", A, None), upstreams(1));
    let (token, server, asked, _) = world.sent().remove(0);
    let good = reply(&asked, 0, 300, &[[198, 51, 100, 7]]);
    let mut other_id = good.clone();
    other_id[1] ^= 1;
    let mut no_reply = good.clone();
    no_reply[2] &= 0x7f;
    let other_name = reply(&query(id_of(&asked), "b.example", A, None), 0, 300, &[[6, 6, 6, 6]]);
    let other_type = reply(&query(id_of(&asked), "a.example", AAAA, None), 0, 300, &[]);
    for lie in [&other_id, &no_reply, &other_name, &other_type, &good[..11].to_vec(), &vec![]] {
        world.heard(token, server, lie);
        assert_eq!(world.replies(), [], "{lie:?}");
    }
    world.heard(token, upstream(9).address, &good);
    world.heard(token + 1000, server, &good);
    assert_eq!(world.replies(), [], "from somebody else");
    assert_eq!(world.forwarder.counts().ignored, 8);
    world.heard(token, server, &good);
    assert_eq!(world.replies().len(), 1, "the true one is still taken");
}

#[test]
fn a_server_that_changes_letters_is_asked_by_tcp_once() {
    let mut world = world();
    let lower = |asked: &[u8]| query(id_of(asked), "case.example", A, None);
    world.ask(1, query(1, "case.example", A, None), upstreams(1));
    let (token, server, asked, _) = world.sent().remove(0);
    assert_ne!(question_of(&asked), question_of(&lower(&asked)), "this seed changes some letter");
    world.heard(token, server, &reply(&lower(&asked), 0, 60, &[[1, 1, 1, 1]]));
    assert_eq!(world.replies(), []);
    let (token, server, asked, by_tcp) = world.sent().remove(0);
    assert!(by_tcp);
    world.heard(token, server, &reply(&asked, 0, 60, &[[2, 2, 2, 2]]));
    assert_eq!(&world.replies()[0].1[world_end(&[2, 2, 2, 2])..], []);
    world.ask(2, query(1, "other.example", A, None), upstreams(1));
    let (_, _, asked, by_tcp) = world.sent().remove(0);
    assert!(!by_tcp);
    assert_eq!(
        question_of(&asked),
        question_of(&query(1, "other.example", A, None)),
        "left as it is now"
    );
}

/// The length of the reply to `case.example`, which ends in its address.
fn world_end(address: &[u8]) -> usize {
    12 + 18 + 12 + address.len()
}

#[test]
fn equal_questions_travel_together() {
    let mut world = world();
    for client in 1..=5_u32 {
        let id = u16::try_from(client).unwrap();
        world.ask(client, query(id, "Same.Example", A, Some(4096)), upstreams(1));
    }
    // The same client again is the same question.
    world.ask(3, query(3, "same.example", A, Some(4096)), upstreams(1));
    let sent = world.sent();
    assert_eq!(sent.len(), 1);
    world.heard(sent[0].0, sent[0].1, &reply(&sent[0].2, 0, 60, &[[1, 2, 3, 4]]));
    let replies = world.replies();
    let ids: Vec<(u32, u16)> = replies.iter().map(|(client, m)| (*client, id_of(m))).collect();
    assert_eq!(ids, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
    assert_eq!(world.forwarder.counts().joined, 5);
}

#[test]
fn silence_makes_others_be_asked_and_ends_in_an_error_in_time() {
    let mut world = world();
    let settings = Settings { strict_order: true, ..Settings::default() };
    world.forwarder.configure(settings.into(), vec![]);
    world.ask(1, query(1, "a.example", A, None), upstreams(3));
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(world.sent().into_iter().map(|(_, server, _, _)| server));
        world.pass(1000);
    }
    let expected: Vec<_> = [1, 2, 3, 1].map(|number| upstream(number).address).into();
    assert_eq!(order, expected);
    assert_eq!(world.replies(), []);
    world.pass(u64::try_from(PATIENCE.as_millis()).unwrap() - 4000);
    let replies = world.replies();
    assert_eq!(replies.len(), 1);
    assert_eq!(rcode_of(&replies[0].1), 2);
}

#[test]
fn all_are_asked_first_and_then_the_one_that_answered() {
    let mut world = world();
    world.ask(1, query(1, "a.example", A, None), upstreams(3));
    let sent = world.sent();
    assert_eq!(sent.len(), 3);
    world.heard(sent[1].0, sent[1].1, &reply(&sent[1].2, 0, 1, &[[1, 1, 1, 1]]));
    for number in 0..40 {
        world.ask(1, query(2, &format!("b{number}.example"), A, None), upstreams(3));
        let sent = world.sent();
        assert_eq!(sent.len(), 1, "question {number}");
        assert_eq!(sent[0].1, upstream(2).address);
        world.heard(sent[0].0, sent[0].1, &reply(&sent[0].2, 0, 1, &[[1, 1, 1, 1]]));
    }
    world.pass(20_000);
    world.ask(1, query(2, "later.example", A, None), upstreams(3));
    assert_eq!(world.sent().len(), 3, "every so often the others get their chance");
}

#[test]
fn all_servers_asks_all_every_time() {
    let mut world = World::new(Settings { all_servers: true, ..Settings::default() }, 1);
    for name in ["a.example", "b.example"] {
        world.ask(1, query(1, name, A, None), upstreams(3));
        let sent = world.sent();
        assert_eq!(sent.len(), 3);
        world.heard(sent[2].0, sent[2].1, &reply(&sent[2].2, 0, 1, &[[1, 1, 1, 1]]));
    }
    assert_eq!(world.replies().len(), 2);
}

#[test]
fn a_failing_server_is_passed_over_and_passed_on_when_all_fail() {
    for code in [2, 5] {
        let settings = Settings { strict_order: true, ..Settings::default() };
        let mut world = World::new(settings.clone(), 3);
        world.ask(1, query(1, "a.example", A, None), upstreams(2));
        let (token, server, asked, _) = world.sent().remove(0);
        world.heard(token, server, &reply(&asked, code, 0, &[]));
        assert_eq!(world.replies(), []);
        let (token, server, asked, _) = world.sent().remove(0);
        assert_eq!(server, upstream(2).address);
        world.heard(token, server, &reply(&asked, code, 0, &[]));
        assert_eq!(rcode_of(&world.replies()[0].1), code);
        assert!(world.cache.is_empty());
    }
}

#[test]
fn a_refused_port_is_passed_over_at_once() {
    let settings = Settings { strict_order: true, ..Settings::default() };
    let mut world = World::new(settings, 3);
    world.ask(1, query(1, "a.example", A, None), upstreams(2));
    let (token, ..) = world.sent().remove(0);
    let now = world.now;
    world.forwarder.failed(now, token, &mut world.out);
    let (token, server, ..) = world.sent().remove(0);
    assert_eq!(server, upstream(2).address);
    world.forwarder.failed(now, token, &mut world.out);
    assert_eq!(world.sent(), [], "no storm when nobody is there");
    world.pass(1000);
    assert_eq!(world.sent().len(), 1, "the next round is the clock's");
}

#[test]
fn a_cut_answer_is_fetched_whole() {
    let mut world = world();
    let many: Vec<[u8; 4]> = (0..60).map(|number| [10, 0, 0, number]).collect();
    world.ask(1, query(1, "many.example", A, None), upstreams(1));
    world.ask(2, query(2, "many.example", A, Some(4096)), upstreams(1));
    let (token, server, asked, _) = world.sent().remove(0);
    world.heard(token, server, &cut(reply(&asked, 0, 60, &many[..5])));
    let (token, server, asked, by_tcp) = world.sent().remove(0);
    assert!(by_tcp);
    world.heard(token, server, &reply(&asked, 0, 60, &many));
    let replies = world.replies();
    // 60 × 16 bytes: too much for the one, not for the other.
    assert_eq!(replies[0].0, 1);
    assert!(is_cut(&replies[0].1) && replies[0].1.len() <= 512 && answers_of(&replies[0].1) == 0);
    assert_eq!(replies[1].0, 2);
    assert!(!is_cut(&replies[1].1));
    assert_eq!(answers_of(&replies[1].1), 60);
}

#[test]
fn a_server_without_edns_is_asked_without() {
    let mut world = world();
    world.ask(1, query(1, "a.example", A, None), upstreams(1));
    let (token, server, asked, _) = world.sent().remove(0);
    assert_eq!(asked[11], 1, "OPT is there");
    world.heard(token, server, &reply(&asked, 1, 0, &[]));
    let (token, server, asked, _) = world.sent().remove(0);
    assert_eq!(asked[11], 0);
    world.heard(token, server, &reply(&asked, 0, 9, &[[1, 1, 1, 1]]));
    assert_eq!(rcode_of(&world.replies()[0].1), 0);
    world.ask(1, query(1, "b.example", A, None), upstreams(1));
    assert_eq!(world.sent()[0].2[11], 0, "remembered");
}

#[test]
fn our_own_address_is_no_server() {
    let mut world = world();
    let settings = std::sync::Arc::new(Settings::default());
    world.forwarder.configure(settings, vec![upstream(1).address]);
    world.ask(1, query(1, "a.example", A, None), upstreams(2));
    assert_eq!(world.sent().len(), 1);
    world.ask(2, query(1, "b.example", A, None), upstreams(1));
    assert_eq!(world.sent(), []);
    assert_eq!(rcode_of(&world.replies()[0].1), 5);
}

#[test]
fn too_many_questions_are_refused_not_lost() {
    let mut world = World::new(Settings { dns_forward_max: 3, ..Settings::default() }, 5);
    for client in 0..5_u32 {
        world.ask(client, query(1, &format!("n{client}.example"), A, None), upstreams(1));
    }
    let replies = world.replies();
    assert_eq!(
        replies.iter().map(|(client, m)| (*client, rcode_of(m))).collect::<Vec<_>>(),
        [(3, 5), (4, 5)]
    );
    // Those that nobody waits for any more make room.
    world.pass(5000);
    assert_eq!(world.replies().len(), 3);
    assert_eq!(world.forwarder.in_flight(), 3);
    world.ask(9, query(1, "new.example", A, None), upstreams(1));
    assert_eq!(world.replies(), []);
}

#[test]
fn a_late_answer_helps_the_next_one() {
    let mut world = world();
    world.ask(1, query(1, "slow.example", A, None), upstreams(1));
    let sent = world.sent();
    world.pass(6000);
    assert_eq!(rcode_of(&world.replies()[0].1), 2);
    world.heard(sent[0].0, sent[0].1, &reply(&sent[0].2, 0, 60, &[[1, 1, 1, 1]]));
    let message = query(1, "slow.example", A, None);
    assert!(world.cache.get(Asked::of(&Query::parse(&message).unwrap()), world.now).is_some());
}

#[test]
fn private_addresses_are_withheld_when_asked_for() {
    let settings = Settings { stop_dns_rebind: true, ..Settings::default() };
    for (address, private_answers, withheld) in [
        ([10, 1, 2, 3], false, true),
        ([192, 168, 0, 1], false, true),
        ([172, 31, 0, 1], false, true),
        ([169, 254, 0, 1], false, true),
        ([127, 0, 0, 1], false, true),
        ([0, 0, 0, 0], false, true),
        ([172, 32, 0, 1], false, false),
        ([8, 8, 8, 8], false, false),
        ([10, 1, 2, 3], true, false),
    ] {
        let mut world = World::new(settings.clone(), 1);
        let ask = landbridge_dns::forward::Ask {
            client: 1,
            query: query(1, "evil.example", A, None),
            by_udp: true,
            servers: upstreams(1),
            private_answers,
            exists: false,
        };
        world.forwarder.ask(world.now, ask, &mut world.out);
        let (token, server, asked, _) = world.sent().remove(0);
        world.heard(token, server, &reply(&asked, 0, 60, &[[9, 9, 9, 9], address]));
        let replies = world.replies();
        assert_eq!(answers_of(&replies[0].1), if withheld { 0 } else { 2 }, "{address:?}");
        assert_eq!(rcode_of(&replies[0].1), 0);
        assert_eq!(world.cache.is_empty(), withheld);
    }
}

#[test]
fn bogus_and_ignored_addresses() {
    let settings = Settings {
        bogus_nxdomain: vec!["203.0.113.0/24".parse().unwrap()],
        ignore_address: vec!["198.51.100.1/32".parse().unwrap()],
        strict_order: true,
        ..Settings::default()
    };
    let mut world = World::new(settings, 1);
    world.ask(1, query(1, "a.example", A, None), upstreams(2));
    let (token, server, asked, _) = world.sent().remove(0);
    world.heard(token, server, &reply(&asked, 0, 60, &[[198, 51, 100, 1]]));
    assert_eq!(world.replies(), [], "as if it had not come");
    let (token, server, asked, _) = world.sent().remove(0);
    world.heard(token, server, &reply(&asked, 0, 60, &[[203, 0, 113, 9]]));
    let replies = world.replies();
    assert_eq!((rcode_of(&replies[0].1), answers_of(&replies[0].1)), (3, 0));
}

/// What the cache says to a question after some seconds: code, TTL of the first record.
fn cached(world: &World, seconds: u64, name: &str, qtype: u16) -> Option<(u8, Option<u32>)> {
    let message = query(5, name, qtype, None);
    let query = Query::parse(&message).unwrap();
    let now = world.now + Duration::from_secs(seconds);
    let entry = world.cache.get(Asked::of(&query), now)?;
    let mut out = [0; 4096];
    let form = Form::new(&Settings::default(), true);
    let length = entry.stored.write(&query, now, form, false, &mut out);
    let end = 12 + query.question().len();
    let ttl = (length > end + 10).then(|| {
        let at = end + if out[end] == 0 { 5 } else { 6 };
        u32::from_be_bytes(out[at..at + 4].try_into().unwrap())
    });
    Some((rcode_of(&out), ttl))
}

fn ask_and_hear(
    world: &mut World,
    name: &str,
    qtype: u16,
    answer: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    world.ask(1, query(1, name, qtype, None), upstreams(1));
    let (token, server, asked, _) = world.sent().remove(0);
    world.heard(token, server, &answer(&asked));
    world.replies().remove(0).1
}

#[test]
fn answers_are_kept_as_long_as_they_say() {
    let mut world = world();
    ask_and_hear(&mut world, "a.example", A, |asked| reply(asked, 0, 300, &[[1, 1, 1, 1]]));
    assert_eq!(cached(&world, 0, "a.example", A), Some((0, Some(300))));
    assert_eq!(cached(&world, 10, "A.EXAMPLE", A), Some((0, Some(290))));
    assert_eq!(cached(&world, 299, "a.example", A), Some((0, Some(1))));
    assert_eq!(cached(&world, 300, "a.example", A), None);
    assert_eq!(cached(&world, 0, "a.example", AAAA), None);
    ask_and_hear(&mut world, "zero.example", A, |asked| reply(asked, 0, 0, &[[1, 1, 1, 1]]));
    assert_eq!(cached(&world, 0, "zero.example", A), None);
}

#[test]
fn negative_answers_are_kept_by_their_soa() {
    let mut world = world();
    ask_and_hear(&mut world, "none.example", A, |asked| no_such_name(asked, 900, 60));
    assert_eq!(cached(&world, 59, "none.example", A), Some((3, Some(841))));
    assert_eq!(
        cached(&world, 59, "none.example", AAAA).map(|(code, _)| code),
        Some(3),
        "for all types"
    );
    assert_eq!(cached(&world, 60, "none.example", A), None);
    ask_and_hear(&mut world, "bare.example", A, |asked| reply(asked, 3, 0, &[]));
    assert_eq!(cached(&world, 0, "bare.example", A), None, "nothing says for how long");

    let mut world = World::new(Settings { neg_ttl: 30, ..Settings::default() }, 1);
    ask_and_hear(&mut world, "bare.example", A, |asked| reply(asked, 0, 0, &[]));
    assert_eq!(cached(&world, 29, "bare.example", A), Some((0, None)));
    assert_eq!(cached(&world, 30, "bare.example", A), None);

    let mut world = World::new(Settings { no_negcache: true, ..Settings::default() }, 1);
    ask_and_hear(&mut world, "none.example", A, |asked| no_such_name(asked, 900, 60));
    assert_eq!(cached(&world, 0, "none.example", A), None);
}

#[test]
fn ttl_bounds() {
    let settings =
        Settings { max_cache_ttl: 100, min_cache_ttl: 20, max_ttl: 50, ..Settings::default() };
    let mut world = World::new(settings, 1);
    let first =
        ask_and_hear(&mut world, "a.example", A, |asked| reply(asked, 0, 3000, &[[1, 1, 1, 1]]));
    let at = first.len() - 10;
    assert_eq!(first[at..at + 4], 50_u32.to_be_bytes(), "no client is told more than max-ttl");
    assert_eq!(cached(&world, 99, "a.example", A).map(|(code, _)| code), Some(0));
    assert_eq!(cached(&world, 100, "a.example", A), None);
    ask_and_hear(&mut world, "b.example", A, |asked| reply(asked, 0, 1, &[[1, 1, 1, 1]]));
    assert_eq!(cached(&world, 19, "b.example", A), Some((0, Some(1))));
    assert_eq!(cached(&world, 20, "b.example", A), None);
}

#[test]
fn the_cache_is_bounded_and_forgets_what_is_old_first() {
    let mut world = World::new(Settings { cache_size: 64, ..Settings::default() }, 1);
    for number in 0..500 {
        ask_and_hear(&mut world, &format!("n{number}.example"), A, |asked| {
            reply(asked, 0, 300, &[[1, 1, 1, 1]])
        });
        world.pass(10);
        // Used all the time: it stays.
        assert!(cached(&world, 0, "n0.example", A).is_some(), "after {number}");
    }
    assert!(world.cache.len() <= 64);
    assert!(cached(&world, 0, "n499.example", A).is_some());
    world.cache.clear();
    assert!(world.cache.is_empty());
    let nothing = World::new(Settings { cache_size: 0, ..Settings::default() }, 1);
    assert_eq!(cached(&nothing, 0, "a.example", A), None);
}

#[test]
fn what_else_is_in_an_answer_answers_nothing_else() {
    let mut world = world();
    ask_and_hear(&mut world, "a.example", A, |asked| {
        let mut message = reply(asked, 0, 300, &[[1, 1, 1, 1]]);
        // An address of another name, in the additional section.
        message[11] = 1;
        message.extend(crate::world::wire_name("bank.example"));
        message.extend([0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 6, 6, 6, 6]);
        message
    });
    assert_eq!(cached(&world, 0, "bank.example", A), None);
    world.ask(2, query(1, "bank.example", A, None), upstreams(1));
    assert_eq!(world.sent().len(), 1, "it is asked for");
}
