//! Who reaches whom, and who does not.

use landbridge_fabric::{Child, NodePlan, Uplink};
use landbridge_linux::{Handle, Route};

use crate::scene::{
    Scene, addresses, allow, ask, cable, cloud_of, eventually, id, instance, interface, ip, links,
    name, net, network, on_bridge, open, plan, port, router, routes, serve, via,
};

/// The seed: a provider network on octbr, lb-mgmt-net, the router between them without translation.
pub fn octavia(scene: &Scene) -> (NodePlan, NodePlan, landbridge_linux::Namespace) {
    // The pod is on another node than the router.
    let pod = scene.nodes[1].bridge_with_pod(
        "octbr",
        "172.23.0.30/24",
        &[("172.24.0.0/16", "172.23.0.150")],
    );
    scene.nodes[0].bridge_with_pod("octbr", "172.23.0.31/24", &[]);
    cable(&scene.nodes[0], &scene.nodes[1], "octbr");
    let between = router(
        'd',
        vec![
            interface('e', 'a', "172.23.0.150/24", true),
            interface('f', 'b', "172.24.1.89/16", false),
        ],
    );
    let worker = plan(
        vec![network('a', on_bridge("octbr")), network('b', Uplink::Segment)],
        vec![],
        vec![between],
    );
    let mut amphora = instance('c', 'b', "172.24.0.10/16", 1);
    amphora.ports[0].fixed[0].routes = vec![via("172.23.0.0/24", "172.24.1.89")];
    allow(&mut amphora, &[open(9443)]);
    let compute = plan(vec![network('b', Uplink::Segment)], vec![amphora], vec![]);
    (worker, compute, pod)
}

#[test]
fn a_pod_and_an_instance_meet_through_the_router_untranslated() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (worker, compute, pod) = octavia(&scene);
    scene.make(0, &worker);
    scene.make(2, &compute);
    let amphora = scene.nodes[2].instance(&id('c'));
    eventually(vec!["172.24.0.10/16".to_owned()], || addresses(&amphora, "eth0"));
    eventually(vec!["172.23.0.0/24 via 172.24.1.89".to_owned()], || routes(&amphora));
    eventually(true, || ask(&pod, "172.24.0.10:9443").is_ok());
    let told = ask(&pod, "172.24.0.10:9443").unwrap();
    assert!(told.contains(&format!("vm-c {}", id('c'))), "{told}");
    serve(&pod);
    // Its own address.
    eventually(Ok("172.24.0.10".to_owned()), || ask(&amphora, "172.23.0.30:8080"));
    assert!(ask(&pod, "172.24.0.10:22").is_err(), "no group lets that in");
}

#[test]
fn nothing_else_reaches_the_network() {
    let Some(mut scene) = Scene::new(3) else { return };
    let (mut worker, mut compute, _) = octavia(&scene);
    // Another network of the cloud with the same addresses, on both nodes, and one that leads to another bridge.
    compute.networks.push(network('g', Uplink::Segment));
    compute.instances.push(instance('h', 'g', "172.24.0.77/16", 2));
    worker.networks.push(network('g', Uplink::Segment));
    worker.networks.push(network('i', on_bridge("otherbr")));
    worker.instances.push(instance('j', 'g', "172.24.0.78/16", 3));
    worker.instances.push(instance('k', 'i', "172.24.0.79/16", 4));
    let stranger = scene.nodes[0].bridge_with_pod("otherbr", "172.24.0.80/16", &[]);
    scene.make(0, &worker);
    scene.make(2, &compute);
    let amphora = scene.nodes[2].instance(&id('c'));
    eventually(vec!["172.24.0.10/16".to_owned()], || addresses(&amphora, "eth0"));
    let within = |node: usize, letter| {
        let there = scene.nodes[node].instance(&id(letter));
        eventually(false, || addresses(&there, "eth0").is_empty());
        there
    };
    let target = "172.24.0.10:9443";
    for (who, from) in [
        ("another network, same node", within(2, 'h')),
        ("another network, another node", within(0, 'j')),
        ("another provider network", within(0, 'k')),
        ("a pod on another bridge", stranger),
    ] {
        assert!(ask(&from, target).is_err(), "{who}");
    }
    // Nodes have no address there and no way, whatever they route.
    for node in [0, 2] {
        let here = &scene.nodes[node];
        let lo = here.handle().index(&name("lo")).unwrap();
        let own = landbridge_linux::Address::new(lo, net("172.24.3.3/32"));
        here.handle().add_address(&own).unwrap();
        for link in links(&here.namespace).iter().filter(|link| *link != "lo") {
            let index = here.handle().index(&name(link)).unwrap();
            let _ = here.handle().replace_route(&Route::dev(net("172.24.0.0/16"), index));
            assert!(ask(&here.namespace, target).is_err(), "node {node} by {link}");
        }
    }
    let bridges = cloud_of(&scene.nodes[2].netns);
    let all = Handle::in_namespace(&bridges).unwrap().addresses().unwrap();
    assert!(all.iter().all(|it| it.ip().is_loopback()), "{all:?}");
}

