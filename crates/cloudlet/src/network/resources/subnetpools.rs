//! Subnet pools and address scopes: prefixes that projects cut their subnets from.

mod allocate;
mod table;

use std::collections::BTreeSet;

use ipnet::IpNet;
use serde_json::{Value, json};

pub use self::allocate::{chosen, prefix};
pub use self::table::{ADDRESS_SCOPE, ADDRESS_SCOPE_KIND, SUBNETPOOL, SUBNETPOOL_KIND};
use super::rbac::{self, SHARED};
use super::subnets::SUBNET;
use crate::caller::Caller;
use crate::config::Config;
use crate::network::fault::Fault;
use crate::network::resource::Rules;
use crate::object::Object;
use crate::state::{State, Tx};

const LENGTHS: [&str; 3] = ["default_prefixlen", "min_prefixlen", "max_prefixlen"];

struct Subnetpools;

impl Rules for Subnetpools {
    fn create(&self, tx: &mut Tx<'_>, _who: &Caller, mut pool: Object) -> Result<Object, Fault> {
        let prefixes = prefixes(&pool)?;
        let version = if prefixes.iter().any(|net| net.addr().is_ipv4()) { 4 } else { 6 };
        pool.set("ip_version", version);
        lengths(&mut pool, version)?;
        if pool.flag("is_default") {
            no_default(tx, version, None)?;
        }
        pool.set("prefixes", shown(&prefixes));
        scope(tx, &pool)?;
        for name in ["default_quota", "address_scope_id"] {
            if !pool.has(name) {
                pool.set(name, Value::Null);
            }
        }
        Ok(pool)
    }

    fn update(
        &self,
        tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        given: &Object,
        mut pool: Object,
    ) -> Result<Object, Fault> {
        let version = before.number("ip_version").unwrap_or(4);
        if given.has("prefixes") {
            let new = prefixes(&pool)?;
            let old: Vec<IpNet> = nets(before);
            if old.iter().any(|old| !new.iter().any(|new| new.contains(old))) {
                return Err(Fault::bad(
                    "IllegalSubnetPoolPrefixUpdate",
                    "Illegal update to prefixes: Existing prefixes must be a subset of the new \
                     prefixes.",
                ));
            }
            if new.iter().any(|net| net.addr().is_ipv4() != (version == 4)) {
                return Err(mixed());
            }
            pool.set("prefixes", shown(&new));
        }
        lengths(&mut pool, version)?;
        if given.flag("is_default") && !before.flag("is_default") {
            no_default(tx, version, Some(before.id()))?;
        }
        if given.has("address_scope_id") || given.has("prefixes") {
            scope(tx, &pool)?;
        }
        Ok(pool)
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, pool: &Object) -> Result<(), Fault> {
        if tx.find_ids(SUBNET.kind, "subnetpool_id", pool.id()).next().is_some() {
            return Err(Fault::bad(
                "SubnetPoolDeleteError",
                "Unable to delete subnet pool: Subnet pool has existing allocations.",
            ));
        }
        rbac::revoke_all(tx, pool.id());
        Ok(())
    }

    fn present(&self, state: &State, _config: &Config, who: &Caller, pool: &mut Object) {
        let shared = pool.flag("shared") || rbac::grants(state, pool.id(), SHARED, who.project());
        pool.set("shared", shared);
        // Neutron shows lengths as texts, except in the answer to an update.
        for name in LENGTHS {
            let text = pool.number(name).map(|length| length.to_string());
            pool.set(name, text);
        }
    }

    fn updated(&self, pool: &Object, shown: &mut Value) {
        let Some(shown) = shown.as_object_mut() else { return };
        for name in LENGTHS {
            shown.insert(name.to_owned(), pool.get(name).clone());
        }
        shown.retain(|name, value| {
            !value.is_null() || !["default_quota", "address_scope_id"].contains(&name.as_str())
        });
    }

    fn visible(&self, state: &State, who: &Caller, pool: &Object) -> bool {
        seen(state, who, pool)
    }
}

struct AddressScopes;

impl Rules for AddressScopes {
    fn update(
        &self,
        _tx: &mut Tx<'_>,
        _who: &Caller,
        before: &Object,
        given: &Object,
        scope: Object,
    ) -> Result<Object, Fault> {
        if before.flag("shared") && given.has("shared") && !given.flag("shared") {
            return Err(Fault::bad(
                "AddressScopeUpdateError",
                format!(
                    "Unable to update address scope {} : Shared address scope can't be unshared.",
                    before.id()
                ),
            ));
        }
        Ok(scope)
    }

    fn delete(&self, tx: &mut Tx<'_>, _who: &Caller, scope: &Object) -> Result<(), Fault> {
        if tx.find_ids(SUBNETPOOL.kind, "address_scope_id", scope.id()).next().is_some() {
            return Err(Fault::conflict(
                "AddressScopeInUse",
                format!(
                    "Unable to complete operation on address scope {}. There are one or more subnet \
                     pools in use on the address scope.",
                    scope.id()
                ),
            ));
        }
        rbac::revoke_all(tx, scope.id());
        Ok(())
    }

