//! Networks: a segment each (or several), shared and external by RBAC policies.

use serde_json::{Value, json};

use super::dns;
use super::ports::PORT;
use super::rbac::{self, EXTERNAL, SHARED};
use super::segments;
use super::subnets::{self, SUBNET};
use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::fault::Fault;
use crate::network::resource::{Resource, Rules, Standard};
use crate::network::standard;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

/// The least MTU of a network with IPv4 subnets.
const LEAST_MTU_4: i64 = 68;
/// The least MTU of a network with IPv6 subnets.
const LEAST_MTU_6: i64 = 1280;

pub static NETWORK_KIND: Kind = Kind {
    name: "network",
    index: |network, keys| {
        keys.add("name", network.text("name"));
        keys.add("project_id", network.project());
        for segment in segments::of(network) {
            keys.add("segment", segments::key(&segment));
        }
    },
    blanks: &[
        ("name", Blank::Text),
        ("description", Blank::Text),
        ("admin_state_up", Blank::True),
        ("status", Blank::Is("ACTIVE")),
        ("router:external", Blank::False),
        ("is_default", Blank::False),
        ("port_security_enabled", Blank::True),
        ("availability_zone_hints", Blank::List),
        ("dns_domain", Blank::Text),
        ("tags", Blank::List),
    ],
};

pub static NETWORK: Resource = Resource {
    kind: &NETWORK_KIND,
    single: "network",
    plural: "networks",
    path: "networks",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::shown("subnets"),
        Attribute::open("admin_state_up", Check::Flag, Given::Flag(true)).key(),
        Attribute::shown("status").key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("shared", Check::Flag, Given::Flag(false)).filter().only(Who::Admin),
        Attribute::shown("ipv4_address_scope"),
        Attribute::shown("ipv6_address_scope"),
        Attribute::open("router:external", Check::Flag, Given::Flag(false))
            .filter()
            .only(Who::Admin),
        Attribute::open("is_default", Check::Flag, Given::Flag(false)).only(Who::Admin),
        Attribute::open("mtu", Check::NonNegative, Given::Number(0)).key(),
        Attribute::shown("availability_zones"),
        Attribute::once("availability_zone_hints", Check::Texts(255), Given::List),
        Attribute::open("port_security_enabled", Check::Flag, Given::Flag(true)).only(Who::Member),
        Attribute::open("provider:network_type", Check::Text(32), Given::Unset)
            .filter()
            .only(Who::Admin)
            .seen_by(Who::Admin),
        Attribute::open("provider:physical_network", Check::Text(64), Given::Unset)
            .filter()
            .only(Who::Admin)
            .seen_by(Who::Admin),
        Attribute::open("provider:segmentation_id", Check::With(segmentation_id), Given::Unset)
            .filter()
            .only(Who::Admin)
            .seen_by(Who::Admin),
        Attribute::open("segments", Check::With(segments::check), Given::Unset)
            .only(Who::Admin)
            .seen_by(Who::Admin),
        Attribute::open("dns_domain", Check::With(dns::domain), Given::Text(""))
            .with("dns-integration"),
    ],
    not_found: ("NetworkNotFound", "Network {} could not be found."),
    indexed: &["name", "project_id"],
    quota: Some("network"),
    standard: Standard::FULL.from(1),
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Networks,
};

fn segmentation_id(value: &Value) -> crate::network::check::Checked {
    Ok(crate::network::check::integer(value)?.into())
}

struct Networks;

impl Rules for Networks {
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, mut network: Object) -> Result<Object, Fault> {
        network.set("status", "ACTIVE");
        super::security_groups::default_of(tx, who, network.project());
        zones(tx.config, &network)?;
        let segments = segments::reserve(tx, &network)?;
        let most = segments::mtu(tx.config, &segments);
        segments::store(&mut network, &segments);
        let wanted = network.number("mtu").unwrap_or(0);
        if wanted > most {
            return Err(too_big(most));
        }
        network.set("mtu", if wanted == 0 { most } else { wanted });
        for (attribute, action) in [("shared", SHARED), ("router:external", EXTERNAL)] {
            if network.flag(attribute) {
                rbac::grant(tx, &network, action, "*");
            }
        }
        network.remove("shared");
        Ok(network)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        given: &Object,
        mut network: Object,
    ) -> Result<Object, Fault> {
        segments::update(tx, before, given, &mut network)?;
        if given.has("shared") {
            share(tx, before, given.flag("shared"))?;
        }
        network.remove("shared");
        if let Some(mtu) = given.number("mtu") {
            least_mtu(tx, before.id(), mtu)?;
        }
        if given.has("router:external")
            && given.flag("router:external") != before.flag("router:external")
        {
            external(tx, before, given.flag("router:external"))?;
        }
        if let Some(mtu) = given.number("mtu") {
            let most = segments::mtu(tx.config, &segments::of(&network));
            if mtu > most {
                return Err(too_big(most));
            }
            network.set("mtu", if mtu == 0 { most } else { mtu });
        }
        Ok(network)
    }

    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, network: &Object) -> Result<(), Fault> {
        super::floating_ips::drop_unused(tx, who, network.id())?;
        let ports: Vec<Object> = tx.find(PORT.kind, "network_id", network.id()).collect();
        let own = |port: &&Object| {
            ["network:dhcp", "network:distributed"].contains(&port.text("device_owner"))
        };
        let others: Vec<&str> = ports.iter().filter(|port| !own(port)).map(Object::id).collect();
        if !others.is_empty() {
            return Err(Fault::conflict(
                "NetworkInUse",
                format!(
                    "Unable to complete operation on network {}. There are one or more ports still \
                     in use on the network, id for these ports is: {}.",
                    network.id(),
                    others.join(",")
                ),
            ));
        }
        for port in &ports {
            PORT.rules.delete(tx, who, port)?;
            tx.delete(PORT.kind, port.id());
        }
        let subnets: Vec<Object> = tx.find(SUBNET.kind, "network_id", network.id()).collect();
        for subnet in &subnets {
            subnets::remove(tx, subnet);
        }
        rbac::revoke_all(tx, network.id());
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, who: &Caller, network: &mut Object) {
        let id = network.id().to_owned();
        let subnets: Vec<Value> =
            state.find_ids(SUBNET.kind, "network_id", &id).map(Value::from).collect();
        network.set("subnets", subnets);
        network.set("shared", rbac::grants(state, &id, SHARED, who.project()));
        // Nothing hosts a network in a zone of its own: what was asked for, the hints show.
        network.set("availability_zones", json!([]));
        // Only an external network can be the default one.
        if !network.flag("router:external") {
            network.remove("is_default");
        }
        let (four, six) = subnets::scopes(state, &id);
        network.set("ipv4_address_scope", four);
        network.set("ipv6_address_scope", six);
    }

    fn counts(&self, name: &str) -> bool {
        !name.starts_with("provider:")
    }

    fn answered(&self, network: &Object, shown: &mut Value) {
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("is_default".to_owned(), network.flag("is_default").into());
        }
    }

    fn visible(&self, state: &State, who: &Caller, network: &Object) -> bool {
        sees(state, who, network)
    }
}

