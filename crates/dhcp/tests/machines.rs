//! Client and server against each other on a virtual clock, with messages lost and late.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::duration_suboptimal_units
)]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use landbridge_dhcp::{Client, Input, Kind, Lease, Message, Output, Server, ServerSettings, State};
use proptest::prelude::*;

fn settings() -> ServerSettings {
    ServerSettings {
        own: "192.0.2.1/24".parse().unwrap(),
        first: Ipv4Addr::new(192, 0, 2, 100),
        last: Ipv4Addr::new(192, 0, 2, 102),
        router: Some(Ipv4Addr::new(192, 0, 2, 1)),
        resolvers: vec![],
        domain: Some("lab".into()),
        mtu: None,
        lease_seconds: 600,
        routes: vec![],
        reserved: BTreeMap::new(),
    }
}

fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

/// Everything both say to each other until nothing more is said.
fn talk(client: &mut Client, server: &mut Server, now: Duration) -> Vec<Output> {
    let mut changes = Vec::new();
    let mut inputs = vec![Input::Tick];
    while let Some(input) = inputs.pop() {
        for output in client.step(now, input) {
            match output {
                Output::Broadcast(message) | Output::Unicast(_, message) => {
                    let wire = Message::decode(&message.encode()).unwrap();
                    inputs.extend(
                        server.answer(now, &wire).map(|answer| Input::Received(Box::new(answer))),
                    );
                }
                other => changes.push(other),
            }
        }
    }
    changes
}

fn leased(changes: &[Output]) -> Ipv4Addr {
    match changes {
        [Output::Configure(lease)] => lease.address.addr(),
        other => panic!("no lease: {other:?}"),
    }
}

#[test]
fn a_lease_is_had_renewed_and_given_back() {
    let mut server = Server::new(settings());
    let mut client = Client::new(mac(1), 7, Duration::ZERO);
    assert_eq!(
        leased(&talk(&mut client, &mut server, Duration::ZERO)),
        Ipv4Addr::new(192, 0, 2, 100)
    );
    assert_eq!(client.state(), &State::Bound);
    assert_eq!(client.wake(), Duration::from_secs(300));
    assert!(talk(&mut client, &mut server, Duration::from_secs(299)).is_empty());
    let again = talk(&mut client, &mut server, Duration::from_secs(300));
    assert_eq!(leased(&again), Ipv4Addr::new(192, 0, 2, 100));
    assert_eq!(client.wake(), Duration::from_secs(600));
    let now = Duration::from_secs(301);
    assert_eq!(server.leases(now).len(), 1);
    for output in client.step(now, Input::Stop) {
        if let Output::Unicast(_, message) = output {
            assert_eq!(server.answer(now, &message), None);
        }
    }
    assert!(server.leases(now).is_empty());
}

#[test]
fn silence_ends_a_lease_and_the_client_goes_on_asking() {
    let mut server = Server::new(settings());
    let mut client = Client::new(mac(1), 7, Duration::ZERO);
    leased(&talk(&mut client, &mut server, Duration::ZERO));
    let (mut now, mut states, mut lost) = (Duration::ZERO, Vec::new(), None);
    for _ in 0..100 {
        now = client.wake();
        for output in client.step(now, Input::Tick) {
            if let Output::Deconfigure(_) = output {
                lost = Some(now);
            }
        }
        states.push(client.state().clone());
        if lost.is_some() {
            break;
        }
    }
    assert_eq!(lost, Some(Duration::from_secs(600)));
    states.dedup();
    assert_eq!(states, [State::Renewing, State::Rebinding, State::Selecting]);
    assert!(client.wake() > now && client.wake() <= now + Duration::from_secs(2));
}

#[test]
fn an_address_taken_meanwhile_is_refused_and_given_up() {
    let mut server = Server::new(settings());
    let mut client = Client::new(mac(1), 7, Duration::ZERO);
    leased(&talk(&mut client, &mut server, Duration::ZERO));
    let mut other = settings();
    other.first = Ipv4Addr::new(192, 0, 2, 200);
    other.last = Ipv4Addr::new(192, 0, 2, 201);
    let mut moved = Server::new(other);
    let now = Duration::from_secs(300);
    let changes = talk(&mut client, &mut moved, now);
    assert!(matches!(changes[..], [Output::Deconfigure(_)]), "{changes:?}");
    assert_eq!(leased(&talk(&mut client, &mut moved, now)), Ipv4Addr::new(192, 0, 2, 200));
}

