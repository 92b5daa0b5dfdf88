//! What holds for every input.

#![allow(clippy::unwrap_used)] // helpers of tests unwrap as tests do

use std::fmt::Write as _;

use landbridge_manifest::{
    Document, Limits, Node, Options, Path, Reading, Shape, Source, Sources, Span, Summary, read,
    render::{About, Human, human, json, sarif},
    rules::RULES,
};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// A span lies inside the file, on characters, and its line and column are those of its start.
fn check_span(source: &Source, span: Span) -> Result<(), TestCaseError> {
    prop_assert!(source.slice(span).is_some(), "{span:?} is not in {:?}", source.text());
    let position = source.position(span.start);
    prop_assert_eq!(
        (position.line, position.column),
        (span.line, span.column),
        "{:?} in {:?}",
        span,
        source.text()
    );
    Ok(())
}

fn check_tree(source: &Source, node: &Node, value: Option<&Value>) -> Result<(), TestCaseError> {
    check_span(source, node.span)?;
    match &node.value {
        Shape::Scalar(_) => {}
        Shape::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                check_tree(source, item, value.and_then(|value| value.get(index)))?;
            }
        }
        Shape::Mapping(entries) => {
            for entry in entries {
                check_span(source, entry.key_span)?;
                let counts = node.entry(&entry.key).is_some_and(|last| std::ptr::eq(last, entry));
                let inner = value.filter(|_| counts).and_then(|value| value.get(&*entry.key));
                prop_assert!(
                    !counts || value.is_none() || inner.is_some(),
                    "no value of {}",
                    entry.key
                );
                check_tree(source, &entry.node, inner)?;
            }
        }
    }
    // Of a key that stands twice the last one is the value; the other has only a place.
    let same = match (&node.value, value) {
        (_, None) => true,
        (Shape::Scalar(_), Some(value)) => !value.is_object() && !value.is_array(),
        (Shape::Sequence(items), Some(value)) => {
            value.as_array().is_some_and(|values| values.len() == items.len())
        }
        (Shape::Mapping(_), Some(value)) => value.is_object(),
    };
    prop_assert!(same, "tree and value differ: {node:?} {value:?}");
    Ok(())
}

/// Everything that is promised for every reading.
fn check(reading: &Reading) -> Result<(), TestCaseError> {
    for document in reading.documents.iter().chain(&reading.fragments) {
        check_tree(&reading.source, document.root(), Some(document.value()))?;
    }
    for document in &reading.documents {
        prop_assert!(!document.kind().is_empty() && !document.api_version().is_empty());
    }
    for label in reading.problems.iter().flat_map(|problem| &problem.labels) {
        if let Some(span) = label.span {
            check_span(&reading.source, span)?;
        }
    }
    // All three forms can show it, and the one for terminals shows nothing that moves the cursor.
    let sources: Sources = [reading.source.clone()].into_iter().collect();
    let summary = Summary::of(&reading.problems, 1, reading.documents.len());
    let mut text = String::new();
    human(&mut text, &reading.problems, &sources, &summary, Human::default()).unwrap();
    prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    let about = About { name: "landbridge", version: "0", rules: RULES, help_base: None };
    for form in [0, 1] {
        let mut text = String::new();
        if form == 0 {
            json(&mut text, &reading.problems, &sources, &summary).unwrap();
        } else {
            sarif(&mut text, &reading.problems, &sources, about).unwrap();
        }
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
    Ok(())
}

fn read_small(name: &str, bytes: &[u8]) -> Reading {
    let limits = Limits { bytes: 1 << 16, depth: 20, nodes: 2000, alias_nodes: 500 };
    let infer = |kind: &str| (kind.len() > 3).then(|| "v1".to_owned());
    let guess = |_: &Value| Some("something".to_owned());
    read(name, bytes, &Options { limits, infer: Some(&infer), guess: Some(&guess), known: None })
}

/// Pieces that YAML, JSON and Markdown are made of, in no order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b: ",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "\r\n",
        "\r",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\"",
        "'",
        "|\n",
        ">-\n  ",
        "&x ",
        "*x",
        "<<: ",
        "!!str ",
        "---\n",
        "...\n",
        "  ...\n",
        "apiVersion: v1\n",
        "kind: List\n",
        "kind: A\n",
        "items:\n",
        "```\n",
        "```yaml\n",
        "~~~\n",
        "ü",
        "網",
        "\u{feff}",
        "\u{1b}",
        "#",
        " # x\n",
        "cat <<EOF\n",
        "EOF\n",
        "1",
        "true",
        "\\",
        "\\u00e9",
        "%",
        "@",
        "\u{85}",
        "\u{2028}",
        "? ",
        "{{ x }}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["x.yaml", "x.json", "x.md", "x.txt", "-"])
}

