//! Manifests as `check` and `plan` take them: files, directories, standard input.
//!
//! | module | idea |
//! |---|---|
//! | [`inputs`] | which files are meant, and their bytes |
//! | [`report`] | findings of the plan as diagnostics that point into the files |

mod inputs;
mod report;

use landbridge_manifest::{Diagnostic, Document, Options, Severity, Sources, Summary, read};
use landbridge_plan::{Plan, Source};
use serde_json::Value;

pub use self::inputs::{Inputs, UNREADABLE};

/// Everything known about a set of manifests.
pub struct Manifests {
    /// The texts, for excerpts.
    pub sources: Sources,
    /// What is wrong with them, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// What they say together.
    pub plan: Plan,
    /// How much there was to read.
    pub summary: Summary,
    /// Whether something could not be read, so that the rest may look better than it is.
    pub unread: bool,
}

/// Reads and judges them.
pub fn examine(inputs: &Inputs, options: &landbridge_plan::Options) -> Manifests {
    let mut sources = Sources::new();
    let mut diagnostics: Vec<Diagnostic> = inputs.problems.clone();
    let (mut documents, mut fragments) = (Vec::new(), Vec::new());
    let lent = Options { infer: Some(&api_version_of), guess: Some(&guess), ..Options::default() };
    for (name, bytes) in &inputs.files {
        let reading = read(name, bytes, &lent);
        sources.add(reading.source);
        documents.extend(reading.documents);
        fragments.extend(reading.fragments);
        diagnostics.extend(reading.problems);
    }
    let unread = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
    let given: Vec<Source<'_>> =
        documents.iter().enumerate().map(|(id, doc)| Source::new(id, doc.value())).collect();
    let found = landbridge_plan::check(&given, options);
    diagnostics.extend(report::diagnostics(&found.findings, &documents));
    for fragment in &fragments {
        let found = landbridge_plan::misspelt(fragment.value());
        diagnostics.extend(report::diagnostics(&found, std::slice::from_ref(fragment)));
    }
    landbridge_manifest::diagnostic::sort(&mut diagnostics);
    diagnostics.dedup();
    let summary = Summary::of(&diagnostics, inputs.files.len(), documents.len());
    Manifests { sources, diagnostics, plan: found.plan, summary, unread }
}

/// The apiVersion of kinds that have only one, for documents that forget theirs.
fn api_version_of(kind: &str) -> Option<String> {
    let crd = landbridge_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let version = crd.spec.versions.iter().find(|version| version.storage)?;
    Some(format!("{}/{}", crd.spec.group, version.name))
}

/// What a document without a kind looks like, by the fields it has.
fn guess(value: &Value) -> Option<String> {
    const LOOKS: [(&[&str], &str); 10] = [
        (&["spec", "networks"], "a NetConfig or an IPSet"),
        (&["desiredState"], "the spec of a NodeNetworkConfigurationPolicy"),
        (&["networks"], "the spec of a NetConfig or an IPSet"),
        (&["networkAttachments"], "part of the spec of an OpenStack service"),
        (&["networkAttachents"], "part of the spec of an OpenStack service"),
        (&["externalEndpoints"], "part of the spec of an OpenStack service"),
        (&["rabbitmq", "templates"], "part of the spec of an OpenStackControlPlane"),
        (&["network_config"], "a file for os-net-config"),
        (&["cniVersion"], "the config of a NetworkAttachmentDefinition"),
        (&["addresses"], "the spec of an IPAddressPool"),
    ];
    let has = |path: &[&str]| {
        let mut at = value;
        path.iter().all(|key| match at.get(key) {
            Some(below) => {
                at = below;
                true
            }
            None => false,
        })
    };
    LOOKS.iter().find(|(path, _)| has(path)).map(|(_, looks)| (*looks).to_owned())
}

/// Whether parts of the document are left out, so that nothing in it can be called missing.
fn is_partial(document: &Document) -> bool {
    document.elided
}
