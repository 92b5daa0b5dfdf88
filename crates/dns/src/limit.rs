//! How many replies one network gets: so that nobody makes us flood somebody else in his name.
//!
//! A sender of a UDP datagram can be forged. Who is sent more replies than agreed gets every second
//! one of the rest cut to nothing but "ask by TCP" (which a forger can not, and a true client does), and
//! the others not at all.
//!
//! Readers never lock: each network's account is one number, the time up to which its replies are
//! paid for (the generic cell rate algorithm). Networks share accounts by a hash nobody can guess; the
//! table never grows.

use std::hash::{BuildHasher as _, Hasher as _};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldhash::quality::RandomState;

/// Accounts: half a megabyte.
const ACCOUNTS: usize = 1 << 16;
/// Networks that share an account: those of one link, as a rule.
const PREFIX_V4: u32 = 24;
const PREFIX_V6: u32 = 56;

/// What becomes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Send,
    /// Only "ask by TCP".
    Slip,
    Drop,
}

/// The accounts.
#[derive(Debug)]
pub struct Limiter {
    accounts: Box<[AtomicU64]>,
    hasher: RandomState,
    /// Nanoseconds that a reply costs; 0 when there is no limit.
    cost: u64,
    refused: AtomicU64,
}

impl Limiter {
    /// So many replies a second for each network, and as many at once after a pause; 0 for no limit.
    pub fn new(replies_per_second: u32) -> Self {
        let cost = 1_000_000_000_u64.checked_div(replies_per_second.into()).unwrap_or(0);
        let count = if cost == 0 { 0 } else { ACCOUNTS };
        Self {
            accounts: (0..count).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::default(),
            cost,
            refused: AtomicU64::new(0),
        }
    }

    /// Charges one reply to the network of `source`.
    pub fn charge(&self, source: IpAddr, now: Duration) -> Verdict {
        let Some(account) = self.account(source) else { return Verdict::Send };
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX / 2);
        // A second's worth may be spent ahead.
        let credit = 1_000_000_000;
        let charged = account.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |paid| {
            let next = paid.max(now) + self.cost;
            (next <= now + credit).then_some(next)
        });
        match charged {
            Ok(_) => Verdict::Send,
            Err(_) if self.refused.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => {
                Verdict::Slip
            }
            Err(_) => Verdict::Drop,
        }
    }

    fn account(&self, source: IpAddr) -> Option<&AtomicU64> {
        if self.accounts.is_empty() {
            return None;
        }
        let mut hasher = self.hasher.build_hasher();
        match source {
            IpAddr::V4(address) => hasher.write_u32(address.to_bits() >> (32 - PREFIX_V4)),
            IpAddr::V6(address) => hasher.write_u128(address.to_bits() >> (128 - PREFIX_V6)),
        }
        self.accounts
            .get(usize::try_from(hasher.finish()).unwrap_or(usize::MAX) % self.accounts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_gets_its_share_and_the_rest_is_cut_or_dropped() {
        let limiter = Limiter::new(100);
        let mut now = Duration::from_secs(50);
        let mut counts = [0; 3];
        for _ in 0..1000 {
            counts[limiter.charge(ip("192.0.2.1"), now) as usize] += 1;
        }
        assert_eq!(counts, [100, 450, 450], "a second's worth at once");
        // The same network by another address, and another network.
        assert_ne!(limiter.charge(ip("192.0.2.200"), now), Verdict::Send);
        assert_eq!(limiter.charge(ip("198.51.100.1"), now), Verdict::Send);
        now += Duration::from_millis(500);
        let sent =
            (0..1000).filter(|_| limiter.charge(ip("192.0.2.1"), now) == Verdict::Send).count();
        assert_eq!(sent, 50);
    }

    #[test]
    fn a_steady_client_below_the_limit_never_notices() {
        let limiter = Limiter::new(1000);
        for step in 0..10_000_u64 {
            let now = Duration::from_micros(1_001 * step);
            assert_eq!(limiter.charge(ip("2001:db8::1"), now), Verdict::Send, "reply {step}");
        }
    }

    #[test]
    fn without_a_limit_everything_is_sent() {
        let limiter = Limiter::new(0);
        assert!(
            (0..10_000).all(|_| limiter.charge(ip("192.0.2.1"), Duration::ZERO) == Verdict::Send)
        );
    }
}
