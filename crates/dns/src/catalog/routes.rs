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
    /// `*ending`, the longest first.
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
                    let at = match routes.endings.iter().position(|(other, _)| other == text) {
                        Some(at) => at,
                        None => {
                            routes.endings.push((text.clone(), Rules::default()));
                            routes.endings.len() - 1
                        }
                    };
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
        routes.endings.sort_by_key(|(ending, _)| std::cmp::Reverse(ending.len()));
        routes.default = settings.servers.clone();
        let known = routes.default.len();
        for server in resolv {
            if !routes.default[..known].contains(server) {
                routes.default.push(server.clone());
            }
        }
        routes
    }

    /// What is to be done with a question that nothing else answers.
    pub fn verdict(&self, name: &Key, qtype: u16) -> Verdict<'_> {
        self.matching(name)
            .find_map(|rules| self.apply(rules, qtype))
            .unwrap_or(Verdict::Ask { servers: &self.default, of_domain: false })
    }

    /// Whether a rule with a domain says who is asked about this name.
    pub fn has_server(&self, name: &Key) -> bool {
        self.matching(name)
            .any(|rules| rules.use_default || rules.local || !rules.servers.is_empty())
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
    fn matching<'c>(&'c self, name: &Key) -> impl Iterator<Item = &'c Rules> {
        let plain = self.plain.as_ref().filter(|_| name.labels() == 1);
        let mut found: Vec<(usize, bool, &Rules)> = Vec::new();
        if !self.below.is_empty() {
            let mut rest = name.wire();
            loop {
                if let Some(rules) = self.below.get(rest) {
                    // The length of the text: one less per label than in wire form.
                    found.push((rest.len().saturating_sub(2), true, rules));
                }
                match rest.first() {
                    None | Some(0) => break,
                    Some(length) => rest = rest.get(usize::from(*length) + 1..).unwrap_or_default(),
                }
            }
        }
        if !self.endings.is_empty() {
            let text = name_text(name.wire());
            for (ending, rules) in &self.endings {
                if text.ends_with(ending.as_str()) {
                    found.push((ending.len(), false, rules));
                }
            }
            // The longer match counts; of two equal ones, that of whole labels.
            found.sort_by_key(|(length, whole, _)| std::cmp::Reverse((*length, *whole)));
        }
        plain.into_iter().chain(found.into_iter().map(|(_, _, rules)| rules))
    }
}

/// The zeros of `address=/domain/#`.
pub(crate) const ZEROS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// Whether a name is one of these, or below one.
pub(super) fn is_below(name: &Key, domains: &[Name]) -> bool {
    domains.iter().any(|domain| crate::wire::ends_with(name.wire(), domain.wire()))
}
