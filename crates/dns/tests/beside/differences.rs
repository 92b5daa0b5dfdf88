//! Where we answer otherwise than dnsmasq, and why. The same table, in prose, is in docs/dns-options.md.

use std::collections::BTreeMap;
use std::fmt;

use crate::asked::Question;
use crate::compare::{Reply, Theirs};

/// A difference that is meant.
struct Difference {
    name: &'static str,
    #[allow(dead_code)] // for who reads this table
    why: &'static str,
    is: fn(&Case<'_>) -> bool,
}

struct Case<'a> {
    scene: &'a str,
    question: &'a Question,
    ours: Option<&'a Reply>,
    theirs: &'a Theirs,
}

impl Case<'_> {
    /// Records that only their answer has, where nothing else differs.
    fn more_of_theirs(&self) -> Option<Vec<String>> {
        let (ours, theirs) = (self.ours?, self.theirs.reply()?);
        let same = Reply { answers: ours.answers.clone(), ..theirs.clone() } == *ours;
        (same && ours.answers.is_subset(&theirs.answers))
            .then(|| theirs.answers.difference(&ours.answers).cloned().collect())
    }

    fn more_of_ours(&self) -> Option<Vec<String>> {
        let (ours, theirs) = (self.ours?, self.theirs.reply()?);
        let same = Reply { answers: theirs.answers.clone(), ..ours.clone() } == *theirs;
        (same && theirs.answers.is_subset(&ours.answers))
            .then(|| ours.answers.difference(&theirs.answers).cloned().collect())
    }

    fn our_code(&self) -> Option<u16> {
        self.ours.filter(|reply| reply.forwarded.is_empty()).map(|reply| reply.rcode)
    }
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "opcode",
        why: "dnsmasq hands queries of other kinds to the servers it forwards to; nobody here asks for that, \
              and NOTIMP says at once that it is not done",
        is: |case| case.question.opcode != 0 && case.our_code() == Some(4),
    },
    Difference {
        name: "class",
        why: "dnsmasq forwards classes other than IN; there are no such names behind this server, so that it \
              refuses them (NOTIMP for what asks about the server itself)",
        is: |case| case.question.qclass != 1 && matches!(case.our_code(), Some(4 | 5)),
    },
    Difference {
        name: "ANY of a reverse name of synth-domain",
        why: "dnsmasq adds the address as a record of the reverse name, where it means nothing",
        is: |case| {
            let arpa = case.question.name.to_ascii_lowercase().ends_with(".arpa");
            arpa && case.question.qtype == 255
                && case.more_of_theirs().is_some_and(|more| {
                    more.len() == 1 && more.iter().all(|record| record.contains(" IN A"))
                })
        },
    },
    Difference {
        name: "ANY of address=",
        why: "dnsmasq answers with one family where both are given; ANY asks for what there is",
        is: |case| {
            case.question.qtype == 255
                && case.question.name.to_ascii_lowercase().contains("addr.example.com")
                && case
                    .more_of_ours()
                    .is_some_and(|more| more.iter().all(|record| record.contains(" IN A 1.2.3.4")))
        },
    },
    Difference {
        name: "reverse names that are no addresses",
        why: "dnsmasq reads 0.5.10.in-addr.arpa as 10.5.0.0 and 1.1.0.0.10.in-addr.arpa as 10.0.0.1, and answers \
              for these; names that are no addresses have no PTR",
        is: |case| {
            let name = case.question.name.to_ascii_lowercase();
            let labels = name.split('.').count();
            let partial = (name.ends_with("in-addr.arpa") && labels != 6)
                || (name.ends_with("ip6.arpa") && labels != 34);
            let answered = case
                .theirs
                .reply()
                .is_some_and(|reply| reply.answers.iter().any(|record| record.contains(" PTR ")));
            partial
                && matches!(case.question.qtype, 2 | 6 | 12 | 255)
                && (answered || case.scene == "zone, asked from outside")
        },
    },
    Difference {
        name: "SOA and NS of reverse names in a zone",
        why: "dnsmasq answers with those of the subnet's apex, as if the name were that; here SOA stands beside an \
              empty answer, as in any zone",
        is: |case| {
            case.scene == "zone, asked from outside"
                && matches!(case.question.qtype, 2 | 6)
                && case.question.name.to_ascii_lowercase().ends_with(".arpa")
                && case.theirs.reply().is_some_and(|reply| !reply.answers.is_empty())
        },
    },
    Difference {
        name: "OPT in refusals",
        why: "RFC 6891 wants OPT in every reply to a query that has it; dnsmasq leaves it out where auth-server refuses",
        is: |case| {
            let (Some(ours), Some(theirs)) = (case.ours, case.theirs.reply()) else { return false };
            ours.rcode == 5
                && ours.edns.is_some()
                && Reply { edns: None, ..ours.clone() } == *theirs
        },
    },
    Difference {
        name: "chains of aliases in a zone",
        why: "dnsmasq follows one alias within an auth-zone; clients can do more with all of them",
        is: |case| {
            case.question.name.to_ascii_lowercase().ends_with("al2.zone.test")
                && case.more_of_ours().is_some_and(|more| !more.is_empty())
        },
    },
    Difference {
        name: "SOA and NS of aliases in a zone",
        why: "dnsmasq answers with those of the zone, which the alias is not the apex of",
        is: |case| {
            matches!(case.question.qtype, 2 | 6)
                && case.scene.starts_with("zone")
                && case.ours.is_some_and(|ours| {
                    ours.answers.iter().any(|record| record.contains(" CNAME "))
                })
        },
    },
    Difference {
        name: "other types of synthetic names in a zone",
        why: "dnsmasq answers every type with bytes of the address and of its memory; the name has no such records",
        is: |case| {
            case.scene.starts_with("zone")
                && case.question.name.eq_ignore_ascii_case("x-10-20-5-1.syn.zone.test")
                && case.question.qtype != 1
                && case.our_code() == Some(0)
        },
    },
    Difference {
        name: "a synthetic name without its number",
        why: "dnsmasq takes node- for node-0",
        is: |case| case.question.name.eq_ignore_ascii_case("node-.named.example.com"),
    },
    Difference {
        name: "EDNS version",
        why: "RFC 6891 wants BADVERS for versions that are not known; dnsmasq takes them for version 0",
        is: |case| matches!(case.question.edns, Some((_, version, _)) if version != 0),
    },
];

