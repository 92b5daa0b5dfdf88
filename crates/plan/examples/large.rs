//! How long a large plan takes: `cargo run --release -p landbridge-plan --example large`.

use std::time::Instant;

use landbridge_plan::sample::{Scale, consistent_of};
use landbridge_plan::{Options, Source, check};

fn main() {
    let shapes = [
        ("many computes", Scale { namespaces: 3, networks: 6, nodes: 30, computes: 3_300 }),
        ("many namespaces", Scale { namespaces: 400, networks: 6, nodes: 20, computes: 4 }),
        ("many nodes", Scale { namespaces: 1, networks: 6, nodes: 3_000, computes: 100 }),
    ];
    for (name, scale) in shapes {
        let objects = consistent_of(1, scale);
        let sources: Vec<_> =
            objects.iter().enumerate().map(|(id, value)| Source::new(id, value)).collect();
        for _ in 0..2 {
            let start = Instant::now();
            let report = check(&sources, &Options::default());
            let took = start.elapsed();
            println!(
                "{name}: {} documents, {} segments, {} findings, {took:?}",
                objects.len(),
                report.plan.segments.len(),
                report.findings.len()
            );
        }
    }
}
