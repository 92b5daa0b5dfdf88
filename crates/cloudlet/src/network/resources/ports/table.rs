//! The attributes of a port.

use super::{Ports, checks};
use crate::caller::Caller;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::resource::{Resource, Standard};
use crate::network::resources::rbac::{self, SHARED};
use crate::network::resources::{dns, networks};
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State};

const VNICS: &[&str] = &[
    "normal",
    "direct",
    "macvtap",
    "baremetal",
    "direct-physical",
    "virtio-forwarder",
    "smart-nic",
    "vdpa",
    "accelerator-direct",
    "accelerator-direct-physical",
    "remote-managed",
];

pub static PORT_KIND: Kind = Kind {
    name: "port",
    index: |port, keys| {
        keys.add("network_id", port.text("network_id"));
        keys.add("device_id", port.text("device_id"));
        keys.add("name", port.text("name"));
        keys.add("mac_address", port.text("mac_address"));
        for group in port.texts("security_groups") {
            keys.add("security_group", group);
        }
        for fixed in port.list("fixed_ips") {
            let text = |name: &str| fixed.get(name).and_then(serde_json::Value::as_str);
            if let (Some(subnet), Some(ip)) = (text("subnet_id"), text("ip_address")) {
                keys.add("subnet_id", subnet);
                keys.add("ip", format!("{subnet}/{ip}"));
            }
        }
    },
    blanks: &[
        ("name", Blank::Text),
        ("description", Blank::Text),
        ("admin_state_up", Blank::True),
        ("status", Blank::Is("DOWN")),
        ("device_id", Blank::Text),
        ("device_owner", Blank::Text),
        ("allowed_address_pairs", Blank::List),
        ("binding:host_id", Blank::Text),
        ("binding:profile", Blank::Map),
        ("binding:vif_details", Blank::Map),
        ("binding:vif_type", Blank::Is("unbound")),
        ("binding:vnic_type", Blank::Is("normal")),
        ("data_plane_status", Blank::Null),
        ("device_profile", Blank::Null),
        ("dns_domain", Blank::Text),
        ("dns_name", Blank::Text),
        ("extra_dhcp_opts", Blank::List),
        ("fixed_ips", Blank::List),
        ("ip_allocation", Blank::Is("immediate")),
        ("numa_affinity_policy", Blank::Null),
        ("port_security_enabled", Blank::True),
        ("propagate_uplink_status", Blank::True),
        ("resource_request", Blank::Null),
        ("security_groups", Blank::List),
        ("tags", Blank::List),
    ],
};

fn network_owner(state: &State, who: &Caller, port: &Object, role: &str) -> bool {
    who.is_admin() || who.has_role("service") || networks::owns_network(state, who, port, role)
}

fn network_shared(state: &State, who: &Caller, port: &Object) -> bool {
    rbac::grants(state, port.text("network_id"), SHARED, who.project())
}

/// An administrator, a service, or a member of the network's project.
const NETWORK_OWNER: Who = Who::Rule(|state, who, port| network_owner(state, who, port, "member"));
/// The same, or anybody on a shared network.
const NETWORK_USER: Who = Who::Rule(|state, who, port| {
    network_owner(state, who, port, "member") || network_shared(state, who, port)
});
/// An administrator, a service, or a manager of the network's project.
const NETWORK_MANAGER: Who =
    Who::Rule(|state, who, port| network_owner(state, who, port, "manager"));
/// An administrator, a service, or a member of the port's project.
const MEMBER: Who = Who::Rule(|_, who, port| {
    who.is_admin() || who.has_role("service") || who.is_member_of(port.project())
});
/// Ports of Neutron's own are made by the network's owner.
const DEVICE_OWNER: Who = Who::Rule(|state, who, port| {
    !port.text("device_owner").starts_with("network:") || network_owner(state, who, port, "member")
});
/// Who may delete: nobody takes a server's port away but the services.
const DELETE: Who = Who::Rule(|state, who, port| {
    let served = ["compute:", "baremetal:", "manila:"];
    let own =
        who.is_member_of(port.project()) || networks::owns_network(state, who, port, "member");
    who.is_admin()
        || who.has_role("service")
        || (own && !served.iter().any(|prefix| port.text("device_owner").starts_with(prefix)))
});
/// An administrator, or who integrates data planes.
const DATA_PLANE: Who =
    Who::Rule(|_, who, _| who.is_admin() || who.has_role("data_plane_integrator"));

