//! One interface of a desired state.

use landbridge_linux::{IfName, MacAddr};
use serde_json::Value;

use super::{Ipv4Wish, Ipv6Wish, KindWish};
use crate::error::Fault;
use crate::fields::Fields;

/// The kernel keeps at most 255 bytes of an alias; a wire's mark needs some of them.
const MAX_DESCRIPTION: usize = 200;

/// What is wanted of one interface; nothing is to stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Where it stands in the desired state.
    pub place: String,
    pub name: IfName,
    /// Nothing is whatever it is now.
    pub kind: Option<KindWish>,
    pub presence: Presence,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddr>,
    pub copy_mac_from: Option<IfName>,
    /// An empty one takes it away.
    pub description: Option<String>,
    pub promiscuous: Option<bool>,
    /// The inner nothing is to belong to none.
    pub controller: Option<Option<IfName>>,
    pub ipv4: Option<Ipv4Wish>,
    pub ipv6: Option<Ipv6Wish>,
}

/// Whether an interface is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Up,
    Down,
    Absent,
    Ignore,
}

const STATES: [(&str, Presence); 4] = [
    ("up", Presence::Up),
    ("down", Presence::Down),
    ("absent", Presence::Absent),
    ("ignore", Presence::Ignore),
];

/// nmstate's keys that need more than netlink.
const UNSUPPORTED: [&str; 12] = [
    "profile-name",
    "identifier",
    "pci-address",
    "wait-ip",
    "mptcp",
    "ovs-db",
    "802.1x",
    "ethtool",
    "dispatch",
    "alt-names",
    "ethernet",
    "hsr",
];

impl Wish {
    pub(super) fn parse(place: &str, value: &Value) -> Result<Self, Fault> {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = if name.is_empty() { place.to_owned() } else { format!("{place} ({name})") };
        let mut fields = Fields::of(value, &place)?;
        let Some(name) = fields.parse::<IfName>("name")? else {
            return Err(fields.fault("name", "every interface needs a name"));
        };
        let presence = fields.word("state", &STATES)?.unwrap_or(Presence::Up);
        let kind = KindWish::parse(&mut fields)?;
        let controller = fields.text("controller")?;
        let controller = match controller.as_deref() {
            None => None,
            Some("") => Some(None),
            Some(name) => Some(Some(
                IfName::new(name).map_err(|why| fields.fault("controller", why.to_string()))?,
            )),
        };
        let wish = Self {
            kind,
            presence,
            mtu: fields.number("mtu", 68..=65_536)?,
            mac: fields.parse("mac-address")?,
            copy_mac_from: fields.parse("copy-mac-from")?,
            description: fields.text("description")?,
            promiscuous: fields.flag("accept-all-mac-addresses")?,
            controller,
            ipv4: Ipv4Wish::parse(&mut fields)?,
            ipv6: Ipv6Wish::parse(&mut fields)?,
            name,
            place,
        };
        if wish.description.as_ref().is_some_and(|text| text.len() > MAX_DESCRIPTION) {
            let why = format!("at most {MAX_DESCRIPTION} bytes are kept with a link");
            return Err(fields.fault("description", why));
        }
        if wish.mac.is_some() && wish.copy_mac_from.is_some() {
            return Err(fields.fault("copy-mac-from", "mac-address is given, too: choose one"));
        }
        if wish.mac.is_some_and(|mac| mac.0[0] & 1 == 1 || mac.0 == [0; 6]) {
            return Err(fields.fault("mac-address", "it is a group's or no address at all"));
        }
        lldp(&mut fields)?;
        fields.shown_only(&[
            "min-mtu",
            "max-mtu",
            "permanent-mac-address",
            "driver",
            "controller-type",
        ]);
        fields.finish(&UNSUPPORTED)?;
        Ok(wish)
    }
}

/// Nobody here speaks LLDP, so only silence can be had.
fn lldp(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let Some(mut lldp) = fields.object("lldp")? else { return Ok(()) };
    if lldp.flag("enabled")? == Some(true) {
        return Err(lldp.fault("enabled", "LLDP is not supported without NetworkManager"));
    }
    lldp.shown_only(&["neighbors"]);
    lldp.finish(&[])
}
