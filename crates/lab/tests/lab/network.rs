//! Packets between nodes: they arrive where they should, and nowhere else.

use super::harness::{Lab, eventually, text, users};

#[test]
fn nodes_reach_each_other_with_both_families_and_their_gateway() {
    for user in users() {
        let lab = Lab::up(user);
        let _four = lab.answer("worker-1", "192.168.111.21:7007");
        let _six = lab.answer("worker-1", "[fd00:111::21]:7007");
        let _gateway = lab.answer("-", "192.168.111.1:7007");
        let _gateway_six = lab.answer("-", "[fd00:111::1]:7007");
        for address in [
            "192.168.111.21:7007",
            "[fd00:111::21]:7007",
            "192.168.111.1:7007",
            "[fd00:111::1]:7007",
        ] {
            assert!(lab.pings("worker-0", address, 1400), "{user:?} {address}");
        }
        // The compute nodes are on no network with them yet.
        assert!(!lab.pings("edpm-compute-0", "192.168.111.21:7007", 32));
        let routes = lab.on("worker-0", &["ip", "route", "show", "default"]);
        assert!(routes.contains("via 192.168.111.1 dev enp1s0"), "{routes}");
    }
}

#[test]
fn jumbo_frames_pass_where_nic_and_switch_are_made_for_them() {
    for user in users() {
        let lab = Lab::up(user);
        for (node, ip) in [("worker-0", "10.7.0.1/24"), ("worker-1", "10.7.0.2/24")] {
            lab.on(node, &["ip", "addr", "add", ip, "dev", "enp7s0"]);
            // The machine network's switch stays at 1500, whatever its nodes believe.
            lab.on(node, &["ip", "link", "set", "enp1s0", "mtu", "9000"]);
        }
        let _jumbo = lab.answer("worker-1", "10.7.0.2:7007");
        let _machine = lab.answer("worker-1", "192.168.111.21:7007");
        assert!(lab.pings("worker-0", "10.7.0.2:7007", 9000 - 28));
        assert!(!lab.pings("worker-0", "10.7.0.2:7007", 9001 - 28), "larger than the NIC's MTU");
        assert!(lab.pings("worker-0", "192.168.111.21:7007", 1500 - 28));
        assert!(!lab.pings("worker-0", "192.168.111.21:7007", 1600), "larger than the switch's");
    }
}

#[test]
fn a_vlan_connects_its_own_and_nobody_else() {
    for user in users() {
        let lab = Lab::up(user);
        lab.vlan("worker-0", "enp6s0", 20, "enp6s0.20", "172.17.0.10/24");
        lab.vlan("worker-1", "enp6s0", 20, "enp6s0.20", "172.17.0.11/24");
        lab.vlan("edpm-compute-0", "enp6s0", 20, "vlan20", "172.17.0.12/24");
        // The same name and the same network, but another VLAN.
        lab.vlan("worker-2", "enp6s0", 21, "enp6s0.20", "172.17.0.13/24");
        let _one = lab.answer("worker-1", "172.17.0.11:7007");
        let _two = lab.answer("edpm-compute-0", "172.17.0.12:7007");
        let _other = lab.answer("worker-2", "172.17.0.13:7007");
        assert!(lab.pings("worker-0", "172.17.0.11:7007", 1472));
        assert!(lab.pings("worker-0", "172.17.0.12:7007", 32), "whatever it is called");
        assert!(!lab.pings("worker-0", "172.17.0.13:7007", 32), "VLAN 20 is not VLAN 21");
        // Nor is it the untagged network below.
        lab.on("edpm-compute-1", &["ip", "addr", "add", "172.17.0.14/24", "dev", "enp6s0"]);
        assert!(!lab.pings("edpm-compute-1", "172.17.0.11:7007", 32));
    }
}

