//! Manifests as `check` and `plan` take them: files, directories, standard input.
//!
//! | module | idea |
//! |---|---|
//! | `inputs` | which files are meant, and their bytes |
//! | `looks` | what a document is that does not say so |
//! | `options` | options of name servers that are refused |
//! | `report` | findings of the plan as diagnostics that point into the files |

mod inputs;
mod looks;
mod options;
mod report;

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use landbridge_manifest::{
    Diagnostic, Document, Label, Options, Reading, Severity, Sources, Summary, read, rules,
};
use landbridge_plan::{Plan, Source};

pub use self::inputs::Inputs;
use crate::codes::{self, UNREADABLE};

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
    /// The objects.
    pub documents: Vec<Document>,
}

/// Errors in what was read all the same.
const READ_ALL_THE_SAME: [&str; 2] = [rules::REPEATED_KEY, rules::NAME];

/// Reads and judges them.
pub fn examine(inputs: &Inputs, options: &landbridge_plan::Options) -> Manifests {
    let mut sources = Sources::new();
    let mut diagnostics: Vec<Diagnostic> = inputs.problems.clone();
    let (mut documents, mut fragments) = (Vec::new(), Vec::new());
    for reading in read_all(&inputs.files) {
        sources.add(reading.source);
        documents.extend(reading.documents);
        fragments.extend(reading.fragments);
        diagnostics.extend(reading.problems);
    }
    let is_unread = |problem: &Diagnostic| {
        problem.severity == Severity::Error && !READ_ALL_THE_SAME.contains(&problem.code)
    };
    let mut unread = diagnostics.iter().any(is_unread);
    if documents.is_empty() && !unread {
        diagnostics.push(nothing(inputs));
        unread = true;
    }
    let given: Vec<Source<'_>> = documents
        .iter()
        .enumerate()
        .map(|(id, document)| Source::new(id, document.value()).partial(document.elided))
        .collect();
    let found = landbridge_plan::check(&given, options);
    diagnostics.extend(report::diagnostics(&found.findings, &documents));
    diagnostics.extend(documents.iter().flat_map(options::diagnostics));
    for fragment in &fragments {
        let found = landbridge_plan::misspelt(fragment.value());
        diagnostics.extend(report::diagnostics(&found, std::slice::from_ref(fragment)));
    }
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.help.is_none()) {
        diagnostic.help = codes::remedy(diagnostic.code);
    }
    landbridge_manifest::diagnostic::sort(&mut diagnostics);
    diagnostics.dedup();
    let summary = Summary::of(&diagnostics, inputs.files.len(), documents.len());
    Manifests { sources, diagnostics, plan: found.plan, summary, unread, documents }
}

/// More threads than this would wait for each other's memory.
const MOST_THREADS: usize = 8;

/// Reads all files, several at a time: parsing is most of the work, and files know nothing of each
/// other.
fn read_all(files: &[(String, Vec<u8>)]) -> Vec<Reading> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let lent = Options {
            infer: Some(&looks::api_version_of),
            guess: Some(&looks::guess),
            known: Some(&looks::known),
            ..Options::default()
        };
        let mut done = Vec::new();
        while let Some((at, (name, bytes))) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            files.get(at).map(|file| (at, file))
        } {
            done.push((at, read(name, bytes, &lent)));
        }
        done
    };
    let mut readings = std::thread::scope(|scope| {
        let threads = cores.min(files.len()).min(MOST_THREADS).saturating_sub(1);
        let others: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(readings) => all.extend(readings),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    readings.sort_by_key(|(at, _)| *at);
    readings.into_iter().map(|(_, reading)| reading).collect()
}

/// No object in all of the inputs: whoever pipes the output of a command that failed must not be
/// told that all is well.
fn nothing(inputs: &Inputs) -> Diagnostic {
    let file = inputs.files.first().map_or("", |(name, _)| name.as_str());
    Diagnostic::error(UNREADABLE, "nothing was checked: there is no object in what was given")
        .with_label(Label::whole(file))
        .with_help("an object has apiVersion, kind and metadata")
}
