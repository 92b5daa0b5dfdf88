//! The fields of foreign kinds that the plan depends on, by position.
//!
//! Only near misses are judged against these: the kinds have more fields than are listed here, and
//! gain new ones with every release.

/// What is expected at a position.
pub(super) enum Shape {
    /// Nothing in particular.
    Any,
    /// A map with, among others, these fields.
    Map(&'static [(&'static str, &'static Shape)]),
    /// A list of the same.
    List(&'static Shape),
}

use Shape::{Any, List, Map};

pub(super) static POLICY: Shape = Map(&[
    ("nodeSelector", &Any),
    ("capture", &Any),
    ("maxUnavailable", &Any),
    (
        "desiredState",
        &Map(&[
            ("interfaces", &List(&INTERFACE)),
            ("routes", &Map(&[("config", &Any), ("running", &Any)])),
            ("route-rules", &Any),
            ("dns-resolver", &Any),
            ("ovs-db", &Any),
            ("ovn", &Any),
            ("hostname", &Any),
        ]),
    ),
]);

static INTERFACE: Shape = Map(&[
    ("name", &Any),
    ("type", &Any),
    ("state", &Any),
    ("mtu", &Any),
    ("description", &Any),
    ("mac-address", &Any),
    ("copy-mac-from", &Any),
    ("identifier", &Any),
    ("profile-name", &Any),
    ("ethernet", &Any),
    ("ethtool", &Any),
    ("lldp", &Any),
    ("vrf", &Any),
    ("vxlan", &Any),
    ("veth", &Any),
    ("patch", &Any),
    ("controller", &Any),
    ("mac-vlan", &Any),
    ("accept-all-mac-addresses", &Any),
    ("ipv4", &IP),
    ("ipv6", &IP),
    (
        "vlan",
        &Map(&[
            ("base-iface", &Any),
            ("id", &Any),
            ("protocol", &Any),
            ("registration-protocol", &Any),
            ("reorder-headers", &Any),
            ("loose-binding", &Any),
        ]),
    ),
    (
        "bridge",
        &Map(&[
            ("options", &Any),
            ("ports", &Any),
            ("slaves", &Any),
            ("allow-extra-patch-ports", &Any),
            (
                "port",
                &List(&Map(&[
                    ("name", &Any),
                    ("vlan", &Any),
                    ("link-aggregation", &Any),
                    ("stp-hairpin-mode", &Any),
                    ("stp-path-cost", &Any),
                    ("stp-priority", &Any),
                ])),
            ),
        ]),
    ),
    (
        "link-aggregation",
        &Map(&[
            ("mode", &Any),
            ("port", &Any),
            ("ports", &Any),
            ("ports-config", &Any),
            ("slaves", &Any),
            ("options", &Any),
        ]),
    ),
]);

static IP: Shape = Map(&[
    ("enabled", &Any),
    ("dhcp", &Any),
    ("dhcp-client-id", &Any),
    ("dhcp-duid", &Any),
    ("dhcp-custom-hostname", &Any),
    ("dhcp-send-hostname", &Any),
    ("autoconf", &Any),
    ("auto-dns", &Any),
    ("auto-gateway", &Any),
    ("auto-routes", &Any),
    ("auto-route-table-id", &Any),
    ("auto-route-metric", &Any),
    ("addr-gen-mode", &Any),
    ("token", &Any),
    ("forwarding", &Any),
    ("allow-extra-address", &Any),
    ("wait-ip", &Any),
    (
        "address",
        &List(&Map(&[
            ("ip", &Any),
            ("prefix-length", &Any),
            ("preferred-life-time", &Any),
            ("valid-life-time", &Any),
            ("mptcp-flags", &Any),
        ])),
    ),
]);

pub(super) static POOL: Shape = Map(&[
    ("addresses", &Any),
    ("autoAssign", &Any),
    ("avoidBuggyIPs", &Any),
    (
        "serviceAllocation",
        &Map(&[
            ("priority", &Any),
            ("namespaces", &Any),
            ("namespaceSelectors", &Any),
            ("serviceSelectors", &Any),
        ]),
    ),
]);

pub(super) static ADVERTISEMENT: Shape = Map(&[
    ("ipAddressPools", &Any),
    ("ipAddressPoolSelectors", &Any),
    ("nodeSelectors", &Any),
    ("interfaces", &Any),
    ("serviceSelectors", &Any),
    ("preferredNodeSelectors", &Any),
]);

pub(super) static ATTACHMENT: Shape = Map(&[("config", &Any)]);

pub(super) static CNI: Shape = Map(&[
    ("cniVersion", &Any),
    ("cniVersions", &Any),
    ("name", &Any),
    ("type", &Any),
    ("mode", &Any),
    ("master", &Any),
    ("bridge", &Any),
    ("device", &Any),
    ("deviceID", &Any),
    ("vlan", &Any),
    ("vlanId", &Any),
    ("vlanTrunk", &Any),
    ("mtu", &Any),
    ("mac", &Any),
    ("args", &Any),
    ("dns", &Any),
    ("isGateway", &Any),
    ("ipMasq", &Any),
    ("capabilities", &Any),
    ("runtimeConfig", &Any),
    ("plugins", &List(&CNI)),
    ("ipam", &IPAM),
]);

static IPAM: Shape = Map(&[
    ("type", &Any),
    ("range", &Any),
    ("ranges", &Any),
    ("range_start", &Any),
    ("range_end", &Any),
    ("rangeStart", &Any),
    ("rangeEnd", &Any),
    ("exclude", &Any),
    ("gateway", &Any),
    ("subnet", &Any),
    ("dns", &Any),
    ("addresses", &Any),
    ("network_name", &Any),
    ("node_slice_size", &Any),
    ("log_file", &Any),
    ("log_level", &Any),
    ("dataDir", &Any),
    ("enable_overlapping_ranges", &Any),
    (
        "ipRanges",
        &List(&Map(&[
            ("range", &Any),
            ("range_start", &Any),
            ("range_end", &Any),
            ("exclude", &Any),
        ])),
    ),
    (
        "routes",
        &List(&Map(&[
            ("dst", &Any),
            ("gw", &Any),
            ("mtu", &Any),
            ("table", &Any),
            ("scope", &Any),
            ("priority", &Any),
            ("advmss", &Any),
        ])),
    ),
]);

/// Fields of any OpenStack kind that the plan reads, wherever they stand.
pub(super) const OPENSTACK: &[&str] = &[
    "networkAttachments",
    "networkAttachment",
    "octaviaNetworkAttachment",
    "externalEndpoints",
    "externalEndpoint",
    "nicMappings",
    "bondConfiguration",
];

/// Fields of an exposing block of the first generation.
pub(super) const ENDPOINT: &[&str] =
    &["endpoint", "ipAddressPool", "loadBalancerIPs", "sharedIP", "sharedIPKey"];

/// Maps whose keys users choose.
pub(super) const FREE: &[&str] = &[
    "annotations",
    "labels",
    "matchLabels",
    "nodeSelector",
    "external-ids",
    "defaultConfigOverwrite",
    "nicMappings",
];

/// Annotations of MetalLB, without the prefix.
pub(super) const ANNOTATIONS: &[&str] =
    &["address-pool", "loadBalancerIPs", "allow-shared-ip", "ip-allocated-from-pool"];
