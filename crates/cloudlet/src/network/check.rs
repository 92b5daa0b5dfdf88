//! What a value given for an attribute has to be: Neutron's validators and converters, by name.
//!
//! A converter's refusal is a whole fault (`InvalidInput`), a validator's is a reason that the frame
//! puts into `Invalid input for {attribute}. Reason: {reason}.`

mod address;
mod structure;

use serde_json::Value;

pub use self::address::{ip_address, mac, route_cidr, subnet};
use super::fault::Fault;
use super::python;

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The reason, for the frame to put the attribute to.
    Reason(String),
    /// Everything is said.
    Fault(Fault),
}

impl Wrong {
    /// A reason.
    pub fn reason<T>(text: impl Into<String>) -> Result<T, Self> {
        Err(Self::Reason(text.into()))
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The value as it is kept, or why it is refused.
pub type Checked = Result<Value, Wrong>;

/// A check by name.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Anything.
    Any,
    /// Text of at most so many characters.
    Text(usize),
    /// The same, or `null`.
    TextOrNull(usize),
    /// Text that says something.
    NotEmpty(usize),
    /// A truth, in any of the ways Neutron takes one.
    Flag,
    /// The same, or `null`.
    FlagOrNull,
    /// An integer, which may come as text, of these.
    Number(i64, i64),
    /// The same, or `null`.
    NumberOrNull(i64, i64),
    /// An integer from 0.
    NonNegative,
    /// One of these integers.
    OneOfNumbers(&'static [i64]),
    /// One of these texts; the message shows them.
    OneOf(&'static [&'static str]),
    /// The same, or `null`.
    OneOfOrNull(&'static [&'static str]),
    /// A UUID.
    Uuid,
    /// A UUID or `null`.
    UuidOrNull,
    /// Different UUIDs.
    Uuids,
    /// An address.
    Ip,
    /// An address or `null`.
    IpOrNull,
    /// A prefix.
    Cidr,
    /// A prefix or `null`.
    CidrOrNull,
    /// Different prefixes.
    Cidrs,
    /// A MAC address.
    Mac,
    /// A list of `{start, end}`.
    Pools,
    /// A list of `{subnet_id, ip_address}`.
    FixedIps,
    /// A list of addresses.
    Nameservers,
    /// A list of `{destination, nexthop}`.
    HostRoutes,
    /// Different texts.
    Texts(usize),
    /// A dictionary or `null`.
    MapOrNull,
    /// A check of one attribute.
    With(fn(&Value) -> Checked),
}

impl Check {
    /// The value as it is kept.
    pub fn run(self, value: &Value) -> Checked {
        let kept = |reason: Result<(), Wrong>| reason.map(|()| value.clone());
        if value.is_null() && self.takes_null() {
            return Ok(Value::Null);
        }
        match self {
            Self::Any => Ok(value.clone()),
            Self::Text(most) | Self::TextOrNull(most) => kept(text(value, most)),
            Self::NotEmpty(most) => kept(not_empty(value, most)),
            Self::Flag | Self::FlagOrNull => flag(value),
            Self::Number(least, most) | Self::NumberOrNull(least, most) => {
                number(value, least, most)
            }
            Self::NonNegative => non_negative(value),
            Self::OneOfNumbers(among) => one_of_numbers(value, among),
            Self::OneOf(among) => kept(one_of(value, among, false)),
            Self::OneOfOrNull(among) => kept(one_of(value, among, true)),
            Self::Uuid | Self::UuidOrNull => kept(uuid(value)),
            Self::Uuids => kept(structure::list_of(value, uuid)),
            Self::Ip | Self::IpOrNull => address::ip(value),
            Self::Cidr | Self::CidrOrNull => address::cidr(value),
            Self::Cidrs => kept(structure::list_of(value, address::subnet)),
            Self::Mac => address::mac_address(value),
            Self::Pools => structure::pools(value),
            Self::FixedIps => structure::fixed_ips(value),
            Self::Nameservers => structure::nameservers(value),
            Self::HostRoutes => structure::host_routes(value),
            Self::Texts(most) => kept(structure::list_of(value, |item| text(item, most))),
            Self::MapOrNull => kept(structure::dictionary(value)),
            Self::With(check) => check(value),
        }
    }

    fn takes_null(self) -> bool {
        matches!(
            self,
            Self::TextOrNull(_)
                | Self::FlagOrNull
                | Self::NumberOrNull(..)
                | Self::UuidOrNull
                | Self::IpOrNull
                | Self::CidrOrNull
                | Self::MapOrNull
        )
    }
}

/// Text of at most so many characters.
pub fn text(value: &Value, most: usize) -> Result<(), Wrong> {
    let Some(text) = value.as_str() else {
        return Wrong::reason(format!("'{}' is not a valid string", python::str(value)));
    };
    if text.chars().count() > most {
        return Wrong::reason(format!("'{text}' exceeds maximum length of {most}"));
    }
    Ok(())
}

/// Text that says something.
pub fn not_empty(value: &Value, most: usize) -> Result<(), Wrong> {
    text(value, most)?;
    let text = value.as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Wrong::reason(format!("'{text}' Blank strings are not permitted"));
    }
    Ok(())
}

/// A truth.
pub fn flag(value: &Value) -> Checked {
    let wrong = || Fault::input(format!("'{}' cannot be converted to boolean", python::str(value)));
    Ok(python::truth(value).ok_or_else(wrong)?.into())
}

/// An integer within bounds.
pub fn number(value: &Value, least: i64, most: i64) -> Checked {
    let Some(number) = python::int(value) else {
        return Wrong::reason(format!("'{}' is not an integer", python::str(value)));
    };
    if number < least {
        return Wrong::reason(format!("'{number}' is too small - must be at least '{least}'"));
    }
    if number > most {
        return Wrong::reason(format!("'{number}' is too large - must be no larger than '{most}'"));
    }
    Ok(number.into())
}

/// An integer, converted: the refusal is the converter's.
pub fn integer(value: &Value) -> Result<i64, Fault> {
    python::int(value)
        .ok_or_else(|| Fault::input(format!("'{}' is not an integer", python::str(value))))
}

fn non_negative(value: &Value) -> Checked {
    let number = integer(value)?;
    if number < 0 {
        return Wrong::reason(format!("'{number}' should be non-negative"));
    }
    Ok(number.into())
}

fn one_of_numbers(value: &Value, among: &[i64]) -> Checked {
    let number = integer(value)?;
    if !among.contains(&number) {
        return Wrong::reason(format!("{number} is not in valid_values"));
    }
    Ok(number.into())
}

fn one_of(value: &Value, among: &[&str], null: bool) -> Result<(), Wrong> {
    let fits = value.as_str().is_some_and(|text| among.contains(&text));
    if fits || (null && value.is_null()) {
        return Ok(());
    }
    Wrong::reason(format!("{} is not in valid_values", python::str(value)))
}

/// A UUID in any of the ways Python reads one, as long as it is written canonically.
pub fn uuid(value: &Value) -> Result<(), Wrong> {
    if value.as_str().is_some_and(is_uuid) {
        return Ok(());
    }
    Wrong::reason(format!("'{}' is not a valid UUID", python::str(value)))
}

/// Whether the text is a UUID, with or without hyphens, upper or lower case.
pub fn is_uuid(text: &str) -> bool {
    let bare = text.replace("urn:", "").replace("uuid:", "");
    let bare = bare.trim_matches(|c| c == '{' || c == '}').replace('-', "");
    bare.len() == 32 && bare.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
