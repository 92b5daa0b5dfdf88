//! The view across kinds: one address plan, and what contradicts it.
//!
//! Objects of many kinds each say a part of how a site's networks look. [`check`] puts the parts
//! together and returns the [`Plan`] they make and the [`Finding`]s where they do not fit.
//!
//! ```text
//!  sources ─► facts ─► wires, segments ─► ledger ─┬─► plan
//!             read     who is on one      who hands └─► rules ─► findings
//!             only     segment            out what
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`hooks`] | what of it is said when an object is written |
//! | [`codes`] | the catalogue of rules, each with a page that explains it |
//! | `facts` | what the sources say, with places, without judgement |
//! | `wires` | which interfaces lead to the same wire |
//! | `segments` | which facts are about the same segment |
//! | [`sites`] | which addresses of pods and nodes belong into the ledger of IPSets |
//! | `ledger` | who hands out which addresses, and which are taken |
//! | `rules` | what does not fit |
//! | [`octavia`] | from an attachment to the management network of Octavia |
//! | [`Plan`] | all of it as a value that prints as tables or serialises |
//!
//! ```
//! use landbridge_plan::{Options, Source, check};
//!
//! let pool = serde_json::json!({
//!     "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
//!     "metadata": {"name": "internalapi", "namespace": "metallb-system"},
//!     "spec": {"addresses": ["172.17.0.80-172.17.0.90", "172.17.0.90-172.17.0.99"]},
//! });
//! let report = check(&[Source::new(0, &pool)], &Options::default());
//! assert_eq!(report.findings[0].code, "LB102");
//! assert_eq!(report.plan.segments.len(), 1);
//! ```

mod admission;
pub mod codes;
mod facts;
mod finding;
mod ledger;
pub mod octavia;
mod plan;
mod render;
mod rules;
#[cfg(feature = "sample")]
pub mod sample;
mod segments;
mod sites;
mod source;
mod vips;
mod wires;

/// Words that are almost right.
mod spelling {
    pub(crate) use landbridge_manifest::didyoumean as meant;
}

pub use self::admission::{hooks, hooks_with};
pub use self::finding::{Finding, Severity, Subject};
pub use self::plan::{Address, HandedOut, Plan, Segment, Size, SubnetPlan};
pub use self::sites::{Site, Sites, all_sites, sites};
pub use self::source::{ObjectRef, Options, Source};
pub use self::vips::{Balanced, Pending, VirtualAddress};

/// What came of looking at the sources.
#[derive(Clone, Debug)]
pub struct Report {
    /// The networks and who has which addresses of them.
    pub plan: Plan,
    /// What does not fit, in the order of the sources.
    pub findings: Vec<Finding>,
}

/// Puts the sources together.
pub fn check(sources: &[Source<'_>], options: &Options) -> Report {
    let known = facts::Sources::new(sources, options);
    let facts = facts::gather(&known);
    let mut wires = wires::Wires::new(&facts);
    let segments = segments::assign(&facts, &mut wires);
    let ledger = ledger::Ledger::new(&facts, &segments, sources);
    let view = rules::View {
        sources: &known,
        facts: &facts,
        segments: &segments,
        ledger: &ledger,
        options,
    };
    let mut findings = rules::run(&view, &mut wires);
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup();
    for subject in findings.iter_mut().flat_map(|finding| &mut finding.subjects) {
        subject.source = sources.get(subject.source).map_or(subject.source, |source| source.id);
    }
    let mut plan = plan::make(&facts, &segments, &ledger, &mut wires);
    (plan.virtual_addresses, plan.pending) = vips::preview(&facts, &known);
    Report { plan, findings }
}

/// Misspelt fields in a piece of an object, as documentation shows them: `source` is 0 in all of
/// them.
pub fn misspelt(piece: &serde_json::Value) -> Vec<Finding> {
    rules::misspelt(piece)
}

/// By source, then by code, then by place.
fn order(finding: &Finding) -> (Option<usize>, &'static str, Option<&str>, &str) {
    let first = finding.subjects.first();
    let path = first.map(|subject| subject.path.as_str());
    (first.map(|subject| subject.source), finding.code, path, &finding.message)
}
