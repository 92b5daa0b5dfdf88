//! Side by side with the reference plugins: the same calls, each in a network of its own, give the
//! same results and leave the same links, addresses, routes and settings.
//!
//! Where we differ on purpose from the release that Debian has (1.1.1):
//! - `interfaces[].mtu` is told (the protocol has it since 1.1.0);
//! - `ndisc_notify` and `keep_addr_on_down` are set for IPv6, and bridge hands on what the address
//!   plugin tells resolvers, as newer releases do;
//! - the send queue of a new link is the kernel's default; theirs is set to 0 by an accident of
//!   their library, mended in newer releases;
//! - tuning changes a hardware address without switching the link off, so IPv6 addresses and
//!   routes survive; and CHECK understands IFNAME in settings, which theirs does not;
//! - host-device gives a device back without the alias that remembered its name;
//! - DEL succeeds when the container's namespace is gone, also for those that fail in 1.1.1;
//! - a failed ADD leaves no link behind;
//! - CHECK knows that a route without a gateway was made with the first one of its family;
//! - `null` as a configuration is no JSON object (6); theirs takes it for one without a name (7).

use std::cell::RefCell;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use landbridge_cni::config::Network;
use landbridge_linux::link::Fine;
use landbridge_linux::route::table;
use landbridge_plugins::{Endpoint, KINDS, NoIpams, Output, Runtime};
use serde_json::{Value, json};

use crate::harness::{Asked, Net, Node, name, skip};

/// Where the reference plugins are.
fn peers() -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../build/cni-plugins");
    let candidates = [
        std::env::var_os("LANDBRIDGE_CNI_PEERS").map(PathBuf::from),
        Some(root),
        Some(PathBuf::from("/usr/lib/cni")),
    ];
    let found = candidates.into_iter().flatten().find(|place| place.join("macvlan").is_file());
    if found.is_none() {
        let why = "no reference plugins: scripts/ensure-cni-plugins fetches them";
        skip("plugins: side by side with containernetworking-plugins", why);
    }
    found.map(|place| place.display().to_string())
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Who {
    We,
    They,
}

/// A node on which one of both does the work.
struct Side {
    who: Who,
    node: Node,
    pod: Net,
}

impl Side {
    fn new(who: Who, peers: &str) -> Option<Self> {
        let mut node = Node::with_mtu(9000)?;
        peers.clone_into(&mut node.path);
        // So that the device that moves has the same address on both sides.
        node.net.net.set_mac(&name("eth0"), "02:00:00:00:00:e0".parse().unwrap()).unwrap();
        Some(Self { who, node, pod: Net::new() })
    }

    fn call(&self, kind: &str, command: &str, args: &str, config: &Value) -> Output {
        let netns = self.pod.path();
        let config: Value =
            serde_json::from_str(&config.to_string().replace("DIR", &self.node.dir(""))).unwrap();
        let asked = Asked { args, ..Asked::new(command, &netns, &config) };
        match self.who {
            Who::We => self.node.call(kind, &asked),
            Who::They => self.theirs(kind, &asked.variables(&self.node.path), &config.to_string()),
        }
    }

    fn theirs(
        &self,
        kind: &str,
        variables: &std::collections::BTreeMap<String, String>,
        stdin: &str,
    ) -> Output {
        let run = || {
            let mut child = Command::new(PathBuf::from(&self.node.path).join(kind))
                .env_clear()
                .envs(variables)
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
            child.wait_with_output().unwrap()
        };
        let done = self.node.net.namespace.run(run).unwrap();
        Output {
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            exit_code: u8::from(!done.status.success()),
        }
    }

