//! Findings for scripts.
//!
//! One object. Field names and meanings are stable within a `version`; fields may be added. Every field is always
//! there; what does not apply is `null`.
//!
//! ```json
//! {
//!   "version": 1,
//!   "findings": [{
//!     "code": "LB806",
//!     "severity": "error",          // error, warning, note
//!     "message": "…",
//!     "help": "…",
//!     "url": null,
//!     "file": "netconfig.yaml",     // the place, for those who want no labels
//!     "line": 14,
//!     "column": 7,
//!     "labels": [{
//!       "file": "netconfig.yaml",
//!       "primary": true,            // about this place, or explaining it
//!       "text": "…",
//!       "object": "NetConfig openstack/netconfig",
//!       "field": "spec.networks[1].subnets[0].vlan",
//!       "span": {
//!         "start": 210, "end": 214, // bytes from the start of the file
//!         "line": 14, "column": 7,  // from 1, columns in characters
//!         "endLine": 14, "endColumn": 11   // one past the end; null if the file is not at hand
//!       }
//!     }]
//!   }],
//!   "summary": {"errors": 1, "warnings": 0, "notes": 0, "files": 1, "documents": 1}
//! }
//! ```

use std::fmt;

use serde::Serialize;

use super::{Sources, Summary, in_order};
use crate::{Diagnostic, Label};

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    findings: Vec<Finding<'a>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'a str,
    severity: String,
    message: &'a str,
    help: Option<&'a str>,
    url: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    labels: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    primary: bool,
    text: &'a str,
    object: Option<&'a str>,
    field: Option<&'a str>,
    span: Option<Extent>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Extent {
    start: u32,
    end: u32,
    line: u32,
    column: u32,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

/// Prints findings as one JSON object, with a line break after it.
pub fn json(
    out: &mut dyn fmt::Write,
    diagnostics: &[Diagnostic],
    sources: &Sources,
    summary: &Summary,
) -> fmt::Result {
    let findings =
        in_order(diagnostics).into_iter().map(|diagnostic| finding(diagnostic, sources)).collect();
    let text = serde_json::to_string_pretty(&Report { version: 1, findings, summary })
        .map_err(|_| fmt::Error)?;
    writeln!(out, "{text}")
}

fn finding<'a>(diagnostic: &'a Diagnostic, sources: &Sources) -> Finding<'a> {
    let place = diagnostic.place();
    let span = place.and_then(|label| label.span);
    Finding {
        code: diagnostic.code,
        severity: diagnostic.severity.to_string(),
        message: &diagnostic.message,
        help: diagnostic.help.as_deref(),
        url: diagnostic.url.as_deref(),
        file: place.map(|label| label.file.as_str()),
        line: span.map(|span| span.line),
        column: span.map(|span| span.column),
        labels: diagnostic.labels.iter().map(|label| label_place(label, sources)).collect(),
    }
}

fn label_place<'a>(label: &'a Label, sources: &Sources) -> Place<'a> {
    let span = label.span.map(|span| {
        let end = sources.get(&label.file).map(|source| source.end_of(span));
        Extent {
            start: span.start,
            end: span.end,
            line: span.line,
            column: span.column,
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
        }
    });
    Place {
        file: &label.file,
        primary: label.primary,
        text: &label.text,
        object: label.object.as_deref(),
        field: label.field.as_deref(),
        span,
    }
}