pub static PORT: Resource = Resource {
    kind: &PORT_KIND,
    single: "port",
    plural: "ports",
    path: "ports",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::once("network_id", Check::Uuid, Given::Required).key(),
        Attribute::open("admin_state_up", Check::Flag, Given::Flag(true)).key(),
        Attribute::open("mac_address", Check::Mac, Given::Unset)
            .key()
            .set_by(NETWORK_OWNER)
            .changed_by(NETWORK_MANAGER),
        Attribute::open("fixed_ips", Check::FixedIps, Given::Unset)
            .filter_any()
            .set_by(NETWORK_USER)
            .changed_by(NETWORK_OWNER)
            .parts(&[("ip_address", NETWORK_OWNER), ("subnet_id", NETWORK_USER)]),
        Attribute::open("device_id", Check::Text(255), Given::Text("")).key().only(MEMBER),
        Attribute::open("device_owner", Check::Text(255), Given::Text("")).key().only(DEVICE_OWNER),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::shown("status").key(),
        Attribute::open("allowed_address_pairs", Check::With(checks::pairs), Given::Unset)
            .only(NETWORK_OWNER)
            .parts(&[("ip_address", NETWORK_OWNER), ("mac_address", NETWORK_OWNER)]),
        Attribute::open("binding:vnic_type", Check::OneOf(VNICS), Given::Text("normal"))
            .only(MEMBER),
        Attribute::open("binding:host_id", Check::Any, Given::Unset)
            .filter()
            .only(Who::AdminOrService)
            .seen_by(Who::AdminOrService),
        Attribute::open("binding:profile", Check::MapOrNull, Given::Unset)
            .only(Who::Service)
            .seen_by(Who::AdminOrService),
        Attribute::shown("binding:vif_type").seen_by(Who::AdminOrService),
        Attribute::shown("binding:vif_details").seen_by(Who::AdminOrService),
        Attribute::open("extra_dhcp_opts", Check::With(checks::dhcp_options), Given::Null),
        Attribute::open("port_security_enabled", Check::Flag, Given::Unset).only(NETWORK_OWNER),
        Attribute::open("security_groups", Check::With(checks::groups), Given::Unset).filter_any(),
        Attribute::once("tags", Check::Texts(255), Given::List).filter_any(),
        Attribute::open("dns_name", Check::With(dns::name), Given::Text(""))
            .with("dns-integration"),
        Attribute::shown("dns_assignment").with("dns-integration"),
        Attribute::open("dns_domain", Check::With(dns::domain), Given::Text(""))
            .with("dns-domain-ports"),
        Attribute::open("data_plane_status", Check::OneOfOrNull(&["ACTIVE", "DOWN"]), Given::Unset)
            .later()
            .only(DATA_PLANE)
            .with("data-plane-status"),
        Attribute::once("propagate_uplink_status", Check::Flag, Given::Flag(true))
            .with("uplink-status-propagation"),
        Attribute::open(
            "numa_affinity_policy",
            Check::OneOfOrNull(&["required", "preferred", "legacy"]),
            Given::Null,
        )
        .with("port-numa-affinity-policy"),
        Attribute::once("device_profile", Check::TextOrNull(255), Given::Null)
            .with("port-device-profile"),
        Attribute::open("trusted", Check::Flag, Given::Unset)
            .only(Who::Admin)
            .seen_by(Who::Admin)
            .with("port-trusted-vif"),
        Attribute::shown("ip_allocation").key().with("ip_allocation"),
        Attribute::shown("resource_request").seen_by(Who::Admin).with("port-resource-request"),
        Attribute::shown("trunk_details"),
    ],
    not_found: ("PortNotFound", "Port {} could not be found."),
    indexed: &["network_id", "device_id", "name", "mac_address"],
    quota: Some("port"),
    standard: Standard::FULL.from(1),
    create: NETWORK_USER,
    update: MEMBER,
    delete: DELETE,
    rules: &Ports,
};
