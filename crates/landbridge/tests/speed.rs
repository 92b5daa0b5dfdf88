//! How long `landbridge check` takes, the whole program: reading, parsing, judging, printing.
//!
//! Not part of the tests, because a busy machine decides:
//! `cargo test --release -p landbridge --test speed -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used)] // that is how tests fail

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use landbridge_plan::sample::{KINDS, Scale, consistent_of, make};
use serde_json::Value;

/// What 10,000 documents may take.
const LIMIT: Duration = Duration::from_secs(2);

/// Documents per file: about what people put into one.
const PER_FILE: usize = 20;

fn measure(name: &str, objects: &[Value], format: &str) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    for (number, some) in objects.chunks(PER_FILE).enumerate() {
        let mut text = String::new();
        for object in some {
            writeln!(text, "---\n{}", serde_saphyr::to_string(object).unwrap()).unwrap();
        }
        bytes += text.len();
        fs::write(folder.path().join(format!("{number:04}.yaml")), text).unwrap();
    }
    let mut best = Duration::MAX;
    let mut last = String::new();
    for _ in 0..3 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landbridge"));
        command.args(["check", "--format", format]).arg(folder.path()).stderr(Stdio::inherit());
        let start = Instant::now();
        let output = command.output().expect("the program starts");
        best = best.min(start.elapsed());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().rfind(|line| line.contains(" documents)"));
        line.unwrap_or_default().clone_into(&mut last);
    }
    let count = objects.len();
    println!("{name}: {count} documents, {} KiB, {format}: {best:?} ({last})", bytes >> 10);
    best
}

#[test]
#[ignore = "a measurement; run it with --release"]
fn ten_thousand_documents_within_two_seconds() {
    let shapes = [
        ("many computes", Scale { namespaces: 3, networks: 6, nodes: 30, computes: 3_300 }),
        ("many namespaces", Scale { namespaces: 470, networks: 6, nodes: 5, computes: 4 }),
        ("many nodes", Scale { namespaces: 4, networks: 6, nodes: 1_000, computes: 2_250 }),
    ];
    let mut worst = Duration::ZERO;
    for (name, scale) in shapes {
        let mut objects = consistent_of(1, scale);
        assert!(objects.len() >= 9_900, "{name}: only {}", objects.len());
        worst = worst.max(measure(name, &objects, "human"));
        // A hundred mistakes, for what it costs to tell them.
        for seed in 0..100 {
            make(usize::try_from(seed).unwrap() % KINDS.len(), seed, &mut objects);
        }
        for format in ["human", "json", "sarif"] {
            worst = worst.max(measure(&format!("{name}, with mistakes"), &objects, format));
        }
    }
    if cfg!(debug_assertions) {
        println!("not a release build: no limit");
    } else {
        assert!(worst < LIMIT, "{worst:?} for 10,000 documents");
    }
}
