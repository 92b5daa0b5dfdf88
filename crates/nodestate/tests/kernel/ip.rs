//! Addresses, routes, rules, names, DHCP.

use std::sync::{Arc, Mutex};

use landbridge_linux::IfName;
use landbridge_linux::route::Family;
use landbridge_nodestate::dhcp::{Dhcp, Request};
use serde_json::{Value, json};

use crate::harness::{Lab, Switch, name, state};

fn addresses(lab: &Lab, link: &str, family: &str) -> Vec<String> {
    let link = lab.shown(link);
    let list = link[family]["address"].as_array().cloned().unwrap_or_default();
    let text = |address: &Value| address["ip"].as_str().unwrap().to_owned();
    list.iter().map(text).filter(|ip| !ip.starts_with("fe80")).collect()
}

#[test]
fn a_list_of_addresses_replaces() {
    let Some(lab) = Lab::new() else { return };
    let with = |list: &str| {
        format!(
            "interfaces: [{{name: enp6s0, type: ethernet, ipv4: {{enabled: true, address: [{list}]}}}}]"
        )
    };
    let one = |last: u8| format!("{{ip: 192.0.2.{last}, prefix-length: 24}}");
    lab.apply(&with(&format!("{}, {}, {}", one(1), one(2), one(3))));
    lab.apply("routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: enp6s0, next-hop-address: 192.0.2.254}]}");
    // The first one goes, and with it the kernel would drop its secondaries and the route.
    lab.apply(&with(&format!("{}, {}", one(3), one(2))));
    let mut found = addresses(&lab, "enp6s0", "ipv4");
    found.sort();
    assert_eq!(found, ["192.0.2.2", "192.0.2.3"]);
    let routes = &lab.node.show().unwrap()["routes"]["config"];
    assert_eq!(routes[0]["next-hop-address"], "192.0.2.254");
    // All go, another of the same network comes: the route outlives it.
    lab.apply(&with(&one(9)));
    assert_eq!(lab.node.show().unwrap()["routes"]["config"].as_array().unwrap().len(), 1);
    // An empty list takes all, and what they carried.
    let applied = lab.apply(&with(""));
    assert_eq!(addresses(&lab, "enp6s0", "ipv4"), Vec::<String>::new());
    assert_eq!(lab.node.show().unwrap()["routes"]["config"], json!([]));
    assert!(applied.plan.notes[0].contains("enp6s0 has no IPv4 address"), "{}", applied.plan);
}

#[test]
fn ipv6_goes_off_and_on() {
    let Some(lab) = Lab::new() else { return };
    lab.apply(
        "interfaces: [{name: enp6s0, type: ethernet, ipv6: {enabled: true, autoconf: false, forwarding: true,
          address: [{ip: 'fd00::1', prefix-length: 64}, {ip: 'fd00::2', prefix-length: 64}]}}]",
    );
    assert_eq!(addresses(&lab, "enp6s0", "ipv6").len(), 2);
    assert_eq!(lab.shown("enp6s0")["ipv6"]["autoconf"], false);
    lab.apply("interfaces: [{name: enp6s0, type: ethernet, ipv6: {enabled: true, address: [{ip: 'fd00::2', prefix-length: 64}]}}]");
    assert_eq!(addresses(&lab, "enp6s0", "ipv6"), ["fd00::2"]);
    lab.apply("interfaces: [{name: enp6s0, type: ethernet, ipv6: {enabled: false}}]");
    assert_eq!(lab.shown("enp6s0")["ipv6"], json!({"enabled": false}));
    lab.apply("interfaces: [{name: enp6s0, type: ethernet, ipv6: {enabled: true, autoconf: true, address: [{ip: 'fd00::3', prefix-length: 64}]}}]");
    assert_eq!(addresses(&lab, "enp6s0", "ipv6"), ["fd00::3"]);
    assert_eq!(lab.shown("enp6s0")["ipv6"]["autoconf"], true);
}

#[test]
fn down_strips_a_nic_and_removes_what_we_made() {
    let Some(lab) = Lab::new() else { return };
    lab.apply(
        "interfaces:
- {name: enp6s0, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}
- {name: br0, type: linux-bridge, bridge: {port: [{name: enp7s0}]}}",
    );
    lab.apply("interfaces: [{name: enp6s0, type: ethernet, state: down}, {name: br0, type: linux-bridge, state: down}]");
    let link = lab.net.expect_link(&name("enp6s0")).unwrap();
    assert!(!link.up);
    assert_eq!(addresses(&lab, "enp6s0", "ipv4"), Vec::<String>::new());
    assert_eq!(lab.shown("br0"), json!(null));
    assert_eq!(lab.shown("enp7s0")["controller"], json!(null));
    lab.apply(
        "interfaces: [{name: enp7s0, state: absent}, {name: enp6s0, state: ignore, mtu: 1300}]",
    );
    assert!(!lab.net.expect_link(&name("enp7s0")).unwrap().up);
    assert_eq!(lab.net.expect_link(&name("enp6s0")).unwrap().mtu, 1500);
}

#[test]
fn routes_and_rules() {
    let Some(lab) = Lab::new() else { return };
    let base = "interfaces: [{name: enp6s0, type: ethernet,
        ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]},
        ipv6: {enabled: true, address: [{ip: 'fd00::1', prefix-length: 64}]}}]\n";
    let wanted = format!(
        "{base}routes: {{config: [
 {{destination: 198.51.100.0/24, next-hop-interface: enp6s0, next-hop-address: 192.0.2.9, metric: 50, source: 192.0.2.1}},
 {{destination: 203.0.113.0/24, next-hop-interface: enp6s0, table-id: 77, mtu: 1300}},
 {{destination: 198.18.0.0/15, route-type: blackhole}},
 {{destination: '::/0', next-hop-interface: enp6s0, next-hop-address: 'fd00::9', metric: -1, table-id: 0}}]}}
