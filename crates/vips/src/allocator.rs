//! What is used by whom, and whether somebody else may use it, too.
//!
//! The allocator is told what is the case ([`occupy`](Allocator::occupy), [`vacate`](Allocator::vacate),
//! [`hold`](Allocator::hold)) and asked what could be. It decides nothing by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use landbridge_addr::net::Family;

use crate::asked::{Asked, Sharing, quoted};
use crate::config::Config;
use crate::shelf::Shelf;
use crate::{Name, Pool, Port};

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    config: Config,
    shelves: BTreeMap<Name, [Shelf; 2]>,
    used: HashMap<IpAddr, Use>,
    /// How many addresses of each pool are in use, and by how many Services, by family.
    counts: BTreeMap<Name, [Count; 2]>,
    /// Addresses that others than Services have on the wire, and who they are.
    held: HashMap<IpAddr, String>,
    /// Which addresses each Service uses.
    of_service: HashMap<Name, BTreeSet<IpAddr>>,
}

/// What is in use of a pool, in one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Addresses.
    pub addresses: i64,
}

/// Who uses one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Under which conditions.
    pub sharing: Sharing,
    /// The Services, with their ports.
    pub users: BTreeMap<Name, Vec<Port>>,
    /// How many of them have each port; one, unless something went wrong.
    ports: HashMap<Port, usize>,
}

impl Allocator {
    /// The pools from now on. What is used stays used, wherever it is.
    pub fn configure(&mut self, config: Config) {
        self.config = config;
        self.shelves = self
            .config
            .pools()
            .map(|pool| {
                (pool.name.clone(), [Family::V4, Family::V6].map(|family| Shelf::new(pool, family)))
            })
            .collect();
        self.counts.clear();
        let addresses: Vec<IpAddr> = self.used.keys().copied().collect();
        for address in addresses {
            self.shelve(address, true);
        }
        let held: Vec<IpAddr> = self.held.keys().copied().collect();
        for address in held {
            if let Some(shelf) = self.shelf(address) {
                shelf.block(address);
            }
        }
    }

    /// The pools.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A Service uses an address.
    pub fn occupy(&mut self, address: IpAddr, name: &Name, sharing: &Sharing, ports: &[Port]) {
        self.vacate(address, name);
        let is_new = !self.used.contains_key(&address);
        if !is_new && self.used.get(&address).is_some_and(|found| found.sharing != *sharing) {
            self.shelve(address, false);
            if let Some(found) = self.used.get_mut(&address) {
                found.sharing = sharing.clone();
            }
            self.shelve(address, true);
        }
        let found = self.used.entry(address).or_default();
        if is_new {
            found.sharing = sharing.clone();
        }
        let mut ports = ports.to_vec();
        ports.sort_unstable();
        ports.dedup();
        let mut fresh = Vec::new();
        for port in &ports {
            let count = found.ports.entry(*port).or_default();
            *count += 1;
            if *count == 1 {
                fresh.push(*port);
            }
        }
        found.users.insert(name.clone(), ports);
        self.of_service.entry(name.clone()).or_default().insert(address);
        if is_new {
            self.shelve(address, true);
        } else if let Some(shelf) = self.shelf_to_share(address) {
            for port in fresh {
                shelf.port(address, sharing, port, true);
            }
        }
    }

    /// A Service does not use an address any more. Says whether it did.
    pub fn vacate(&mut self, address: IpAddr, name: &Name) -> bool {
        let Some(found) = self.used.get_mut(&address) else { return false };
        let Some(ports) = found.users.get(name).cloned() else { return false };
        let is_last = found.users.len() == 1;
        if is_last {
            self.shelve(address, false);
            self.used.remove(&address);
        } else {
            found.users.remove(name);
            let mut gone = Vec::new();
            for port in ports {
                if let Some(count) = found.ports.get_mut(&port) {
                    *count -= 1;
                    if *count == 0 {
                        found.ports.remove(&port);
                        gone.push(port);
                    }
                }
            }
            let sharing = found.sharing.clone();
            if let Some(shelf) = self.shelf_to_share(address) {
                for port in gone {
                    shelf.port(address, &sharing, port, false);
                }
            }
        }
        if let Some(addresses) = self.of_service.get_mut(name) {
            addresses.remove(&address);
            if addresses.is_empty() {
                self.of_service.remove(name);
            }
        }
        true
    }

    /// Somebody who is no Service has the address on the wire (`Some`), or not any more. Services that
    /// use it keep it, and nobody joins them.
    pub fn hold(&mut self, address: IpAddr, holder: Option<String>) {
        let was_held = self.held.contains_key(&address);
        let is_held = holder.is_some();
        if is_held != was_held && self.used.contains_key(&address) {
            self.show(address, false);
        }
        match holder {
            Some(holder) => {
                self.held.insert(address, holder);
            }
            None => {
                self.held.remove(&address);
            }
        }
        if is_held == was_held {
            return;
        }
        if self.used.contains_key(&address) {
            self.show(address, true);
        } else if let Some(shelf) = self.shelf(address) {
            if is_held { shelf.block(address) } else { shelf.unblock(address) }
        }
    }

