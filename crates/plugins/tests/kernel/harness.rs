//! A node, its pods, calls and packets.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::{
    Address, Handle, IfName, Link, LinkIndex, LinkKind, Namespace, NewLink, Sysctl, Sysctls,
};
use landbridge_plugins::{Ipams, NoIpams, Output, main_as};
use serde_json::Value;

/// A network of its own; gone with the test.
pub struct Net {
    pub namespace: Namespace,
    pub net: Handle,
}

impl Net {
    pub fn new() -> Self {
        let namespace = Namespace::unnamed().unwrap();
        let net = Handle::in_namespace(&namespace).unwrap();
        net.set_up(&name("lo")).unwrap();
        Self { namespace, net }
    }

    /// Where another process finds it while this one lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd())
    }

    /// A pair within this network, both up.
    pub fn pair(&self, one: &str, other: &str, mtu: u32) -> (Link, Link) {
        let end = |of| NewLink::new(name(of), LinkKind::Veth).with_mtu(mtu).up();
        let one = self.net.create_veth(&end(one), &end(other), None).unwrap();
        (one, self.net.expect_link(&name(other)).unwrap())
    }

    pub fn address(&self, link: LinkIndex, net: &str) {
        let address = Address::new(link, net.parse().unwrap()).without_dad();
        self.net.add_address(&address).unwrap();
    }

    pub fn link(&self, of: &str) -> Option<Link> {
        self.net.link(&name(of)).unwrap()
    }

    /// All but loopback.
    pub fn links(&self) -> Vec<String> {
        let links = self.net.links().unwrap().into_iter().map(|link| link.name.to_string());
        links.filter(|name| name != "lo").collect()
    }

    pub fn addresses(&self, link: &str) -> Vec<String> {
        let index = self.net.index(&name(link)).unwrap();
        let found = self.net.addresses_of(index).unwrap();
        let global = found.iter().filter(|a| !a.net.to_string().starts_with("fe80"));
        let mut shown: Vec<_> = global.map(|address| address.net.to_string()).collect();
        shown.sort();
        shown
    }

    pub fn sysctl(&self, of: &str) -> String {
        Sysctls::of(&self.namespace).read(&Sysctl::parse(of).unwrap()).unwrap_or_default()
    }
}

/// A node with `eth0` (and `far`, its other end), and a directory for files.
pub struct Node {
    pub net: Net,
    pub directory: tempfile::TempDir,
    pub path: String,
}

impl Node {
    /// Nothing where that needs root.
    pub fn new() -> Option<Self> {
        Self::with_mtu(1500)
    }

    pub fn with_mtu(mtu: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("plugins", "needs root");
            return None;
        }
        let net = Net::new();
        net.pair("eth0", "far", mtu);
        let directory = tempfile::tempdir().unwrap();
        Some(Self { net, directory, path: "/nonexistent".to_owned() })
    }

    pub fn dir(&self, of: &str) -> String {
        self.directory.path().join(of).display().to_string()
    }

    /// Calls a plugin of ours as its program would be.
    pub fn call(&self, kind: &str, call: &Asked<'_>) -> Output {
        self.call_with(kind, call, &NoIpams)
    }

    /// The same, with addresses of the test's own.
    pub fn call_with(&self, kind: &str, call: &Asked<'_>, ipams: &dyn Ipams) -> Output {
        let variables = call.variables(&self.path);
        let stdin = call.config.to_string();
        let run = || main_as(kind, &|name| variables.get(name).cloned(), stdin.as_bytes(), ipams);
        self.net.namespace.run(run).unwrap()
    }

    pub fn add(&self, kind: &str, pod: &Net, config: &Value) -> Value {
        ok(&self.call(kind, &Asked::new("ADD", &pod.path(), config)))
    }

    /// The number and text of the error of an ADD.
    pub fn add_fails(&self, kind: &str, pod: &Net, config: &Value) -> (u64, String) {
        failed(&self.call(kind, &Asked::new("ADD", &pod.path(), config)))
    }

    pub fn del(&self, kind: &str, pod: &Net, config: &Value) {
        ok(&self.call(kind, &Asked::new("DEL", &pod.path(), config)));
    }

    /// CHECK with what ADD answered.
    pub fn check(&self, kind: &str, pod: &Net, config: &Value, result: &Value) -> Output {
        let mut config = config.clone();
        config["prevResult"] = result.clone();
        self.call(kind, &Asked::new("CHECK", &pod.path(), &config))
    }
}