    /// A result without what is random or newer.
    fn plain(&self, output: &Output) -> Value {
        if output.exit_code != 0 {
            let error: Value = serde_json::from_str(&output.stdout)
                .unwrap_or_else(|_| panic!("{:?}: {output:?}", self.who));
            return json!({"code": error["code"]});
        }
        if output.stdout.trim().is_empty() {
            return Value::Null;
        }
        let text = output.stdout.replace(&self.pod.path(), "NETNS");
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for interface in value["interfaces"].as_array_mut().into_iter().flatten() {
            let interface = interface.as_object_mut().unwrap();
            interface.remove("mtu");
            if interface["name"].as_str().unwrap().starts_with("veth") {
                interface.insert("name".to_owned(), "VETH".into());
            }
            // Ours and theirs are as random as the kernel makes them, unless one was asked for.
            let mac = interface.get("mac").and_then(Value::as_str).unwrap_or_default();
            if !mac.starts_with("02:00:00:00:00") && !mac.starts_with("00:00") {
                interface.insert("mac".to_owned(), "MAC".into());
            }
        }
        if value.get("dns") == Some(&json!({})) {
            value.as_object_mut().unwrap().remove("dns");
        }
        value
    }

    /// Everything on both sides that a plugin may have changed, in words.
    fn state(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (side, net) in [("node", &self.node.net), ("pod", &self.pod)] {
            lines.extend(describe(side, net));
        }
        lines
    }
}

fn describe(side: &str, net: &Net) -> Vec<String> {
    let plain = |name: &str| if name.starts_with("veth") { "VETH".into() } else { name.to_owned() };
    let links = net.net.links().unwrap();
    let called = |index| {
        let found = links.iter().find(|link| link.index == index);
        found.map_or("none".into(), |link| plain(link.name.as_str()))
    };
    let mut lines = Vec::new();
    for link in &links {
        let here = plain(link.name.as_str());
        let fine = Fine { send_queue: None, ..net.net.fine(link).unwrap() };
        let port = link.port;
        let mac = link.mac.map(|mac| mac.to_string()).filter(|mac| mac.starts_with("02:00:00:00"));
        lines.push(format!(
            "{side} {here}: {} mtu {} up {} {:?} {:?} {fine:?} {port:?} master {} {mac:?}",
            link.kind,
            link.mtu,
            link.up,
            link.state,
            link.alias,
            link.master.map_or("none".into(), called),
        ));
        for (family, setting) in [
            ("ipv4", "arp_notify"),
            ("ipv4", "log_martians"),
            ("ipv6", "accept_ra"),
            ("ipv6", "accept_dad"),
            ("ipv6", "disable_ipv6"),
        ] {
            let value = net.sysctl(&format!("net/{family}/conf/{}/{setting}", link.name));
            lines.push(format!("{side} {here} {setting} {value}"));
        }
    }
    for address in net.net.addresses().unwrap() {
        if !address.net.to_string().starts_with("fe80") {
            lines.push(format!(
                "{side} {} {} {:?} {:?}",
                called(address.link),
                address.net,
                address.scope,
                address.broadcast
            ));
        }
    }
    for route in net.net.routes().unwrap() {
        let to = route.destination.to_string();
        if route.table == table::MAIN && !to.starts_with("fe80") && !to.starts_with("ff00") {
            lines.push(format!(
                "{side} route {to} via {:?} dev {} metric {:?} {:?} {:?} src {:?}",
                route.gateway,
                route.link.map_or("none".into(), called),
                route.metric,
                route.scope,
                route.protocol,
                route.source
            ));
        }
    }
    for setting in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        lines.push(format!("{side} {setting} {}", net.sysctl(setting)));
    }
    lines.sort();
    lines
}

/// One call after the other, on both sides.
struct Pair {
    we: Side,
    they: Side,
    /// What differed; told all at once.
    wrong: RefCell<Vec<String>>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        let wrong = self.wrong.take();
        assert!(wrong.is_empty() || std::thread::panicking(), "{}", wrong.join("\n\n"));
    }
}

impl Pair {
    fn new() -> Option<Self> {
        let peers = peers()?;
        Some(Self {
            we: Side::new(Who::We, &peers)?,
            they: Side::new(Who::They, &peers)?,
            wrong: RefCell::default(),
        })
    }

    /// Calls both and compares what they answer.
    fn both(&self, what: &str, kind: &str, command: &str, args: &str, config: &Value) {
        let answer = |side: &Side| {
            let output = side.call(kind, command, args, config);
            (side.plain(&output), output)
        };
        let ((ours, our), (theirs, their)) = (answer(&self.we), answer(&self.they));
        self.expect(ours == theirs, || format!("{what}: {command}\nwe: {our:?}\nthey: {their:?}"));
    }

