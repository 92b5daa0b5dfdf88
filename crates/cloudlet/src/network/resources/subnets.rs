//! Subnets: prefixes of a network, and the addresses in them that ports are given.

mod ranges;
mod validate;

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::net::Range;
use landbridge_addr::{Pool, RangeSet, Skip};
use serde_json::{Value, json};

pub use self::ranges::{bounds, default_pools, shown as shown_range};
pub use self::validate::is_automatic;
use super::networks::{self, NETWORK};
use super::ports::PORT;
use super::subnetpools;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::{self, Check, Checked};
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

const MODES: &[&str] = &["dhcpv6-stateful", "dhcpv6-stateless", "slaac"];

pub static SUBNET_KIND: Kind = Kind {
    name: "subnet",
    index: |subnet, keys| {
        keys.add("name", subnet.text("name"));
        keys.add("network_id", subnet.text("network_id"));
        keys.add("project_id", subnet.project());
        keys.add("subnetpool_id", subnet.text("subnetpool_id"));
    },
    blanks: &[
        ("name", Blank::Text),
        ("description", Blank::Text),
        ("subnetpool_id", Blank::Null),
        ("ipv6_ra_mode", Blank::Null),
        ("ipv6_address_mode", Blank::Null),
        ("enable_dhcp", Blank::True),
        ("dns_nameservers", Blank::List),
        ("host_routes", Blank::List),
        ("service_types", Blank::List),
        ("dns_publish_fixed_ip", Blank::False),
        ("tags", Blank::List),
    ],
};

/// An administrator, or a member of the project that owns the network.
const NETWORK_OWNER: Who = Who::Rule(|state, who, subnet| {
    who.is_admin() || networks::owns_network(state, who, subnet, "member")
});

/// The same, or a member of the subnet's own project.
const EITHER_OWNER: Who = Who::Rule(|state, who, subnet| {
    who.is_admin()
        || who.is_member_of(subnet.project())
        || networks::owns_network(state, who, subnet, "member")
});

pub static SUBNET: Resource = Resource {
    kind: &SUBNET_KIND,
    single: "subnet",
    plural: "subnets",
    path: "subnets",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::once("ip_version", Check::OneOfNumbers(&[4, 6]), Given::Required).key(),
        Attribute::once("network_id", Check::Uuid, Given::Required).key(),
        Attribute::once("subnetpool_id", Check::With(pool_id), Given::Unset).key(),
        Attribute::once("prefixlen", Check::NonNegative, Given::Unset).hidden(),
        Attribute::once("cidr", Check::With(cidr), Given::Unset).key(),
        Attribute::open("gateway_ip", Check::IpOrNull, Given::Unset).key(),
        Attribute::open("allocation_pools", Check::Pools, Given::Unset),
        Attribute::open("dns_nameservers", Check::Nameservers, Given::Unset),
        Attribute::open("host_routes", Check::HostRoutes, Given::Unset),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("enable_dhcp", Check::Flag, Given::Flag(true)).key(),
        Attribute::once("ipv6_ra_mode", Check::OneOfOrNull(MODES), Given::Unset).key(),
        Attribute::once("ipv6_address_mode", Check::OneOfOrNull(MODES), Given::Unset).key(),
        Attribute::shown("shared").filter().hidden(),
        Attribute::shown("router:external").filter(),
        Attribute::once("use_default_subnetpool", Check::Flag, Given::Flag(false)).hidden(),
        Attribute::open("service_types", Check::With(validate::service_types), Given::Unset),
        Attribute::open("dns_publish_fixed_ip", Check::Flag, Given::Flag(false))
            .with("subnet-dns-publish-fixed-ip"),
    ],
    not_found: ("SubnetNotFound", "Subnet {} could not be found."),
    indexed: &["name", "network_id", "project_id", "subnetpool_id"],
    quota: Some("subnet"),
    standard: Standard::FULL,
    create: NETWORK_OWNER,
    update: EITHER_OWNER,
    delete: EITHER_OWNER,
    rules: &Subnets,
};

