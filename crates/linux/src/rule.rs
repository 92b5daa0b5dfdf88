//! Rules of policy routing: which packets look into which table.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction as WireAction, RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use crate::error::{Action, Attempt, Object, Result};
use crate::handle::{Ensured, Handle};
use crate::name::IfName;
use crate::route::{Family, Protocol, table};

/// A rule of policy routing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub family: Family,
    /// The lowest is asked first.
    pub priority: u32,
    pub from: Option<IpNet>,
    pub to: Option<IpNet>,
    pub iif: Option<IfName>,
    pub oif: Option<IfName>,
    pub fwmark: Option<Mark>,
    /// Everything but what matches.
    pub invert: bool,
    pub action: RuleAction,
    /// Ignore what the table has, where its prefix is no longer than this.
    pub suppress_prefix_length: Option<u32>,
    pub protocol: Protocol,
    /// Whether the rule has parts this crate does not model; such a rule is kept but not made.
    pub partial: bool,
}

/// A packet's mark, as far as the mask reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub value: u32,
    pub mask: u32,
}

/// What happens to a packet that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleAction {
    /// The table is asked.
    Table(u32),
    /// The table of the VRF that the packet's link belongs to is asked.
    Vrf,
    Goto(u32),
    Nop,
    Blackhole,
    Unreachable,
    Prohibit,
    Other(u8),
}

impl Rule {
    /// A rule that sends all packets of a family to a table.
    pub fn new(family: Family, priority: u32, table: u32) -> Self {
        Self {
            family,
            priority,
            from: None,
            to: None,
            iif: None,
            oif: None,
            fwmark: None,
            invert: false,
            action: RuleAction::Table(table),
            suppress_prefix_length: None,
            protocol: Protocol::BOOT,
            partial: false,
        }
    }

    /// A rule for packets from a network.
    pub fn from(net: IpNet, priority: u32, table: u32) -> Self {
        Self { from: Some(net.trunc()), ..Self::new(Family::of(&net), priority, table) }
    }

    /// A rule for packets to a network.
    pub fn to(net: IpNet, priority: u32, table: u32) -> Self {
        Self { to: Some(net.trunc()), ..Self::new(Family::of(&net), priority, table) }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family, self.priority)?;
        if self.invert {
            f.write_str(" not")?;
        }
        match &self.from {
            Some(from) => write!(f, " from {from}")?,
            None => f.write_str(" from all")?,
        }
        if let Some(to) = &self.to {
            write!(f, " to {to}")?;
        }
        if let Some(iif) = &self.iif {
            write!(f, " iif {iif}")?;
        }
        if let Some(oif) = &self.oif {
            write!(f, " oif {oif}")?;
        }
        if let Some(mark) = &self.fwmark {
            write!(f, " fwmark {:#x}/{:#x}", mark.value, mark.mask)?;
        }
        match self.action {
            RuleAction::Table(number) => write!(f, " table {}", table::word(number)),
            RuleAction::Goto(priority) => write!(f, " goto {priority}"),
            RuleAction::Other(number) => write!(f, " action {number}"),
            action => write!(f, " {}", format!("{action:?}").to_lowercase()),
        }
    }
}

impl Handle {
    /// All rules of both families, by family and priority.
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RuleMessage::default();
            message.header.family = family;
            let answers = self.dump(&RouteNetlinkMessage::GetRule(message), Object::Rule)?;
            rules.extend(answers.iter().filter_map(|answer| match answer {
                RouteNetlinkMessage::NewRule(message) => decode(message),
                _ => None,
            }));
        }
        Ok(rules)
    }

    /// Adds a rule.
    pub fn add_rule(&self, rule: &Rule) -> Result<()> {
        let message = RouteNetlinkMessage::NewRule(encode(rule));
        let attempt = || Attempt::new(Action::Create, Object::Rule, rule);
        self.execute(message, NLM_F_CREATE | NLM_F_EXCL, attempt)
    }

    /// Has a rule.
    pub fn ensure_rule(&self, rule: &Rule) -> Result<Ensured> {
        match self.add_rule(rule) {
            Err(error) if error.is_present() => Ok(Ensured::Unchanged),
            outcome => outcome.map(|()| Ensured::Created),
        }
    }

    /// Deletes a rule, and says whether it was there.
    pub fn delete_rule(&self, rule: &Rule) -> Result<bool> {
        let message = RouteNetlinkMessage::DelRule(encode(rule));
        let attempt = || Attempt::new(Action::Delete, Object::Rule, rule);
        match self.execute(message, 0, attempt) {
            Err(error) if error.is_absent() => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }
}

