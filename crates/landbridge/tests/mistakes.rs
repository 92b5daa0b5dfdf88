//! Mistakes put into plans, and plans without mistakes: the whole way from YAML text to diagnostics.
//!
//! `LANDBRIDGE_ROUNDS=N` plays N times as many, with other seeds each time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // that is how tests fail

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::Path;

use landbridge::manifests::{Inputs, Manifests, examine};
use landbridge_manifest::{Diagnostic, Severity};
use landbridge_plan::sample::{Expected, KINDS, Scale, consistent, consistent_of, label, make};
use serde_json::Value;

/// So many mistakes, and so many plans without one.
const COUNT: usize = 500;

fn rounds() -> usize {
    std::env::var("LANDBRIDGE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The plan of the reference, as it is written for people.
fn reference() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plan");
    let inputs = Inputs::gather(&[folder]);
    assert!(inputs.problems.is_empty(), "{:?}", inputs.problems);
    let read = |bytes: &[u8]| -> Vec<Value> {
        serde_saphyr::from_multiple(std::str::from_utf8(bytes).unwrap()).unwrap()
    };
    inputs.files.iter().flat_map(|(_, bytes)| read(bytes)).collect()
}

/// A plan as files, one per kind, and where in them each object stands.
struct Written {
    inputs: Inputs,
    /// File and bytes, by what diagnostics call the object.
    places: BTreeMap<String, Vec<(String, Range<usize>)>>,
}

fn write(objects: &[Value]) -> Written {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut places: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or("neutron").to_lowercase();
        let file = format!("{kind}.yaml");
        let text = texts.entry(file.clone()).or_default();
        text.push_str("---\n");
        let start = text.len();
        text.push_str(&serde_saphyr::to_string(object).unwrap());
        places.entry(title(object)).or_default().push((file, start..text.len()));
    }
    let mut inputs = Inputs::default();
    inputs.files.extend(texts.into_iter().map(|(name, text)| (name, text.into_bytes())));
    Written { inputs, places }
}

/// What diagnostics call an object.
fn title(object: &Value) -> String {
    let [kind, namespace, name] = parts(&label(object));
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}

fn parts(label: &str) -> [String; 3] {
    let parts: Vec<String> = label.splitn(3, '/').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

fn judge(written: &Written) -> Manifests {
    examine(&written.inputs, &landbridge_plan::Options::default())
}

/// The findings with the code that name all of the objects.
fn naming<'m>(found: &'m Manifests, expected: &Expected) -> Vec<&'m Diagnostic> {
    let titles: Vec<String> = expected
        .objects
        .iter()
        .map(|label| {
            let [kind, namespace, name] = parts(label);
            match namespace.as_str() {
                "" => format!("{kind} {name}"),
                _ => format!("{kind} {namespace}/{name}"),
            }
        })
        .collect();
    let names = |diagnostic: &Diagnostic, title: &String| {
        diagnostic.labels.iter().any(|label| label.object.as_ref() == Some(title))
    };
    let all = found.diagnostics.iter().filter(|found| found.code == expected.code);
    all.filter(|found| titles.iter().all(|title| names(found, title))).collect()
}

/// What every diagnostic about objects has: places inside of the objects it names, and a remedy.
fn assert_well_placed(diagnostic: &Diagnostic, written: &Written, found: &Manifests) {
    assert!(!diagnostic.labels.is_empty(), "no place: {diagnostic:?}");
    assert!(diagnostic.help.as_ref().is_some_and(|help| !help.is_empty()), "{diagnostic:?}");
    for label in &diagnostic.labels {
        let span = label.span.unwrap_or_else(|| panic!("no span: {diagnostic:?}"));
        let object = label.object.as_ref().unwrap_or_else(|| panic!("{diagnostic:?}"));
        let places = &written.places[object];
        let inside = |(file, range): &(String, Range<usize>)| {
            *file == label.file
                && range.start <= span.start as usize
                && span.end as usize <= range.end
        };
        assert!(places.iter().any(inside), "{span:?} is not in {object}: {diagnostic:?}");
        assert!(span.end > span.start, "nothing is marked: {diagnostic:?}");
        let text = found.sources.get(&label.file).unwrap().text();
        assert!(text.get(span.range()).is_some(), "{span:?} is no text: {diagnostic:?}");
    }
}