    fn visible(&self, state: &State, who: &Caller, scope: &Object) -> bool {
        seen(state, who, scope)
    }
}

fn seen(state: &State, who: &Caller, object: &Object) -> bool {
    who.is_admin()
        || who.is_reader_of(object.project())
        || object.flag("shared")
        || rbac::grants(state, object.id(), SHARED, who.project())
}

/// The prefixes of a pool.
pub fn nets(pool: &Object) -> Vec<IpNet> {
    pool.texts("prefixes").filter_map(|text| text.parse().ok()).collect()
}

fn mixed() -> Fault {
    Fault::bad("PrefixVersionMismatch", "Cannot mix IPv4 and IPv6 prefixes in a subnet pool.")
}

/// The prefixes of a pool, of one family, joined where they touch.
fn prefixes(pool: &Object) -> Result<Vec<IpNet>, Fault> {
    let nets: Vec<IpNet> = nets(pool).iter().map(IpNet::trunc).collect();
    if nets.is_empty() {
        return Err(Fault::bad("EmptySubnetPoolPrefixList", "Empty subnet pool prefix list."));
    }
    if nets.iter().any(|net| net.addr().is_ipv4() != nets[0].addr().is_ipv4()) {
        return Err(mixed());
    }
    Ok(IpNet::aggregate(&nets))
}

fn shown(nets: &[IpNet]) -> Value {
    let texts: BTreeSet<String> = nets.iter().map(ToString::to_string).collect();
    json!(texts)
}

/// The lengths that subnets may have; those not given follow from the family.
fn lengths(pool: &mut Object, version: i64) -> Result<(), Fault> {
    let (least, most) = if version == 4 { (8, 32) } else { (64, 128) };
    let given = |pool: &Object, name: &str, other: i64| pool.number(name).unwrap_or(other);
    let min = given(pool, "min_prefixlen", least);
    let max = given(pool, "max_prefixlen", most);
    let default = given(pool, "default_prefixlen", min);
    let illegal = |kind: &str, length: i64, base: &str, base_length: i64| {
        Err(Fault::bad(
            "IllegalSubnetPoolPrefixBounds",
            format!("Illegal prefix bounds: {kind}={length}, {base}={base_length}."),
        ))
    };
    if min > max {
        return illegal("min_prefixlen", min, "max_prefixlen", max);
    }
    let whole = if version == 4 { 32 } else { 128 };
    if max > whole {
        return illegal("max_prefixlen", max, "ip_version_max", whole);
    }
    if default < min {
        return illegal("default_prefixlen", default, "min_prefixlen", min);
    }
    if default > max {
        return illegal("default_prefixlen", default, "max_prefixlen", max);
    }
    pool.set("min_prefixlen", min);
    pool.set("max_prefixlen", max);
    pool.set("default_prefixlen", default);
    Ok(())
}

/// There is one default pool of each family at most.
fn no_default(tx: &Tx<'_>, version: i64, but: Option<&str>) -> Result<(), Fault> {
    let default = |pool: &Object| {
        pool.flag("is_default")
            && pool.number("ip_version") == Some(version)
            && Some(pool.id()) != but
    };
    if tx.all(SUBNETPOOL.kind).any(|pool| default(&pool)) {
        return Err(Fault::input(
            "A default subnetpool for this IP family has already been set. Only one default may exist \
             per IP family",
        ));
    }
    Ok(())
}

/// The scope is there, of the same family, and none of its pools has the same prefixes.
fn scope(tx: &Tx<'_>, pool: &Object) -> Result<(), Fault> {
    let Some(id) = pool.some_text("address_scope_id") else { return Ok(()) };
    let scope = ADDRESS_SCOPE.known(tx, id)?;
    if scope.number("ip_version") != pool.number("ip_version") {
        return Err(Fault::bad(
            "IllegalSubnetPoolIpVersionAssociationToAddressScope",
            format!(
                "Illegal subnetpool association: subnetpool {} cannot associate with address scope \
                 {id} because subnetpool ip_version is not {}.",
                pool.id(),
                scope.number("ip_version").unwrap_or(4)
            ),
        ));
    }
    let own = nets(pool);
    let overlaps = |other: &Object| {
        let theirs = nets(other);
        own.iter().any(|a| theirs.iter().any(|b| a.contains(b) || b.contains(a)))
    };
    let mut others = tx.find(SUBNETPOOL.kind, "address_scope_id", id);
    if others.any(|other| other.id() != pool.id() && overlaps(&other)) {
        return Err(Fault::conflict(
            "AddressScopePrefixConflict",
            "Failed to associate address scope: subnetpools within an address scope must have unique \
             prefixes.",
        ));
    }
    Ok(())
}
