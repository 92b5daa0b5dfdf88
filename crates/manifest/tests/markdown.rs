//! Texts with manifests in them.

#![allow(clippy::unwrap_used)] // helpers of tests unwrap as tests do

use landbridge_manifest::{Options, Origin, Reading, read};

fn read_plain(name: &str, text: &str) -> Reading {
    read(name, text.as_bytes(), &Options::default())
}

/// `code line` of each problem.
fn problems(reading: &Reading) -> Vec<String> {
    let line = |problem: &landbridge_manifest::Diagnostic| {
        problem.place().and_then(|label| label.span).map_or(0, |span| span.line)
    };
    reading.problems.iter().map(|problem| format!("{} {}", problem.code, line(problem))).collect()
}

const MANIFEST: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: api\n";

#[test]
fn each_block_gets_one_verdict() {
    for (name, block, expected) in [
        ("a manifest", format!("```yaml\n{MANIFEST}```"), ""),
        ("without a language", format!("```\n{MANIFEST}```"), ""),
        ("never closed", format!("~~~yaml\n{MANIFEST}"), ""),
        ("two", format!("```yaml\n{MANIFEST}---\n{MANIFEST}```"), ""),
        (
            "a comment that is a command",
            format!("```yaml\n# oc get service api -o yaml\n{MANIFEST}```"),
            "",
        ),
        ("here-document", format!("```sh\ncat <<EOF | oc apply -f -\n{MANIFEST}EOF\n```"), ""),
        ("json", "```json\n{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n```".to_owned(), ""),
        ("empty", "```\n\n```".to_owned(), ""),
        ("fragment", "```yaml\n  networkAttachents:\n  - storage\n```".to_owned(), "LB821 4"),
        (
            "elided",
            "```yaml\napiVersion: v1\nkind: A\nspec:\n  ...\n  a: 1\n...\n```".to_owned(),
            "LB822 7",
        ),
        (
            "elided fragment",
            "```yaml\nspec:\n...\n  options: []\n```".to_owned(),
            "LB821 4, LB822 5",
        ),
        ("output", "```\n# oc get vmi\nNAME  AGE\n```".to_owned(), "LB823 3"),
        ("output in yaml", "```yaml\n- ID: 1\n  Name: a\n```".to_owned(), "LB823 3"),
        ("schema", "```yaml\nip:\n  type: string\n  description: x\n```".to_owned(), "LB824 3"),
        ("commands", "```bash\nmake deploy\n```".to_owned(), "LB825 3"),
        ("patch", "```sh\noc patch x --patch '\nspec:\n  a: 1\n'\n```".to_owned(), "LB825 3"),
        ("other language", "```go\nfunc main() {}\n```".to_owned(), "LB826 3"),
        ("not yaml", "```yaml\nfoo: bar: baz\n```".to_owned(), "LB826 3"),
        (
            "broken manifest",
            "```yaml\napiVersion: v1\nkind: A\nspec: a: b\n```".to_owned(),
            "LB804 6",
        ),
        ("no apiVersion", "```yaml\nkind: A\n```".to_owned(), "LB811 4"),
        ("repeated key in output", "```\n$ oc get x\na: 1\na: 2\n```".to_owned(), "LB823 3"),
    ] {
        // A manifest at the end, so that the text is never without one.
        let text = format!("# Title\n\n{block}\n");
        let with_manifest = format!("{text}\n```yaml\n{MANIFEST}```\n");
        let closed = name != "never closed";
        let reading = read_plain("x.md", if closed { &with_manifest } else { &text });
        assert_eq!(problems(&reading).join(", "), expected, "{name}");
        assert!(
            reading
                .documents
                .iter()
                .all(|document| matches!(document.origin, Origin::Block { .. })),
            "{name}"
        );
        assert_eq!(
            reading.documents.last().and_then(|document| document.name()),
            Some("api"),
            "{name}"
        );
    }
}

#[test]
fn places_are_those_of_the_text() {
    let text = format!(
        "# Title\n\n1. In a list:\n\n   ```yaml\n   {}   ---\n   apiVersion: v1\n   kind: Second\n   ```\n",
        MANIFEST.replace('\n', "\n   ").trim_end_matches("   ")
    );
    let reading = read_plain("notes.txt", &text);
    assert_eq!(problems(&reading), [""; 0]);
    let places: Vec<_> = reading
        .documents
        .iter()
        .map(|d| (d.kind().to_owned(), d.locate(&"kind".parse().unwrap()).unwrap()))
        .map(|(kind, span)| (kind, span.line, span.column))
        .collect();
    assert_eq!(places, [("Service".to_owned(), 7, 10), ("Second".to_owned(), 12, 10)]);
}

#[test]
fn what_is_left_out_is_marked() {
    let text = "```\napiVersion: v1\nkind: Glance\nspec:\n  ...\n  api:\n    ...\n    networkAttachents:\n    - storage\n    - ...\n  other: ...\n...\n```\n";
    let reading = read_plain("x.md", text);
    let document = &reading.documents[0];
    assert!(document.elided);
    assert_eq!(
        document.value()["spec"],
        serde_json::json!({"api": {"networkAttachents": ["storage"]}, "other": null})
    );
    assert_eq!(
        document
            .locate_key(&"spec.api.networkAttachents".parse().unwrap())
            .map(|span| (span.line, span.column)),
        Some((8, 5))
    );
    assert_eq!(
        reading.problems[0].message,
        "`...` in lines 5, 7, 10, 11 and 12 stands for something left out"
    );
}

#[test]
fn which_files_are_texts() {
    let config_map =
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  README: |\n   ```yaml\n   a: 1\n   ```\n";
    for (name, text, documents, expected) in [
        ("a manifest that holds Markdown", config_map.to_owned(), 1, ""),
        ("a text with a manifest", format!("Some words.\n\n```\n{MANIFEST}```\n"), 1, ""),
        (
            "front matter",
            format!("---\nlayout: post\ntitle: x\n---\n\nWords: `a`.\n```\n{MANIFEST}```\n"),
            1,
            "",
        ),
        (
            "words only",
            "Some words about networks.\nAnd some more of them.\n".to_owned(),
            0,
            "LB820 1",
        ),
        ("no manifest in it", "Words.\n\n```\na: 1\n```\n".to_owned(), 0, "LB827 0, LB821 4"),
    ] {
        for file in ["x.txt", "x.yaml", "-"] {
            let reading = read_plain(file, &text);
            assert_eq!(reading.documents.len(), documents, "{name} as {file}");
            assert_eq!(problems(&reading).join(", "), expected, "{name} as {file}");
        }
    }
    assert_eq!(read_plain("x.md", MANIFEST).documents.len(), 1);
}

#[test]
fn blocks_that_are_of_no_interest_for_one_reason_are_one_note() {
    let output = "```\n# oc get vmi\nNAME  AGE\n```\n";
    let text = format!("{}```yaml\n{MANIFEST}```\n```go\nx\n```\n{output}", output.repeat(2));
    let reading = read_plain("notes.md", &text);
    assert_eq!(problems(&reading), ["LB823 1", "LB826 15"]);
    let note = &reading.problems[0];
    assert_eq!(note.message, "3 blocks in lines 1, 5 and 18: output of a command, not a manifest");
    assert_eq!(note.labels.iter().filter(|label| label.primary).count(), 1);
    assert_eq!(note.labels.len(), 3);
    let reading = read_plain("notes.md", &format!("{text}{}", output.repeat(9)));
    assert!(reading.problems[0].message.starts_with("12 blocks from line 1 on: "));
    assert_eq!(reading.problems[0].labels.len(), 4);
}
