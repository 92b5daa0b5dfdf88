//! Reads files and prints what was found in them: `cargo run -p landbridge-manifest --example show -- FILE…`.
//!
//! With `--time N` it instead makes a file of N documents in memory and says how long reading takes.

use std::{fmt::Write as _, time::Instant};

use landbridge_manifest::{
    Options, Sources, Summary, read,
    render::{Human, human},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, count] = arguments.as_slice()
        && flag == "--time"
    {
        return time(count.parse().unwrap_or(10_000));
    }
    let infer = |kind: &str| (kind == "IPSet").then(|| "network.openstack.org/v1beta1".to_owned());
    let options = Options { infer: Some(&infer), ..Options::default() };
    let (mut sources, mut problems, mut documents) = (Sources::new(), Vec::new(), 0);
    for name in &arguments {
        let Ok(bytes) = std::fs::read(name) else {
            eprintln!("cannot read {name}");
            continue;
        };
        let reading = read(name, &bytes, &options);
        for document in &reading.documents {
            let at = document.root().span;
            let elided = if document.elided { " (with parts left out)" } else { "" };
            println!("{name}:{}: {} {}{elided}", at.line, document.api_version(), document.title());
        }
        documents += reading.documents.len();
        sources.add(reading.source);
        problems.extend(reading.problems);
    }
    let summary = Summary::of(&problems, arguments.len(), documents);
    let mut text = String::new();
    if human(&mut text, &problems, &sources, &summary, Human::default()).is_ok() {
        print!("{text}");
    }
}

/// One NetConfig after the other, about 560 bytes each.
fn time(count: usize) {
    let mut text = String::new();
    for number in 0..count {
        let _ = write!(
            text,
            "---\napiVersion: network.openstack.org/v1beta1\nkind: NetConfig\nmetadata:\n  name: netconfig-{number}\n  \
             namespace: openstack\nspec:\n  networks:\n  - name: CtlPlane\n    subnets:\n    - name: subnet1\n      \
             allocationRanges:\n      - end: 192.168.122.120\n        start: 192.168.122.100\n      - end: \
             192.168.122.200\n        start: 192.168.122.150\n      cidr: 192.168.122.0/24\n      gateway: \
             192.168.122.1\n  - name: InternalApi\n    subnets:\n    - name: subnet1\n      allocationRanges:\n      - \
             end: 172.17.0.250\n        start: 172.17.0.10\n      cidr: 172.17.0.0/24\n      vlan: 20\n"
        );
    }
    for _ in 0..3 {
        let start = Instant::now();
        let reading = read("many.yaml", text.as_bytes(), &Options::default());
        let taken = start.elapsed();
        println!(
            "{} bytes, {} documents, {} problems: {taken:?}",
            text.len(),
            reading.documents.len(),
            reading.problems.len()
        );
        let start = Instant::now();
        drop(reading);
        println!("  dropped in {:?}", start.elapsed());
    }
    let broken = format!("a: [\n{text}");
    let start = Instant::now();
    let reading = read("many.yaml", broken.as_bytes(), &Options::default());
    println!(
        "one broken first: {} documents, {} problems: {:?}",
        reading.documents.len(),
        reading.problems.len(),
        start.elapsed()
    );
    let items: Vec<&serde_json::Value> =
        reading.documents.iter().map(landbridge_manifest::Document::value).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let json = list.to_string();
    let start = Instant::now();
    let reading = read("many.json", json.as_bytes(), &Options::default());
    println!(
        "{} bytes of JSON on one line, {} documents, {} problems: {:?}",
        json.len(),
        reading.documents.len(),
        reading.problems.len(),
        start.elapsed()
    );
}
