//! Random histories of Services, pools and strangers on the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use landbridge_addr::net::{Family, Range};
use landbridge_vips::{Allocator, Asked, Config, Families, Port, Sharing, converge};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::naive::{Naive, NaivePool};

/// Ranges that do not overlap; the first two cross a .255 and a .0.
const RANGES: [&str; 6] = [
    "10.0.0.254-10.0.1.1",
    "10.0.1.254-10.0.2.2",
    "10.0.9.4-10.0.9.6",
    "fd00::ff-fd00::101",
    "fd00:1::-fd00:1::1",
    "10.0.9.1-10.0.9.2",
];
const PORTS: [Port; 4] = [
    Port { protocol: "TCP", number: 80 },
    Port { protocol: "TCP", number: 443 },
    Port { protocol: "UDP", number: 53 },
    Port { protocol: "TCP", number: 53 },
];

fn pool(number: usize) -> impl Strategy<Value = NaivePool> {
    let only = prop_oneof![
        3 => Just(None),
        2 => (
            select(vec![0, 1, 2]),
            vec(select(vec!["one", "two"]), 0..2),
            vec(select(vec!["web", "db"]), 0..2),
        ).prop_map(|(priority, namespaces, apps)| {
            let namespaces: BTreeSet<String> = namespaces.into_iter().map(str::to_owned).collect();
            let apps: BTreeSet<String> = apps.into_iter().map(str::to_owned).collect();
            Some((priority, namespaces, apps.into_iter().collect::<Vec<_>>()))
        }),
    ];
    (prop::bool::weighted(0.8), prop::bool::weighted(0.3), only).prop_map(
        move |(auto, avoid, only)| NaivePool {
            name: format!("pool-{number}"),
            ranges: Vec::new(),
            auto,
            avoid,
            // With nothing but a priority a pool is for everybody: said here as the label nobody lacks.
            only: only.filter(|(_, namespaces, apps)| !namespaces.is_empty() || !apps.is_empty()),
        },
    )
}

/// Up to three pools, the ranges dealt out among them in any order.
fn pools() -> impl Strategy<Value = Vec<NaivePool>> {
    let dealt = vec(0usize..4, RANGES.len());
    let order = Just((0..RANGES.len()).collect::<Vec<_>>()).prop_shuffle();
    (pool(0), pool(1), pool(2), dealt, order).prop_map(|(a, b, c, dealt, order)| {
        let mut pools = vec![a, b, c];
        for at in order {
            if let Some(pool) = pools.get_mut(dealt[at]) {
                pool.ranges.push(Range::parse(RANGES[at]).unwrap());
            }
        }
        pools.retain(|pool| !pool.ranges.is_empty());
        pools
    })
}

fn spec(pool: &NaivePool) -> Value {
    let addresses: Vec<String> =
        pool.ranges.iter().map(|r| format!("{}-{}", r.first(), r.last())).collect();
    let mut spec = json!({
        "addresses": addresses, "autoAssign": pool.auto, "avoidBuggyIPs": pool.avoid,
    });
    if let Some((priority, namespaces, apps)) = &pool.only {
        let selectors: Vec<Value> =
            apps.iter().map(|app| json!({"matchLabels": {"app": app}})).collect();
        spec["serviceAllocation"] = json!({
            "priority": priority, "namespaces": namespaces, "serviceSelectors": selectors,
        });
    }
    spec
}

fn address() -> impl Strategy<Value = IpAddr> {
    let all: Vec<IpAddr> = RANGES
        .iter()
        .flat_map(|text| {
            let range = Range::parse(text).unwrap();
            [range.first(), range.last()]
        })
        .chain(["10.0.9.5".parse().unwrap(), "10.0.0.255".parse().unwrap()])
        .collect();
    select(all)
}

fn asked(number: usize) -> impl Strategy<Value = Asked> {
    let families = select(vec![
        Families::One(Family::V4),
        Families::One(Family::V4),
        Families::One(Family::V6),
        Families::Both,
        Families::Rather(Family::V4),
        Families::Rather(Family::V6),
    ]);
    let wanted = prop_oneof![
        5 => Just(Ok(Vec::new())),
        2 => address().prop_map(|one| Ok(vec![one])),
        1 => (address(), address()).prop_map(|(a, b)| {
            if a.is_ipv4() == b.is_ipv4() { Err("two of one family".to_owned()) } else { Ok(vec![a, b]) }
        }),
    ];
    let sharing = (select(vec!["", "", "k", "k", "l"]), select(vec!["", "", "", "app=web"]));
    (
        (select(vec!["one", "two"]), select(vec!["web", "db", ""]), families),
        prop_oneof![4 => Just(None), 1 => select(vec!["pool-0", "pool-1", "none"]).prop_map(Some)],
        wanted,
        sharing,
        vec(select(PORTS.to_vec()), 1..3),
    )
        .prop_map(move |((namespace, app, families), pool, addresses, sharing, ports)| Asked {
            name: format!("{namespace}/svc-{number}").into(),
            namespace: Arc::from(namespace),
            labels: BTreeMap::from([("app".to_owned(), app.to_owned())]),
            families: Ok(families),
            pool: pool.map(str::to_owned),
            addresses,
            sharing: Sharing { key: sharing.0.to_owned(), backend: sharing.1.to_owned() },
            ports,
        })
}