    fn same_state(&self, what: &str) {
        // Links settle in the background; what is the same within a while is the same.
        let deadline = Instant::now() + Duration::from_secs(3);
        let (us, them) = loop {
            let (ours, theirs) = (self.we.state(), self.they.state());
            let only = |a: &[String], b: &[String]| -> Vec<String> {
                a.iter().filter(|line| !b.contains(line)).cloned().collect()
            };
            let (us, them) = (only(&ours, &theirs), only(&theirs, &ours));
            if us.is_empty() && them.is_empty() || Instant::now() > deadline {
                break (us, them);
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        self.expect(us.is_empty() && them.is_empty(), || {
            format!("{what}\nonly we: {us:#?}\nonly they: {them:#?}")
        });
    }

    fn expect(&self, good: bool, what: impl FnOnce() -> String) {
        if !good {
            self.wrong.borrow_mut().push(what());
        }
    }

    /// ADD, CHECK, DEL and DEL again, with results and states compared after each.
    fn whole_life(&self, what: &str, kind: &str, args: &str, config: &Value) {
        let answer = |side: &Side| {
            let output = side.call(kind, "ADD", args, config);
            (side.plain(&output), output)
        };
        let ((ours, our), (theirs, their)) = (answer(&self.we), answer(&self.they));
        assert_eq!(ours, theirs, "{what}: ADD\nwe: {our:?}\nthey: {their:?}");
        assert!(ours.get("code").is_none(), "{what}: {our:?}");
        self.same_state(&format!("{what}: after ADD"));
        for (side, output) in [(&self.we, &our), (&self.they, &their)] {
            let mut config = config.clone();
            let mut result: Value = serde_json::from_str(&output.stdout).unwrap();
            if let (Who::They, Some(routes)) = (side.who, result["routes"].as_array_mut()) {
                routes.retain(|route| route.get("gw").is_some());
            }
            config["prevResult"] = result;
            let checked = side.call(kind, "CHECK", args, &config);
            // Theirs asks a plugin without a name when there are no addresses to ask about.
            if side.who == Who::They && checked.stdout.contains("no plugin name provided") {
                continue;
            }
            assert_eq!(checked.exit_code, 0, "{what}: CHECK by {:?}: {checked:?}", side.who);
        }
        for time in ["first", "second"] {
            self.both(&format!("{what}: {time}"), kind, "DEL", args, config);
            self.same_state(&format!("{what}: after the {time} DEL"));
        }
    }
}

fn with(config: &Value, more: &Value) -> Value {
    let mut config = config.clone();
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

fn fixed() -> Value {
    json!({"type": "static", "addresses": [
        {"address": "10.0.0.2/24", "gateway": "10.0.0.1"}, {"address": "fd00::2/64"}],
        "routes": [{"dst": "192.0.2.0/24", "gw": "10.0.0.1"}, {"dst": "198.51.100.0/24"}],
        "dns": {"nameservers": ["10.0.0.53"], "search": ["a.b"]}})
}

#[test]
fn macvlan() {
    let base = json!({"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "master": "eth0",
        "ipam": fixed()});
    let args = "IgnoreUnknown=1;MAC=02:00:00:00:00:07";
    for (what, more, args) in [
        ("plain", json!({}), ""),
        ("old", json!({"cniVersion": "0.4.0"}), ""),
        ("mtu and mode", json!({"mtu": 1400, "mode": "private"}), ""),
        ("mac and dns", json!({"mac": "02:00:00:00:00:05", "dns": {"domain": "x"}}), args),
        ("layer 2", json!({"ipam": {}}), ""),
        (
            "host-local",
            json!({"ipam": {"type": "host-local", "dataDir": "DIRnets", "ranges":
            [[{"subnet": "10.0.0.0/24"}], [{"subnet": "fd00::/64"}]],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}}),
            "",
        ),
        (
            "runtime's address",
            json!({"runtimeConfig": {"ips": ["10.0.0.9/24"],
            "mac": "02:00:00:00:00:09"}}),
            "",
        ),
    ] {
        let Some(pair) = Pair::new() else { return };
        pair.whole_life(&format!("macvlan {what}"), "macvlan", args, &with(&base, &more));
    }
}

#[test]
fn bridge() {
    let mut ipam = fixed();
    ipam.as_object_mut().unwrap().remove("dns");
    let base = json!({"cniVersion": "1.0.0", "name": "n", "type": "bridge", "bridge": "br7",
        "ipam": ipam});
    for (what, more) in [
        ("plain", json!({})),
        ("old", json!({"cniVersion": "0.4.0"})),
        ("gateway", json!({"isGateway": true})),
        (
            "default gateway",
            json!({"isDefaultGateway": true, "ipam": {"type": "static",
            "addresses": [{"address": "10.0.0.2/24"}, {"address": "fd00::2/64"}]}}),
        ),
        ("mtu and hairpin", json!({"mtu": 9000, "hairpinMode": true})),
        ("promiscuous", json!({"promiscMode": true, "isGateway": true})),
        ("layer 2", json!({"ipam": {}})),
        ("mac", json!({"runtimeConfig": {"mac": "02:00:00:00:00:09"}})),
        ("dns", json!({"dns": {"domain": "x"}})),
    ] {
        let Some(pair) = Pair::new() else { return };
        pair.whole_life(&format!("bridge {what}"), "bridge", "", &with(&base, &more));
    }
}

#[test]
fn host_device() {
    let base = json!({"cniVersion": "1.0.0", "name": "n", "type": "host-device",
        "device": "eth0"});
    for (what, more) in [
        ("layer 2", json!({})),
        ("by hardware address", json!({"device": "", "hwaddr": "02:00:00:00:00:e0"})),
        (
            "addresses",
            json!({"ipam": {"type": "static", "addresses": [{"address": "10.0.0.2/24"}]}}),
        ),
    ] {
        let Some(pair) = Pair::new() else { return };
        let config = with(&base, &more);
        pair.both(what, "host-device", "ADD", "", &config);
        pair.same_state(&format!("host-device {what}: after ADD"));
        pair.both(what, "host-device", "DEL", "", &config);
        // Theirs keeps the alias and, in this release, the addresses; so much is the same.
        for side in [&pair.we, &pair.they] {
            let back = side.node.net.link("eth0").unwrap();
            assert_eq!(back.mac.unwrap().to_string(), "02:00:00:00:00:e0");
            assert_eq!(side.pod.links(), [""; 0]);
        }
    }
}

#[test]
fn tuning() {
    let main = json!({"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "master": "eth0",
        "ipam": {"type": "static", "addresses": [{"address": "10.0.0.2/24"}]}});
    let base = json!({"cniVersion": "1.0.0", "name": "n", "type": "tuning",
        "dataDir": "DIRtuning"});
    let args = "IgnoreUnknown=1;MAC=02:00:00:00:00:07";
    for (what, more, args) in [
        ("settings", json!({"sysctl": {"net.ipv4.conf.net1.log_martians": "1"}}), ""),
        ("mtu", json!({"mtu": 1400}), ""),
        ("listening", json!({"promisc": true, "allmulti": true}), ""),
        ("mac", json!({"mac": "02:00:00:00:00:05"}), ""),
        ("mac by args", json!({"mac": "02:00:00:00:00:05"}), args),
        ("by cni args", json!({"mtu": 1400, "args": {"cni": {"mtu": 1300, "promisc": true}}}), ""),
    ] {
        let Some(pair) = Pair::new() else { return };
        for side in [&pair.we, &pair.they] {
            let output = side.call("macvlan", "ADD", "", &main);
            assert_eq!(output.exit_code, 0, "{output:?}");
            let mut config = with(&base, &more);
            config["prevResult"] = serde_json::from_str(&output.stdout).unwrap();
            let output = side.call("tuning", "ADD", args, &config);
            assert_eq!(output.exit_code, 0, "{output:?}");
            config["prevResult"] = serde_json::from_str(&output.stdout).unwrap();
            let mac = side.pod.link("net1").unwrap().mac.unwrap().to_string();
            assert_eq!(config["prevResult"]["interfaces"][0]["mac"], mac, "{what}");
            let output = side.call("tuning", "CHECK", args, &config);
            assert_eq!(output.exit_code, 0, "{what} {:?} {output:?}", side.who);
        }
        pair.same_state(&format!("tuning {what}: after ADD"));
        for _ in 0..2 {
            pair.both(what, "tuning", "DEL", args, &with(&base, &more));
            pair.same_state(&format!("tuning {what}: after DEL"));
        }
    }
}

#[test]
fn address_plugins() {
    let local = |more: Value| {
        let ipam = with(
            &json!({"type": "host-local", "dataDir": "DIRnets",
            "subnet": "10.0.0.0/29"}),
            &more,
        );
        json!({"cniVersion": "1.0.0", "name": "n", "type": "x", "ipam": ipam})
    };
    let fixed = |more: Value| {
        with(
            &json!({"cniVersion": "1.0.0", "name": "n", "type": "x",
        "ipam": fixed()}),
            &more,
        )
    };
    let both = json!([[{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.7", "rangeEnd": "10.1.0.8"}],
        [{"subnet": "fd01::/64", "gateway": "fd01::9"}]]);
    for (kind, config, args) in [
        ("static", fixed(json!({})), ""),
        ("static", fixed(json!({"cniVersion": "0.3.1"})), ""),
        ("static", fixed(json!({"cniVersion": "0.2.0"})), ""),
        ("static", fixed(json!({})), "IP=10.7.0.2/24;GATEWAY=10.7.0.1"),
        ("static", fixed(json!({"runtimeConfig": {"ips": ["10.8.0.2/24"]}})), "IP=10.7.0.2/24"),
        ("static", fixed(json!({"args": {"cni": {"ips": ["10.9.0.2/24"]}}})), ""),
        ("static", fixed(json!({})), "ODD=1"),
        (
            "static",
            fixed(json!({"ipam": {"type": "static", "addresses": [{"address": "10.0.0.2"}]}})),
            "",
        ),
        ("host-local", local(json!({})), ""),
        ("host-local", local(json!({"ranges": both})), ""),
        ("host-local", local(json!({})), "IP=10.0.0.5"),
        ("host-local", local(json!({})), "IP=10.0.0.1"),
        ("host-local", local(json!({})), "IP=10.9.0.1"),
        ("host-local", local(json!({"subnet": "10.0.0.0/31"})), ""),
        ("host-local", local(json!({"subnet": "10.0.0.1/29"})), ""),
        ("host-local", local(json!({"gateway": "10.9.0.1"})), ""),
        ("host-local", local(json!({"rangeStart": "10.0.0.5", "rangeEnd": "10.0.0.4"})), ""),
        ("host-local", local(json!({"subnet": ""})), ""),
    ] {
        let Some(pair) = Pair::new() else { return };
        let what = format!("{kind} {args} {config}");
        pair.both(&what, kind, "ADD", args, &config);
        // Twice the same container: theirs and ours refuse it alike, or give the same again.
        pair.both(&what, kind, "ADD", args, &config);
        pair.both(&what, kind, "DEL", args, &config);
        pair.both(&what, kind, "DEL", args, &config);
    }
}

/// What one gave the other can take back, and neither gives it twice.
#[test]
fn host_local_records_are_shared() {
    let Some(pair) = Pair::new() else { return };
    let shared = tempfile::tempdir().unwrap();
    let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "x",
        "ipam": {"type": "host-local", "dataDir": shared.path(), "subnet": "10.0.0.0/29"}});
    let call = |side: &Side, command: &str, container: &str| {
        let asked = Asked { container, ..Asked::new(command, "/none", &config) };
        match side.who {
            Who::We => side.node.call("host-local", &asked),
            Who::They => {
                side.theirs("host-local", &asked.variables(&side.node.path), &config.to_string())
            }
        }
    };
    let address = |output: &Output| -> String {
        assert_eq!(output.exit_code, 0, "{output:?}");
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        result["ips"][0]["address"].as_str().unwrap().to_owned()
    };
    let (we, they) = (&pair.we, &pair.they);
    assert_eq!(address(&call(we, "ADD", "a")), "10.0.0.2/29");
    assert_eq!(address(&call(they, "ADD", "b")), "10.0.0.3/29");
    assert_eq!(address(&call(we, "ADD", "c")), "10.0.0.4/29");
    for (side, container) in [(they, "a"), (we, "b"), (they, "c")] {
        assert_eq!(call(side, "DEL", container).exit_code, 0);
    }
    let left = std::fs::read_dir(shared.path().join("n")).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        name.parse::<std::net::IpAddr>().is_ok()
    });
    assert_eq!(left.count(), 0);
    assert_eq!(address(&call(they, "ADD", "d")), "10.0.0.5/29");
}

/// The same wrong inputs, the same numbers.
#[test]
fn wrong_inputs_have_the_same_numbers() {
    let Some(pair) = Pair::new() else { return };
    let good = r#"{"cniVersion":"1.0.0","name":"n","type":"macvlan","master":"eth0","ipam":{"type":"static","addresses":[{"address":"10.0.0.2/24"}]}}"#;
    let env = |changes: &[(&str, &str)]| {
        let config = Value::Null;
        let netns = pair.they.pod.path();
        let mut all = Asked::new("ADD", &netns, &config).variables(&pair.they.node.path);
        for (name, value) in changes {
            if value.is_empty() {
                all.remove(*name);
            } else {
                all.insert((*name).to_owned(), (*value).to_owned());
            }
        }
        all
    };
    let same = |kind: &str, changes: &[(&str, &str)], stdin: &str| {
        let variables = env(changes);
        let run = || {
            landbridge_plugins::main_as(
                kind,
                &|name| variables.get(name).cloned(),
                stdin.as_bytes(),
                &landbridge_plugins::NoIpams,
            )
        };
        let ours = pair.we.node.net.namespace.run(run).unwrap();
        let left = pair.they.pod.links();
        pair.expect(left.is_empty(), || format!("{kind} {changes:?} {stdin}: {left:?} is left"));
        let theirs = pair.they.theirs(kind, &variables, stdin);
        for left in pair.they.pod.links() {
            pair.they.pod.net.delete_link(&name(&left)).unwrap();
        }
        let number = |output: &Output| -> Value {
            if output.exit_code == 0 {
                return Value::Null;
            }
            let error: Value = serde_json::from_str(&output.stdout).unwrap();
            error["code"].clone()
        };
        pair.expect(number(&ours) == number(&theirs), || {
            format!("{kind} {changes:?} {stdin}\nwe: {ours:?}\nthey: {theirs:?}")
        });
    };
    for stdin in [
        "",
        "{",
        "[]",
        "7",
        r#"{"cniVersion":"1.0.0"}"#,
        r#"{"cniVersion":"9.9.9","name":"n"}"#,
        r#"{"cniVersion":7,"name":"n"}"#,
        r#"{"cniVersion":"1.0.0","name":"a b"}"#,
        r#"{"cniVersion":"1.0.0","name":7}"#,
    ] {
        for kind in ["macvlan", "bridge", "tuning", "static", "host-local", "host-device"] {
            same(kind, &[], stdin);
        }
    }
    for changes in [
        &[("CNI_CONTAINERID", "")][..],
        &[("CNI_NETNS", "")],
        &[("CNI_IFNAME", "")],
        &[("CNI_PATH", "")],
        &[("CNI_COMMAND", "odd")],
        &[("CNI_CONTAINERID", "a/b")],
        &[("CNI_IFNAME", "a b")],
        &[("CNI_IFNAME", "a234567890123456")],
        &[("CNI_NETNS", "/nonexistent/netns")],
        &[("CNI_NETNS", "/etc/hostname")],
        &[("CNI_ARGS", "odd")],
        &[("CNI_ARGS", "ODD=1")],
        &[("CNI_COMMAND", "DEL"), ("CNI_NETNS", "/nonexistent/netns")],
        &[("CNI_COMMAND", "DEL"), ("CNI_NETNS", "")],
        &[("CNI_COMMAND", "CHECK")],
    ] {
        same("macvlan", changes, good);
    }
    // CHECK of what is older than CHECK.
    same("macvlan", &[("CNI_COMMAND", "CHECK")], &good.replace("1.0.0", "0.3.1"));
    let more = |kind: &str, keys: &str| {
        good.replace(r#""type":"macvlan","master":"eth0""#, &format!(r#""type":"{kind}",{keys}"#))
    };
    for (kind, keys) in [
        ("macvlan", r#""master":"none0""#),
        ("macvlan", r#""master":"eth0","mode":"odd""#),
        ("macvlan", r#""master":"eth0","mtu":-1"#),
        ("macvlan", r#""master":"eth0","mtu":100000"#),
        ("macvlan", r#""master":7"#),
        ("macvlan", r#""master":"eth0","mac":"odd""#),
        ("macvlan", r#""x":1"#),
        ("bridge", r#""bridge":"lo""#),
        ("bridge", r#""bridge":"br1","hairpinMode":true,"promiscMode":true"#),
        ("bridge", r#""bridge":"br1","vlan":5000"#),
        ("bridge", r#""bridge":"this-name-is-too-long""#),
        ("tuning", r#""mtu":1400"#),
        ("tuning", r#""sysctl":{"kernel.panic":"1"},"prevResult":{"cniVersion":"1.0.0"}"#),
        ("host-device", r#""x":1"#),
        ("host-device", r#""device":"none0""#),
        ("host-device", r#""kernelpath":"/etc""#),
    ] {
        same(kind, &[], &more(kind, keys));
    }
    for ipam in
        [r#"{"type":"nobody"}"#, r#"{"type":"static"}"#, r#"{"type":"static","addresses":7}"#]
    {
        let stdin =
            good.replace(r#"{"type":"static","addresses":[{"address":"10.0.0.2/24"}]}"#, ipam);
        same("macvlan", &[], &stdin);
    }
}

/// A whole network, once with our plugins in process and once with theirs as programs.
#[test]
fn a_network_is_the_same_with_either() {
    let Some(pair) = Pair::new() else { return };
    let config = json!({"cniVersion": "1.0.0", "name": "n", "plugins": [
        {"type": "macvlan", "master": "eth0", "capabilities": {"mac": true}, "ipam":
            {"type": "host-local", "dataDir": "DIRnets", "subnet": "10.0.0.0/24"}},
        {"type": "tuning", "mtu": 1400, "dataDir": "DIRtuning"}]});
    let life = |side: &Side, work: &(dyn Fn(&Runtime<'_>, &Network, &Endpoint) + Sync)| {
        let text = config.to_string().replace("DIR", &side.node.dir(""));
        let network = Network::parse(text.as_bytes()).unwrap();
        let endpoint = Endpoint {
            container_id: "c1".into(),
            netns: Some(side.pod.path()),
            interface: "net1".into(),
            capabilities: serde_json::from_value(json!({"mac": "02:00:00:00:00:07"})).unwrap(),
            path: vec![side.node.path.clone()],
            ..Endpoint::default()
        };
        let run = || {
            let runtime = Runtime::new(&NoIpams, side.node.dir("cache"));
            let leave: &[&str] = if side.who == Who::They { &KINDS } else { &[] };
            work(&runtime.leaving(leave.iter().copied()), &network, &endpoint);
        };
        side.node.net.namespace.run(run).unwrap();
    };
    let results = Mutex::new(Vec::new());
    for side in [&pair.we, &pair.they] {
        life(side, &|runtime, network, endpoint| {
            let mut result = runtime.add(network, endpoint).unwrap();
            runtime.check(network, endpoint).unwrap();
            result.interfaces.iter_mut().for_each(|found| {
                found.sandbox.clear();
                found.mtu = 0;
            });
            results.lock().unwrap().push(result);
        });
    }
    pair.same_state("network: after ADD");
    let results = results.into_inner().unwrap();
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].interfaces[0].mac, "02:00:00:00:00:07");
    for side in [&pair.we, &pair.they] {
        life(side, &|runtime, network, endpoint| {
            runtime.del(network, endpoint).unwrap();
            assert!(runtime.kept(network, endpoint).is_none());
        });
    }
    pair.same_state("network: after DEL");
}
