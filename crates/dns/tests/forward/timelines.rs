//! Random timelines: servers that are slow, lie, die, answer twice or in another order. Whatever
//! happens, every question ends in exactly one reply within the bound, and nothing stays behind.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

use landbridge_dns::Settings;
use landbridge_dns::forward::{Action, GIVE_UP, PATIENCE};

use crate::world::{
    Dice, World, cut, id_of, query, question_of, rcode_of, reply, upstream, upstreams,
};

/// What happens at a time; the number keeps the order of what happens at once.
type Event = Reverse<(Duration, u64, What)>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Ask { client: u32, name: u64, edns: bool },
    Hear { token: u64, from: SocketAddr, message: Vec<u8> },
    Fail { token: u64 },
}

struct Mood {
    silent: u64,
    slow: u64,
    failing: u64,
    cutting: u64,
    lying: u64,
    twice: u64,
    refusing: u64,
}

impl Mood {
    fn roll(dice: &mut Dice) -> Self {
        let mut some = || if dice.chance(40) { dice.below(90) } else { 0 };
        Self {
            silent: some(),
            slow: some(),
            failing: some(),
            cutting: some(),
            lying: some(),
            twice: some(),
            refusing: some(),
        }
    }
}

fn play(seed: u64) -> (u64, u64) {
    let mut dice = Dice(seed);
    let settings = Settings {
        strict_order: dice.chance(30),
        all_servers: dice.chance(20),
        dns_forward_max: usize::try_from(1 + dice.below(40)).unwrap(),
        cache_size: usize::try_from(dice.below(50)).unwrap(),
        no_negcache: dice.chance(20),
        ..Settings::default()
    };
    let servers = u8::try_from(1 + dice.below(4)).unwrap();
    let moods: Vec<Mood> = (0..servers).map(|_| Mood::roll(&mut dice)).collect();
    let mut world = World::new(settings, seed ^ 0xabcd);
    let start = world.now;
    let mut events: BinaryHeap<Event> = BinaryHeap::new();
    let mut sequence = 0;
    let mut push = |events: &mut BinaryHeap<Event>, at: Duration, what: What| {
        sequence += 1;
        events.push(Reverse((at, sequence, what)));
    };
    let questions = 1 + dice.below(60);
    for _ in 0..questions {
        let at = start + Duration::from_millis(dice.below(12_000));
        let client = u32::try_from(dice.below(25)).unwrap();
        push(&mut events, at, What::Ask { client, name: dice.below(12), edns: dice.chance(50) });
    }
    // Who waits since when; a client has one question at a time, its id is its number.
    let mut waiting: HashMap<(u32, u64), Duration> = HashMap::new();
    let mut open: HashSet<u64> = HashSet::new();
    let (mut answered, mut errors) = (0, 0);
    loop {
        let next_event = events.peek().map(|Reverse((at, ..))| *at);
        let next_wake = world.forwarder.wake();
        let Some(now) = [next_event, next_wake].into_iter().flatten().min() else { break };
        // A wake that is past means at once.
        let due = next_event == Some(now);
        let now = now.max(world.now);
        world.now = now;
        if due {
            let Reverse((_, _, what)) = events.pop().unwrap();
            match what {
                What::Ask { client, name, edns } => {
                    let id = u16::try_from(client).unwrap();
                    let message =
                        query(id, &format!("name{name}.example"), 1, edns.then_some(1232));
                    waiting.entry((client, name)).or_insert(now);
                    world.ask(client, message, upstreams(servers));
                }
                What::Hear { token, from, message } => world.heard(token, from, &message),
                What::Fail { token } => world.forwarder.failed(now, token, &mut world.out),
            }
        } else {
            world.forwarder.tick(now, &mut world.out);
        }
        for action in std::mem::take(&mut world.out) {
            match action {
                Action::Reply { client, message } => {
                    let name = u64::from(question_of(&message)[5] - b'0');
                    let two = question_of(&message)[0] == 6;
                    let name =
                        if two { 10 + u64::from(question_of(&message)[6] - b'0') } else { name };
                    assert_eq!(
                        u32::from(id_of(&message)),
                        client,
                        "seed {seed}: somebody else's id"
                    );
                    let since = waiting.remove(&(client, name));
                    let since =
                        since.unwrap_or_else(|| panic!("seed {seed}: {client} got two replies"));
                    assert!(
                        now <= since + PATIENCE,
                        "seed {seed}: {:?} late",
                        now.saturating_sub(since)
                    );
                    assert!(message.len() <= 1232, "seed {seed}: too long");
                    answered += 1;
                    if rcode_of(&message) != 0 {
                        errors += 1;
                    } else if message[7] > 0 {
                        // Never what a liar said.
                        assert_eq!(
                            message[12 + question_of(&message).len() + 12..][..3],
                            [10, 0, 0]
                        );
                    }
                }
                Action::Close { token } => {
                    assert!(open.remove(&token), "seed {seed}: {token} closed twice");
                }
                Action::Send { token, server, message } => {
                    assert!(open.insert(token), "seed {seed}: a token twice");
                    let index =
                        (1..=servers).find(|n| upstream(*n).address == server.address).unwrap();
                    let mood = &moods[usize::from(index) - 1];
                    let from = server.address;
                    if dice.chance(mood.lying) {
                        for lie in lies(&mut dice, &message) {
                            let at = now + Duration::from_millis(dice.below(50));
                            push(&mut events, at, What::Hear { token, from, message: lie });
                        }
                        let spoofed = reply(&message, 0, 60, &[[6, 6, 6, 6]]);
                        let spoof =
                            What::Hear { token, from: upstream(99).address, message: spoofed };
                        push(&mut events, now, spoof);
                    }
                    if dice.chance(mood.silent) {
                        continue;
                    }
                    let delay =
                        if dice.chance(mood.slow) { dice.below(12_000) } else { dice.below(80) };
                    let at = now + Duration::from_millis(delay);
                    if dice.chance(mood.refusing) {
                        push(&mut events, at, What::Fail { token });
                        continue;
                    }
                    let message = true_reply(&mut dice, mood, &message, index);
                    let times = if dice.chance(mood.twice) { 3 } else { 1 };
                    for _ in 0..times {
                        let at = at + Duration::from_millis(dice.below(5));
                        push(&mut events, at, What::Hear { token, from, message: message.clone() });
                    }
                }
                Action::Connect { token, server, message } => {
                    assert!(open.insert(token), "seed {seed}: a token twice");
                    let at = now + Duration::from_millis(dice.below(200));
                    let what = if dice.chance(20) {
                        What::Fail { token }
                    } else {
                        let many: Vec<[u8; 4]> = (0..100).map(|host| [10, 0, 0, host]).collect();
                        What::Hear {
                            token,
                            from: server.address,
                            message: reply(&message, 0, 60, &many),
                        }
                    };
                    push(&mut events, at, what);
                }
            }
        }
        assert!(world.now <= start + Duration::from_secs(40), "seed {seed}: it never ends");
    }
    assert!(waiting.is_empty(), "seed {seed}: no reply for {waiting:?}");
    assert_eq!(world.forwarder.in_flight(), 0, "seed {seed}: something stays in flight");
    assert!(open.is_empty(), "seed {seed}: sockets stay open");
    assert!(
        world.now <= start + Duration::from_secs(12) + PATIENCE + GIVE_UP + Duration::from_secs(12)
    );
    (answered, errors)
}

