//! The three forms of a report, against files: `LANDBRIDGE_BLESS=1` renews them.
//!
//! `golden/input` is a small directory of manifests with what goes wrong in them. To what reading finds, a few
//! findings are added as a check would add them: about a field, about two files, inside embedded JSON.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

use std::{env, fs, path::PathBuf};

use landbridge_manifest::{
    Diagnostic, Document, Label, Options, Path, Rule, Sources, Summary, read,
    render::{About, Human, human, json, sarif},
    rules::RULES,
};
use serde_json::Value;

struct Report {
    problems: Vec<Diagnostic>,
    sources: Sources,
    summary: Summary,
}

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

fn compare(name: &str, text: &str) {
    let file = golden(name);
    if env::var_os("LANDBRIDGE_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == text,
        "tests/golden/{name} is out of date; run with LANDBRIDGE_BLESS=1 and read the difference. Now it is:\n{text}"
    );
}

fn label(document: &Document, field: &str, text: &str) -> Label {
    let span = document.locate(&path(field)).unwrap();
    Label::primary(document.file(), span, text).of_object(document.title()).at_field(field)
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

fn report() -> Report {
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    let mut sources = Sources::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(golden("input")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let name = format!("input/{}", file.file_name().unwrap().to_string_lossy());
        let reading = read(&name, &fs::read(file).unwrap(), &Options::default());
        documents.extend(reading.documents);
        problems.extend(reading.problems);
        sources.add(reading.source);
    }
    let find = |kind: &str| documents.iter().find(|document| document.kind() == kind).unwrap();
    let (netconfig, nad, service) =
        (find("NetConfig"), find("NetworkAttachmentDefinition"), find("Service"));

    let subnet = "spec.networks[0].subnets[0]";
    let range = nad.locate_inside(&path("spec.config"), &path("ipam.range")).unwrap();
    problems.push(
        Diagnostic::error("LB9001", "the range of the attachment is not the network's")
            .with_label(
                Label::primary(nad.file(), range, "ends at 172.17.0.127")
                    .of_object(nad.title())
                    .at_field("spec.config{ipam.range}"),
            )
            .with_label(Label {
                primary: false,
                ..label(netconfig, &format!("{subnet}.cidr"), "the network is larger")
            })
            .with_help("write 172.17.0.0/24")
            .with_url("https://example.org/LB9001"),
    );
    let key = netconfig.locate_key(&path(&format!("{subnet}.allocationRange"))).unwrap();
    problems.push(
        Diagnostic::warning("LB9002", "unknown field `allocationRange`").with_label(
            Label::primary(netconfig.file(), key, "did you mean `allocationRanges`?")
                .of_object(netconfig.title()),
        ),
    );
    problems.push(Diagnostic::note("LB9003", "a finding over several lines").with_label(label(
        netconfig,
        &format!("{subnet}.allocationRange"),
        "from here on",
    )));
    problems.push(
        Diagnostic::error("LB9004", "a name with \u{1b}[31mcontrol characters").with_label(label(
            service,
            "metadata.name",
            "here",
        )),
    );
    problems.push(
        Diagnostic::error("LB9005", "wide characters before it").with_label(Label::primary(
            nad.file(),
            nad.source().span(107, 111),
            "`alle`",
        )),
    );
    problems.push(
        Diagnostic::note("LB9006", "a file that was not read").with_label(Label {
            span: nad.locate(&Path::root()),
            ..Label::whole("elsewhere.yaml")
        }),
    );
    problems.push(Diagnostic::note("LB9007", "about nothing in particular"));
    let summary = Summary::of(&problems, files.len(), documents.len());
    Report { problems, sources, summary }
}

#[test]
fn for_people() {
    let Report { problems, sources, summary } = report();
    let mut text = String::new();
    human(&mut text, &problems, &sources, &summary, Human::default()).unwrap();
    compare("report.txt", &text);
}

#[test]
fn for_people_in_colour_and_narrow() {
    let Report { problems, sources, summary } = report();
    let mut text = String::new();
    human(&mut text, &problems, &sources, &summary, Human { color: true, width: 40 }).unwrap();
    assert!(!text.contains("\u{1b}[31m"), "what a file says is not obeyed");
    compare("report-colour.txt", &text.replace('\u{1b}', "␛"));
}

#[test]
fn for_programs() {
    let Report { problems, sources, summary } = report();
    let mut text = String::new();
    json(&mut text, &problems, &sources, &summary).unwrap();
    compare("report.json", &text);
}

#[test]
fn for_code_hosts() {
    let Report { problems, sources, .. } = report();
    let ours = [Rule {
        code: "LB9001",
        title: "ranges differ",
        explanation: "An attachment hands out addresses of its network.",
    }];
    let rules = [RULES, &ours].concat();
    let about = About {
        name: "landbridge",
        version: "0.1.0",
        rules: &rules,
        help_base: Some("https://example.org/"),
    };
    let mut text = String::new();
    sarif(&mut text, &problems, &sources, about).unwrap();
    check_sarif(&serde_json::from_str(&text).unwrap());
    compare("report.sarif", &text);
}

/// What the schema of SARIF 2.1.0 demands of the parts we write.
fn check_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        if let Some(index) = result.get("ruleIndex") {
            let rule = &rules[usize::try_from(index.as_u64().unwrap()).unwrap()];
            assert_eq!(rule["id"], result["ruleId"]);
        }
        let related = result.get("relatedLocations").and_then(Value::as_array);
        for location in
            result["locations"].as_array().unwrap().iter().chain(related.into_iter().flatten())
        {
            let physical = &location["physicalLocation"];
            assert!(
                !physical["artifactLocation"]["uri"].as_str().unwrap().contains([' ', '<', '\\'])
            );
            if let Some(region) = physical.get("region") {
                let number = |field: &str| region.get(field).and_then(Value::as_u64);
                assert!(number("startLine") >= Some(1) && number("startColumn") >= Some(1));
                assert!(number("endLine").is_none_or(|end| Some(end) >= number("startLine")));
            }
        }
    }
}
