//! The records of options, by name.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::FixedState;

use super::table::parent;
use crate::settings::{Rdata, Settings};
use crate::wire::Name;

/// Everything that options say about names.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    names: HashMap<Box<[u8]>, Records, FixedState>,
    addresses: HashMap<IpAddr, (Name, u32), FixedState>,
    /// `*.`, keyed by what comes after it.
    wildcards: HashMap<Box<[u8]>, Alias, FixedState>,
}

/// The records of one name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Records {
    pub cname: Option<Alias>,
    pub addresses: Vec<(IpAddr, u32)>,
    pub others: Vec<Other>,
    /// Whether an NXDOMAIN about it would be wrong: it has records here, or names below it.
    pub exists: bool,
}

impl Records {
    /// Whether there is nothing but records of this type.
    pub fn is_only(&self, rtype: u16) -> bool {
        self.cname.is_none()
            && self.addresses.is_empty()
            && !self.others.is_empty()
            && self.others.iter().all(|other| other.rtype == rtype)
    }
}

/// A target and the TTL.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub target: Name,
    pub ttl: u32,
}

/// A record that is neither an address nor an alias.
#[derive(Debug, Clone)]
pub(crate) struct Other {
    pub rtype: u16,
    pub data: Rdata,
}

impl Local {
    pub fn new(settings: &Settings) -> Self {
        let mut local = Self::default();
        let ttl = settings.local_ttl;
        for cname in &settings.cnames {
            let alias = Alias { target: cname.target.clone(), ttl: cname.ttl.unwrap_or(ttl) };
            if cname.wildcard {
                local.wildcards.insert(cname.alias.lower(), alias);
                local.exists(&cname.alias);
            } else {
                local.exists(&cname.alias).cname = Some(alias);
            }
        }
        for record in &settings.host_records {
            let ttl = record.ttl.unwrap_or(ttl);
            for name in &record.names {
                for &address in &record.addresses {
                    let addresses = &mut local.exists(name).addresses;
                    if !addresses.iter().any(|(other, _)| *other == address) {
                        addresses.push((address, ttl));
                    }
                    local.addresses.entry(address).or_insert_with(|| (name.clone(), ttl));
                }
            }
        }
        for record in &settings.records {
            let other = Other { rtype: record.rtype, data: record.data.clone() };
            local.exists(&record.name).others.push(other);
        }
        local
    }

    /// The records of a name, and the names above it, from now on existing.
    fn exists(&mut self, name: &Name) -> &mut Records {
        let lower = name.lower();
        let mut rest = parent(&lower);
        while let Some(above) = rest {
            self.names.entry(above.into()).or_default().exists = true;
            rest = parent(above);
        }
        let records = self.names.entry(lower.clone()).or_default();
        records.exists = true;
        records
    }

    pub fn find(&self, name: &[u8]) -> Option<&Records> {
        // Most have none at all.
        if self.names.is_empty() { None } else { self.names.get(name) }
    }

    pub fn name_of(&self, address: IpAddr) -> Option<&(Name, u32)> {
        if self.addresses.is_empty() { None } else { self.addresses.get(&address) }
    }

    /// The alias of the nearest wildcard above a name.
    pub fn wildcard(&self, name: &[u8]) -> Option<&Alias> {
        if self.wildcards.is_empty() {
            return None;
        }
        let mut rest = parent(name);
        while let Some(above) = rest {
            if let Some(alias) = self.wildcards.get(above) {
                return Some(alias);
            }
            rest = parent(above);
        }
        None
    }
}
