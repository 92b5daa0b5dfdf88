//! Whatever happens, in whatever order: nothing leaks, nothing is made twice.

use std::time::Duration;

use landbridge_agent::pods::desired::RestartPolicy;
use landbridge_agent::pods::record::Stage;
use landbridge_agent::pods::run::Run;
use proptest::prelude::*;

use crate::world::{Luck, World};

#[derive(Clone, Debug)]
enum Happens {
    Step(Luck),
    Pass(Duration),
    AgentDies,
    ProcessDies,
    Reboot,
    Delete(Duration),
    /// Without notice, as with `kubectl delete --force`.
    Vanish,
    Release,
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        8 => Just(Luck::Good),
        1 => Just(Luck::Fails),
        1 => Just(Luck::FailsLate),
        1 => Just(Luck::DiesBefore),
        1 => Just(Luck::DiesAfter),
    ]
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        40 => luck().prop_map(Happens::Step),
        6 => (0..40_u64).prop_map(|seconds| Happens::Pass(Duration::from_secs(seconds))),
        2 => Just(Happens::AgentDies),
        3 => Just(Happens::ProcessDies),
        1 => Just(Happens::Reboot),
        1 => (0..40_u64).prop_map(|seconds| Happens::Delete(Duration::from_secs(seconds))),
        1 => Just(Happens::Vanish),
        2 => Just(Happens::Release),
    ]
}

fn live(world: &mut World, timeline: Vec<Happens>) {
    for happens in timeline {
        match happens {
            Happens::Step(luck) => drop(world.step(luck)),
            Happens::Pass(time) => world.pass(time),
            Happens::AgentDies => world.agent_dies(),
            Happens::ProcessDies => world.process_dies(),
            Happens::Reboot => world.reboot(),
            Happens::Delete(grace) => world.delete(grace),
            Happens::Vanish => world.desired = None,
            Happens::Release => world.release(),
        }
        world.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_pod_that_is_deleted_leaves_nothing(
        host_network in prop::bool::weighted(0.2),
        never in prop::bool::weighted(0.2),
        timeline in proptest::collection::vec(happens(), 0..120),
    ) {
        let mut world = World::new(host_network);
        if never {
            world.desired.as_mut().unwrap().restart_policy = RestartPolicy::Never;
        }
        live(&mut world, timeline);
        world.delete(Duration::from_secs(5));
        world.settle();
        world.release();
        prop_assert!(world.desired.is_none(), "the pod is still in the API");
        prop_assert!(world.machine.gone(None));
        prop_assert!(world.disk.is_none() && world.process.is_none());
        prop_assert!(world.namespaces.is_empty() && world.attached.is_empty());
    }

    #[test]
    fn a_pod_that_is_wanted_comes_to_run(
        host_network in prop::bool::weighted(0.2),
        timeline in proptest::collection::vec(happens(), 0..120),
    ) {
        let mut world = World::new(host_network);
        let wanted = |happens: &Happens| !matches!(happens, Happens::Delete(_) | Happens::Vanish);
        live(&mut world, timeline.into_iter().filter(wanted).collect());
        world.settle();
        world.release();
        let record = world.disk.clone().unwrap();
        prop_assert_eq!(record.stage, Stage::Ready);
        prop_assert_eq!(record.process, world.process);
        prop_assert!(matches!(world.machine.run(), Run::Running(_)));
        prop_assert_eq!(world.namespaces.len(), usize::from(!host_network));
        prop_assert_eq!(world.attached.len(), usize::from(!host_network));
        prop_assert_eq!(record.addresses.len(), usize::from(!host_network));
    }
}
