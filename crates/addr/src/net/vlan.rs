//! VLAN numbers.

use std::fmt;

/// A VLAN number that may stand in a frame: 1 to 4094.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(u16);

/// The number is neither a VLAN nor 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAVlan;

impl fmt::Display for NotAVlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be between 1 and 4094, or left out for an untagged network")
    }
}

impl std::error::Error for NotAVlan {}

impl VlanId {
    /// Reads the number as manifests give it: 0 says "untagged", as the tag itself does in
    /// IEEE 802.1Q.
    pub fn parse(number: i64) -> Result<Option<Self>, NotAVlan> {
        match u16::try_from(number) {
            Ok(0) => Ok(None),
            Ok(id @ 1..=4094) => Ok(Some(Self(id))),
            _ => Err(NotAVlan),
        }
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlan_zero_is_untagged() {
        assert_eq!(VlanId::parse(0), Ok(None));
        assert_eq!(VlanId::parse(20).unwrap().unwrap().get(), 20);
        assert_eq!(VlanId::parse(4094).unwrap().unwrap().to_string(), "4094");
        for wrong in [-1, 4095, 65_536 + 20, i64::MIN] {
            assert_eq!(VlanId::parse(wrong), Err(NotAVlan), "{wrong}");
        }
    }
}
