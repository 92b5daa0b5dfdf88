//! What links and namespaces are called: as Neutron calls them, so that whoever knows its agents finds
//! their way. A link's name has 15 bytes, so an id gives its first 11 characters.

/// The namespace on each node in which all bridges of the cloud are. Nothing of the node's own is in
/// it, so no route, rule or forwarding of the node can lead into a network of the cloud.
pub const CLOUD: &str = "cloud";

const INSTANCE: &str = "instance-";
const ROUTER: &str = "qrouter-";

/// The bridge of a network.
pub fn bridge(network: &str) -> String {
    format!("brq{}", short(network))
}

/// The end of a port that is in the bridge.
pub fn tap(port: &str) -> String {
    format!("tap{}", short(port))
}

/// What connects the bridge of a network with the rest of it, on the bridge's side.
pub fn uplink(network: &str) -> String {
    format!("up{}", short(network))
}

/// The same, on the node's side: called as links of pods are, which node policies leave alone.
pub fn node_end(network: &str) -> String {
    format!("veth{}", short(network))
}

/// A router's interface: inside, or to its external network.
pub fn interface(port: &str, outside: bool) -> String {
    format!("{}{}", if outside { "qg-" } else { "qr-" }, short(port))
}

/// The namespace of an instance.
pub fn instance(id: &str) -> String {
    format!("{INSTANCE}{id}")
}

/// The namespace of a router.
pub fn router(id: &str) -> String {
    format!("{ROUTER}{id}")
}

/// Whether a namespace is one of the cloud's instances or routers.
pub fn is_guest_or_router(namespace: &str) -> bool {
    namespace.starts_with(INSTANCE) || namespace.starts_with(ROUTER)
}

/// The first characters of an id; of anything else as much as there is, and nothing that a name of a
/// link or a path could not hold.
pub fn short(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(11).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_hold_nothing_odd() {
        let id = "3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b";
        assert_eq!(bridge(id), "brq3f2a1b4c-5d");
        assert_eq!(tap(id), "tap3f2a1b4c-5d");
        assert_eq!(interface(id, true), "qg-3f2a1b4c-5d");
        for name in [bridge(id), tap(id), uplink(id), node_end(id), interface(id, false)] {
            assert!(name.len() <= 15, "{name}");
        }
        assert_eq!(tap("../\" ; flush"), "tapflush");
        assert!(is_guest_or_router(&router(id)) && is_guest_or_router(&instance(id)));
        assert!(!is_guest_or_router(CLOUD) && !is_guest_or_router("cni-1"));
    }
}
