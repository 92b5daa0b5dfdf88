//! Options that are records: `cname`, `host-record`, `srv-host` and so on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::lines::fields;
use super::{BadOption, Settings};
use crate::hosts::domain_name;
use crate::wire::{Name, rtype};

/// `cname=alias,target[,ttl]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cname {
    /// `*.` at its start is a wildcard, which counts within an `auth-zone` only.
    pub alias: Name,
    pub wildcard: bool,
    pub target: Name,
    pub ttl: Option<u32>,
}

/// `host-record=names,addresses[,ttl]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRecord {
    pub names: Vec<Name>,
    pub addresses: Vec<IpAddr>,
    pub ttl: Option<u32>,
}

/// A record of another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub name: Name,
    pub rtype: u16,
    pub data: Rdata,
}

/// Its data, as far as it matters what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rdata {
    /// As it goes over the wire.
    Bytes(Box<[u8]>),
    /// Bytes, then a name: PTR, MX, SRV, NAPTR.
    Name { before: Box<[u8]>, name: Name },
}

impl Settings {
    pub(super) fn cname(&mut self, value: &str) -> Result<(), BadOption> {
        let mut fields = fields(value);
        let ttl = trailing_ttl(&mut fields);
        let target = fields.pop().unwrap_or_default();
        if fields.is_empty() {
            return Err(BadOption::new("has no target", "write cname=alias,target"));
        }
        let target = domain_name(&target)?;
        for text in fields {
            let (wildcard, rest) = match text.strip_prefix("*.") {
                Some(rest) => (true, rest),
                None => (false, text.as_str()),
            };
            let alias = domain_name(rest)?;
            if self.cnames.iter().any(|other| other.alias == alias && other.wildcard == wildcard) {
                return Err(BadOption::new(
                    format!("{text} is an alias already"),
                    "remove one of the two: a name has one CNAME",
                ));
            }
            if !wildcard && self.leads_to(&target, &alias) {
                return Err(BadOption::new(
                    format!("{text} would be an alias of itself"),
                    "let the last of the chain name a host",
                ));
            }
            self.cnames.push(Cname { alias, wildcard, target: target.clone(), ttl });
        }
        Ok(())
    }

    /// Whether following aliases from `from` comes to `to`.
    fn leads_to(&self, from: &Name, to: &Name) -> bool {
        let mut at = from;
        // There are no loops among those taken before, so this ends.
        loop {
            if at == to {
                return true;
            }
            match self.cnames.iter().find(|cname| !cname.wildcard && cname.alias == *at) {
                Some(cname) => at = &cname.target,
                None => return false,
            }
        }
    }

    pub(super) fn host_record(&mut self, value: &str) -> Result<(), BadOption> {
        let mut fields = fields(value);
        let ttl = trailing_ttl(&mut fields);
        let (mut names, mut addresses) = (Vec::new(), Vec::new());
        for field in fields.iter().filter(|field| !field.is_empty()) {
            match field.parse::<IpAddr>() {
                Ok(address) => addresses.push(address),
                Err(_) => names.push(domain_name(field)?),
            }
        }
        if names.is_empty() || addresses.is_empty() {
            let what = if names.is_empty() { "name" } else { "address" };
            return Err(BadOption::new(
                format!("has no {what}"),
                "write host-record=name,10.0.0.1,fd00::1",
            ));
        }
        self.host_records.push(HostRecord { names, addresses, ttl });
        Ok(())
    }

    /// `_service._proto.domain,[target[,port[,priority[,weight]]]]`.
    pub(super) fn srv_host(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        at_most(&fields, 5, "_service._tcp.domain,target,port,priority,weight")?;
        let mut name = fields[0].clone();
        // `_service._tcp` alone is meant in the domain of `domain=`.
        let labels = name.trim_end_matches('.').split('.').count();
        if let Some(domain) = self.domains.last().filter(|_| labels <= 2) {
            name = format!("{}.{}", name.trim_end_matches('.'), domain.domain);
        }
        let target = match fields.get(1).map(String::as_str) {
            None | Some("" | ".") => Name::root(),
            Some(target) => domain_name(target)?,
        };
        let port = number(fields.get(2), "port", 1)?;
        let priority: u16 = number(fields.get(3), "priority", 0)?;
        let weight: u16 = number(fields.get(4), "weight", 0)?;
        let before = words(&[priority, weight, port]);
        self.record(&name, rtype::SRV, Rdata::Name { before, name: target })
    }

    /// `name[,target[,preference]]`.
    pub(super) fn mx_host(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        at_most(&fields, 3, "name,host,preference")?;
        let target = match (fields.get(1).filter(|target| !target.is_empty()), &self.mx_target) {
            (Some(target), _) => domain_name(target)?,
            (None, Some(target)) => target.clone(),
            (None, None) => {
                return Err(BadOption::new(
                    "names no host that takes the mail",
                    "write mx-host=name,host, or mx-target=host before it",
                ));
            }
        };
        let preference: u16 = number(fields.get(2), "preference", 1)?;
        let before = words(&[preference]);
        self.record(&fields[0], rtype::MX, Rdata::Name { before, name: target })
    }

