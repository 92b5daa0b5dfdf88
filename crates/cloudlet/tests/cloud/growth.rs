//! The cost of one port must not grow with how many there are.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, config};

const BATCH: usize = 400;

/// The quickest of several small batches: what the machine does beside is not our cost.
fn cost(world: &mut World, net: &str) -> Duration {
    let body = json!({"port": {"network_id": net}});
    let batches = (0..8).map(|_| {
        let begin = Instant::now();
        for _ in 0..BATCH / 8 {
            assert_eq!(world.neutron_with("admin", "POST ports", &body).status, 201);
        }
        begin.elapsed()
    });
    batches.min().unwrap()
}

#[test]
fn the_thousandth_port_costs_as_much_as_the_first() {
    let mut config = config();
    config.network.quotas.insert("port".into(), 1_000_000);
    let mut world = World::with(config);
    let (net, _) = world.net("admin", "10.0.0.0/16");
    let first = cost(&mut world, &net);
    let bulk = json!({"ports": vec![json!({"network_id": net}); 500]});
    for _ in 0..24 {
        let answer = world.neutron_with("admin", "POST ports", &bulk);
        assert_eq!(answer.status, 201, "{}", answer.value());
    }
    let last = cost(&mut world, &net);
    // Trees grow by a level or two; anything that looks at all ports would be thirty times as slow.
    assert!(last < first * 4, "{first:?} for {BATCH} ports at first, {last:?} after 12,000");

    // What a refused call took is given back without looking at all that is taken.
    let bad = json!({"ports": [{"network_id": net}, {"network_id": net, "fixed_ips": [{"ip_address": "10.0.0.2"}]}]});
    let begin = Instant::now();
    for _ in 0..BATCH / 8 {
        assert_eq!(world.neutron_with("admin", "POST ports", &bad).status, 409);
    }
    let refused = begin.elapsed();
    assert!(refused < first * 8, "{first:?} for ports, {refused:?} for refusals");
}
