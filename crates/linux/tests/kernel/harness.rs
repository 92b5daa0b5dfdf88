//! A namespace per test, and short ways to say things.

use std::io::Write;

use landbridge_linux::link::Bridge;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_linux::{Address, Handle, IfName, Link, LinkIndex, LinkKind, Namespace, NewLink};

/// One network of its own; dropped with the test.
pub struct Node {
    pub namespace: Namespace,
    pub net: Handle,
}

impl Node {
    /// A new network with loopback up, or nothing where that needs root.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("linux", "needs root");
            return None;
        }
        let namespace = Namespace::unnamed().unwrap();
        let net = Handle::in_namespace(&namespace).unwrap();
        net.set_up(&name("lo")).unwrap();
        Some(Self { namespace, net })
    }

    pub fn bridge(&self, of: &str) -> Link {
        let kind = LinkKind::Bridge(Bridge::default());
        self.net.create_link(&NewLink::new(name(of), kind).up()).unwrap()
    }

    /// A pair within this network, both up.
    pub fn pair(&self, one: &str, other: &str) -> (Link, Link) {
        let one = NewLink::new(name(one), LinkKind::Veth).up();
        let other = NewLink::new(name(other), LinkKind::Veth).up();
        let one = self.net.create_veth(&one, &other, None).unwrap();
        (one, self.net.expect_link(&other.name).unwrap())
    }

    pub fn address(&self, link: LinkIndex, net: &str) -> Address {
        let address = Address::new(link, net.parse().unwrap()).without_dad();
        self.net.add_address(&address).unwrap();
        address
    }
}

/// A pair of links between two networks, both up, both of the same name.
pub fn wire(one: &Node, other: &Node, called: &str) -> (Link, Link) {
    let end = NewLink::new(name(called), LinkKind::Veth).up();
    let here = one.net.create_veth(&end, &end, Some(&other.namespace)).unwrap();
    (here, other.net.expect_link(&end.name).unwrap())
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

/// Whether the kernel has it; otherwise the test says why it does not run.
pub fn has(feature: Feature) -> bool {
    match Capabilities::probe().unwrap().why_not(feature) {
        None => true,
        Some(why) => {
            skip(&format!("linux: {feature:?}").to_lowercase(), why);
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