#[test]
fn a_vlan_is_what_the_kernel_would_have_made() {
    for user in users() {
        let lab = Lab::up(user);
        let made = lab.make_vlan("worker-0", "enp6s0", 20, "enp6s0.20", &[]);
        assert!(made.status.success(), "{made:?}");
        let shown = lab.on("worker-0", &["ip", "link", "show", "enp6s0.20"]);
        let base = lab.on("worker-0", &["ip", "link", "show", "enp6s0"]);
        let mac = base.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(shown.contains(mac), "the base's MAC: {shown} {base}");
        assert!(shown.contains("mtu 1500") && shown.contains("state DOWN"), "{shown}");
        assert!(shown.contains("alias landbridge:vlan base=enp6s0 id=20"), "{shown}");
        for (base, id, name, told) in [
            ("enp6s0", 20, "again", "File exists"),
            ("enp6s0", 21, "enp6s0.20", "File exists"),
            ("enp6s0", 0, "zero", "not between 1 and 4094"),
            ("enp6s0", 4095, "high", "not between 1 and 4094"),
            ("nowhere", 22, "x", "there is no link nowhere"),
            ("lo", 22, "x", "lo leads to no NIC of worker-0"),
            ("enp6s0.20", 22, "x", "VLANs in VLANs"),
        ] {
            let refused = lab.make_vlan("worker-0", base, id, name, &[]);
            let error = text(&refused.stderr);
            assert!(!refused.status.success() && error.contains(told), "{base} {id}: {error}");
        }
        // The base may be about to grow; until then it is the limit.
        let large = lab.make_vlan("worker-0", "enp6s0", 23, "large", &["9000"]);
        assert!(large.status.success(), "{large:?}");
        assert!(lab.on("worker-0", &["ip", "link", "show", "large"]).contains("mtu 1500"));
        // Deleted as any link, and free again.
        lab.on("worker-0", &["ip", "link", "delete", "enp6s0.20"]);
        lab.vlan("worker-0", "enp6s0", 20, "other", "172.17.0.1/24");
    }
}

#[test]
fn a_vlan_on_a_bridge_is_one_of_the_nic_in_it() {
    for user in users() {
        let lab = Lab::up(user);
        lab.on("worker-0", &["ip", "link", "add", "br-ex", "type", "bridge"]);
        lab.on("worker-0", &["ip", "link", "set", "br-ex", "up"]);
        lab.on("worker-0", &["ip", "link", "set", "enp6s0", "master", "br-ex"]);
        // A pod's end in the same bridge is no NIC.
        lab.on("worker-0", &["ip", "link", "add", "pod0", "type", "veth", "peer", "pod1"]);
        lab.on("worker-0", &["ip", "link", "set", "pod0", "master", "br-ex"]);
        lab.vlan("worker-0", "br-ex", 30, "br-ex.30", "172.18.0.1/24");
        lab.vlan("worker-1", "enp6s0", 30, "enp6s0.30", "172.18.0.2/24");
        let _there = lab.answer("worker-1", "172.18.0.2:7007");
        assert!(lab.pings("worker-0", "172.18.0.2:7007", 32));
        lab.on("worker-0", &["ip", "link", "set", "enp7s0", "master", "br-ex"]);
        let two = lab.make_vlan("worker-0", "br-ex", 31, "br-ex.31", &[]);
        assert!(text(&two.stderr).contains("leads to two switches"), "{two:?}");
    }
}

#[test]
fn a_pulled_cable_takes_the_vlans_with_it_and_so_does_the_node_itself() {
    for user in users() {
        let lab = Lab::up(user);
        lab.vlan("worker-0", "enp6s0", 20, "enp6s0.20", "172.17.0.10/24");
        lab.vlan("worker-1", "enp6s0", 20, "enp6s0.20", "172.17.0.11/24");
        let _vlan = lab.answer("worker-1", "172.17.0.11:7007");
        let _machine = lab.answer("worker-1", "192.168.111.21:7007");
        let ping = || lab.pings("worker-0", "172.17.0.11:7007", 32);
        assert!(ping());
        assert!(lab.run(&["link", "worker-1", "enp6s0", "down"]).status.success());
        assert!(!ping());
        assert_eq!(lab.info().nodes[1].cut, ["enp6s0"]);
        let shown = lab.on("worker-1", &["ip", "link", "show", "enp6s0"]);
        assert!(shown.contains("NO-CARRIER"), "{shown}");
        assert!(lab.pings("worker-0", "192.168.111.21:7007", 32), "only that cable");
        // A VLAN that is made meanwhile is as dead as the others.
        lab.vlan("worker-1", "enp6s0", 25, "enp6s0.25", "172.25.0.1/24");
        let shown = lab.on("worker-1", &["ip", "link", "show", "enp6s0.25"]);
        assert!(shown.contains("NO-CARRIER"), "{shown}");
        assert!(lab.run(&["link", "worker-1", "enp6s0", "up"]).status.success());
        assert!(eventually(ping));
        // The NIC switched off on the node: a VLAN of the kernel would be silent, too.
        lab.on("worker-0", &["ip", "link", "set", "enp6s0", "down"]);
        assert!(eventually(|| !ping()));
        lab.on("worker-0", &["ip", "link", "set", "enp6s0", "up"]);
        assert!(eventually(ping));
        let wrong = lab.run(&["link", "worker-1", "enp9s0", "down"]);
        let told = text(&wrong.stderr);
        assert!(told.contains("has no NIC \"enp9s0\" (it has: enp1s0, enp6s0, enp7s0)"), "{told}");
    }
}
