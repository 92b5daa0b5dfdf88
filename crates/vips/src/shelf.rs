//! The next address of one pool and family.
//!
//! MetalLB walks the pool from its first address and takes the first one that nobody uses, or whose
//! users share it. So the answer is the lower one of two that can be looked up: the first free
//! address, and the first one used under the same key that has the ports left. Nothing is expanded:
//! a shelf is as large as what is used of it, however large the pool is.

use std::collections::HashMap;
use std::net::IpAddr;

use landbridge_addr::net::Family;
use landbridge_addr::{Pool as Free, RangeSet};

use crate::asked::Sharing;
use crate::config::of_family;
use crate::group::Group;
use crate::{Pool, Port};

/// What one pool has in one family.
#[derive(Clone, Debug)]
pub struct Shelf {
    free: Free,
    groups: HashMap<Sharing, Group>,
}

impl Shelf {
    /// A shelf nothing of which is used.
    pub fn new(pool: &Pool, family: Family) -> Self {
        let free = Free::new(&of_family(pool, family), RangeSet::new(), pool.skip());
        Self { free, groups: HashMap::new() }
    }

    /// The next address for somebody with these ports.
    pub fn next(&self, sharing: &Sharing, ports: &[Port]) -> Option<IpAddr> {
        let free = self.free.lowest().and_then(|address| self.free.position(address));
        let group = self.groups.get(sharing).filter(|_| sharing.is_shared());
        let shared = group.and_then(|group| group.first_with_room(ports));
        let first = [free, shared].into_iter().flatten().min()?;
        self.free.address(first)
    }

    /// The address is not to be had, because others than Services have it.
    pub(crate) fn block(&mut self, address: IpAddr) {
        self.free.take(address);
    }

    /// The address is to be had again.
    pub(crate) fn unblock(&mut self, address: IpAddr) {
        self.free.release(address);
    }

    /// The address is used, under these conditions and with these ports.
    pub(crate) fn enter<'a>(
        &mut self,
        address: IpAddr,
        sharing: &Sharing,
        ports: impl Iterator<Item = &'a Port>,
    ) {
        let Some(at) = self.free.position(address) else { return };
        self.free.take(address);
        if sharing.is_shared() {
            let group = self.groups.entry(sharing.clone()).or_default();
            group.add(at);
            ports.for_each(|port| group.use_port(at, *port));
        }
    }

    /// The address is no longer used under these conditions.
    pub(crate) fn leave<'a>(
        &mut self,
        address: IpAddr,
        sharing: &Sharing,
        ports: impl Iterator<Item = &'a Port>,
    ) {
        let Some(at) = self.free.position(address) else { return };
        if let Some(group) = self.groups.get_mut(sharing) {
            ports.for_each(|port| group.free_port(at, *port));
            group.remove(at);
            if group.is_empty() {
                self.groups.remove(sharing);
            }
        }
        self.free.release(address);
    }

    /// A port of an address in use was taken or given back.
    pub(crate) fn port(&mut self, address: IpAddr, sharing: &Sharing, port: Port, used: bool) {
        let Some(at) = self.free.position(address) else { return };
        if let Some(group) = self.groups.get_mut(sharing) {
            if used {
                group.use_port(at, port);
            } else {
                group.free_port(at, port);
            }
        }
    }
}
