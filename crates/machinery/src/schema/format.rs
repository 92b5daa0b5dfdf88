//! `format`: the named shapes of texts and numbers, judged as kube-openapi judges them.
//!
//! Formats upstream does not know are ignored, as it ignores them. Where kube-openapi is odd (an
//! IPv4 address in IPv6 clothes passes as either; an empty text is no base64) so are we.

mod time;

use std::net::IpAddr;

use serde_json::Number;

use self::time::{is_date, is_date_time, is_go_duration, is_worded_duration};
use super::number;

/// A format we check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Date,
    DateTime,
    Duration,
    Byte,
    Uuid,
    Email,
    Hostname,
    Uri,
    Int32,
    Int64,
    Float,
}

impl Format {
    /// A format by its name; `None` for those nobody checks (`double`, `password`, inventions).
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "date" => Self::Date,
            "date-time" | "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "byte" => Self::Byte,
            "uuid" => Self::Uuid,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "uri" => Self::Uri,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float" => Self::Float,
            _ => return None,
        })
    }

    /// The name, as messages show it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Cidr => "cidr",
            Self::Mac => "mac",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Duration => "duration",
            Self::Byte => "byte",
            Self::Uuid => "uuid",
            Self::Email => "email",
            Self::Hostname => "hostname",
            Self::Uri => "uri",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
        }
    }

    /// Whether a text has this format. Formats of numbers say nothing about texts.
    pub(super) fn fits_text(self, text: &str) -> bool {
        match self {
            Self::Ipv4 => text.contains('.') && text.parse::<IpAddr>().is_ok(),
            Self::Ipv6 => text.contains(':') && text.parse::<IpAddr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_go_duration(text) || is_worded_duration(text),
            Self::Byte => is_base64(text),
            Self::Uuid => is_uuid(text),
            Self::Email => is_email(text),
            Self::Hostname => is_hostname(text),
            Self::Uri => is_uri(text),
            Self::Int32 | Self::Int64 | Self::Float => true,
        }
    }

    /// Whether a number fits into this format. Formats of texts say nothing about numbers.
    pub(super) fn fits_number(self, value: &Number) -> bool {
        let integer = number::integer(value);
        match self {
            Self::Int32 => integer.is_none_or(|v| i32::try_from(v).is_ok()),
            Self::Int64 => integer.is_none_or(|v| i64::try_from(v).is_ok()),
            Self::Float => value.as_f64().is_none_or(|v| v.abs() <= f64::from(f32::MAX)),
            _ => true,
        }
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    all_digits(length) && length.parse::<u8>().is_ok_and(|length| length <= most)
}

fn is_mac(text: &str) -> bool {
    let pairs = |separator: char| {
        let groups: Vec<&str> = text.split(separator).collect();
        matches!(groups.len(), 6 | 8 | 20)
            && groups.iter().all(|g| g.len() == 2 && g.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let quads = || {
        let groups: Vec<&str> = text.split('.').collect();
        matches!(groups.len(), 3 | 4 | 10)
            && groups.iter().all(|g| g.len() == 4 && g.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    pairs(':') || pairs('-') || quads()
}

fn is_base64(text: &str) -> bool {
    use base64::Engine as _;
    !text.is_empty() && base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

fn is_uuid(text: &str) -> bool {
    // Each hyphen may be missing.
    let mut rest = text;
    for (i, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else { return false };
        if !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_email(text: &str) -> bool {
    // `Name <user@host>` is an address too.
    let address = match text.trim().strip_suffix('>') {
        Some(named) => match named.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let Some((user, host)) = address.rsplit_once('@') else { return false };
    let atom = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let atoms = |text: &str| text.split('.').all(|part| !part.is_empty() && part.chars().all(atom));
    let quoted = user.len() > 2 && user.starts_with('"') && user.ends_with('"');
    let literal = host.starts_with('[') && host.ends_with(']');
    (atoms(user) || quoted) && (atoms(host) || literal)
}

fn is_hostname(text: &str) -> bool {
    let allowed =
        |c: char| c.is_ascii_alphanumeric() || c == '-' || (!c.is_ascii() && !c.is_control());
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(allowed)
    };
    let last_is_long_enough = match text.rsplit_once('.') {
        Some((_, last)) => last.chars().count() >= 2,
        None => true,
    };
    text.len() <= 255 && text.split('.').all(label) && last_is_long_enough
}

/// What Go's `url.ParseRequestURI` takes: an absolute URI or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let host =
        rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    scheme_fits && host.is_none_or(|host| !host.contains([' ', '<', '>', '"', '\\', '^', '`']))
}

/// Every `%` is followed by two hexadecimal digits.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit()))
}
