//! Which TCP connections may stay, without IO.
//!
//! Connections are cheap to open and to leave open. So nobody is turned away because others idle: when
//! there are too many, of one source or in all, the one that has been idle longest is closed. Only
//! connections with a query in work are never closed for a new one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// What becomes of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Take,
    /// Take it, and close this one.
    Instead(u64),
    Refuse,
}

#[derive(Debug)]
struct Guest {
    source: IpAddr,
    /// Since when nothing is in work for it.
    idle: Option<Duration>,
}

/// All connections.
#[derive(Debug)]
pub struct Crowd {
    guests: BTreeMap<u64, Guest>,
    most: usize,
    most_per_source: usize,
}

impl Crowd {
    pub fn new(most: usize, most_per_source: usize) -> Self {
        Self { guests: BTreeMap::new(), most, most_per_source }
    }

    pub fn len(&self) -> usize {
        self.guests.len()
    }

    /// A connection comes.
    pub fn enter(&mut self, number: u64, source: IpAddr, now: Duration) -> Admission {
        let of_source = self.guests.values().filter(|guest| guest.source == source).count();
        let admission = if of_source >= self.most_per_source {
            self.longest_idle(|guest| guest.source == source)
        } else if self.guests.len() >= self.most {
            self.longest_idle(|_| true)
        } else {
            Admission::Take
        };
        if let Admission::Instead(other) = admission {
            self.guests.remove(&other);
        }
        if admission != Admission::Refuse {
            self.guests.insert(number, Guest { source, idle: Some(now) });
        }
        admission
    }

    /// A connection got busy, or has nothing in work any more.
    pub fn working(&mut self, number: u64, working: bool, now: Duration) {
        if let Some(guest) = self.guests.get_mut(&number) {
            guest.idle = (!working).then_some(now);
        }
    }

    pub fn leave(&mut self, number: u64) {
        self.guests.remove(&number);
    }

    fn longest_idle(&self, which: impl Fn(&Guest) -> bool) -> Admission {
        let idle = self.guests.iter().filter(|(_, guest)| which(guest));
        let oldest = idle.filter_map(|(number, guest)| Some((guest.idle?, *number))).min();
        oldest.map_or(Admission::Refuse, |(_, number)| Admission::Instead(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_longest_idle_one_goes_and_one_at_work_never() {
        let mut crowd = Crowd::new(3, 3);
        assert_eq!(crowd.enter(1, source(1), at(1)), Admission::Take);
        assert_eq!(crowd.enter(2, source(2), at(2)), Admission::Take);
        assert_eq!(crowd.enter(3, source(3), at(3)), Admission::Take);
        crowd.working(1, true, at(4));
        assert_eq!(crowd.enter(4, source(4), at(5)), Admission::Instead(2));
        crowd.working(1, false, at(6));
        assert_eq!(crowd.enter(5, source(5), at(7)), Admission::Instead(3), "1 was at work since");
        for number in [1, 4, 5] {
            crowd.working(number, true, at(8));
        }
        assert_eq!(crowd.enter(6, source(6), at(9)), Admission::Refuse);
        crowd.leave(4);
        assert_eq!(crowd.enter(6, source(6), at(10)), Admission::Take);
        assert_eq!(crowd.len(), 3);
    }

    #[test]
    fn one_source_closes_only_its_own() {
        let mut crowd = Crowd::new(100, 2);
        crowd.enter(1, source(1), at(1));
        crowd.enter(2, source(2), at(2));
        crowd.enter(3, source(2), at(3));
        assert_eq!(crowd.enter(4, source(2), at(4)), Admission::Instead(2));
        crowd.working(3, true, at(5));
        crowd.working(4, true, at(5));
        assert_eq!(crowd.enter(5, source(2), at(6)), Admission::Refuse);
        assert_eq!(crowd.enter(6, source(3), at(7)), Admission::Take);
    }
}