#[test]
fn a_router_between_networks_leads_both_families() {
    let Some(mut scene) = Scene::new(2) else { return };
    let mut one = instance('c', 'a', "10.0.1.5/24", 1);
    one.ports[0].fixed[0].gateway = Some(ip("10.0.1.1"));
    one.ports[0].fixed.push(landbridge_fabric::Fixed {
        address: net("fd00:1::5/64"),
        gateway: Some(ip("fd00:1::1")),
        routes: vec![],
        dhcp: None,
    });
    // This one is told its addresses otherwise: its subnet has no DHCP.
    let mut two = instance('d', 'b', "10.0.2.5/24", 2);
    two.ports[0].fixed[0].gateway = Some(ip("10.0.2.1"));
    two.ports[0].fixed[0].dhcp = None;
    two.ports[0].fixed.push(landbridge_fabric::Fixed {
        address: net("fd00:2::5/64"),
        gateway: Some(ip("fd00:2::1")),
        routes: vec![],
        dhcp: None,
    });
    let six = landbridge_fabric::Rule { ipv6: true, ..open(9443) };
    allow(&mut two, &[open(9443), six]);
    let mut first = interface('e', 'a', "10.0.1.1/24", false);
    first.addresses.push(net("fd00:1::1/64"));
    let mut second = interface('f', 'b', "10.0.2.1/24", false);
    second.addresses.push(net("fd00:2::1/64"));
    let nets = || vec![network('a', Uplink::Segment), network('b', Uplink::Segment)];
    scene.make(0, &plan(nets(), vec![one], vec![router('r', vec![first, second])]));
    scene.make(1, &plan(nets(), vec![two], vec![]));
    let one = scene.nodes[0].instance(&id('c'));
    let two = scene.nodes[1].instance(&id('d'));
    assert_eq!(addresses(&two, "eth0"), ["10.0.2.5/24", "fd00:2::5/64"]);
    eventually(vec!["0.0.0.0/0 via 10.0.1.1".to_owned(), "::/0 via fd00:1::1".to_owned()], || {
        routes(&one)
    });
    for to in ["10.0.2.5:9443", "[fd00:2::5]:9443"] {
        eventually(true, || ask(&one, to).is_ok());
    }
}

#[test]
fn interfaces_come_and_go_and_trunks_have_children() {
    let Some(mut scene) = Scene::new(1) else { return };
    let nets = || vec![network('a', Uplink::Segment), network('b', Uplink::Segment)];
    let mut vm = instance('c', 'a', "10.0.1.5/24", 1);
    scene.make(0, &plan(nets(), vec![vm.clone()], vec![]));
    vm.ports.push(port('d', 'b', "10.0.2.5/24", 2));
    let mut child = port('e', 'b', "10.0.3.5/24", 3);
    child.child = Some(Child { parent: id('c'), vlan: 100 });
    vm.ports.push(child);
    scene.make(0, &plan(nets(), vec![vm.clone()], vec![]));
    let within = scene.nodes[0].instance(&id('c'));
    assert_eq!(links(&within), ["lo", "eth0", "eth1", "eth0.100"]);
    for (link, address) in
        [("eth0", "10.0.1.5/24"), ("eth1", "10.0.2.5/24"), ("eth0.100", "10.0.3.5/24")]
    {
        eventually(vec![address.to_owned()], || addresses(&within, link));
    }
    vm.ports.remove(1);
    scene.make(0, &plan(nets(), vec![vm], vec![]));
    assert_eq!(links(&within), ["lo", "eth0", "eth0.100"]);
}

#[test]
fn what_a_node_cannot_connect_is_told() {
    let Some(mut scene) = Scene::new(1) else { return };
    scene.nodes[0].bridge_with_pod("octbr", "172.23.0.30/24", &[]);
    let missing = Uplink::Missing { network: "datacentre".into() };
    for (uplink, told) in [
        (missing, "physical network datacentre has no link on this node"),
        (on_bridge("ospbr"), "link ospbr, which is not there"),
        (on_bridge("lo"), "link lo is no bridge"),
    ] {
        let vm = instance('c', 'a', "10.0.1.5/24", 1);
        let status = scene.converge(0, &plan(vec![network('a', uplink)], vec![vm], vec![]));
        assert_eq!(status.errors.len(), 1, "{:?}", status.errors);
        assert!(status.errors[0].contains(told), "{:?}", status.errors);
        assert!(status.wired.contains(&id('c')), "those on the node reach each other all the same");
    }
}
