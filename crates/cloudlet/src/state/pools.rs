//! Which addresses of a subnet are free: crate `addr`'s pools, made from the state when a subnet is
//! first asked for, and kept from call to call.
//!
//! The state is the truth; this is what would be too slow to compute for each port. A call that
//! fails gives back what it took ([`Pools::undo`]), and a pool that is dropped is made again.

use std::collections::BTreeMap;
use std::net::IpAddr;

use landbridge_addr::Pool;

/// The pools by subnet.
#[derive(Debug, Default)]
pub struct Pools {
    by_subnet: BTreeMap<String, Pool>,
    /// What the call at hand did, to be undone: subnet, address, whether it was taken.
    trail: Vec<(String, IpAddr, bool)>,
    /// Subnets whose pools the call at hand made: they may be of a state that is dropped.
    fresh: Vec<String>,
}

impl Pools {
    /// Whether there is a pool for the subnet.
    pub fn knows(&self, subnet: &str) -> bool {
        self.by_subnet.contains_key(subnet)
    }

    /// Keeps the pool of a subnet, made from the state of the call at hand.
    pub fn learn(&mut self, subnet: &str, pool: Pool) {
        self.fresh.push(subnet.to_owned());
        self.by_subnet.insert(subnet.to_owned(), pool);
    }

    /// The lowest free address.
    pub fn lowest(&self, subnet: &str) -> Option<IpAddr> {
        self.by_subnet.get(subnet)?.lowest()
    }

    /// Takes an address; says whether the pool had it to give.
    pub fn take(&mut self, subnet: &str, address: IpAddr) -> bool {
        let taken = self.by_subnet.get_mut(subnet).is_some_and(|pool| pool.take(address));
        if taken {
            self.trail.push((subnet.to_owned(), address, true));
        }
        taken
    }

    /// Gives an address back.
    pub fn release(&mut self, subnet: &str, address: IpAddr) {
        if self.by_subnet.get_mut(subnet).is_some_and(|pool| pool.release(address)) {
            self.trail.push((subnet.to_owned(), address, false));
        }
    }

    /// Forgets a subnet's pool: its ranges changed, or it is gone.
    pub fn forget(&mut self, subnet: &str) {
        self.by_subnet.remove(subnet);
        self.trail.retain(|(of, _, _)| of != subnet);
    }

    /// The call at hand succeeded.
    pub fn keep(&mut self) {
        self.trail.clear();
        self.fresh.clear();
    }

    /// The call at hand failed: everything is as it was before.
    pub fn undo(&mut self) {
        for (subnet, address, taken) in std::mem::take(&mut self.trail).into_iter().rev() {
            if let Some(pool) = self.by_subnet.get_mut(&subnet) {
                let _ = if taken { pool.release(address) } else { pool.take(address) };
            }
        }
        for subnet in std::mem::take(&mut self.fresh) {
            self.by_subnet.remove(&subnet);
        }
    }
}