#[derive(Clone, Debug)]
enum Step {
    Ask(Asked),
    Go(usize),
    Pools(Vec<NaivePool>),
    Hold(IpAddr, bool),
    Again(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0usize..8).prop_flat_map(asked).prop_map(Step::Ask),
        3 => (0usize..16).prop_map(Step::Go),
        1 => pools().prop_map(Step::Pools),
        2 => (address(), any::<bool>()).prop_map(|(address, held)| Step::Hold(address, held)),
        4 => (0usize..16).prop_map(Step::Again),
    ]
}

struct Both {
    ours: Allocator,
    naive: Naive,
}

impl Both {
    /// Decides for one Service on both sides and compares.
    fn converge(&mut self, asked: &Asked) -> Result<(), TestCaseError> {
        let name = asked.name.to_string();
        let current =
            self.naive.services.get(&name).map(|(_, has)| has.clone()).unwrap_or_default();
        // As MetalLB does with a Service that cannot keep what it has: by its new wishes.
        let expected = self.naive.converge(asked, &current);
        let outcome = converge(&mut self.ours, asked, &current);
        let given = outcome.given.map(|given| given.addresses).unwrap_or_default();
        prop_assert_eq!(&given, &expected, "{:?} had {:?}", asked, current);
        for address in self.ours.of(&asked.name) {
            self.ours.vacate(address, &asked.name);
        }
        for address in &given {
            self.ours.occupy(*address, &asked.name, &asked.sharing, &asked.ports);
        }
        self.naive.services.insert(name, (asked.clone(), given));
        Ok(())
    }

    fn again(&mut self) -> Result<(), TestCaseError> {
        let all: Vec<Asked> =
            self.naive.services.values().map(|(asked, _)| asked.clone()).collect();
        all.iter().try_for_each(|asked| self.converge(asked))
    }

    fn nth(&self, number: usize) -> Option<Asked> {
        self.naive.services.values().nth(number).map(|(asked, _)| asked.clone())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn equal_on_every_history(first in pools(), steps in vec(step(), 1..60)) {
        let mut both = Both { ours: Allocator::default(), naive: Naive::default() };
        let steps = std::iter::once(Step::Pools(first)).chain(steps);
        for step in steps {
            match step {
                Step::Ask(asked) => both.converge(&asked)?,
                Step::Go(number) => {
                    if let Some(asked) = both.nth(number) {
                        for address in both.ours.of(&asked.name) {
                            both.ours.vacate(address, &asked.name);
                        }
                        both.naive.services.remove(&*asked.name);
                    }
                }
                Step::Pools(pools) => {
                    let specs: Vec<(String, Value)> =
                        pools.iter().map(|pool| (pool.name.clone(), spec(pool))).collect();
                    let read = Config::read(specs.iter().map(|(n, s)| (n.as_str(), s)), &[]);
                    both.ours.configure(read.map_err(TestCaseError::fail)?);
                    both.naive.pools = pools;
                    both.again()?;
                }
                Step::Hold(address, held) => {
                    both.ours.hold(address, held.then(|| "IPSet x".to_owned()));
                    if held {
                        both.naive.held.insert(address);
                    } else {
                        both.naive.held.remove(&address);
                    }
                }
                Step::Again(number) => {
                    if let Some(asked) = both.nth(number) {
                        both.converge(&asked)?;
                    }
                }
            }
            for pool in both.ours.config().pools() {
                let used: BTreeSet<IpAddr> = both.naive.services.values()
                    .flat_map(|(_, has)| has.iter().copied())
                    .filter(|address| pool.holds(*address))
                    .collect();
                let counted = both.ours.count(&pool.name, Family::V4).addresses
                    + both.ours.count(&pool.name, Family::V6).addresses;
                prop_assert_eq!(i64::try_from(used.len()).unwrap(), counted);
            }
        }
    }
}