    /// `name[,text…]`.
    pub(super) fn txt_record(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let mut data = Vec::new();
        for text in &fields[1..] {
            for chunk in text.as_bytes().chunks(255) {
                data.push(u8::try_from(chunk.len()).unwrap_or(u8::MAX));
                data.extend_from_slice(chunk);
            }
        }
        if data.is_empty() {
            data.push(0);
        }
        self.record(&fields[0], rtype::TXT, Rdata::Bytes(data.into()))
    }

    /// `name[,target]`.
    pub(super) fn ptr_record(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        at_most(&fields, 2, "name,target")?;
        let target = match fields.get(1).filter(|target| !target.is_empty()) {
            Some(target) => domain_name(target)?,
            None => Name::root(),
        };
        self.record(&fields[0], rtype::PTR, Rdata::Name { before: Box::default(), name: target })
    }

    /// `name,order,preference,flags,service,regexp[,replacement]`.
    pub(super) fn naptr_record(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        let form = "name,order,preference,flags,service,regexp,replacement";
        at_most(&fields, 7, form)?;
        if fields.len() < 6 {
            return Err(BadOption::new("has too few fields", format!("write {form}")));
        }
        let mut before =
            words(&[number(fields.get(1), "order", 0)?, number(fields.get(2), "preference", 0)?])
                .into_vec();
        for text in &fields[3..6] {
            before.extend(counted(text)?);
        }
        let name = match fields.get(6).filter(|name| !name.is_empty()) {
            Some(name) => domain_name(name)?,
            None => Name::root(),
        };
        self.record(&fields[0], rtype::NAPTR, Rdata::Name { before: before.into(), name })
    }

    /// `name,flags,tag,value`.
    pub(super) fn caa_record(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        at_most(&fields, 4, "name,flags,tag,value")?;
        if fields.len() < 4 {
            return Err(BadOption::new("has too few fields", "write name,flags,tag,value"));
        }
        let flags: u8 = number(fields.get(1), "flags", 0)?;
        let mut data = vec![flags];
        data.extend(counted(&fields[2])?);
        data.extend_from_slice(fields[3].as_bytes());
        self.record(&fields[0], rtype::CAA, Rdata::Bytes(data.into()))
    }

    /// `name,type,[hex]`.
    pub(super) fn dns_rr(&mut self, value: &str) -> Result<(), BadOption> {
        let fields = fields(value);
        at_most(&fields, 3, "name,type,hex")?;
        let bad = || {
            BadOption::new(
                "has no number of a type",
                "write name,65,0001… with the type as a number",
            )
        };
        let rtype: u16 = fields.get(1).and_then(|text| text.parse().ok()).ok_or_else(bad)?;
        let digits: Vec<u8> = fields
            .get(2)
            .map(|hex| hex.bytes().filter(|byte| !matches!(byte, b':' | b' ' | b'\t')).collect())
            .unwrap_or_default();
        let nibble = |byte: u8| char::from(byte).to_digit(16);
        let data: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| match pair {
                [high, low] => u8::try_from(nibble(*high)? * 16 + nibble(*low)?).ok(),
                _ => None,
            })
            .collect();
        let data = data.ok_or_else(|| {
            BadOption::new(
                "the data is not hexadecimal",
                "write two digits for each byte, as in 01:23:45",
            )
        })?;
        self.record(&fields[0], rtype, Rdata::Bytes(data.into()))
    }

    fn record(&mut self, name: &str, rtype: u16, data: Rdata) -> Result<(), BadOption> {
        let record = Record { name: domain_name(name)?, rtype, data };
        if self.records.contains(&record) {
            return Err(BadOption::new("stands here twice", "remove one of the two"));
        }
        self.records.push(record);
        Ok(())
    }
}

/// A number at the end is a TTL.
fn trailing_ttl(fields: &mut Vec<String>) -> Option<u32> {
    let ttl = fields.last()?.parse().ok()?;
    // `10` could be a name, but not where it is the only one left of two.
    if fields.len() > 2 {
        fields.pop();
        return Some(ttl);
    }
    None
}

fn at_most(fields: &[String], most: usize, form: &str) -> Result<(), BadOption> {
    if fields.len() > most {
        return Err(BadOption::new(
            format!("has {} fields, {most} at most", fields.len()),
            format!("write {form}; commas within a text need quotes around it"),
        ));
    }
    Ok(())
}

fn number<T: std::str::FromStr>(text: Option<&String>, what: &str, or: T) -> Result<T, BadOption> {
    match text.map(String::as_str) {
        None | Some("") => Ok(or),
        Some(text) => text.parse().map_err(|_| {
            BadOption::new(format!("{text:?} is no {what}"), "give a number that is not too large")
        }),
    }
}

fn words(words: &[u16]) -> Box<[u8]> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A text with its length before it.
fn counted(text: &str) -> Result<Vec<u8>, BadOption> {
    let length = u8::try_from(text.len()).map_err(|_| {
        BadOption::new(format!("{text:?} is too long"), "use at most 255 characters")
    })?;
    let mut bytes = vec![length];
    bytes.extend_from_slice(text.as_bytes());
    Ok(bytes)
}

/// The bytes of an address.
pub(crate) fn octets(address: IpAddr) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(address) => {
            bytes[..4].copy_from_slice(&Ipv4Addr::octets(&address));
            (bytes, 4)
        }
        IpAddr::V6(address) => (Ipv6Addr::octets(&address), 16),
    }
}