fn true_reply(dice: &mut Dice, mood: &Mood, asked: &[u8], server: u8) -> Vec<u8> {
    if dice.chance(mood.failing) {
        let code = [1, 2, 4, 5][usize::try_from(dice.below(4)).unwrap()];
        return reply(asked, code, 0, &[]);
    }
    let whole = reply(asked, 0, u32::try_from(dice.below(5)).unwrap(), &[[10, 0, 0, server]]);
    if dice.chance(mood.cutting) { cut(whole) } else { whole }
}

/// Answers with the wrong id, the wrong name, bytes missing or turned.
fn lies(dice: &mut Dice, asked: &[u8]) -> Vec<Vec<u8>> {
    let poison = reply(asked, 0, 60, &[[6, 6, 6, 6]]);
    let mut other_id = poison.clone();
    other_id[0] ^= u8::try_from(1 + dice.below(255)).unwrap();
    let mut other_name = poison.clone();
    other_name[14] = other_name[14].wrapping_add(1);
    let short = poison[..usize::try_from(dice.below(12)).unwrap()].to_vec();
    vec![other_id, other_name, short]
}

#[test]
fn every_question_ends_in_exactly_one_reply() {
    let rounds =
        std::env::var("LANDBRIDGE_TIMELINES").ok().and_then(|n| n.parse().ok()).unwrap_or(4000);
    let (mut answered, mut errors) = (0, 0);
    for seed in 0..rounds {
        let (some, bad) = play(seed);
        answered += some;
        errors += bad;
    }
    // The world is neither all good nor all bad, or the rounds would show little.
    assert!(answered > rounds * 10, "{answered} replies");
    assert!(errors > answered / 20 && errors < answered * 19 / 20, "{errors} errors of {answered}");
}
