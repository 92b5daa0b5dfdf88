//! Which names are answered by a rule, and which are asked of whom.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::FixedState;

use crate::settings::{Domain, Route, Settings, Upstream};
use crate::wire::{Key, Name, name_text, rtype};

/// All rules, by domain.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes {
    below: HashMap<Box<[u8]>, Rules, FixedState>,
    /// `*ending`.
    endings: Vec<(String, Rules)>,
    plain: Option<Rules>,
    /// Those without a domain, and those of resolv.conf.
    default: Vec<Upstream>,
}

/// What is said of one domain.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    addresses: Vec<IpAddr>,
    zeros: bool,
    local: bool,
    use_default: bool,
    servers: Vec<Upstream>,
}

/// What the rules say about a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'c> {
    /// `address=`: these, all of the type that was asked for.
    Addresses { addresses: &'c [IpAddr], zeros: bool },
    /// Nobody is asked. The name exists when there is an `address` of another type.
    Local { exists: bool },
    /// These are asked.
    Ask { servers: &'c [Upstream], of_domain: bool },
}

impl Routes {
    pub fn new(settings: &Settings, resolv: &[Upstream]) -> Self {
        let mut routes = Self::default();
        for rule in &settings.rules {
            let rules = match &rule.domain {
                Domain::Below(name) => routes.below.entry(name.lower()).or_default(),
                Domain::Plain => routes.plain.get_or_insert_default(),
                Domain::Ending(text) => {
                    let there = routes.endings.iter().position(|(other, _)| other == text);
                    let at = there.unwrap_or_else(|| {
                        routes.endings.push((text.clone(), Rules::default()));
                        routes.endings.len() - 1
                    });
                    &mut routes.endings[at].1
                }
            };
            match &rule.route {
                Route::Server(server) => rules.servers.push(server.clone()),
                Route::Default => rules.use_default = true,
                Route::Local => rules.local = true,
                Route::Address(address) => rules.addresses.push(*address),
                Route::Zeros => rules.zeros = true,
            }
        }
        routes.default.clone_from(&settings.servers);
        let known = routes.default.len();
        for server in resolv {
            if !routes.default[..known].contains(server) {
                routes.default.push(server.clone());
            }
        }
        routes
    }

    /// What is to be done with a question that nothing else answers.
    pub fn verdict<'c>(&'c self, name: &Key, qtype: u16) -> Verdict<'c> {
        self.matching(name)
            .find_map(|rules| self.apply(rules, qtype))
            .unwrap_or(Verdict::Ask { servers: &self.default, of_domain: false })
    }

    /// Whether a rule with a domain says who is asked about this name.
    pub fn has_server(&self, name: &Key) -> bool {
        self.matching(name).any(|rules| rules.use_default || !rules.servers.is_empty())
    }

    fn apply<'c>(&'c self, rules: &'c Rules, qtype: u16) -> Option<Verdict<'c>> {
        let wanted = |address: &IpAddr| match qtype {
            rtype::A => address.is_ipv4(),
            rtype::AAAA => address.is_ipv6(),
            rtype::ANY => true,
            _ => false,
        };
        let zeros = rules.zeros && matches!(qtype, rtype::A | rtype::AAAA | rtype::ANY);
        if zeros || rules.addresses.iter().any(wanted) {
            return Some(Verdict::Addresses { addresses: &rules.addresses, zeros });
        }
        if rules.local {
            return Some(Verdict::Local { exists: rules.zeros || !rules.addresses.is_empty() });
        }
        if !rules.servers.is_empty() {
            return Some(Verdict::Ask { servers: &rules.servers, of_domain: true });
        }
        rules.use_default.then_some(Verdict::Ask { servers: &self.default, of_domain: false })
    }

    /// The rules for a name, the most specific first.
    fn matching<'c: 'n, 'n>(
        &'c self,
        name: &'n Key,
    ) -> impl Iterator<Item = &'c Rules> + use<'c, 'n> {
        let plain = self.plain.as_ref().filter(|_| name.labels() == 1);
        let whole = self.whole(name).filter(|_| self.endings.is_empty());
        plain.into_iter().chain(whole.map(|(_, rules)| rules)).chain(self.with_endings(name))
    }

    /// Rules of whole labels, the longest first, each with the length of its domain as a text.
    fn whole<'c: 'n, 'n>(
        &'c self,
        name: &'n Key,
    ) -> impl Iterator<Item = (usize, &'c Rules)> + use<'c, 'n> {
        let first = (!self.below.is_empty()).then_some(name.wire());
        std::iter::successors(first, |rest| match rest.first() {
            None | Some(0) => None,
            Some(length) => rest.get(usize::from(*length) + 1..),
        })
        .filter_map(|rest| Some((rest.len().saturating_sub(2), self.below.get(rest)?)))
    }

    /// All rules where there are some of `*ending`, which few have: the longer match counts, and of two equal
    /// ones that of whole labels.
    fn with_endings<'c>(&'c self, name: &Key) -> impl Iterator<Item = &'c Rules> + use<'c> {
        let mut found: Vec<(usize, bool, &Rules)> = Vec::new();
        if !self.endings.is_empty() {
            let text = name_text(name.wire());
            let endings = self.endings.iter().filter(|(ending, _)| text.ends_with(ending.as_str()));
            found.extend(endings.map(|(ending, rules)| (ending.len(), false, rules)));
            found.extend(self.whole(name).map(|(length, rules)| (length, true, rules)));
            found.sort_by_key(|(length, whole, _)| std::cmp::Reverse((*length, *whole)));
        }
        found.into_iter().map(|(_, _, rules)| rules)
    }
}

/// The zeros of `address=/domain/#`.
pub(crate) const ZEROS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// Whether a name is one of these, or below one.
pub(super) fn is_below(name: &Key, domains: &[Name]) -> bool {
    domains.iter().any(|domain| crate::wire::ends_with(name.wire(), domain.wire()))
}