fn pool_id(value: &Value) -> Checked {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if value.as_str() != Some("prefix_delegation") {
        check::uuid(value)?;
    }
    Ok(value.clone())
}

/// A prefix, made canonical; `null` is refused as the converter of the real one does.
fn cidr(value: &Value) -> Checked {
    if value.is_null() {
        return Err(Fault::input("None is not in a CIDR format").into());
    }
    let kept = Check::Cidr.run(value)?;
    if value.as_str().is_some_and(|text| !text.contains('/')) {
        return Ok(kept); // Python's netaddr takes it for one address
    }
    Ok(kept)
}

struct Subnets;

impl Rules for Subnets {
    fn parent(&self, state: &State, _who: &Caller, subnet: &Object) -> Result<(), Fault> {
        NETWORK.known(state, subnet.text("network_id")).map(|_| ())
    }

    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut subnet: Object) -> Result<Object, Fault> {
        if subnet.has("cidr") && subnet.has("prefixlen") {
            let message = "cidr and prefixlen must not be supplied together";
            return Err(Fault::bad_resource("subnets", message));
        }
        if let Ok(net) = subnet.text("cidr").parse::<IpNet>() {
            subnet.set("cidr", net.trunc().to_string());
        }
        let pool = subnetpools::chosen(tx, who, &subnet)?;
        if pool.is_some() && !subnet.has("cidr") && !subnet.list("allocation_pools").is_empty() {
            let message = "allocation_pools allowed only for specific subnet requests.";
            return Err(Fault::bad_resource("subnets", message));
        }
        validate::subnet(tx, &subnet, None)?;
        let network = NETWORK.seen(tx, who, subnet.text("network_id"))?;
        let version = subnet.number("ip_version").unwrap_or(4);
        networks::mtu_for(network.id(), network.number("mtu").unwrap_or(0), version)?;
        let net = subnetpools::prefix(tx, &mut subnet, &network, pool.as_ref())?;
        ranges::complete(&mut subnet, net)?;
        validate::alone(tx, &network, net)?;
        for name in ["dns_nameservers", "host_routes", "service_types"] {
            if !subnet.has(name) {
                subnet.set(name, json!([]));
            }
        }
        for name in ["ipv6_ra_mode", "ipv6_address_mode", "subnetpool_id"] {
            if !subnet.has(name) {
                subnet.set(name, Value::Null);
            }
        }
        for name in ["prefixlen", "use_default_subnetpool"] {
            subnet.remove(name);
        }
        Ok(subnet)
    }

    fn created(&self, tx: &mut Tx<'_>, who: &Caller, subnet: &Object) -> Result<(), Fault> {
        // Service types are written after the subnet, and count as a change of it.
        if !subnet.list("service_types").is_empty() {
            standard::touch(tx, &SUBNET, subnet.id());
        }
        standard::touch(tx, &NETWORK, subnet.text("network_id"));
        super::ports::join_automatic(tx, who, subnet)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        given: &Object,
        mut subnet: Object,
    ) -> Result<Object, Fault> {
        validate::subnet(tx, &subnet, Some((before, given)))?;
        ranges::update(before, given, &mut subnet)?;
        if given.has("allocation_pools") {
            tx.pools.forget(before.id());
        }
        let own = |name: &String| self.counts(name) && given.get(name) != before.get(name);
        if given.0.keys().any(own) {
            standard::touch(tx, &NETWORK, before.text("network_id"));
        }
        Ok(subnet)
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, subnet: &Object) -> Result<(), Fault> {
        let automatic = is_automatic(subnet);
        let ports: Vec<Object> = tx.find(PORT.kind, "subnet_id", subnet.id()).collect();
        let blocks = |port: &&Object| match port.text("device_owner") {
            "network:dhcp" | "network:distributed" => false,
            owner => !automatic || owner.starts_with("network:router"),
        };
        if ports.iter().any(|port| blocks(&port)) {
            return Err(Fault::conflict(
                "SubnetInUse",
                format!(
                    "Unable to complete operation on subnet {}: One or more ports have an IP \
                     allocation from this subnet.",
                    subnet.id()
                ),
            ));
        }
        for mut port in ports {
            let kept: Vec<Value> = port
                .list("fixed_ips")
                .iter()
                .filter(|fixed| fixed.get("subnet_id").and_then(Value::as_str) != Some(subnet.id()))
                .cloned()
                .collect();
            port.set("fixed_ips", kept);
            standard::replace(tx, &PORT, port);
        }
        tx.pools.forget(subnet.id());
        standard::touch(tx, &NETWORK, subnet.text("network_id"));
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, who: &Caller, subnet: &mut Object) {
        let network = state.get(NETWORK.kind, subnet.text("network_id")).unwrap_or_default();
        subnet.set("router:external", network.flag("router:external"));
        let shared = super::rbac::grants(state, network.id(), super::rbac::SHARED, who.project());
        subnet.set("shared", shared);
    }

    fn visible(&self, state: &State, who: &Caller, subnet: &Object) -> bool {
        if who.is_admin() || who.is_reader_of(subnet.project()) {
            return true;
        }
        let network = state.get(NETWORK.kind, subnet.text("network_id"));
        network.is_some_and(|network| networks::sees(state, who, &network))
    }

    fn counts(&self, name: &str) -> bool {
        !["dns_nameservers", "host_routes", "allocation_pools"].contains(&name)
    }
}