#[test]
fn clients_keep_their_address_and_a_full_range_says_nothing() {
    let mut server = Server::new(settings());
    let had: Vec<_> = (1..=3)
        .map(|n| {
            leased(&talk(&mut Client::new(mac(n), 7, Duration::ZERO), &mut server, Duration::ZERO))
        })
        .collect();
    assert_eq!(had, (100..=102).map(|n| Ipv4Addr::new(192, 0, 2, n)).collect::<Vec<_>>());
    assert!(
        talk(&mut Client::new(mac(9), 7, Duration::ZERO), &mut server, Duration::ZERO).is_empty()
    );
    // The same machine, started again, and after its lease has ended.
    for now in [Duration::from_secs(5), Duration::from_secs(5000)] {
        let mut again = Client::new(mac(2), 99, now);
        assert_eq!(leased(&talk(&mut again, &mut server, now)), Ipv4Addr::new(192, 0, 2, 101));
    }
}

#[test]
fn reservations_and_declined_addresses() {
    let mut with = settings();
    with.reserved.insert(mac(7), Ipv4Addr::new(192, 0, 2, 100));
    let mut server = Server::new(with);
    let now = Duration::ZERO;
    let one = leased(&talk(&mut Client::new(mac(1), 1, now), &mut server, now));
    assert_eq!(one, Ipv4Addr::new(192, 0, 2, 101));
    let owner = leased(&talk(&mut Client::new(mac(7), 1, now), &mut server, now));
    assert_eq!(owner, Ipv4Addr::new(192, 0, 2, 100));
    let mut decline = Message::question(Kind::Decline, 5, mac(1));
    decline.options.requested = Some(one);
    assert_eq!(server.answer(now, &decline), None);
    let next = leased(&talk(&mut Client::new(mac(1), 6, now), &mut server, now));
    assert_eq!(next, Ipv4Addr::new(192, 0, 2, 102));
}

#[test]
fn answers_for_others_are_not_ours() {
    let mut client = Client::new(mac(1), 7, Duration::ZERO);
    client.step(Duration::ZERO, Input::Tick);
    let mut offer = Message::reply(Kind::Offer, 7, mac(2));
    offer.your_address = Ipv4Addr::new(192, 0, 2, 9);
    offer.options.server = Some(Ipv4Addr::new(192, 0, 2, 1));
    assert!(client.step(Duration::ZERO, Input::Received(Box::new(offer.clone()))).is_empty());
    offer.mac = mac(1);
    offer.transaction = 8;
    assert!(client.step(Duration::ZERO, Input::Received(Box::new(offer.clone()))).is_empty());
    offer.transaction = 7;
    assert_eq!(client.step(Duration::ZERO, Input::Received(Box::new(offer))).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Three clients, two addresses, lost messages, restarts: never one address at two clients
    /// that both believe in their lease.
    #[test]
    fn no_address_has_two_holders(moves in proptest::collection::vec((0usize..3, any::<u8>(), 0u64..200), 1..120)) {
        let mut only_two = settings();
        only_two.last = Ipv4Addr::new(192, 0, 2, 101);
        let mut server = Server::new(only_two);
        let mut now = Duration::ZERO;
        let mut clients: Vec<_> = (0..3).map(|n| Client::new(mac(n), u32::from(n) * 1000, now)).collect();
        let mut leases: Vec<Option<Lease>> = vec![None; 3];
        for (who, chance, wait) in moves {
            now += Duration::from_secs(wait);
            let mut bits = chance;
            // Everybody's clock runs; only one hears anything this time.
            for (n, client) in clients.iter_mut().enumerate() {
                let mut inputs = vec![Input::Tick];
                while let Some(input) = inputs.pop() {
                    for output in client.step(now, input) {
                        match output {
                            Output::Configure(lease) => leases[n] = Some(lease),
                            Output::Deconfigure(_) => leases[n] = None,
                            Output::Broadcast(message) | Output::Unicast(_, message) if n == who => {
                                let heard = bits & 1 == 0;
                                let answered = bits & 2 == 0;
                                bits = bits.rotate_right(2);
                                let answer = if heard { server.answer(now, &message) } else { None };
                                inputs.extend(answer.filter(|_| answered).map(|answer| Input::Received(Box::new(answer))));
                            }
                            _ => {}
                        }
                    }
                }
            }
            let mut held: Vec<_> = leases.iter().flatten().map(|lease| lease.address).collect();
            held.sort();
            let count = held.len();
            held.dedup();
            prop_assert_eq!(count, held.len());
        }
    }
}
