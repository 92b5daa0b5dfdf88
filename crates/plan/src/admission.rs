//! What is said when an object is written: the rules of its kind, then how it fits the others.
//!
//! [`hooks`] adds the view across kinds to the rules a kind has by itself. It never refuses: what
//! contradicts a neighbour today may be half of a change, and the neighbour is corrected next. The
//! one contradiction nobody can mean, two IPSets that fix one address, is refused by the rules of
//! IPSet. Writes of IPSets and Reservations are many and have to be cheap, so they are not looked
//! at from here.

use std::sync::Arc;

use landbridge_api::foreign::{cni, controlplane, metallb, nmstate, openstack, whereabouts};
use landbridge_api::{Defaults, network};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Hooks, NoHooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use landbridge_machinery::table::Columns;
use serde_json::Value;

use crate::codes::{self, Code};
use crate::{Finding, ObjectRef, Options, Severity, Source, check};

/// So many warnings are told, those of the kind itself included.
const MOST_WARNINGS: usize = 20;
/// Clients cut off longer ones.
const LONGEST_WARNING: usize = 240;
/// Holders of addresses are looked at as long as there are not more of them.
const MOST_HOLDERS: usize = 500;

/// Kinds that say how networks look; their writes are rare.
const CONFIGURATION: [(&str, &str); 6] = [
    (network::GROUP, "NetConfig"),
    (cni::GROUP, cni::KIND),
    (nmstate::GROUP, nmstate::KIND),
    (metallb::GROUP, "IPAddressPool"),
    (metallb::GROUP, "L2Advertisement"),
    ("core.openstack.org", "OpenStackControlPlane"),
];
/// Kinds they are compared with besides.
const BESIDES: [(&str, &str); 3] =
    [(network::GROUP, "DNSMasq"), ("", "Service"), (whereabouts::GROUP, whereabouts::KIND)];
/// Kinds that hold addresses, in any number.
const HOLDERS: [(&str, &str); 2] = [(network::GROUP, "IPSet"), (network::GROUP, "Reservation")];

/// What the rules of our own kinds say by themselves.
static TOLD_BY_THE_KIND: [&Code; 3] = [&codes::REFUSED, &codes::ADVISED, &codes::UNKNOWN_NETWORK];

/// The rules of a kind, and for kinds that say how networks look, how they fit the others.
///
/// ```
/// assert!(landbridge_plan::hooks("metallb.io", "IPAddressPool").is_some());
/// assert!(landbridge_plan::hooks("apps", "Deployment").is_none());
/// ```
pub fn hooks(group: &str, kind: &str) -> Option<Arc<dyn Hooks>> {
    hooks_with(&Defaults::default(), group, kind)
}

/// The same, with what this installation set.
pub fn hooks_with(defaults: &Defaults, group: &str, kind: &str) -> Option<Arc<dyn Hooks>> {
    let own = landbridge_api::hooks_with(defaults, group, kind);
    // The rules of OpenStack's kinds leave spelling, pools and attachments to the rules across kinds;
    // those of MetalLB are about its own kinds.
    let judges = own.is_some() && (!openstack::is_group(group) || group == network::GROUP);
    let own = own.or_else(|| landbridge_vips::hooks::hooks(group, kind));
    let is_service = || controlplane::KINDS.iter().any(|k| (k.group, k.kind) == (group, kind));
    if !CONFIGURATION.contains(&(group, kind)) && !is_service() {
        return own;
    }
    Some(Arc::new(Across { own: own.unwrap_or_else(|| Arc::new(NoHooks)), judges }))
}

/// The rules of a kind, and the view across kinds.
struct Across {
    own: Arc<dyn Hooks>,
    /// Whether the kind's own rules look at everything inside of one object.
    judges: bool,
}

impl Hooks for Across {
    fn remark(&self, request: &Request<'_>, object: &Value) -> Vec<String> {
        self.own.remark(request, object)
    }

    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        self.own.mutate(request, object)
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        let mut warnings = self.own.validate(request, object)?;
        let spec_is_new = request.old.is_none_or(|old| old["spec"] != object["spec"]);
        // What a controller writes was judged where it comes from, and nobody would read this.
        let is_made = object::owner_references(object).iter().any(|o| o["controller"] == true);
        let is_judged = spec_is_new && !is_made && !object::is_terminating(object);
        if request.operation != Operation::Delete && is_judged {
            for warning in across(request, object, self.judges) {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            warnings.truncate(MOST_WARNINGS);
        }
        Ok(warnings)
    }

    fn convert(&self, object: &mut Value, from: &str, to: &str) -> Result<(), String> {
        self.own.convert(object, from, to)
    }