    /// Who else has the address on the wire.
    pub fn holder(&self, address: IpAddr) -> Option<&str> {
        self.held.get(&address).map(String::as_str)
    }

    /// All addresses that others have.
    pub fn held(&self) -> impl Iterator<Item = IpAddr> {
        self.held.keys().copied()
    }

    /// Who uses the address.
    pub fn usage(&self, address: IpAddr) -> Option<&Use> {
        self.used.get(&address)
    }

    /// Every address in use.
    pub fn in_use(&self) -> impl Iterator<Item = (IpAddr, &Use)> {
        self.used.iter().map(|(address, found)| (*address, found))
    }

    /// The addresses a Service uses, in order, IPv4 first.
    pub fn of(&self, name: &str) -> Vec<IpAddr> {
        self.of_service.get(name).into_iter().flatten().copied().collect()
    }

    /// How many addresses of a pool are in use.
    pub fn count(&self, pool: &str, family: Family) -> Count {
        let counts = self.counts.get(pool).copied().unwrap_or_default();
        counts[usize::from(family == Family::V6)]
    }

    /// The next address of a pool in a family, for this Service.
    pub(crate) fn next(&self, pool: &str, family: Family, asked: &Asked) -> Option<IpAddr> {
        let shelves = self.shelves.get(pool)?;
        shelves[usize::from(family == Family::V6)].next(&asked.sharing, &asked.ports)
    }

    /// Whether a Service may use these addresses together, and the pool they are of.
    pub fn check(&self, asked: &Asked, addresses: &[IpAddr]) -> Result<&Pool, String> {
        let Some(pool) = self.config.holding(addresses) else {
            return Err(format!("{} is not allowed in config", quoted(addresses)));
        };
        if !self.config.is_for(&pool.name, asked) {
            return Err(format!("pool {} not compatible for ip assignment", pool.name));
        }
        for address in addresses {
            self.check_sharing(asked, *address)?;
        }
        Ok(pool)
    }

    /// Whether a Service may use an address beside those who do.
    fn check_sharing(&self, asked: &Asked, address: IpAddr) -> Result<(), String> {
        let Some(found) = self.used.get(&address) else { return Ok(()) };
        let same = asked.sharing.is_shared() && found.sharing == asked.sharing;
        let mut others = found.users.keys().filter(|user| **user != asked.name).peekable();
        if !same && others.peek().is_some() {
            let others: Vec<&str> = others.map(|user| &**user).collect();
            return Err(format!(
                "can't change sharing key for {:?}, address also in use by {}",
                asked.name,
                others.join(",")
            ));
        }
        let own = found.users.get(&asked.name);
        for port in &asked.ports {
            let mine = usize::from(own.is_some_and(|ports| ports.contains(port)));
            if found.ports.get(port).copied().unwrap_or_default() > mine {
                return Err(format!(
                    "port {}/{} is already in use on \"{address}\"",
                    port.protocol, port.number
                ));
            }
        }
        Ok(())
    }

    fn shelf(&mut self, address: IpAddr) -> Option<&mut Shelf> {
        let name = self.config.around(address)?.name.clone();
        self.shelves.get_mut(&name)?.get_mut(usize::from(address.is_ipv6()))
    }

    /// The shelf on which a used address stands for others to share.
    fn shelf_to_share(&mut self, address: IpAddr) -> Option<&mut Shelf> {
        if self.held.contains_key(&address) { None } else { self.shelf(address) }
    }

    /// Puts a used address on its shelf, or takes it off; and counts it.
    fn shelve(&mut self, address: IpAddr, on: bool) {
        self.show(address, on);
        let Some(pool) = self.config.around(address) else { return };
        if pool.holds(address) && self.used.contains_key(&address) {
            let counts = self.counts.entry(pool.name.clone()).or_default();
            counts[usize::from(address.is_ipv6())].addresses += if on { 1 } else { -1 };
        }
    }

    /// Puts a used address on its shelf, or takes it off. One that others have on the wire is not to be
    /// had either way.
    fn show(&mut self, address: IpAddr, on: bool) {
        let Some(pool) = self.config.around(address) else { return };
        let (Some(found), Some(shelves)) =
            (self.used.get(&address), self.shelves.get_mut(&pool.name))
        else {
            return;
        };
        let shelf = &mut shelves[usize::from(address.is_ipv6())];
        if self.held.contains_key(&address) {
            shelf.block(address);
        } else if on {
            shelf.enter(address, &found.sharing, found.ports.keys());
        } else {
            shelf.leave(address, &found.sharing, found.ports.keys());
        }
    }
}
