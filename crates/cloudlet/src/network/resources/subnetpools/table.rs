//! The attributes of subnet pools and address scopes.

use super::{AddressScopes, Subnetpools};
use crate::network::attribute::{Attribute, Given};
use crate::network::check::Check;
use crate::network::resource::{Resource, Standard};
use crate::network::who::Who;
use crate::state::{Blank, Kind};

pub static SUBNETPOOL_KIND: Kind = Kind {
    name: "subnetpool",
    index: |pool, keys| {
        keys.add("name", pool.text("name"));
        keys.add("project_id", pool.project());
        keys.add("address_scope_id", pool.text("address_scope_id"));
    },
    blanks: &[
        ("description", Blank::Text),
        ("tags", Blank::List),
        ("shared", Blank::False),
        ("is_default", Blank::False),
    ],
};

pub static SUBNETPOOL: Resource = Resource {
    kind: &SUBNETPOOL_KIND,
    single: "subnetpool",
    plural: "subnetpools",
    path: "subnetpools",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::NotEmpty(255), Given::Required).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("prefixes", Check::Cidrs, Given::Required),
        Attribute::open("default_quota", Check::NonNegative, Given::Unset).key(),
        Attribute::shown("ip_version").key(),
        Attribute::open("default_prefixlen", Check::NonNegative, Given::Unset).key(),
        Attribute::open("min_prefixlen", Check::NonNegative, Given::Unset).key(),
        Attribute::open("max_prefixlen", Check::NonNegative, Given::Unset).key(),
        Attribute::open("is_default", Check::Flag, Given::Flag(false)).key().only(Who::Admin),
        Attribute::once("shared", Check::Flag, Given::Flag(false)).key().only(Who::Admin),
        Attribute::open("address_scope_id", Check::UuidOrNull, Given::Unset).key(),
    ],
    not_found: ("SubnetPoolNotFound", "Subnet pool {} could not be found."),
    indexed: &["name", "project_id", "address_scope_id"],
    quota: Some("subnetpool"),
    standard: Standard::FULL,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &Subnetpools,
};

pub static ADDRESS_SCOPE_KIND: Kind = Kind {
    name: "address_scope",
    index: |scope, keys| {
        keys.add("name", scope.text("name"));
        keys.add("project_id", scope.project());
    },
    blanks: &[("name", Blank::Text), ("shared", Blank::False)],
};

pub static ADDRESS_SCOPE: Resource = Resource {
    kind: &ADDRESS_SCOPE_KIND,
    single: "address_scope",
    plural: "address_scopes",
    path: "address-scopes",
    attributes: &[
        Attribute::shown("id").key(),
        Attribute::open("name", Check::Text(255), Given::Text("")).key(),
        Attribute::once("tenant_id", Check::Text(255), Given::Unset).hidden(),
        Attribute::once("project_id", Check::Text(255), Given::Unset).key(),
        Attribute::open("shared", Check::Flag, Given::Flag(false)).key().only(Who::Admin),
        Attribute::once("ip_version", Check::OneOfNumbers(&[4, 6]), Given::Required).key(),
    ],
    not_found: ("AddressScopeNotFound", "Address scope {} could not be found."),
    indexed: &["name", "project_id"],
    quota: None,
    standard: Standard::NONE,
    create: Who::Member,
    update: Who::Member,
    delete: Who::Member,
    rules: &AddressScopes,
};
