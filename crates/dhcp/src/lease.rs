//! What a server gave, in words a network stack understands.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::message::Message;

/// An address for a while, and what came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub address: Ipv4Net,
    pub server: Ipv4Addr,
    /// Default gateways first to last; empty where classless routes were given, which replace them.
    pub routes: Vec<Route>,
    pub resolvers: Vec<Ipv4Addr>,
    pub domain: Option<String>,
    pub mtu: Option<u16>,
    /// Seconds from the moment it was given.
    pub seconds: u32,
    pub renew: u32,
    pub rebind: u32,
}

/// A route of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub to: Ipv4Net,
    /// Nothing: on the link itself.
    pub via: Option<Ipv4Addr>,
}

/// Where a server says nothing: an hour.
const USUAL_SECONDS: u32 = 3600;
/// RFC 2131 asks clients not to renew more often than that.
const LEAST_SECONDS: u32 = 60;

impl Lease {
    /// Reads an acknowledgement; nothing where it lacks what a lease cannot do without.
    pub fn of(ack: &Message) -> Option<Self> {
        let options = &ack.options;
        if ack.your_address.is_unspecified() {
            return None;
        }
        // Without a mask the class of old times would decide; a host route harms nobody.
        let prefix = options.mask.map_or(Some(32), prefix_of)?;
        let address = Ipv4Net::new(ack.your_address, prefix).ok()?;
        let routes = if options.classless_routes.is_empty() {
            let everywhere = Ipv4Net::default();
            options
                .routers
                .iter()
                .take(1)
                .map(|via| Route { to: everywhere, via: Some(*via) })
                .collect()
        } else {
            let on_link = |via: Ipv4Addr| (!via.is_unspecified()).then_some(via);
            let routes = options.classless_routes.iter();
            routes.map(|(to, via)| Route { to: *to, via: on_link(*via) }).collect()
        };
        let seconds = options.lease_seconds.unwrap_or(USUAL_SECONDS).max(LEAST_SECONDS);
        let (half, most) = (seconds / 2, seconds - seconds / 8);
        let rebind = options.rebind_seconds.filter(|t2| *t2 < seconds).unwrap_or(most);
        let renew = options.renew_seconds.filter(|t1| *t1 < rebind).unwrap_or(half.min(rebind));
        Some(Self {
            address,
            server: options.server?,
            routes,
            resolvers: options.resolvers.clone(),
            domain: options.domain.clone(),
            mtu: options.mtu.filter(|mtu| *mtu >= 68),
            seconds,
            renew,
            rebind,
        })
    }
}

/// The length of a mask; nothing where its ones are not all in front.
fn prefix_of(mask: Ipv4Addr) -> Option<u8> {
    let bits = u32::from(mask);
    let ones = bits.leading_ones();
    (bits.count_ones() == ones).then(|| u8::try_from(ones).ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::Kind;

    fn ack() -> Message {
        let mut ack = Message::reply(Kind::Ack, 1, [2, 0, 0, 0, 0, 1]);
        ack.your_address = Ipv4Addr::new(192, 0, 2, 10);
        ack.options.server = Some(Ipv4Addr::new(192, 0, 2, 1));
        ack.options.mask = Some(Ipv4Addr::new(255, 255, 255, 0));
        ack
    }

    #[test]
    fn classless_routes_replace_the_router() {
        let mut message = ack();
        let gateway = Ipv4Addr::new(192, 0, 2, 1);
        message.options.routers = vec![gateway, Ipv4Addr::new(192, 0, 2, 2)];
        let lease = Lease::of(&message).unwrap();
        assert_eq!(lease.routes, [Route { to: "0.0.0.0/0".parse().unwrap(), via: Some(gateway) }]);
        let near = "198.51.100.0/24".parse().unwrap();
        message.options.classless_routes = vec![(near, Ipv4Addr::UNSPECIFIED)];
        assert_eq!(Lease::of(&message).unwrap().routes, [Route { to: near, via: None }]);
    }

    #[test]
    fn times_are_made_sane() {
        let mut message = ack();
        let lease = Lease::of(&message).unwrap();
        assert_eq!((lease.seconds, lease.renew, lease.rebind), (3600, 1800, 3150));
        message.options.lease_seconds = Some(1);
        message.options.renew_seconds = Some(1_000_000);
        message.options.rebind_seconds = Some(1_000_000);
        let lease = Lease::of(&message).unwrap();
        assert_eq!((lease.seconds, lease.renew, lease.rebind), (60, 30, 53));
    }

    #[test]
    fn half_a_lease_is_none() {
        let mut message = ack();
        message.options.mask = Some(Ipv4Addr::new(255, 0, 255, 0));
        assert_eq!(Lease::of(&message), None);
        let mut message = ack();
        message.options.server = None;
        assert_eq!(Lease::of(&message), None);
        let mut message = ack();
        message.your_address = Ipv4Addr::UNSPECIFIED;
        assert_eq!(Lease::of(&message), None);
    }
}
