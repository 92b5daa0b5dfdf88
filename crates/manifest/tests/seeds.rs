//! The texts the project started from, if they are at hand: documentation as people really write it.
//!
//! Renew with `LANDBRIDGE_BLESS=1`, read the difference.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

use std::{env, fmt::Write as _, fs, io::Write as _, path::Path};

use landbridge_manifest::{
    Document, Options, Reading, Sources, Summary, read,
    render::{Human, human},
};
use serde_json::Value;

/// What a caller knows: the one kind whose apiVersion is missing in the texts, and some fields.
fn read_with_knowledge(name: &str, bytes: &[u8]) -> Reading {
    let infer = |kind: &str| (kind == "IPSet").then(|| "network.openstack.org/v1beta1".to_owned());
    let guess = |value: &Value| {
        let has = |field: &str| value.get(field).is_some();
        (has("externalEndpoints") || has("networkAttachents"))
            .then(|| "part of the spec of a service".to_owned())
    };
    read(name, bytes, &Options { infer: Some(&infer), guess: Some(&guess), ..Options::default() })
}

#[test]
fn texts_are_read_as_before() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(entries) = fs::read_dir(root.join("../../../shared/seeds")) else {
        println!("skipped: the seeds are not there");
        if let Some(file) = env::var_os("LANDBRIDGE_SKIP_FILE") {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            writeln!(
                file,
                "manifest seeds: the directory shared/seeds is not beside the repository"
            )
            .unwrap();
        }
        return;
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut text, mut problems, mut sources, mut count) =
        (String::new(), Vec::new(), Sources::new(), 0);
    for file in &files {
        // The number is enough of a name, and stays when the rest changes.
        let name: String = file.file_name().unwrap().to_string_lossy().chars().take(3).collect();
        let reading = read_with_knowledge(&format!("{name}.txt"), &fs::read(file).unwrap());
        for document in reading.documents.iter().chain(&reading.fragments) {
            writeln!(text, "{}", line(document)).unwrap();
        }
        count += reading.documents.len();
        problems.extend(reading.problems);
        sources.add(reading.source);
    }
    text.push('\n');
    human(
        &mut text,
        &problems,
        &sources,
        &Summary::of(&problems, files.len(), count),
        Human::default(),
    )
    .unwrap();

    let golden = root.join("tests/golden/seeds.txt");
    if env::var_os("LANDBRIDGE_BLESS").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    let stored = fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        stored == text,
        "tests/golden/seeds.txt is out of date; run with LANDBRIDGE_BLESS=1. Now it is:\n{text}"
    );
}

fn line(document: &Document) -> String {
    let at = document.root().span;
    let what = if document.kind().is_empty() {
        let fields = document
            .value()
            .as_object()
            .map(|map| map.keys().cloned().collect::<Vec<_>>().join(", "));
        format!("fragment with {}", fields.unwrap_or_default())
    } else {
        format!("{} {}", document.api_version(), document.title())
    };
    let elided = if document.elided { ", parts left out" } else { "" };
    let inferred = if document.inferred { ", apiVersion inferred" } else { "" };
    format!("{}:{}:{}: {what}{elided}{inferred}", document.file(), at.line, at.column)
}
