//! Port security and security groups.

use std::io::Write as _;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use landbridge_fabric::{Direction, Instance, NodePlan, Pair, Uplink};
use landbridge_linux::{Address, Handle, MacAddr, Namespace, Neighbour};

use crate::scene::{
    Scene, addresses, allow, ask, ask_from, cloud_of, connect, eventually, id, instance, ip, mac,
    name, net, network, open, plan, read, rule, serve,
};

fn pair() -> (Instance, Instance) {
    (instance('c', 'a', "10.0.0.5/24", 1), instance('d', 'a', "10.0.0.6/24", 2))
}

fn of(one: &Instance, two: &Instance) -> NodePlan {
    plan(vec![network('a', Uplink::Segment)], vec![one.clone(), two.clone()], vec![])
}

/// Two instances on one network and their servers, when both have their addresses.
fn settled(scene: &Scene) -> (Namespace, Namespace) {
    let one = scene.nodes[0].instance(&id('c'));
    let two = scene.nodes[0].instance(&id('d'));
    for there in [&one, &two] {
        eventually(false, || addresses(there, "eth0").is_empty());
        serve(there);
    }
    (one, two)
}

#[test]
fn a_group_without_rules_lets_nothing_in_but_answers() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (one, mut two) = pair();
    allow(&mut two, &[open(8080)]);
    scene.make(0, &of(&one, &two));
    let (first, second) = settled(&scene);
    // The answer comes in.
    eventually(Ok("10.0.0.5".to_owned()), || ask(&first, "10.0.0.6:8080"));
    assert!(ask(&first, "10.0.0.6:22").is_err(), "another port");
    assert!(ask(&second, "10.0.0.5:8080").is_err(), "nothing is let in");
    assert!(ask_from(&first, "10.0.0.5", "10.0.0.6:8080").is_err(), "UDP is not TCP");
    // Without port security everything passes.
    let mut bare = one.clone();
    bare.ports[0].security = None;
    scene.make(0, &of(&bare, &two));
    eventually(Ok("10.0.0.6".to_owned()), || ask(&second, "10.0.0.5:8080"));
    // And a port with nothing in its groups sends nothing, either.
    let mut mute = one;
    mute.ports[0].security = Some(landbridge_fabric::Security::default());
    scene.make(0, &of(&mute, &two));
    assert!(ask(&first, "10.0.0.6:8080").is_err());
}

#[test]
fn rules_and_members_change_under_what_is_established() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (one, mut two) = pair();
    let from_one = rule(Direction::Ingress, false, Some(6), Some(8080), Some(&["10.0.0.5/32"]));
    allow(&mut two, std::slice::from_ref(&from_one));
    scene.make(0, &of(&one, &two));
    let (first, second) = settled(&scene);
    let mut talk = first.run(|| connect("10.0.0.6:8080".parse().unwrap())).unwrap().unwrap();
    assert_eq!(read(&mut talk), Ok("10.0.0.5".to_owned()));
    // A new member and a new rule: what is there goes on.
    let mut more = two.clone();
    let rules = &mut more.ports[0].security.as_mut().unwrap().rules;
    rules.last_mut().unwrap().remotes = Some(vec![net("10.0.0.5/32"), net("10.0.0.9/32")]);
    rules.push(open(22));
    let third = instance('e', 'a', "10.0.0.9/24", 3);
    let all =
        plan(vec![network('a', Uplink::Segment)], vec![one.clone(), more.clone(), third], vec![]);
    scene.make(0, &all);
    talk.write_all(b"still there").unwrap();
    assert_eq!(read(&mut talk), Ok("still there".to_owned()));
    eventually(true, || ask(&first, "10.0.0.6:22").is_ok());
    let newcomer = scene.nodes[0].instance(&id('e'));
    eventually(true, || ask(&newcomer, "10.0.0.6:8080").is_ok());
    // The rule goes: nobody new comes in, and who is in is not heard any more.
    two.ports[0].security.as_mut().unwrap().rules.retain(|rule| rule != &from_one);
    scene.make(0, &of(&one, &two));
    assert!(ask(&first, "10.0.0.6:8080").is_err());
    talk.write_all(b"hello?").unwrap();
    assert!(read(&mut talk).is_err());
    drop(second);
}