/// A scalar, and the ways to write it down in YAML on one line.
fn scalar() -> impl Strategy<Value = (Value, String)> {
    prop_oneof![
        any::<bool>().prop_map(|value| (Value::from(value), value.to_string())),
        any::<i64>().prop_map(|value| (Value::from(value), value.to_string())),
        "[a-zü][a-z0-9/._-]{3,12}"
            .prop_filter("words of YAML", |text| !matches!(
                text.as_str(),
                "true" | "false" | "null"
            ))
            .prop_map(|text| (Value::from(text.clone()), text)),
        any::<String>().prop_map(|text| (Value::from(text.clone()), Value::from(text).to_string())),
        "[ -~ü]{0,12}".prop_map(|text| (
            Value::from(text.clone()),
            format!("'{}'", text.replace('\'', "''"))
        )),
    ]
    .prop_filter("YAML has no such characters", |(_, written)| {
        !written.contains(|c: char| {
            c.is_control()
                || matches!(
                    c,
                    '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
                )
        })
    })
}

#[derive(Clone, Debug)]
enum Tree {
    Scalar(Value, String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = scalar().prop_map(|(value, written)| Tree::Scalar(value, written));
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::List),
            prop::collection::btree_map("[a-zü]{4,8}", inner, 1..4)
                .prop_map(|map| Tree::Map(map.into_iter().collect())),
        ]
    })
}

