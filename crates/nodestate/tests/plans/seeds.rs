//! The plans for the seeds' policies, as a person sees them.

use crate::model::reached;
use crate::{ALL, FEW, plan, worker, yaml};

const OSP: &str = include_str!("seeds/osp.yaml");
const OCTAVIA: &str = include_str!("seeds/octavia.yaml");
const DIRECTOR: &str = include_str!("seeds/director.yaml");

#[test]
fn seed_000() {
    let now = worker();
    let found = plan(&yaml(OSP), &now, ALL).unwrap();
    assert_eq!(
        found.to_string(),
        "\
+ vlan enp6s0.20 (id 20 of enp6s0)
+ vlan enp6s0.21 (id 21 of enp6s0)
+ vlan enp6s0.22 (id 22 of enp6s0)
~ enp6s0: description \"Configuring enp6s0\"
~ enp6s0.20: description \"internalapi vlan interface\"
~ enp6s0.21: description \"storage vlan interface\"
~ enp6s0.22: description \"tenant vlan interface\"
~ enp6s0: ipv6 off
~ enp6s0.20: ipv6 off
~ enp6s0.21: ipv6 off
~ enp6s0.22: ipv6 off
~ enp6s0.20: mtu 1500
~ enp6s0.21: mtu 1500
~ enp6s0.22: mtu 1500
~ enp6s0.20: up
~ enp6s0.21: up
~ enp6s0.22: up
+ address 192.168.122.10/24 on enp6s0
"
    );
    let after = reached(&yaml(OSP), &now, ALL);
    assert!(plan(&yaml(OSP), &after, ALL).unwrap().is_empty());
}

#[test]
fn seed_001_after_000() {
    let now = reached(&yaml(OSP), &worker(), ALL);
    let text = |can| plan(&yaml(OCTAVIA), &now, can).unwrap().to_string();
    assert_eq!(
        text(ALL),
        "\
+ vlan enp6s0.24 (id 24 of enp6s0)
+ linux-bridge octbr
~ enp6s0.24: description \"Octavia vlan host interface\"
~ octbr: description \"Configuring bridge octbr\"
~ enp6s0.24: joins octbr
~ enp6s0.24: as a port VLANs 1 untagged, 2-4094
~ enp6s0.24: mtu 1500
~ octbr: mtu 1500
~ enp6s0.24: up
~ octbr: up
"
    );
    // A kernel that cannot filter VLANs passes them all, which is what is wanted.
    assert_eq!(
        text(FEW),
        "\
+ vlan enp6s0.24 (id 24 of enp6s0)
+ linux-bridge octbr
~ enp6s0.24: description \"Octavia vlan host interface\"
~ octbr: description \"Configuring bridge octbr\"
~ enp6s0.24: joins octbr
~ enp6s0.24: mtu 1500
~ octbr: mtu 1500
~ enp6s0.24: up
~ octbr: up
note: octbr passes all VLANs of enp6s0.24 without filtering, because this kernel has none
"
    );
    for can in [ALL, FEW] {
        let after = reached(&yaml(OCTAVIA), &now, can);
        assert!(plan(&yaml(OCTAVIA), &after, can).unwrap().is_empty());
    }
}

#[test]
fn seed_003() {
    let found = plan(&yaml(DIRECTOR), &worker(), FEW).unwrap();
    assert_eq!(
        found.to_string(),
        "\
- route 0.0.0.0/0 via 172.22.0.1 dev enp1s0
+ linux-bridge br-ctlplane
+ linux-bridge br-ex
+ linux-bridge br-osp
~ br-ctlplane: description \"Linux bridge with enp1s0 as a port\"
~ enp7s0: description \"Configuring enp7s0 on workers\"
~ br-ex: ipv6 off
~ enp7s0: ipv6 off
~ br-osp: ipv6 off
~ enp1s0: joins br-ctlplane
~ enp6s0: joins br-ex
~ enp7s0: joins br-osp
~ br-ctlplane: mtu 1500
~ br-ex: mtu 1500
~ enp7s0: mtu 9000
~ br-osp: mtu 9000
~ br-ctlplane: up
~ br-ex: up
~ enp7s0: up
~ br-osp: up
- address 172.22.0.28/24 on enp1s0
+ dhcp ipv4 on br-ctlplane
+ dhcp ipv6 on br-ctlplane
note: enp1s0 loses its addresses, being a port of br-ctlplane
note: br-ctlplane passes all VLANs of enp1s0 without filtering, because this kernel has none
note: route 0.0.0.0/0 via 172.22.0.1 dev enp1s0 goes, because enp1s0 has no IPv4 address
"
    );
}
