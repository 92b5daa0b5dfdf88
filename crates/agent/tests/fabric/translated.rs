//! Address translation of routers.

use landbridge_fabric::{Floating, Uplink};

use crate::scene::{
    Scene, allow, ask, eventually, id, instance, interface, ip, network, on_bridge, open, plan,
    router, serve, via,
};

#[test]
fn what_goes_out_has_the_gateways_address_or_its_own_floating_one() {
    let Some(mut scene) = Scene::new(1) else { return };
    let outside = scene.nodes[0].bridge_with_pod("br-ex", "192.0.2.9/24", &[]);
    serve(&outside);
    let mut vm = instance('c', 'b', "10.0.0.5/24", 1);
    vm.ports[0].fixed[0].gateway = Some(ip("10.0.0.1"));
    allow(&mut vm, &[open(9443)]);
    let mut other = instance('d', 'b', "10.0.0.6/24", 2);
    other.ports[0].fixed[0].gateway = Some(ip("10.0.0.1"));
    let mut gateway = router(
        'r',
        vec![interface('e', 'a', "192.0.2.1/24", true), interface('f', 'b', "10.0.0.1/24", false)],
    );
    gateway.snat = Some("192.0.2.1".parse().unwrap());
    let nets = vec![network('a', on_bridge("br-ex")), network('b', Uplink::Segment)];
    let mut all = plan(nets, vec![vm, other], vec![gateway]);
    scene.make(0, &all);
    let (vm, other) = (scene.nodes[0].instance(&id('c')), scene.nodes[0].instance(&id('d')));
    let to = "192.0.2.9:8080";
    eventually(Ok("192.0.2.1".to_owned()), || ask(&vm, to));
    // One to one.
    all.routers[0].floating = vec![Floating {
        outside: "192.0.2.50".parse().unwrap(),
        inside: "10.0.0.5".parse().unwrap(),
    }];
    scene.make(0, &all);
    eventually(Ok("192.0.2.50".to_owned()), || ask(&vm, to));
    eventually(Ok("192.0.2.1".to_owned()), || ask(&other, to));
    // From outside.
    eventually(true, || ask(&outside, "192.0.2.50:9443").is_ok());
    // From inside, and back the same way.
    eventually(true, || ask(&other, "192.0.2.50:9443").is_ok());
    assert!(ask(&outside, "192.0.2.50:22").is_err(), "the group decides all the same");
    // It goes, and its address with it.
    all.routers[0].floating.clear();
    scene.make(0, &all);
    assert!(ask(&outside, "192.0.2.50:9443").is_err());
    // Without translation the outside sees who it is, and needs a way back.
    all.routers[0].snat = None;
    scene.make(0, &all);
    assert!(ask(&vm, to).is_err());
    let there = landbridge_linux::Handle::in_namespace(&outside).unwrap();
    let back = via("10.0.0.0/24", "192.0.2.1");
    there.add_route(&landbridge_linux::Route::via(back.destination, back.nexthop)).unwrap();
    eventually(Ok("10.0.0.5".to_owned()), || ask(&vm, to));
}