impl Tree {
    fn value(&self) -> Value {
        match self {
            Tree::Scalar(value, _) => value.clone(),
            Tree::List(items) => items.iter().map(Tree::value).collect(),
            Tree::Map(entries) => entries
                .iter()
                .map(|(key, tree)| (key.clone(), tree.value()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// Writes the tree as a block that follows `key:` or `-`, and notes what is written where.
    fn write(
        &self,
        out: &mut String,
        indentation: usize,
        at: &Path,
        notes: &mut Vec<(Path, String)>,
        end: &str,
    ) {
        match self {
            Tree::Scalar(_, written) => {
                write!(out, " {written}{end}").unwrap();
                notes.push((at.clone(), written.clone()));
            }
            Tree::List(items) => {
                out.push_str(end);
                notes.push((at.clone(), "-".to_owned()));
                for (index, item) in items.iter().enumerate() {
                    write!(out, "{:indentation$}-", "").unwrap();
                    item.write(out, indentation + 2, &at.clone().index(index), notes, end);
                }
            }
            Tree::Map(entries) => {
                out.push_str(end);
                notes.push((
                    at.clone(),
                    entries.first().map_or_else(String::new, |(key, _)| format!("{key}:")),
                ));
                for (key, tree) in entries {
                    write!(out, "{:indentation$}{key}:", "").unwrap();
                    // A list may stand as deep as its key; let the key decide, to have both.
                    let flat = matches!(tree, Tree::List(_)) && key.len() % 2 == 0;
                    let indentation = if flat { indentation } else { indentation + 2 };
                    tree.write(out, indentation, &at.clone().key(key), notes, end);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn bytes_are_read(name in name(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&read_small(name, &bytes))?;
    }

    #[test]
    fn texts_are_read(name in name(), text in any::<String>()) {
        check(&read_small(name, text.as_bytes()))?;
    }

    #[test]
    fn soups_are_read(name in name(), text in soup()) {
        check(&read_small(name, text.as_bytes()))?;
    }

    #[test]
    fn manifests_with_a_soup_inside_are_read(name in name(), text in soup()) {
        let text = format!("apiVersion: v1\nkind: A\nspec:\n  {}\n", text.replace('\n', "\n  "));
        check(&read_small(name, text.as_bytes()))?;
    }

    #[test]
    fn scalars_stand_where_their_spans_say(tree in tree(), end in prop::sample::select(vec!["\n", "\r\n", " # ü\n", "\n\n"]), mark in any::<bool>()) {
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        write!(text, "apiVersion: v1\nkind: Abc{end}spec:").unwrap();
        let mut notes = Vec::new();
        tree.write(&mut text, 2, &Path::root().key("spec"), &mut notes, end);
        let reading = read("x.yaml", text.as_bytes(), &Options::default());
        prop_assert!(reading.problems.is_empty(), "{:?} in {text}", reading.problems);
        let document = &reading.documents[0];
        prop_assert_eq!(&document.value()["spec"], &tree.value());
        for (path, written) in notes {
            let span = document.locate(&path).unwrap();
            let found = reading.source.slice(span).unwrap();
            // Of a collection only the start was noted.
            let starts = if document.get(&path).is_some_and(|value| value.is_object() || value.is_array()) {
                found.starts_with(&written)
            } else {
                found == written
            };
            prop_assert!(starts, "{} is {:?}, not {:?} in {}", path, found, written, text);
        }
        check(&reading)?;
    }

    #[test]
    fn json_means_what_it_says(tree in tree(), pretty in any::<bool>()) {
        let object = serde_json::json!({"apiVersion": "v1", "kind": "Abc", "spec": tree.value()});
        let text = if pretty { format!("{object:#}") } else { object.to_string() };
        let reading = read("x.json", text.as_bytes(), &Options::default());
        prop_assert!(reading.problems.is_empty(), "{:?} in {text}", reading.problems);
        prop_assert_eq!(reading.documents[0].value(), &object);
        check(&reading)?;
    }

    #[test]
    fn json_inside_strings_is_found(tree in tree(), inline in any::<bool>()) {
        let inner = serde_json::json!({"first": 1, "tree": tree.value()});
        let config = if inline {
            Value::from(inner.to_string()).to_string()
        } else {
            format!("|\n    {}", format!("{inner:#}").replace('\n', "\n    "))
        };
        let text = format!("apiVersion: v1\nkind: Abc\nspec:\n  config: {config}\n");
        let reading = read("x.yaml", text.as_bytes(), &Options::default());
        prop_assert!(reading.problems.is_empty(), "{:?} in {text}", reading.problems);
        let document: &Document = &reading.documents[0];
        let config = Path::root().key("spec").key("config");
        let mut notes = Vec::new();
        tree.write(&mut String::new(), 0, &Path::root().key("tree"), &mut notes, "\n");
        for (path, _) in notes {
            let span = document.locate_inside(&config, &path).unwrap();
            check_span(&reading.source, span)?;
            prop_assert!(span != document.locate(&config).unwrap(), "{path} not found in {text}");
            // What is written there means the value, once the outer quotes are undone.
            let written = reading.source.slice(span).unwrap();
            let unquoted: Value = if inline { serde_json::from_str(&format!("\"{written}\"")).unwrap() } else { Value::from(written) };
            let found: Value = serde_json::from_str(unquoted.as_str().unwrap()).unwrap();
            let pointer = path.segments().iter().fold(&inner, |value, segment| match segment {
                landbridge_manifest::Segment::Key(key) => &value[key],
                landbridge_manifest::Segment::Index(index) => &value[index],
            });
            prop_assert_eq!(&found, pointer);
        }
    }
}
