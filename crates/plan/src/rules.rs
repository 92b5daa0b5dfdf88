//! The rules: each looks at the facts and says what does not fit.

mod addresses;
mod admission;
mod attachments;
mod fields;
mod given;
mod mtu;
mod names;
mod octavia;
mod openstack;
mod overlap;
mod policies;
mod prefixes;
mod repeats;
mod shapes;
mod vips;
mod vlans;

use crate::facts::{Facts, Sources};
use crate::finding::Finding;
use crate::ledger::Ledger;
use crate::segments::Segments;
use crate::source::Options;
use crate::wires::Wires;

/// So many places of one finding are shown; who has more of them knows where to look.
const MOST_PLACES: usize = 5;

/// All that rules may look at.
pub(crate) struct View<'v, 'a> {
    pub sources: &'v Sources<'a>,
    pub facts: &'v Facts<'a>,
    pub segments: &'v Segments,
    pub ledger: &'v Ledger,
    pub options: &'v Options,
}

pub(crate) use self::fields::misspelt;

/// Runs all rules.
pub(crate) fn run<'v>(view: &View<'v, '_>, wires: &mut Wires<'v>) -> Vec<Finding> {
    let mut found = Vec::new();
    admission::check(view, &mut found);
    repeats::check(view, &mut found);
    fields::check(view, &mut found);
    openstack::check(view, &mut found);
    overlap::check(view, &mut found);
    vlans::check(view, wires, &mut found);
    prefixes::check(view, wires, &mut found);
    mtu::check(view, wires, &mut found);
    vips::check(view, &mut found);
    attachments::check(view, &mut found);
    policies::check(view, &mut found);
    names::check(view, &mut found);
    octavia::check(view, &mut found);
    given::check(view, &mut found);
    found
}