route-rules: {{config: [
 {{ip-from: 192.0.2.0/24, route-table: 77, priority: 700}},
 {{ip-to: 'fd00:1::/64', route-table: 78}},
 {{family: ipv4, fwmark: 0x10, fwmask: 0xf0, iif: enp6s0, action: prohibit, priority: 800}}]}}"
    );
    lab.apply(&wanted);
    let shown = lab.node.show().unwrap();
    assert_eq!(shown["routes"]["config"].as_array().unwrap().len(), 4, "{shown}");
    assert!(shown["routes"]["running"].as_array().unwrap().len() > 4);
    assert_eq!(shown["route-rules"]["config"].as_array().unwrap().len(), 3);
    assert_eq!(shown["route-rules"]["config"][2]["priority"], 30_000);
    // Patterns: everything through enp6s0 in table 77; every rule of a table.
    lab.apply(
        "routes: {config: [{state: absent, next-hop-interface: enp6s0, table-id: 77}, {state: absent, destination: 198.18.0.0/15}]}
route-rules: {config: [{state: absent, route-table: 77}, {state: absent, priority: 800}]}",
    );
    let shown = lab.node.show().unwrap();
    assert_eq!(shown["routes"]["config"].as_array().unwrap().len(), 2);
    assert_eq!(shown["route-rules"]["config"].as_array().unwrap().len(), 1);
    // The kernel's own rules stay whatever is said.
    lab.apply(
        "route-rules: {config: [{state: absent, family: ipv4}, {state: absent, family: ipv6}]}",
    );
    assert_eq!(lab.net.rules().unwrap().len(), 5);
}

#[test]
fn the_resolver_keeps_foreign_lines() {
    let Some(lab) = Lab::new() else { return };
    let file = lab.dir.path().join("resolv.conf");
    std::fs::write(&file, "# hand-made\nnameserver 192.0.2.1\noptions rotate\n").unwrap();
    lab.apply("dns-resolver: {config: {server: [192.0.2.2, '2001:db8::2'], search: [a.example, b.example]}}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "# hand-made\nsearch a.example b.example\nnameserver 192.0.2.2\nnameserver 2001:db8::2\noptions rotate\n"
    );
    let shown = lab.node.show().unwrap();
    assert_eq!(shown["dns-resolver"]["running"]["server"], json!(["192.0.2.2", "2001:db8::2"]));
    lab.apply("dns-resolver: {config: {}}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# hand-made\n");
}

/// On a thread with a host name of its own: the machine's is nobody's business here.
#[test]
fn the_host_name() {
    let Some(switch) = Switch::new() else { return };
    std::thread::spawn(move || {
        #[expect(deprecated, reason = "only CLONE_FILES is unsafe")]
        rustix::thread::unshare(rustix::thread::UnshareFlags::NEWUTS).unwrap();
        let lab = Lab::on(&switch);
        lab.apply("hostname: {running: lab-test-1, config: lab-test-2}");
        let shown = lab.node.show().unwrap();
        assert_eq!(shown["hostname"], json!({"running": "lab-test-1", "config": "lab-test-2"}));
        let error = lab
            .node
            .apply(&state("hostname: {running: other, config: other}"), &|| Err("no".into()));
        assert!(error.is_err());
        assert_eq!(lab.node.show().unwrap()["hostname"], shown["hostname"]);
    })
    .join()
    .unwrap();
}

/// Writes down what is asked of it.
#[derive(Default)]
struct Clients(Mutex<Vec<Request>>);

impl Dhcp for Clients {
    fn start(&self, request: &Request) -> Result<(), String> {
        if request.family == Family::Ipv6 {
            return Err("no DHCPv6 here".to_owned());
        }
        self.0.lock().unwrap().push(request.clone());
        Ok(())
    }

    fn stop(&self, link: &IfName, family: Family) -> Result<(), String> {
        self.0.lock().unwrap().retain(|other| other.link != *link || other.family != family);
        Ok(())
    }

    fn running(&self) -> Vec<Request> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn dhcp_is_asked_for_and_stopped() {
    let Some(switch) = Switch::new() else { return };
    let mut lab = Lab::on(&switch);
    let on = "interfaces: [{name: enp6s0, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-gateway: false}}]";
    let error = lab.refused(on);
    assert!(error.to_string().contains("no DHCP client runs here"), "{error}");
    let clients = Arc::new(Clients::default());
    lab.node = Lab::node_of(&lab.namespace, &lab.dir, Some(&switch)).with_dhcp(clients.clone());
    lab.apply(on);
    assert_eq!(clients.running().len(), 1);
    assert!(!clients.running()[0].gateway);
    assert_eq!(lab.shown("enp6s0")["ipv4"]["dhcp"], true);
    let error = lab.refused(
        "interfaces: [{name: enp6s0, type: ethernet, ipv4: {enabled: false}}, {name: enp7s0, type: ethernet, ipv6: {enabled: true, dhcp: true}}]",
    );
    assert!(error.to_string().contains("no DHCPv6 here; rolled back"), "{error}");
    assert_eq!(clients.running().len(), 1, "the client runs again");
    lab.apply("interfaces: [{name: enp6s0, type: ethernet, ipv4: {enabled: true, dhcp: false}}]");
    assert_eq!(clients.running().len(), 0);
}