fn told(found: &Manifests) -> Vec<String> {
    found.diagnostics.iter().map(|found| format!("{} {}", found.code, found.message)).collect()
}

#[test]
fn every_mistake_in_the_reference_plan_is_found_and_named() {
    let plan = reference();
    let base = judge(&write(&plan));
    assert_eq!(told(&base), Vec::<String>::new());
    let wanted = COUNT * rounds();
    let (mut seen, mut codes) = (HashSet::new(), BTreeSet::new());
    let mut by_kind = vec![0; KINDS.len()];
    let (mut seed, mut made_in_all) = (0, 0);
    while made_in_all < wanted {
        let before = made_in_all;
        for (kind, made) in by_kind.iter_mut().enumerate() {
            for _ in 0..4 {
                seed += 1;
                let mut objects = plan.clone();
                let Some(expected) = make(kind, seed, &mut objects) else { continue };
                // Of the first 500, no two are the same; further rounds may repeat some.
                let text = serde_json::to_string(&objects).unwrap();
                if made_in_all >= wanted || (!seen.insert(text) && seen.len() < COUNT) {
                    continue;
                }
                made_in_all += 1;
                *made += 1;
                codes.insert(expected.code);
                let written = write(&objects);
                let found = judge(&written);
                assert!(!found.unread, "{expected:?}: {:#?}", told(&found));
                let naming = naming(&found, &expected);
                assert!(!naming.is_empty(), "{expected:?} not among {:#?}", told(&found));
                for diagnostic in &found.diagnostics {
                    assert_well_placed(diagnostic, &written, &found);
                }
            }
        }
        assert!(made_in_all > before, "only {before} different mistakes: {by_kind:?}");
    }
    let never: Vec<&str> =
        by_kind.iter().zip(KINDS).filter(|(made, _)| **made == 0).map(|(_, kind)| kind.0).collect();
    assert_eq!(never, Vec::<&str>::new(), "kinds of mistakes the plan has no place for");
    eprintln!(
        "{made_in_all} mistakes, {} of them different, of {} kinds, {} codes",
        seen.len(),
        KINDS.len(),
        codes.len()
    );
}

#[test]
fn plans_that_fit_give_no_finding() {
    let mut documents = 0;
    for seed in 0..(COUNT * rounds()) as u64 {
        let objects = consistent(seed);
        let found = judge(&write(&objects));
        assert_eq!(told(&found), Vec::<String>::new(), "plan {seed}");
        assert_eq!(found.summary.documents, objects.len());
        documents += objects.len();
    }
    eprintln!("{documents} documents");
}

/// How loud a mistake is: what was done is among the first things to be read, not below a heap, also
/// when there are many nodes.
#[test]
fn a_mistake_does_not_cause_a_flood() {
    let large = consistent_of(3, Scale { namespaces: 1, networks: 6, nodes: 30, computes: 4 });
    let mut loud = Vec::new();
    for (plan, seed) in [(reference(), 7), (large, 7)] {
        for (kind, (name, _)) in KINDS.iter().enumerate() {
            let mut objects = plan.clone();
            let Some(_) = make(kind, seed, &mut objects) else { continue };
            let found = judge(&write(&objects));
            let count =
                found.diagnostics.iter().filter(|found| found.severity != Severity::Note).count();
            if count > 8 {
                loud.push(format!("{name}: {count}, {:#?}", &told(&found)[..8]));
            }
        }
    }
    assert!(loud.is_empty(), "{}", loud.join("\n"));
}
