//! Routes and rules of a desired state.

use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_linux::route::{Family, Protocol, RouteKind, table};
use landbridge_linux::rule::{Mark, RuleAction};
use landbridge_linux::{IfName, Route, Rule, Scope};
use serde_json::Value;

use crate::error::Fault;
use crate::fields::Fields;

/// Where rules without a priority go, as in nmstate.
const DEFAULT_PRIORITY: u32 = 30_000;

/// A route that is to be, or a pattern of routes that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteWish {
    pub place: String,
    pub absent: bool,
    pub destination: Option<IpNet>,
    pub link: Option<IfName>,
    pub gateway: Option<IpAddr>,
    pub table: Option<u32>,
    pub metric: Option<u32>,
    pub source: Option<IpAddr>,
    pub mtu: Option<u32>,
    pub kind: Option<RouteKind>,
}

const KINDS: [(&str, RouteKind); 3] = [
    ("blackhole", RouteKind::Blackhole),
    ("unreachable", RouteKind::Unreachable),
    ("prohibit", RouteKind::Prohibit),
];

impl RouteWish {
    pub(super) fn parse(place: &str, value: &Value) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, place)?;
        let absent = fields.word("state", &[("absent", true), ("ignore", false)])?;
        if absent == Some(false) {
            return Err(fields.fault("state", "ignore is not supported: leave the route out"));
        }
        // 0 is nmstate's word for the main table, -1 for the metric nobody chose.
        let table = fields.number::<u32>("table-id", 0..=i64::from(u32::MAX))?;
        let metric = fields.number::<i64>("metric", -1..=i64::from(u32::MAX))?;
        let link = fields.text("next-hop-interface")?.filter(|name| !name.is_empty());
        let link = link.map(|name| IfName::new(&name)).transpose();
        let gateway = fields.text("next-hop-address")?.filter(|ip| !ip.is_empty());
        let wish = Self {
            place: place.to_owned(),
            absent: absent == Some(true),
            destination: network(&mut fields, "destination")?,
            link: link.map_err(|why| fields.fault("next-hop-interface", why.to_string()))?,
            gateway: gateway
                .map(|ip| ip.parse::<IpAddr>())
                .transpose()
                .map_err(|why| fields.fault("next-hop-address", why.to_string()))?
                .filter(|ip| !ip.is_unspecified()),
            table: table.map(|number| if number == 0 { table::MAIN } else { number }),
            metric: metric.and_then(|metric| u32::try_from(metric).ok()),
            source: fields.parse("source")?,
            mtu: fields.number("mtu", 68..=65_536)?,
            kind: fields.word("route-type", &KINDS)?,
        };
        wish.check(&fields)?;
        fields.finish(&[
            "weight", "cwnd", "initcwnd", "initrwnd", "quickack", "advmss", "lock-mtu", "vrf-name",
        ])?;
        Ok(wish)
    }

    fn check(&self, fields: &Fields<'_>) -> Result<(), Fault> {
        if let Some(destination) = self.destination {
            let mixed = |ip: IpAddr| ip.is_ipv4() != destination.addr().is_ipv4();
            for (key, ip) in [("next-hop-address", self.gateway), ("source", self.source)] {
                if let Some(ip) = ip.filter(|ip| mixed(*ip)) {
                    let why = format!("{ip} is of another family than {destination}");
                    return Err(fields.fault(key, why));
                }
            }
        }
        if self.absent {
            return Ok(());
        }
        if self.destination.is_none() {
            return Err(fields.fault("destination", "a route needs a destination"));
        }
        match (self.kind, &self.link, self.gateway) {
            (None, None, _) => {
                Err(fields.fault("next-hop-interface", "a route needs the interface it leaves by"))
            }
            (Some(_), None, None) | (None, Some(_), _) => Ok(()),
            (Some(_), ..) => {
                Err(fields.fault("route-type", "such a route has neither interface nor gateway"))
            }
        }
    }

    /// The route to be made.
    pub fn route(&self) -> Option<Route<IfName>> {
        let destination = self.destination?;
        let mut route = match (&self.link, self.kind) {
            (_, Some(kind)) => Route { kind, ..Route::blackhole(destination) },
            (Some(link), None) => Route::dev(destination, link.clone()),
            (None, None) => return None,
        };
        if self.gateway.is_some() {
            route.gateway = self.gateway;
            route.scope = Scope::Global;
        }
        route.table = self.table.unwrap_or(table::MAIN);
        route.metric = self.metric;
        route.source = self.source;
        route.mtu = self.mtu;
        Some(route)
    }

    /// Whether a route is what is meant; what is not given matches anything, but for the table of
    /// a route that is to be.
    pub fn matches(&self, route: &Route<IfName>) -> bool {
        let table = self.table.or((!self.absent).then_some(table::MAIN));
        // Several ways in one route: each is a route of its own here.
        let mut ways = route
            .multipath
            .iter()
            .map(|hop| (Some(&hop.link), hop.gateway))
            .chain(route.multipath.is_empty().then_some((route.link.as_ref(), route.gateway)));
        given(self.destination.as_ref(), &route.destination)
            && given(table.as_ref(), &route.table)
            && given(self.metric.as_ref(), &route.metric.unwrap_or(0))
            && (self.source.is_none() || self.source == route.source)
            && (self.mtu.is_none() || self.mtu == route.mtu)
            && (self.absent && self.kind.is_none()
                || self.kind.unwrap_or(RouteKind::Unicast) == route.kind)
            && ways.any(|(link, gateway)| {
                (self.link.is_none() || self.link.as_ref() == link)
                    && (self.absent && self.gateway.is_none() || self.gateway == gateway)
            })
    }
}