/// The listed difference that explains what was seen.
pub fn reason(
    scene: &str,
    question: &Question,
    ours: Option<&Reply>,
    theirs: &Theirs,
) -> Option<&'static str> {
    let case = Case { scene, question, ours, theirs };
    DIFFERENCES.iter().find(|difference| (difference.is)(&case)).map(|difference| difference.name)
}

/// How often each one showed.
#[derive(Default)]
pub struct Used(BTreeMap<&'static str, usize>);

impl Used {
    pub fn note(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub fn unused(&self) -> Vec<&'static str> {
        let names = DIFFERENCES.iter().map(|difference| difference.name);
        names.filter(|name| !self.0.contains_key(name)).collect()
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, count)| writeln!(f, "{count:6} {name}"))
    }
}

#[test]
fn the_documentation_lists_them() {
    let page = include_str!("../../../../docs/dns-options.md");
    for difference in DIFFERENCES {
        let row = format!("| {} |", difference.name);
        assert!(page.contains(&row), "docs/dns-options.md lacks {:?}", difference.name);
    }
    let rows = page.lines().skip_while(|line| !line.starts_with("## Differences"));
    let rows = rows
        .take_while(|line| !line.starts_with("## Bad input"))
        .filter(|line| line.starts_with("| "));
    // The header is a row too.
    assert_eq!(rows.count(), DIFFERENCES.len() + 1, "rows that no difference stands behind");
}