fn encode(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = rule.family.wire();
    message.header.flags.set(RuleFlags::Invert, rule.invert);
    let attributes = &mut message.attributes;
    attributes.push(RuleAttribute::Priority(rule.priority));
    if let Some(from) = rule.from {
        message.header.src_len = from.prefix_len();
        attributes.push(RuleAttribute::Source(from.addr()));
    }
    if let Some(to) = rule.to {
        message.header.dst_len = to.prefix_len();
        attributes.push(RuleAttribute::Destination(to.addr()));
    }
    attributes.extend(rule.iif.as_ref().map(|name| RuleAttribute::Iifname(name.to_string())));
    attributes.extend(rule.oif.as_ref().map(|name| RuleAttribute::Oifname(name.to_string())));
    if let Some(mark) = rule.fwmark {
        attributes.push(RuleAttribute::FwMark(mark.value));
        attributes.push(RuleAttribute::FwMask(mark.mask));
    }
    attributes.extend(rule.suppress_prefix_length.map(RuleAttribute::SuppressPrefixLen));
    attributes.push(RuleAttribute::Protocol(RouteProtocol::from(rule.protocol.0)));
    message.header.action = match rule.action {
        RuleAction::Table(table) => {
            attributes.push(RuleAttribute::Table(table));
            WireAction::ToTable
        }
        RuleAction::Vrf => {
            attributes.push(RuleAttribute::L3MDev(true));
            WireAction::ToTable
        }
        RuleAction::Goto(priority) => {
            attributes.push(RuleAttribute::Goto(priority));
            WireAction::Goto
        }
        RuleAction::Nop => WireAction::Nop,
        RuleAction::Blackhole => WireAction::Blackhole,
        RuleAction::Unreachable => WireAction::Unreachable,
        RuleAction::Prohibit => WireAction::Prohibit,
        RuleAction::Other(number) => WireAction::Other(number),
    };
    message
}

pub(crate) fn decode(message: &RuleMessage) -> Option<Rule> {
    let header = &message.header;
    let family = Family::from_wire(header.family)?;
    let net = |ip: &IpAddr, length| IpNet::new(*ip, length).ok();
    let mut rule = Rule::new(family, 0, u32::from(header.table));
    rule.protocol = Protocol::UNSPEC;
    rule.invert = header.flags.contains(RuleFlags::Invert);
    let (mut table, mut goto, mut vrf) = (u32::from(header.table), 0, false);
    let (mut mark, mut mask) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Priority(priority) => rule.priority = *priority,
            RuleAttribute::Source(ip) => rule.from = net(ip, header.src_len),
            RuleAttribute::Destination(ip) => rule.to = net(ip, header.dst_len),
            RuleAttribute::Iifname(name) => rule.iif = Some(IfName::from_kernel(name)),
            RuleAttribute::Oifname(name) => rule.oif = Some(IfName::from_kernel(name)),
            RuleAttribute::FwMark(value) => mark = Some(*value),
            RuleAttribute::FwMask(value) => mask = Some(*value),
            RuleAttribute::Table(number) => table = *number,
            RuleAttribute::Goto(priority) => goto = *priority,
            RuleAttribute::L3MDev(on) => vrf = *on,
            RuleAttribute::Protocol(protocol) => rule.protocol = Protocol(u8::from(*protocol)),
            // All bits set is the kernel's way to say none.
            RuleAttribute::SuppressPrefixLen(length) => {
                rule.suppress_prefix_length = (*length != u32::MAX).then_some(*length);
            }
            RuleAttribute::SuppressIfGroup(u32::MAX) | RuleAttribute::Other(_) => {}
            _ => rule.partial = true,
        }
    }
    if header.tos != 0 {
        rule.partial = true;
    }
    rule.fwmark = match (mark, mask) {
        (None | Some(0), None | Some(0)) => None,
        (mark, mask) => Some(Mark { value: mark.unwrap_or(0), mask: mask.unwrap_or(u32::MAX) }),
    };
    rule.action = match header.action {
        WireAction::ToTable if vrf => RuleAction::Vrf,
        WireAction::ToTable => RuleAction::Table(table),
        WireAction::Goto => RuleAction::Goto(goto),
        WireAction::Nop => RuleAction::Nop,
        WireAction::Blackhole => RuleAction::Blackhole,
        WireAction::Unreachable => RuleAction::Unreachable,
        WireAction::Prohibit => RuleAction::Prohibit,
        other => RuleAction::Other(u8::from(other)),
    };
    Some(rule)
}
