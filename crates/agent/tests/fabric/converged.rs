//! From any state to the plan.

use landbridge_fabric::{NodePlan, Uplink, names};
use landbridge_linux::namespace::named;
use landbridge_linux::{Handle, Namespace};

use crate::paths::octavia;
use crate::scene::{
    Scene, addresses, ask, cloud_of, eventually, id, instance, links, name, network, plan,
};

fn inode(namespace: &Namespace) -> u64 {
    namespace.identity().unwrap().inode()
}

#[test]
fn an_agent_that_is_killed_finds_everything_again() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (worker, compute, pod) = octavia(&scene);
    scene.make(0, &worker);
    scene.make(2, &compute);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    let before = inode(&scene.nodes[2].instance(&id('c')));
    let bridges = links(&cloud_of(&scene.nodes[2].netns));
    for node in [0, 2] {
        scene.kill(node);
    }
    let amphora = scene.nodes[2].instance(&id('c'));
    assert_eq!(addresses(&amphora, "eth0"), ["172.24.0.10/16"], "an instance outlives an agent");
    scene.make(0, &worker);
    scene.make(2, &compute);
    assert_eq!(inode(&scene.nodes[2].instance(&id('c'))), before, "it is the same instance");
    assert_eq!(links(&cloud_of(&scene.nodes[2].netns)), bridges);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
}

#[test]
fn what_somebody_breaks_is_made_again() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (worker, compute, pod) = octavia(&scene);
    scene.make(0, &worker);
    scene.make(2, &compute);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    let (tap, bridge) = (names::tap(&id('c')), names::bridge(&id('b')));
    for (what, node, link) in [
        ("the tap", 2, tap.as_str()),
        ("the bridge", 2, &bridge),
        ("the wire", 2, &names::uplink(&id('b'))),
        ("the router's tap", 0, &names::tap(&id('f'))),
        ("the way to octbr", 0, &names::uplink(&id('a'))),
    ] {
        let cloud = Handle::in_namespace(&cloud_of(&scene.nodes[node].netns)).unwrap();
        assert!(cloud.delete_link(&name(link)).unwrap(), "{what}");
        scene.make(node, if node == 0 { &worker } else { &compute });
        eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    }
    // The policy's bridge is made anew.
    let octbr = scene.nodes[0].handle();
    octbr.set_master(&name(&names::node_end(&id('a'))), None).unwrap();
    assert!(ask(&pod, "172.24.0.10:9443").is_err());
    scene.make(0, &worker);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    // All rules of the node's cloud are flushed: the guard stands again, and the groups hold.
    let flushed = cloud_of(&scene.nodes[2].netns)
        .run(|| std::process::Command::new("nft").args(["flush", "ruleset"]).status().unwrap())
        .unwrap();
    assert!(flushed.success());
    // This is what the guard is for.
    eventually(true, || ask(&pod, "172.24.0.10:22").is_ok());
    scene.make(2, &compute);
    assert!(ask(&pod, "172.24.0.10:22").is_err());
    // The instance's namespace, and the router's.
    for (node, space) in [(2, names::instance(&id('c'))), (0, names::router(&id('d')))] {
        named::delete(&scene.nodes[node].netns, &space).unwrap();
        scene.make(node, if node == 0 { &worker } else { &compute });
        eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    }
}

#[test]
fn what_is_not_planned_any_more_leaves_nothing() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (worker, mut compute, pod) = octavia(&scene);
    scene.make(0, &worker);
    compute.instances.push(instance('h', 'b', "172.24.0.77/16", 2));
    scene.make(2, &compute);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    assert!(links(&scene.nodes[0].namespace).contains(&names::node_end(&id('a'))));
    let taps = |scene: &Scene| {
        let all = links(&cloud_of(&scene.nodes[2].netns));
        all.iter().filter(|link| link.starts_with("tap")).count()
    };
    assert_eq!(taps(&scene), 2);
    let amphora = compute.instances.remove(0);
    scene.make(2, &compute);
    assert_eq!(taps(&scene), 1);
    assert_eq!(scene.nodes[2].spaces(), ["cloud".to_owned(), names::instance(&id('h'))]);
    assert!(ask(&pod, "172.24.0.10:9443").is_err());
    // It starts again, on another node.
    let moved = plan(vec![network('b', Uplink::Segment)], vec![amphora], vec![]);
    scene.make(1, &moved);
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    for node in 0..3 {
        scene.make(node, &NodePlan::default());
        assert_eq!(scene.nodes[node].spaces(), Vec::<String>::new());
    }
    let ends = links(&scene.nodes[0].namespace);
    assert!(!ends.contains(&names::node_end(&id('a'))), "{ends:?}");
    eventually(0, || links(&scene.switches).iter().filter(|it| it.starts_with('n')).count());
}
