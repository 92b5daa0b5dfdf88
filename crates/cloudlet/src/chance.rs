//! Ids, MAC addresses and choices: randomness comes as an argument, so that a run can be repeated.

use std::fmt::Write as _;

/// Where randomness comes from.
pub trait Chance: Send {
    /// Fills `out` with bytes nobody can guess (or, in tests, that a seed gives).
    fn fill(&mut self, out: &mut [u8]);
}

/// What the services draw.
impl dyn Chance + '_ {
    /// An array of random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }

    /// An id as Neutron and Nova give them (RFC 9562 version 4).
    pub fn uuid(&mut self) -> String {
        let hex = self.hex_id();
        format!("{}-{}-{}-{}-{}", &hex[0..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
    }

    /// An id as Keystone gives them: the same without hyphens.
    pub fn hex_id(&mut self) -> String {
        let mut bytes: [u8; 16] = self.bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        format!("{:032x}", u128::from_be_bytes(bytes))
    }

    /// A MAC address with Neutron's default prefix.
    pub fn mac(&mut self) -> String {
        let [a, b, c]: [u8; 3] = self.bytes();
        format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}")
    }

    /// A number below `limit` (0 for 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        u64::from_le_bytes(self.bytes()).checked_rem(limit).unwrap_or(0)
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}"); // text takes everything
    }
    out
}

/// The kernel's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Chance for System {
    fn fill(&mut self, out: &mut [u8]) {
        if getrandom::fill(out).is_err() {
            // Without a random source two objects could get one id, and tokens could be guessed.
            std::process::abort();
        }
    }
}

/// Numbers that follow from a seed (splitmix64): for tests and replays, never for secrets.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(pub u64);

impl Chance for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_and_they_have_their_form() {
        let draw = |seed: u64| {
            let mut seeded = Seeded(seed);
            let chance: &mut dyn Chance = &mut seeded;
            (chance.uuid(), chance.hex_id(), chance.mac(), chance.below(10))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let (uuid, hex, mac, below) = draw(1);
        assert_eq!((uuid.len(), uuid.as_bytes()[14], hex.len(), mac.len()), (36, b'4', 32, 17));
        assert!(mac.starts_with("fa:16:3e:") && below < 10);
        assert_eq!((&mut Seeded(1) as &mut dyn Chance).below(0), 0);
    }
}