fn given<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}

/// A network; host bits are dropped, as the kernel does, and a lone address is itself.
fn network(fields: &mut Fields<'_>, key: &'static str) -> Result<Option<IpNet>, Fault> {
    let Some(text) = fields.text(key)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let net = text.parse::<IpNet>().ok().or_else(alone);
    match net {
        Some(net) => Ok(Some(net.trunc())),
        None => Err(fields.fault(key, format!("{text:?} is no network, such as 192.0.2.0/24"))),
    }
}

/// A rule that is to be, or a pattern of rules that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWish {
    pub place: String,
    pub absent: bool,
    pub family: Option<Family>,
    pub from: Option<IpNet>,
    pub to: Option<IpNet>,
    pub priority: Option<u32>,
    pub table: Option<u32>,
    pub fwmark: Option<u32>,
    pub fwmask: Option<u32>,
    pub iif: Option<IfName>,
    pub action: Option<RuleAction>,
    pub suppress_prefix_length: Option<u32>,
}

impl RuleWish {
    pub(super) fn parse(place: &str, value: &Value) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, place)?;
        let priority = fields.number::<i64>("priority", -1..=i64::from(u32::MAX))?;
        let table = fields.number::<u32>("route-table", 0..=i64::from(u32::MAX))?;
        let absent = fields.word("state", &[("absent", true)])?;
        let actions = [
            ("blackhole", RuleAction::Blackhole),
            ("unreachable", RuleAction::Unreachable),
            ("prohibit", RuleAction::Prohibit),
        ];
        let mut wish = Self {
            place: place.to_owned(),
            absent: absent.is_some(),
            family: fields.word("family", &[("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)])?,
            from: network(&mut fields, "ip-from")?,
            to: network(&mut fields, "ip-to")?,
            priority: priority.and_then(|priority| u32::try_from(priority).ok()),
            table: table.map(|number| if number == 0 { table::MAIN } else { number }),
            fwmark: fields.number("fwmark", 0..=i64::from(u32::MAX))?,
            fwmask: fields.number("fwmask", 0..=i64::from(u32::MAX))?,
            iif: fields.parse("iif")?,
            action: fields.word("action", &actions)?,
            suppress_prefix_length: fields.number("suppress-prefix-length", 0..=128)?,
        };
        let families = [wish.from, wish.to].into_iter().flatten().map(|net| Family::of(&net));
        for family in families {
            if wish.family.is_some_and(|told| told != family) {
                let why = format!("the rule speaks of {family} and of another family");
                return Err(fields.fault("family", why));
            }
            wish.family = Some(family);
        }
        if wish.fwmask.is_some() && wish.fwmark.is_none() {
            return Err(fields.fault("fwmask", "a mask needs a fwmark"));
        }
        if !wish.absent && wish.family.is_none() {
            return Err(fields.fault("family", "needed where neither ip-from nor ip-to is given"));
        }
        let says = wish.from.is_some()
            || wish.to.is_some()
            || wish.fwmark.is_some()
            || wish.iif.is_some()
            || wish.suppress_prefix_length.is_some();
        if !wish.absent && !says {
            return Err(fields.fault("ip-from", "a rule for all packets is refused: say which"));
        }
        fields.finish(&[])?;
        Ok(wish)
    }

    fn mark(&self) -> Option<Mark> {
        self.fwmark.map(|value| Mark { value, mask: self.fwmask.unwrap_or(u32::MAX) })
    }

    fn action(&self) -> RuleAction {
        self.action.unwrap_or(RuleAction::Table(self.table.unwrap_or(table::MAIN)))
    }

    /// The rule to be made.
    pub fn rule(&self) -> Option<Rule> {
        let mut rule = Rule::new(self.family?, self.priority.unwrap_or(DEFAULT_PRIORITY), 0);
        rule.from = self.from.filter(|net| net.prefix_len() > 0);
        rule.to = self.to.filter(|net| net.prefix_len() > 0);
        rule.iif.clone_from(&self.iif);
        rule.fwmark = self.mark();
        rule.action = self.action();
        rule.suppress_prefix_length = self.suppress_prefix_length;
        rule.protocol = Protocol::STATIC;
        Some(rule)
    }

    /// Whether a rule is what is meant. A rule that is to be is compared whole, but for a priority
    /// that nobody chose; of a pattern only what is given.
    pub fn matches(&self, rule: &Rule) -> bool {
        if !given(self.family.as_ref(), &rule.family)
            || !given(self.priority.as_ref(), &rule.priority)
        {
            return false;
        }
        let net = |net: Option<IpNet>| net.filter(|net| net.prefix_len() > 0);
        let table = || RuleAction::Table(self.table.unwrap_or(table::MAIN));
        if self.absent {
            return (self.from.is_none() || net(self.from) == rule.from)
                && (self.to.is_none() || net(self.to) == rule.to)
                && (self.fwmark.is_none() || self.mark() == rule.fwmark)
                && (self.iif.is_none() || self.iif == rule.iif)
                && (self.table.is_none() || table() == rule.action)
                && (self.action.is_none() || self.action == Some(rule.action))
                && (self.suppress_prefix_length.is_none()
                    || self.suppress_prefix_length == rule.suppress_prefix_length);
        }
        self.rule().is_some_and(|wanted| {
            let wanted = Rule { priority: rule.priority, protocol: rule.protocol, ..wanted };
            wanted == *rule
        })
    }
}
