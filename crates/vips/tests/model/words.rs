//! What people are told, word for word, and the edge cases of the facts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_addr::net::Family;
use landbridge_vips::asked::NoFamily;
use landbridge_vips::{Allocator, Asked, Config, Families, Outcome, Port, Sharing, converge};
use serde_json::{Value, json};

struct World {
    allocator: Allocator,
    has: BTreeMap<String, Vec<IpAddr>>,
}

fn world(pools: &[(&str, Value)]) -> World {
    let mut allocator = Allocator::default();
    let pools = pools.iter().map(|(name, spec)| (*name, spec));
    allocator.configure(Config::read(pools, &[]).unwrap());
    World { allocator, has: BTreeMap::new() }
}

impl World {
    fn look(&mut self, asked: &Asked) -> Outcome {
        let has = self.has.get(&*asked.name).cloned().unwrap_or_default();
        let outcome = converge(&mut self.allocator, asked, &has);
        let given = outcome.given.clone().map(|given| given.addresses).unwrap_or_default();
        for address in self.allocator.of(&asked.name) {
            self.allocator.vacate(address, &asked.name);
        }
        for address in &given {
            self.allocator.occupy(*address, &asked.name, &asked.sharing, &asked.ports);
        }
        self.has.insert(asked.name.to_string(), given);
        outcome
    }

    /// The addresses, then what was said.
    fn said(&mut self, asked: &Asked) -> String {
        let outcome = self.look(asked);
        let mut parts: Vec<String> = outcome
            .given
            .iter()
            .flat_map(|given| given.addresses.iter().map(ToString::to_string))
            .collect();
        parts.extend(outcome.said.iter().map(|said| format!("{}: {}", said.reason, said.note)));
        parts.join(" | ")
    }
}

fn asked(name: &str) -> Asked {
    Asked {
        name: format!("openstack/{name}").into(),
        namespace: "openstack".into(),
        labels: BTreeMap::new(),
        families: Ok(Families::One(Family::V4)),
        pool: None,
        addresses: Ok(Vec::new()),
        sharing: Sharing::default(),
        ports: vec![Port { protocol: "TCP", number: 9292 }],
    }
}

fn shared(name: &str, key: &str, port: u16) -> Asked {
    Asked {
        sharing: Sharing { key: key.to_owned(), backend: String::new() },
        ports: vec![Port { protocol: "TCP", number: port }],
        ..asked(name)
    }
}

fn seed() -> Value {
    json!({"addresses": ["172.17.0.80-172.17.0.90"]})
}