/// What a call says.
#[derive(Clone)]
pub struct Asked<'a> {
    pub command: &'a str,
    pub container: &'a str,
    pub netns: &'a str,
    pub interface: &'a str,
    pub args: &'a str,
    pub config: &'a Value,
}

impl<'a> Asked<'a> {
    pub fn new(command: &'a str, netns: &'a str, config: &'a Value) -> Self {
        Self { command, container: "c1", netns, interface: "net1", args: "", config }
    }

    pub fn variables(&self, path: &str) -> BTreeMap<String, String> {
        [
            ("CNI_COMMAND", self.command),
            ("CNI_CONTAINERID", self.container),
            ("CNI_NETNS", self.netns),
            ("CNI_IFNAME", self.interface),
            ("CNI_ARGS", self.args),
            ("CNI_PATH", path),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
    }
}

/// What a call answered; nothing is null.
pub fn ok(output: &Output) -> Value {
    assert_eq!(output.exit_code, 0, "{}", output.stdout);
    if output.stdout.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(&output.stdout).unwrap()
}

pub fn failed(output: &Output) -> (u64, String) {
    assert_eq!(output.exit_code, 1, "{}", output.stdout);
    let error: Value = serde_json::from_str(&output.stdout).unwrap();
    (error["code"].as_u64().unwrap(), error["msg"].as_str().unwrap().to_owned())
}

/// Sends a datagram that fills a packet of that MTU from one network to another, and back.
pub fn echo(from: &Net, to: &Net, at: &str, mtu: usize) -> std::io::Result<()> {
    let at: IpAddr = at.parse().unwrap();
    let (bind, headers) = if at.is_ipv6() { ("[::]:0", 48) } else { ("0.0.0.0:0", 28) };
    let open = |net: &Net| net.namespace.run(|| UdpSocket::bind(bind)).unwrap().unwrap();
    let (client, server) = (open(from), open(to));
    let wait = Some(Duration::from_millis(500));
    client.set_read_timeout(wait)?;
    server.set_read_timeout(wait)?;
    let sent = vec![7; mtu - headers];
    let mut buffer = vec![0; 65536];
    // Neighbours may have to be found first, and duplicates looked for.
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let attempt = (|| {
            client.send_to(&sent, (at, server.local_addr()?.port()))?;
            let (length, sender) = server.recv_from(&mut buffer)?;
            server.send_to(&buffer[..length], sender)?;
            client.recv_from(&mut buffer).map(|(length, _)| length)
        })();
        match attempt {
            Ok(length) => {
                assert_eq!(&buffer[..length], sent);
                return Ok(());
            }
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// That nothing gets through, within a short while.
pub fn silent(from: &Net, to: &Net, at: &str) -> bool {
    let at: IpAddr = at.parse().unwrap();
    let bind = if at.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let open = |net: &Net| net.namespace.run(|| UdpSocket::bind(bind)).unwrap().unwrap();
    let (client, server) = (open(from), open(to));
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let sent = client.send_to(b"x", (at, server.local_addr().unwrap().port()));
    sent.is_err() || server.recv_from(&mut [0; 8]).is_err()
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

/// Whether the kernel has it; otherwise the test says why it does not run.
pub fn has(feature: Feature) -> bool {
    match Capabilities::probe().unwrap().why_not(feature) {
        None => true,
        Some(why) => {
            skip(&format!("plugins: {feature:?}").to_lowercase(), why);
            false
        }
    }
}

pub fn skip(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{what}: {why}").unwrap();
}
