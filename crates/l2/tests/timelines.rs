//! Random timelines on a virtual clock: members that die, freeze, starve, are cut off and come back,
//! over a network that loses, delays, doubles and reorders, with somebody who replays what was said.

#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test code

mod world;

use std::time::Duration;

use world::{Chance, Network, World};

/// How many timelines of each kind: more in `make soak`.
fn timelines(usual: u64) -> std::ops::Range<u64> {
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // One that failed alone: LANDBRIDGE_TIMELINE=seed.
    let first: Option<u64> = given("LANDBRIDGE_TIMELINE");
    match first {
        Some(first) => first..first + 1,
        None => 0..given("LANDBRIDGE_TIMELINES").unwrap_or(usual),
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A world of some nodes in which every address has its one announcer.
fn settled(chance: &mut Chance, nodes: usize, network: Network) -> World {
    let mut world = World::new(chance.next(), nodes, network);
    world.run(millis(3500));
    world.expect_one_each("at the beginning");
    world
}

fn size(chance: &mut Chance) -> usize {
    [2, 3, 3, 3, 4, 5][usize::try_from(chance.below(6)).unwrap()]
}

/// The fault befalls one node; its addresses must be announced elsewhere within a second, and stay.
fn takeover(name: &str, usual: u64, fault: impl Fn(&mut World, usize)) {
    let mut slowest = Duration::ZERO;
    for seed in timelines(usual) {
        let mut chance = Chance::new(seed);
        let nodes = size(&mut chance);
        let lossy = chance.below(2) == 1;
        let network = if lossy { Network::lossy() } else { Network::good() };
        let mut world = settled(&mut chance, nodes, network);
        world.run(millis(chance.below(200)));
        let victim = usize::try_from(chance.below(nodes as u64)).unwrap();
        let orphans = world.announced_by(victim);
        fault(&mut world, victim);
        let began = world.now();
        while !orphans.iter().all(|key| world.announced_elsewhere(*key, victim)) {
            world.run(millis(1));
            let took = world.now().saturating_sub(began);
            assert!(took < SECOND, "{name}, seed {seed}: {nodes} nodes, lossy: {lossy}");
        }
        slowest = slowest.max(world.now().saturating_sub(began));
        world.run(millis(1500));
        for key in &orphans {
            assert!(world.announced_elsewhere(*key, victim), "{name}, seed {seed}: lost again");
        }
    }
    println!("{name}: slowest takeover {slowest:?}");
    assert!(slowest > millis(1), "a fault that takes no time was none");
}

#[test]
fn a_killed_holder_is_replaced_within_a_second() {
    takeover("kill", 600, World::kill);
}

#[test]
fn a_frozen_holder_is_replaced_within_a_second() {
    takeover("freeze", 600, |world, victim| world.freeze(victim, millis(5000)));
}

#[test]
fn a_holder_cut_off_is_replaced_within_a_second() {
    takeover("cut", 600, World::isolate);
}

#[test]
fn a_holder_without_its_interface_is_replaced_at_once() {
    for seed in timelines(200) {
        let mut chance = Chance::new(seed);
        let nodes = size(&mut chance);
        let mut world = settled(&mut chance, nodes, Network::good());
        let victim = usize::try_from(chance.below(nodes as u64)).unwrap();
        let orphans = world.announced_by(victim);
        world.disable(victim);
        world.run(millis(100));
        for key in &orphans {
            assert!(world.announced_elsewhere(*key, victim), "seed {seed}");
        }
        world.expect_one_each(&format!("seed {seed}, interface down"));
    }
}

#[test]
fn a_node_that_is_cut_off_falls_silent() {
    for seed in timelines(200) {
        let mut chance = Chance::new(seed);
        let nodes = 3 + usize::try_from(chance.below(3)).unwrap();
        let mut world = settled(&mut chance, nodes, Network::good());
        let victim = usize::try_from(chance.below(nodes as u64)).unwrap();
        world.isolate(victim);
        world.run(SECOND);
        assert!(world.announced_by(victim).is_empty(), "seed {seed}");
        assert!(world.dead(victim).is_empty(), "seed {seed}: it accuses others");
        world.expect_one_each(&format!("seed {seed}, others"));
    }
}

/// Of two, each half goes on, unless it knows that its own cable is out.
#[test]
fn of_two_the_one_without_a_cable_falls_silent() {
    for seed in timelines(100) {
        let mut chance = Chance::new(seed);
        let mut world = settled(&mut chance, 2, Network::good());
        let victim = usize::try_from(chance.below(2)).unwrap();
        world.pull(victim);
        world.run(SECOND);
        assert!(world.announced_by(victim).is_empty(), "seed {seed}");
        world.expect_one_each(&format!("seed {seed}, the other"));
    }
}

#[test]
fn late_members_are_not_taken_for_dead() {
    for seed in timelines(400) {
        let mut chance = Chance::new(seed);
        let nodes = size(&mut chance);
        let mut world = settled(&mut chance, nodes, Network::good());
        let before = world.announcers();
        let moves = world.moves();
        for _ in 0..10 {
            // Several may be late at once: they share a machine that is busy.
            for node in 0..nodes {
                if chance.below(2) == 0 {
                    world.freeze(node, millis(chance.below(300)));
                }
            }
            world.run(millis(320 + chance.below(600)));
            for node in 0..nodes {
                assert!(world.dead(node).is_empty(), "seed {seed}: node {node} accuses");
            }
        }
        world.run(SECOND);
        assert_eq!(world.announcers(), before, "seed {seed}");
        assert_eq!(world.moves(), moves, "seed {seed}: addresses wandered");
    }
}

#[test]
fn a_lossy_network_moves_nothing() {
    for seed in timelines(200) {
        let mut chance = Chance::new(seed);
        let nodes = size(&mut chance);
        let mut world = settled(&mut chance, nodes, Network::lossy());
        let moves = world.moves();
        world.run(SECOND * 10);
        assert_eq!(world.moves(), moves, "seed {seed}");
    }
}

/// Anything happens, in any order; then it is over, and two seconds later every address has one
/// announcer, and keeps it.
#[test]
fn after_everything_there_is_one_announcer() {
    for seed in timelines(1000) {
        let mut chance = Chance::new(seed);
        let nodes = size(&mut chance);
        let network = if chance.below(2) == 1 { Network::lossy() } else { Network::bad() };
        let mut world = settled(&mut chance, nodes, Network::good());
        world.set_network(network);
        for _ in 0..=chance.below(6) {
            let node = usize::try_from(chance.below(nodes as u64)).unwrap();
            match chance.below(8) {
                0 => world.kill(node),
                1 => world.restart(node),
                2 => world.freeze(node, millis(chance.below(3000))),
                3 => world.isolate(node),
                4 => world.split(chance.next()),
                5 => world.heal(),
                6 => world.cut_one_way(node, chance.next()),
                _ => world.disable(node),
            }
            world.run(millis(chance.below(1500)));
        }
        world.set_network(Network::lossy());
        world.repair();
        world.run(SECOND * 2);
        world.expect_one_each(&format!("seed {seed}, two seconds after healing"));
        for _ in 0..20 {
            world.run(millis(100));
            world.expect_at_most_one(&format!("seed {seed}, later"));
        }
        world.run(SECOND);
        world.expect_one_each(&format!("seed {seed}, at the end"));
    }
}

/// A member that returns takes back what MetalLB's order gives it, with at most a moment between.
#[test]
fn a_returning_member_is_given_its_addresses() {
    for seed in timelines(200) {
        let mut chance = Chance::new(seed);
        let mut world = settled(&mut chance, 3, Network::good());
        let before = world.announcers();
        let victim = usize::try_from(chance.below(3)).unwrap();
        world.kill(victim);
        world.run(SECOND);
        world.forget_silence();
        world.restart(victim);
        for _ in 0..300 {
            world.run(millis(10));
            world.expect_at_most_one(&format!("seed {seed}, while it returns"));
        }
        assert_eq!(world.announcers(), before, "seed {seed}");
        assert!(world.longest_silence() < millis(60), "seed {seed}: {:?}", world.longest_silence());
    }
}

#[test]
fn who_says_goodbye_is_replaced_at_once() {
    for seed in timelines(100) {
        let mut chance = Chance::new(seed);
        let mut world = settled(&mut chance, 3, Network::good());
        let victim = usize::try_from(chance.below(3)).unwrap();
        world.leave(victim);
        world.run(millis(50));
        world.expect_one_each(&format!("seed {seed}"));
        for node in (0..3).filter(|node| *node != victim) {
            assert!(world.dead(node).is_empty(), "seed {seed}: who left is not dead");
        }
    }
}