#[test]
fn services_with_one_key_share_the_lowest_address() {
    let mut world = world(&[("internalapi", seed())]);
    for port in 0..14 {
        let said = world.said(&shared(&format!("svc-{port}"), "internalapi", 9000 + port));
        assert_eq!(said, r#"172.17.0.80 | IPAllocated: Assigned IP ["172.17.0.80"]"#);
    }
    let clash = world.said(&shared("late", "internalapi", 9003));
    assert!(clash.starts_with("172.17.0.81 | "), "{clash}");
    let wanted = Asked {
        addresses: Ok(vec!["172.17.0.80".parse().unwrap()]),
        ..shared("rabbitmq-cell1", "internalapi", 9003)
    };
    assert_eq!(
        world.said(&wanted),
        r#"AllocationFailed: Failed to allocate IP for "openstack/rabbitmq-cell1": port TCP/9003 is already in use on "172.17.0.80""#
    );
    assert_eq!(
        world.said(&Asked { addresses: wanted.addresses.clone(), ..asked("alone") }),
        r#"AllocationFailed: Failed to allocate IP for "openstack/alone": can't change sharing key for "openstack/alone", address also in use by openstack/svc-0,openstack/svc-1,openstack/svc-10,openstack/svc-11,openstack/svc-12,openstack/svc-13,openstack/svc-2,openstack/svc-3,openstack/svc-4,openstack/svc-5,openstack/svc-6,openstack/svc-7,openstack/svc-8,openstack/svc-9"#
    );
}

#[test]
fn the_only_user_changes_its_key_and_others_do_not() {
    let mut world = world(&[("internalapi", seed())]);
    world.look(&shared("a", "k", 1));
    assert_eq!(world.said(&shared("a", "l", 1)), "172.17.0.80", "in place, without a word");
    assert_eq!(
        world.said(&shared("b", "l", 2)),
        r#"172.17.0.80 | IPAllocated: Assigned IP ["172.17.0.80"]"#
    );
    assert_eq!(
        world.said(&shared("a", "m", 1)),
        r#"172.17.0.81 | ClearAssignment: current IP can't be kept: can't change sharing key for "openstack/a", address also in use by openstack/b | IPAllocated: Assigned IP ["172.17.0.81"]"#
    );
    let local = Asked {
        sharing: Sharing { key: "l".to_owned(), backend: "app=x".to_owned() },
        ..shared("c", "l", 3)
    };
    assert!(world.said(&local).starts_with("172.17.0.82"), "local traffic does not mix");
}

#[test]
fn bad_wishes_are_answered_with_the_reason() {
    let only =
        json!({"addresses": ["10.0.0.0/30"], "serviceAllocation": {"namespaces": ["other"]}});
    let buggy = json!({"addresses": ["10.1.0.0/24"], "avoidBuggyIPs": true, "autoAssign": false});
    let mut world = world(&[("internalapi", seed()), ("only", only), ("zeros", buggy)]);
    let at = |text: &str| Ok(vec![text.parse::<IpAddr>().unwrap()]);
    let pool = |name: &str| Some(name.to_owned());
    let cases = [
        (Asked { pool: pool("nowhere"), ..asked("a") }, r#"unknown pool "nowhere""#),
        (Asked { pool: pool("only"), ..asked("a") }, "pool only not compatible for ip assignment"),
        (
            Asked { addresses: at("10.0.0.1"), ..asked("a") },
            "pool only not compatible for ip assignment",
        ),
        (
            Asked { addresses: at("9.9.9.9"), ..asked("a") },
            r#"["9.9.9.9"] is not allowed in config"#,
        ),
        (
            Asked { addresses: at("10.1.0.0"), ..asked("a") },
            r#"["10.1.0.0"] is not allowed in config"#,
        ),
        (
            Asked { addresses: at("172.17.0.85"), pool: pool("zeros"), ..asked("a") },
            r#"requested loadBalancer IP(s) ["172.17.0.85"] is not compatible with requested address pool zeros"#,
        ),
        (
            Asked { addresses: at("172.17.0.85"), families: Ok(Families::Both), ..asked("a") },
            r#"requested loadBalancer IP(s) ["172.17.0.85"] does not match the ipFamily of the service"#,
        ),
        (Asked { families: Ok(Families::One(Family::V6)), ..asked("a") }, "no available IPs"),
        (
            Asked { families: Ok(Families::Both), pool: pool("internalapi"), ..asked("a") },
            "no available IPs in pool internalapi",
        ),
    ];
    for (asked, why) in cases {
        let expected =
            format!("AllocationFailed: Failed to allocate IP for \"openstack/a\": {why}");
        assert_eq!(world.said(&asked), expected);
    }
    let unreadable = Asked { addresses: Err("invalid: \"x\"".to_owned()), ..asked("a") };
    assert_eq!(world.said(&unreadable), "LoadBalancerFailed: invalid: \"x\"");
    let families = Asked { families: Err(NoFamily::NotEnough), ..asked("a") };
    assert!(world.said(&families).starts_with("not enough clusterips"));
    world.allocator.hold("172.17.0.80".parse().unwrap(), Some("IPSet openstack/edpm-0".to_owned()));
    assert!(world.said(&asked("passes-over")).starts_with("172.17.0.81"));
    let taken = Asked { addresses: at("172.17.0.80"), ..asked("a") };
    assert!(world.said(&taken).contains("172.17.0.80 is held by IPSet openstack/edpm-0"));
}

#[test]
fn nobody_joins_where_somebody_else_answers() {
    let stranger = Some("IPSet openstack/edpm-0".to_owned());
    let address: IpAddr = "172.17.0.80".parse().unwrap();
    let sharing = || Sharing { key: "k".to_owned(), ..Sharing::default() };
    let with = |name: &str, number: u16| Asked {
        sharing: sharing(),
        ports: vec![Port { protocol: "TCP", number }],
        ..asked(name)
    };
    // Whichever comes first: the one who shares, or the stranger.
    for is_first in [true, false] {
        let mut world = world(&[("internalapi", seed())]);
        if is_first {
            world.allocator.occupy(address, &"openstack/a".into(), &sharing(), &[]);
        }
        world.allocator.hold(address, stranger.clone());
        if !is_first {
            world.allocator.occupy(address, &"openstack/a".into(), &sharing(), &[]);
        }
        assert!(world.said(&with("b", 81)).starts_with("172.17.0.81"));
        world.allocator.hold(address, None);
        assert!(world.said(&with("c", 82)).starts_with("172.17.0.80"));
        assert!(world.said(&with("d", 82)).starts_with("172.17.0.81"), "the port of c");
    }
}

#[test]
fn a_pool_is_renamed_and_shrinks() {
    let mut world = world(&[("internalapi", seed())]);
    let (a, b) = (asked("a"), asked("b"));
    world.look(&a);
    world.look(&b);
    let renamed = json!({"addresses": ["172.17.0.81-172.17.0.90"]});
    world.allocator.configure(Config::read([("renamed", &renamed)], &[]).unwrap());
    let outcome = world.look(&b);
    let given = outcome.given.unwrap();
    assert_eq!((given.addresses[0].to_string().as_str(), &*given.pool), ("172.17.0.81", "renamed"));
    assert!(outcome.said.is_empty(), "it stays, and nothing is said");
    assert_eq!(
        world.said(&a),
        r#"172.17.0.82 | ClearAssignment: current IP can't be kept: ["172.17.0.80"] is not allowed in config | IPAllocated: Assigned IP ["172.17.0.82"]"#
    );
}

#[test]
fn the_second_family_is_added_when_there_is_one() {
    let rather = Asked { families: Ok(Families::Rather(Family::V6)), ..asked("a") };
    let mut world = world(&[("p", json!({"addresses": ["10.0.0.8/30"]}))]);
    assert_eq!(world.said(&rather), r#"10.0.0.8 | IPAllocated: Assigned IP ["10.0.0.8"]"#);
    assert!(world.said(&rather).starts_with("10.0.0.8 | AdditionalAssignFailed"));
    let wider = json!({"addresses": ["10.0.0.8/30", "fd00::/120"]});
    world.allocator.configure(Config::read([("p", &wider)], &[]).unwrap());
    assert_eq!(
        world.said(&rather),
        r#"10.0.0.8 | fd00:: | IPAllocated: Assigned IP ["10.0.0.8" "fd00::"]"#
    );
    assert_eq!(world.said(&rather), "10.0.0.8 | fd00::");
}
