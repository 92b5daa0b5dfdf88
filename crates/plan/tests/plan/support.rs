//! Reading manifests, and findings as short lines.

use std::path::Path;

use landbridge_plan::{Options, Report, Source, check};
use serde_json::Value;

/// All documents of a folder, in the order of the file names. The reference plan is an example for
/// users, too.
pub fn folder(name: &str) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = match name {
        "reference" => root.join("../../examples/plan"),
        _ => root.join("tests/data").join(name),
    };
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|file| file.extension().is_some_and(|ending| ending == "yaml")).collect();
    files.sort();
    files.iter().flat_map(|file| documents(&std::fs::read_to_string(file).unwrap())).collect()
}

/// All documents of a text.
pub fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn report(objects: &[Value]) -> Report {
    let sources: Vec<_> =
        objects.iter().enumerate().map(|(id, value)| Source::new(id, value)).collect();
    check(&sources, &Options::default())
}

/// `LB101 NetConfig/netconfig NetworkAttachmentDefinition/storage`: the code and the objects, each
/// once, the primary one first.
pub fn lines(objects: &[Value]) -> Vec<String> {
    let report = report(objects);
    report
        .findings
        .iter()
        .map(|finding| {
            let mut line = finding.code.to_owned();
            for subject in &finding.subjects {
                let object = &objects[subject.source];
                let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let name =
                    format!(" {}/{}", part(&object["kind"]), part(&object["metadata"]["name"]));
                if !line.contains(&name) {
                    line.push_str(&name);
                }
            }
            line
        })
        .collect()
}