/// Takes a subnet away that nothing is left on.
pub fn remove(tx: &mut Tx<'_>, subnet: &Object) {
    tx.pools.forget(subnet.id());
    tx.delete(SUBNET.kind, subnet.id());
}

/// The prefix of a subnet.
pub fn net(subnet: &Object) -> Option<IpNet> {
    subnet.text("cidr").parse().ok()
}

/// The ranges of a subnet's pools.
pub fn pools(subnet: &Object) -> Vec<Range> {
    let ip = |pool: &Value, end: &str| pool.get(end)?.as_str()?.parse::<IpAddr>().ok();
    let range = |pool: &Value| Range::new(ip(pool, "start")?, ip(pool, "end")?);
    subnet.list("allocation_pools").iter().filter_map(range).collect()
}

/// What is free of a subnet, by what ports hold of it.
pub fn free(state: &State, subnet: &Object) -> Pool {
    let mut pool = Pool::new(&pools(subnet), RangeSet::new(), Skip::Nothing);
    for address in held(state, subnet.id()) {
        pool.take(address);
    }
    pool
}

/// The addresses of a subnet that ports hold.
pub fn held(state: &State, subnet: &str) -> impl Iterator<Item = IpAddr> {
    let fixed =
        state.find(PORT.kind, "subnet_id", subnet).flat_map(|port| port.list("fixed_ips").to_vec());
    fixed.filter_map(move |fixed| {
        let own = fixed.get("subnet_id").and_then(Value::as_str) == Some(subnet);
        own.then(|| fixed.get("ip_address")?.as_str()?.parse().ok()).flatten()
    })
}

/// The address scopes of a network, by its subnets' pools: IPv4's and IPv6's.
pub fn scopes(state: &State, network: &str) -> (Value, Value) {
    let (mut four, mut six) = (Value::Null, Value::Null);
    for subnet in state.find(SUBNET.kind, "network_id", network) {
        let Some(pool) = subnet.some_text("subnetpool_id") else { continue };
        let pool = state.get(subnetpools::SUBNETPOOL.kind, pool).unwrap_or_default();
        let scope = pool.get("address_scope_id").clone();
        if subnet.number("ip_version") == Some(4) { four = scope } else { six = scope }
    }
    (four, six)
}