    fn columns(&self, version: &str) -> Option<Columns> {
        self.own.columns(version)
    }

    fn webhook_name(&self) -> Option<&str> {
        Some(self.own.webhook_name().unwrap_or("plan.landbridge.dev"))
    }
}

/// What does not fit, as far as this object has to do with it.
fn across(request: &Request<'_>, object: &Value, judged: bool) -> Vec<String> {
    let others = others(request);
    let mut sources: Vec<_> = others.iter().map(|other| Source::new(0, other.as_ref())).collect();
    // A policy that loses interfaces is compared with what it was.
    if request.kind.group == nmstate::GROUP {
        sources.extend(request.old.map(|old| Source::new(0, old)));
    }
    let own = sources.len();
    sources.push(Source::new(own, object));
    for (id, source) in sources.iter_mut().enumerate() {
        source.id = id;
    }
    // Objects come one by one: that there is none of a kind yet says nothing.
    let options = Options { namespace: Some("default".to_owned()), complete: false };
    let report = check(&sources, &options);
    // Which wire an interface leads to is known only with the policies of the nodes, and what
    // announces a pool comes after it.
    let wired = sources.iter().any(|source| source.object.kind == nmstate::KIND);
    let new = request.operation == Operation::Create;
    let early = |code: &str| {
        (!wired && code == codes::ANNOUNCED_ELSEWHERE.code)
            || (new && code == codes::NOT_ANNOUNCED.code)
    };
    let findings = report.findings.iter().filter(|finding| {
        let here = finding.subjects.iter().any(|subject| subject.source == own);
        let matters = here && finding.severity > Severity::Note && !early(finding.code);
        matters && !is_told(finding, own, judged)
    });
    let said = findings.map(|finding| line(finding, own, &sources));
    said.take(MOST_WARNINGS).collect()
}

/// Whether the rules of the kind have said it already.
fn is_told(finding: &Finding, own: usize, judged: bool) -> bool {
    let alone = finding.subjects.iter().all(|subject| subject.source == own);
    judged && (alone || TOLD_BY_THE_KIND.iter().any(|code| code.code == finding.code))
}

/// All objects the plan is made of, without the one in question.
fn others(request: &Request<'_>) -> Vec<Arc<Value>> {
    let list =
        |(group, kind): &(&str, &str)| request.objects.list(&GroupKind::new(group, kind), None);
    let mut all: Vec<_> = CONFIGURATION.iter().chain(&BESIDES).flat_map(list).collect();
    all.extend(controlplane::KINDS.iter().flat_map(|kind| list(&(kind.group, kind.kind))));
    let mut holders: Vec<_> = HOLDERS.iter().flat_map(list).collect();
    if holders.len() <= MOST_HOLDERS {
        all.append(&mut holders);
    }
    all.retain(|other| !is_the_same(request, other) && !object::is_terminating(other));
    all
}

fn is_the_same(request: &Request<'_>, other: &Value) -> bool {
    object::name(other) == request.name
        && object::namespace(other) == request.namespace.unwrap_or_default()
        && object::kind(other).is_some_and(|kind| kind.group_kind() == request.kind.group_kind())
}

/// `LB101: … (NetConfig openstack/netconfig); landbridge explain LB101`, in one line.
fn line(finding: &Finding, own: usize, sources: &[Source<'_>]) -> String {
    let Finding { code, message, .. } = finding;
    let mut named: Vec<&ObjectRef> = Vec::new();
    for subject in finding.subjects.iter().filter(|subject| subject.source != own) {
        let object = &sources[subject.source].object;
        // What it was before is no other object.
        if *object == sources[own].object {
            continue;
        }
        if !named.contains(&object) && !message.contains(&object.to_string()) {
            named.push(object);
        }
    }
    let names: Vec<String> = named.iter().map(ToString::to_string).collect();
    let alone = finding.subjects.iter().all(|subject| subject.source == own);
    let mut text = message.replace('\n', " ");
    if !names.is_empty() {
        text = format!("{text} ({})", names.join(", "));
    } else if alone && let Some(first) = finding.subjects.first() {
        text = format!("{}: {text}", first.path);
    }
    if alone && finding.code == codes::UNKNOWN_FIELD.code {
        text = format!("{text}; {}", finding.help);
    }
    let end = format!("; landbridge explain {code}");
    let room = LONGEST_WARNING.saturating_sub(code.len() + 2 + end.len());
    format!("{code}: {}{end}", shortened(&text, room))
}

/// At most so many bytes.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut at = most.saturating_sub(3);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    format!("{}...", &text[..at])
}
