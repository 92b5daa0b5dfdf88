//! Findings of the plan as diagnostics that point into the files.

use landbridge_manifest::{Diagnostic, Document, Label, Path, Severity};
use landbridge_plan::{Finding, Subject};

/// What an object lacks is no news about one that leaves parts out.
const ABOUT_WHOLE_OBJECTS: [&str; 2] = ["LB001", "LB002"];

/// One diagnostic for each finding; `documents` by the number the finding knows them by.
pub fn diagnostics(findings: &[Finding], documents: &[Document]) -> Vec<Diagnostic> {
    findings
        .iter()
        .filter(|finding| {
            let first = finding.subjects.first().and_then(|at| documents.get(at.source));
            !(ABOUT_WHOLE_OBJECTS.contains(&finding.code)
                && first.is_some_and(|first| first.elided))
        })
        .map(|finding| diagnostic(finding, documents))
        .collect()
}

fn diagnostic(finding: &Finding, documents: &[Document]) -> Diagnostic {
    let severity = match finding.severity {
        landbridge_plan::Severity::Error => Severity::Error,
        landbridge_plan::Severity::Warning => Severity::Warning,
        landbridge_plan::Severity::Note => Severity::Note,
    };
    let mut diagnostic = Diagnostic::new(severity, finding.code, finding.message.clone());
    for (n, subject) in finding.subjects.iter().enumerate() {
        if let Some(document) = documents.get(subject.source) {
            let mut label = label(subject, document, n == 0);
            // What the message already says need not stand under the caret once more.
            if diagnostic.message.ends_with(&label.text) {
                label.text.clear();
            }
            diagnostic = diagnostic.with_label(label);
        }
    }
    diagnostic.help = Some(finding.help.clone()).filter(|help| !help.is_empty());
    diagnostic
}

fn label(subject: &Subject, document: &Document, primary: bool) -> Label {
    let path: Path = subject.path.as_str().parse().unwrap_or_default();
    let inner: Option<Path> =
        subject.inner.as_ref().map(|inner| inner.as_str().parse().unwrap_or_default());
    let span = match &inner {
        Some(inner) => document.locate_inside(&path, inner),
        // An unknown field is best shown by its name.
        None if primary && subject.role == "has no effect" => document.locate_key(&path),
        None => document.locate(&path),
    };
    let span = span.unwrap_or(document.root().span);
    let text = subject.role.clone();
    let label = if primary {
        Label::primary(document.file(), span, text)
    } else {
        Label::secondary(document.file(), span, text)
    };
    let field = match inner {
        Some(inner) if !inner.is_root() => format!("{path}: {inner}"),
        _ => path.to_string(),
    };
    label.of_object(document.title()).at_field(field)
}