#[test]
fn an_instance_sends_from_its_own_addresses_only() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (mut one, mut two) = pair();
    two.ports[0].security = None;
    scene.make(0, &of(&one, &two));
    let (first, second) = settled(&scene);
    let to = "10.0.0.6:8080";
    eventually(Ok("10.0.0.5".to_owned()), || ask_from(&first, "10.0.0.5", to));
    let inside = Handle::in_namespace(&first).unwrap();
    let eth0 = inside.index(&name("eth0")).unwrap();
    inside.add_address(&Address::new(eth0, net("10.0.0.99/24"))).unwrap();
    // By ARP: the other one does not even learn of it.
    let known: Vec<_> = inside.neighbours().unwrap();
    for neighbour in known.iter().filter(|it| it.ip.is_ipv4()) {
        inside.delete_neighbour(neighbour).unwrap();
    }
    assert!(ask_from(&first, "10.0.0.99", to).is_err());
    let beside = Handle::in_namespace(&second).unwrap();
    let learnt = || beside.neighbours().unwrap().iter().any(|it| it.ip == ip("10.0.0.99"));
    assert!(!learnt(), "it has told whose that address is");
    // By IP: whoever knows the way back still hears nothing.
    let there = beside.index(&name("eth0")).unwrap();
    let way_back = Neighbour::permanent(there, ip("10.0.0.99"), MacAddr(mac(1).0));
    beside.replace_neighbour(&way_back).unwrap();
    eventually(Ok("10.0.0.5".to_owned()), || ask_from(&first, "10.0.0.5", to));
    assert!(ask_from(&first, "10.0.0.99", to).is_err(), "another source");
    beside.delete_neighbour(&way_back).unwrap();
    one.ports[0].security.as_mut().unwrap().pairs =
        vec![Pair { address: net("10.0.0.96/28"), mac: mac(1) }];
    scene.make(0, &of(&one, &two));
    // An allowed pair.
    eventually(Ok("10.0.0.99".to_owned()), || ask_from(&first, "10.0.0.99", to));
    assert_eq!(
        addresses(&first, "eth0"),
        ["10.0.0.5/24", "10.0.0.99/24"],
        "its owner's address stays"
    );
    // Another Ethernet address.
    inside.set_mac(eth0, MacAddr([0xfa, 0x16, 0x3e, 9, 9, 9])).unwrap();
    assert!(ask_from(&first, "10.0.0.5", to).is_err());
    scene.make(0, &of(&one, &two));
    assert!(
        ask_from(&first, "10.0.0.5", to).is_err(),
        "nor is it put right behind its owner's back"
    );
    // Also where nobody has to ask for the way.
    let hears = second.run(|| UdpSocket::bind(("10.0.0.6", 9000)).unwrap()).unwrap();
    hears.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    let arrives = || {
        let way = Neighbour::permanent(eth0, ip("10.0.0.6"), MacAddr(mac(2).0));
        inside.replace_neighbour(&way).unwrap();
        let say = || UdpSocket::bind(("10.0.0.5", 0)).unwrap().send_to(b"?", "10.0.0.6:9000");
        first.run(say).unwrap().unwrap();
        hears.recv(&mut [0; 16]).is_ok()
    };
    assert!(!arrives(), "from another Ethernet address");
    inside.set_mac(eth0, MacAddr(mac(1).0)).unwrap();
    assert!(arrives());
    eventually(Ok("10.0.0.5".to_owned()), || ask_from(&first, "10.0.0.5", to));
}

#[test]
fn an_instance_is_no_dhcp_server() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (one, mut two) = pair();
    two.ports[0].security = None;
    let plan = of(&one, &two);
    scene.make(0, &plan);
    let (first, second) = settled(&scene);
    let says = |from: &Namespace, port: u16, to: &str| {
        let to: std::net::SocketAddr = to.parse().unwrap();
        let hears = second.run(|| UdpSocket::bind(("10.0.0.6", to.port())).unwrap()).unwrap();
        hears.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
        from.run(|| {
            let socket = UdpSocket::bind(("10.0.0.5", port)).unwrap();
            socket.send_to(b"offer", to).unwrap();
        })
        .unwrap();
        let mut buffer = [0; 16];
        hears.recv(&mut buffer).is_ok()
    };
    assert!(says(&first, 1067, "10.0.0.6:1068"), "other datagrams pass");
    // 68 is the client's own; the reply would go there.
    let script = "list chain bridge landbridge_cloud from_tapcccccccc-11\n";
    let shown = cloud_of(&scene.nodes[0].netns)
        .run(|| {
            let mut nft = Command::new("nft");
            nft.args(["-f", "-"]).stdin(std::process::Stdio::piped());
            let mut child = nft.stdout(std::process::Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
        })
        .unwrap();
    assert!(shown.contains("udp sport 67 udp dport 68 drop"), "{shown}");
    assert!(shown.contains("nd-router-advert"), "{shown}");
}

#[test]
fn a_port_that_is_switched_off_passes_nothing() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (one, mut two) = pair();
    allow(&mut two, &[open(8080)]);
    scene.make(0, &of(&one, &two));
    let (first, _second) = settled(&scene);
    eventually(true, || ask(&first, "10.0.0.6:8080").is_ok());
    two.ports[0].up = false;
    let status = scene.converge(0, &of(&one, &two));
    assert!(!status.wired.contains(&id('d')) && status.wired.contains(&id('c')));
    assert!(ask(&first, "10.0.0.6:8080").is_err());
    two.ports[0].up = true;
    scene.make(0, &of(&one, &two));
    eventually(true, || ask(&first, "10.0.0.6:8080").is_ok());
}

#[test]
fn networks_with_the_same_addresses_do_not_mix_their_connections() {
    let Some(mut scene) = Scene::new(1) else { return };
    let (one, mut two) = pair();
    allow(&mut two, &[rule(Direction::Ingress, false, Some(17), Some(8082), None)]);
    let three = instance('e', 'b', "10.0.0.5/24", 3);
    let four = instance('f', 'b', "10.0.0.6/24", 4);
    let nets = vec![network('a', Uplink::Segment), network('b', Uplink::Segment)];
    scene.make(0, &plan(nets, vec![one, two, three, four], vec![]));
    let socket = |letter: char, address: &str, port: u16| {
        let within = scene.nodes[0].instance(&id(letter));
        eventually(false, || addresses(&within, "eth0").is_empty());
        let socket = within.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        socket
    };
    let mut buffer = [0; 16];
    let (asks, answers) = (socket('c', "10.0.0.5", 8081), socket('d', "10.0.0.6", 8082));
    asks.send_to(b"!", "10.0.0.6:8082").unwrap();
    let (_, peer) = answers.recv_from(&mut buffer).unwrap();
    answers.send_to(b"?", peer).unwrap();
    assert!(asks.recv(&mut buffer).is_ok(), "the answer of a connection");
    // The same packet in the other network answers nothing.
    let (deaf, stranger) = (socket('e', "10.0.0.5", 8081), socket('f', "10.0.0.6", 8082));
    stranger.send_to(b"?", "10.0.0.5:8081").unwrap();
    assert!(deaf.recv(&mut buffer).is_err(), "that connection is another network's");
}
