//! Findings for code hosts and editors: SARIF 2.1.0.
//!
//! One run. The finding's place is its location, the other labels are related locations, object and field are a logical
//! location. Columns count characters, which the run declares (`columnKind`), since the default
//! of the format is UTF-16 units.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::{Sources, in_order};
use crate::{Diagnostic, Label, Rule};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    version: &'a str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool<'a>,
    column_kind: &'a str,
    results: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
struct Driver<'a> {
    name: &'a str,
    version: &'a str,
    rules: Vec<Described<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described<'a> {
    id: &'a str,
    short_description: Message<'a>,
    full_description: Message<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<String>,
}

#[derive(Serialize)]
struct Message<'a> {
    text: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: String,
    message: Message<'a>,
    locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(rename = "physicalLocation")]
    physical: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Logical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical {
    fully_qualified_name: String,
    kind: &'static str,
}

/// What is said about the tool that found all this.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// `landbridge`
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// What the codes mean: ours ([`RULES`](crate::rules::RULES)) and the caller's.
    pub rules: &'a [Rule],
    /// Where a code is explained: the code is appended. `None` leaves the address out.
    pub help_base: Option<&'a str>,
}

/// Prints findings as a SARIF log, with a line break after it.
pub fn sarif(
    out: &mut dyn fmt::Write,
    diagnostics: &[Diagnostic],
    sources: &Sources,
    tool: About<'_>,
) -> fmt::Result {
    let rules = tool.rules.iter().map(|rule| Described {
        id: rule.code,
        short_description: message(rule.title),
        full_description: message(rule.explanation),
        help_uri: tool.help_base.map(|base| format!("{base}{}", rule.code)),
    });
    let driver = Driver { name: tool.name, version: tool.version, rules: rules.collect() };
    let results = in_order(diagnostics)
        .into_iter()
        .map(|diagnostic| finding(diagnostic, sources, tool.rules))
        .collect();
    let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results };
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run] };
    let text = serde_json::to_string_pretty(&log).map_err(|_| fmt::Error)?;
    writeln!(out, "{text}")
}

fn message(text: &str) -> Message<'_> {
    Message { text: text.into() }
}

fn finding<'a>(diagnostic: &'a Diagnostic, sources: &Sources, rules: &[Rule]) -> Finding<'a> {
    let place = diagnostic.place();
    let others = diagnostic
        .labels
        .iter()
        .filter(|label| place.is_none_or(|place| !std::ptr::eq(place, *label)));
    let text = match &diagnostic.help {
        Some(help) => format!("{}\n{help}", diagnostic.message).into(),
        None => diagnostic.message.as_str().into(),
    };
    Finding {
        rule_id: diagnostic.code,
        rule_index: rules.iter().position(|rule| rule.code == diagnostic.code),
        level: diagnostic.severity.to_string(),
        message: Message { text },
        locations: place.map(|label| location(label, None, sources)).into_iter().collect(),
        related_locations: others
            .enumerate()
            .map(|(index, label)| location(label, Some(index), sources))
            .collect(),
    }
}

fn location<'a>(label: &'a Label, id: Option<usize>, sources: &Sources) -> Location<'a> {
    let region = label.span.map(|span| {
        let end = sources.get(&label.file).map(|source| source.end_of(span));
        Region {
            start_line: span.line,
            start_column: span.column,
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
        }
    });
    let object = label
        .object
        .as_ref()
        .map(|object| Logical { fully_qualified_name: object.clone(), kind: "object" });
    let field = label
        .field
        .as_ref()
        .map(|field| Logical { fully_qualified_name: field.clone(), kind: "member" });
    Location {
        id,
        physical: Physical { artifact_location: Artifact { uri: uri(&label.file) }, region },
        logical_locations: object.into_iter().chain(field).collect(),
        message: (!label.text.is_empty()).then(|| message(&label.text)),
    }
}

/// A file name as a URI reference: absolute paths become `file:` addresses, others stay relative.
fn uri(file: &str) -> String {
    let mut uri = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    let colon_allowed =
        file.starts_with('/') || file.contains('/') && file.find(':') > file.find('/');
    for byte in file.bytes() {
        let plain = byte.is_ascii_alphanumeric()
            || b"-._~/!$&'()*+,;=@".contains(&byte)
            || (byte == b':' && colon_allowed);
        if plain {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_uris() {
        for (file, expected) in [
            ("a/b.yaml", "a/b.yaml"),
            ("/a b.yaml", "file:///a%20b.yaml"),
            ("<stdin>", "%3Cstdin%3E"),
            ("a:b.yaml", "a%3Ab.yaml"),
            ("d/a:b.yaml", "d/a:b.yaml"),
            ("ñ", "%C3%B1"),
        ] {
            assert_eq!(uri(file), expected);
        }
    }
}
