//! Addresses that are used under one sharing key, and the ports they have left.
//!
//! Wanted is the first address on which none of some ports is used. For every port there is a sorted
//! list of the addresses on which it is used, and there is the sorted list of all addresses. One is
//! contained in the other, so they are equal up to the first address that has the port left, and
//! that place is found by halving:
//!
//! ```text
//!   all        .80 .81 .82 .84 .85
//!   TCP/80     .80 .81 .84            first difference: .82
//! ```
//!
//! A question about one port costs O(log n). With several ports each in turn moves the answer
//! forward until all agree, which is at once when Services with one set of ports share a key.

use std::collections::HashMap;

use landbridge_addr::Position;

use crate::Port;

#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    all: Vec<Position>,
    by_port: HashMap<Port, Vec<Position>>,
}

impl Group {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn add(&mut self, at: Position) {
        insert(&mut self.all, at);
    }

    /// Takes an address out; none of its ports is used any more.
    pub fn remove(&mut self, at: Position) {
        remove(&mut self.all, at);
    }

    pub fn use_port(&mut self, at: Position, port: Port) {
        insert(self.by_port.entry(port).or_default(), at);
    }

    pub fn free_port(&mut self, at: Position, port: Port) {
        if let Some(list) = self.by_port.get_mut(&port) {
            remove(list, at);
            if list.is_empty() {
                self.by_port.remove(&port);
            }
        }
    }

    /// The first address that has all of the ports left.
    pub fn first_with_room(&self, ports: &[Port]) -> Option<Position> {
        let mut found = *self.all.first()?;
        let mut agreed = 0;
        for port in ports.iter().cycle() {
            if agreed == ports.len() {
                break;
            }
            let next = self.first_without(*port, found)?;
            agreed = if next == found { agreed + 1 } else { 1 };
            found = next;
        }
        Some(found)
    }

    /// The first address from `from` on that does not have the port in use.
    fn first_without(&self, port: Port, from: Position) -> Option<Position> {
        let all = &self.all[self.all.partition_point(|at| *at < from)..];
        let used = self.by_port.get(&port).map_or(&[][..], Vec::as_slice);
        let used = &used[used.partition_point(|at| *at < from)..];
        // Equal up to here, and different from here on.
        let (mut equal, mut different) = (0, used.len());
        while equal < different {
            let middle = usize::midpoint(equal, different);
            if used.get(middle) == all.get(middle) {
                equal = middle + 1;
            } else {
                different = middle;
            }
        }
        all.get(equal).copied()
    }
}

fn insert(list: &mut Vec<Position>, at: Position) {
    if let Err(place) = list.binary_search(&at) {
        list.insert(place, at);
    }
}

fn remove(list: &mut Vec<Position>, at: Position) {
    if let Ok(place) = list.binary_search(&at) {
        list.remove(place);
    }
}