/// Whether the caller sees the network: its own, a shared one, or an external one.
pub fn sees(state: &State, who: &Caller, network: &Object) -> bool {
    who.is_admin()
        || who.has_role("service")
        || who.is_reader_of(network.project())
        || rbac::grants(state, network.id(), SHARED, who.project())
        || (network.flag("router:external")
            && rbac::grants(state, network.id(), EXTERNAL, who.project()))
}

/// Whether the caller has this role in the project of the object's network.
pub fn owns_network(state: &State, who: &Caller, object: &Object, role: &str) -> bool {
    let network = state.get(NETWORK.kind, object.text("network_id"));
    network.is_some_and(|network| network.project() == who.project()) && who.has_role(role)
}

fn too_big(most: i64) -> Fault {
    Fault::input(format!("Requested MTU is too big, maximum is {most}"))
}

/// Zones that were asked for have to be there.
pub fn zones(config: &Config, object: &Object) -> Result<(), Fault> {
    for zone in object.texts("availability_zone_hints") {
        if !config.network.zones.iter().any(|known| known == zone || known == "*") {
            return Err(Fault::not_found(
                "AvailabilityZoneNotFound",
                format!("AvailabilityZone {zone} could not be found."),
            ));
        }
    }
    Ok(())
}

/// Makes the network shared with everybody, or ends that.
fn share(tx: &mut Tx<'_>, network: &Object, shared: bool) -> Result<(), Fault> {
    let entry = rbac::entry(tx, network.id(), SHARED, "*");
    match (shared, entry) {
        (true, None) => {
            rbac::grant(tx, network, SHARED, "*");
        }
        (false, Some(entry)) => {
            let mut users: Vec<String> = tx
                .find(PORT.kind, "network_id", network.id())
                .filter(|port| !port.text("device_owner").starts_with("network:"))
                .map(|port| port.project().to_owned())
                .collect();
            users.extend(
                tx.find(SUBNET.kind, "network_id", network.id()).map(|s| s.project().to_owned()),
            );
            let still = |project: &String| {
                project == network.project()
                    || rbac::entry(tx, network.id(), SHARED, project).is_some()
            };
            if !users.iter().all(still) {
                return Err(rbac::shared_by_many(network.text("name")));
            }
            tx.delete(rbac::RBAC.kind, entry.id());
        }
        _ => return Ok(()),
    }
    standard::touch(tx, &NETWORK, network.id());
    Ok(())
}

/// Makes the network external, or ends that.
fn external(tx: &mut Tx<'_>, network: &Object, external: bool) -> Result<(), Fault> {
    if external {
        rbac::grant(tx, network, EXTERNAL, "*");
        return Ok(());
    }
    let gateway = |port: &Object| port.text("device_owner") == "network:router_gateway";
    if tx.find(PORT.kind, "network_id", network.id()).any(|port| gateway(&port)) {
        return Err(Fault::conflict(
            "ExternalNetworkInUse",
            format!(
                "External network {} cannot be updated to be made non-external, since it has \
                 existing gateway ports.",
                network.id()
            ),
        ));
    }
    rbac::revoke(tx, network.id(), EXTERNAL);
    Ok(())
}

/// The MTU has to be enough for the subnets there are.
fn least_mtu(tx: &Tx<'_>, network: &str, mtu: i64) -> Result<(), Fault> {
    for subnet in tx.find(SUBNET.kind, "network_id", network) {
        mtu_for(network, mtu, subnet.number("ip_version").unwrap_or(4))?;
    }
    Ok(())
}

/// Whether a subnet of this version can be on a network with this MTU.
pub fn mtu_for(network: &str, mtu: i64, version: i64) -> Result<(), Fault> {
    let short = |least: i64| {
        Err(Fault::conflict(
            "NetworkMTUSubnetConflict",
            format!("MTU of {network} is not valid, subnet requires a minimum of {least}"),
        ))
    };
    if mtu == 0 {
        return Ok(());
    }
    if mtu < LEAST_MTU_4 {
        return short(LEAST_MTU_4);
    }
    if version == 6 && mtu < LEAST_MTU_6 {
        return short(LEAST_MTU_6);
    }
    Ok(())
}
