//! What `read` makes of files: documents, places, problems.

#![allow(clippy::unwrap_used)] // helpers of tests unwrap as tests do

use std::fmt::Write as _;

use landbridge_manifest::{Document, Limits, Options, Path, Reading, Stranger, Style, read};
use serde_json::json;

fn read_plain(name: &str, text: &str) -> Reading {
    read(name, text.as_bytes(), &Options::default())
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

/// `kind/name@line` of each document.
fn titles(reading: &Reading) -> Vec<String> {
    let title = |document: &Document| {
        format!(
            "{}/{}@{}",
            document.kind(),
            document.name().unwrap_or("-"),
            document.root().span.line
        )
    };
    reading.documents.iter().map(title).collect()
}

/// `code severity line:column` of each problem.
fn problems(reading: &Reading) -> Vec<String> {
    let problem = |problem: &landbridge_manifest::Diagnostic| {
        let at = problem
            .place()
            .and_then(|label| label.span)
            .map_or_else(|| "-".to_owned(), |span| format!("{}:{}", span.line, span.column));
        format!("{} {} {at}", problem.code, problem.severity)
    };
    reading.problems.iter().map(problem).collect()
}

/// The text a span covers, with its line and column.
fn at(document: &Document, span: landbridge_manifest::Span) -> String {
    format!("{}:{} {}", span.line, span.column, document.source().slice(span).unwrap())
}

#[test]
fn documents_of_a_file() {
    for (name, text, expected) in [
        ("one", "apiVersion: v1\nkind: A\n", &["A/-@1"][..]),
        ("several", "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n", &["A/-@1", "B/-@4"]),
        (
            "empty ones between",
            "---\n---\n# nothing\n---\napiVersion: v1\nkind: A\n---\n",
            &["A/-@5"],
        ),
        (
            "ends and directives",
            "%YAML 1.2\n---\napiVersion: v1\nkind: A\n...\n---\napiVersion: v1\nkind: B\n...\n",
            &["A/-@3", "B/-@7"],
        ),
        (
            "windows",
            "\u{feff}apiVersion: v1\r\nkind: A\r\nmetadata:\r\n  name: x\r\n---\r\napiVersion: v1\r\nkind: B\r\n",
            &["A/x@1", "B/-@6"],
        ),
        ("comments", "# head\napiVersion: v1 # version\nkind: A\n# tail\n", &["A/-@2"]),
        (
            "json",
            "{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n{\"apiVersion\": \"v1\",\n\t\"kind\": \"B\"}",
            &["A/-@1", "B/-@2"],
        ),
        (
            "json in yaml",
            "---\n{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n---\napiVersion: v1\nkind: B\n",
            &["A/-@2", "B/-@4"],
        ),
        ("indented", "  apiVersion: v1\n  kind: A\n", &["A/-@1"]),
        (
            "list",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- {apiVersion: v1, kind: B}\n",
            &["A/-@4", "B/-@6"],
        ),
        (
            "typed list",
            "apiVersion: v1\nkind: BList\nitems:\n- metadata:\n    name: x\n- metadata: {name: z}\n",
            &["B/x@4", "B/z@6"],
        ),
        (
            "list in list",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: BList\n  items:\n  - metadata: {name: x}\n",
            &["B/x@7"],
        ),
        ("empty list", "apiVersion: v1\nkind: List\nitems: []\n", &[]),
        ("no list", "apiVersion: v1\nkind: AllowList\nspec: {}\n", &["AllowList/-@1"]),
        (
            "merge keys",
            "apiVersion: v1\nkind: A\nx: &x {metadata: {name: m}}\n<<: *x\n",
            &["A/m@1"],
        ),
    ] {
        let reading = read_plain("x.yaml", text);
        assert_eq!(titles(&reading), expected, "{name}");
        assert_eq!(problems(&reading), [""; 0], "{name}");
    }
}

#[test]
fn items_take_from_their_list_what_they_lack() {
    let reading = read_plain(
        "x.json",
        r#"{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinitionList", "metadata": {}, "items": [{"metadata": {"name": "a"}, "kind": "Other"}]}"#,
    );
    let document = &reading.documents[0];
    assert_eq!(
        (document.api_version(), document.kind(), document.item),
        ("k8s.cni.cncf.io/v1", "Other", Some(0))
    );
}

const NETCONFIG: &str = "\
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: netconfig, namespace: openstack}
spec:
  networks:
  - name: CtlPlane # ünïcödé
    mtu: 1500
  - name: \"InternalApi\"
    subnets:
    - cidr: 172.17.0.0/24
      vlan:
      text: |
        one
        two

";

#[test]
fn every_value_has_its_place() {
    let reading = read_plain("x.yaml", NETCONFIG);
    let document = &reading.documents[0];
    assert_eq!(document.title(), "NetConfig openstack/netconfig");
    for (field, value, key) in [
        ("kind", "2:7 NetConfig", "2:1 kind"),
        (
            "spec.networks[1].subnets",
            "10:5 - cidr: 172.17.0.0/24\n      vlan:\n      text: |\n        one\n        two",
            "9:5 subnets",
        ),
        ("metadata", "3:11 {name: netconfig, namespace: openstack}", "3:1 metadata"),
        ("metadata.namespace", "3:40 openstack", "3:29 namespace"),
        ("spec.networks[0].mtu", "7:10 1500", "7:5 mtu"),
        ("spec.networks[1].name", "8:11 \"InternalApi\"", "8:5 name"),
        ("spec.networks[1].subnets[0].cidr", "10:13 172.17.0.0/24", "10:7 cidr"),
        ("spec.networks[1].subnets[0].vlan", "11:11 ", "11:7 vlan"),
        ("spec.networks[1].subnets[0].text", "13:9 one\n        two", "12:7 text"),
        // An item has no key.
        (
            "spec.networks[0]",
            "6:5 name: CtlPlane # ünïcödé\n    mtu: 1500",
            "6:5 name: CtlPlane # ünïcödé\n    mtu: 1500",
        ),
        // What is not there: the nearest that is.
        (
            "spec.networks[0].subnets[3].cidr",
            "6:5 name: CtlPlane # ünïcödé\n    mtu: 1500",
            "6:5 name: CtlPlane # ünïcödé\n    mtu: 1500",
        ),
        ("metadata.labels.app", "3:11 {name: netconfig, namespace: openstack}", "3:1 metadata"),
    ] {
        assert_eq!(at(document, document.locate(&path(field)).unwrap()), value, "{field}");
        assert_eq!(at(document, document.locate_key(&path(field)).unwrap()), key, "key of {field}");
    }
    assert_eq!(document.locate(&Path::root()), Some(document.root().span));
    assert_eq!(document.get(&path("spec.networks[0].mtu")), Some(&json!(1500)));
    assert!(document.has(&path("spec.networks[1].subnets[0].vlan")));
    assert!(!document.has(&path("spec.networks[2]")));
}

#[test]
fn aliases_stand_where_they_are_used_and_their_insides_where_they_are_written() {
    let text = "apiVersion: v1\nkind: A\none: &x\n  a: {b: 1}\ntwo: *x\nthree:\n  <<: [*x, {c: 2, a: 3}]\n  d: 4\n&k key: 1\nother: *k\n";
    let reading = read_plain("x.yaml", text);
    assert_eq!(problems(&reading), [""; 0]);
    let document = &reading.documents[0];
    assert_eq!(document.value()["three"], json!({"a": {"b": 1}, "c": 2, "d": 4}));
    assert_eq!(document.value()["other"], json!("key"));
    for (field, place) in [
        ("two", "5:6 *x"),
        ("two.a.b", "4:10 1"),
        ("three.a.b", "4:10 1"),
        ("three.c", "7:16 2"),
        ("three.d", "8:6 4"),
    ] {
        assert_eq!(at(document, document.locate(&path(field)).unwrap()), place, "{field}");
    }
}

#[test]
fn places_inside_embedded_json() {
    let literal = "apiVersion: v1\nkind: A\nspec:\n  config: |\n    {\n      \"type\": \"macvlan\",\n      \"ipam\": {\"range\": \"172.17.0.0/24\"}\n    }\n";
    let windows = literal.replace('\n', "\r\n");
    let kept = literal.replace("config: |", "config: |2+");
    let folded = literal.replace("config: |", "config: >");
    let double = r#"{"apiVersion": "v1", "kind": "A", "spec": {"config": "{\"type\": \"macv\u006can\", \"\ud83d\ude00\": 1, \"ipam\": {\"range\": \"172.17.0.0/24\"}}"}}"#;
    let single = "apiVersion: v1\nkind: A\nspec:\n  config: '{\"type\": \"it''s\", \"ipam\": {\"range\": \"172.17.0.0/24\"}}'\n";
    let many_lines = "apiVersion: v1\nkind: A\nspec:\n  config: '{\"type\": \"it''s\",\n    \"ipam\": {\"range\": \"172.17.0.0/24\"}}'\n";
    let no_json = "apiVersion: v1\nkind: A\nspec:\n  config: nothing\n";
    for (name, text, style, range, missing, key) in [
        (
            "literal",
            literal,
            Style::Literal,
            "7:25 \"172.17.0.0/24\"",
            "7:15 {\"range\": \"172.17.0.0/24\"}",
            "7:7 \"ipam\"",
        ),
        (
            "windows",
            windows.as_str(),
            Style::Literal,
            "7:25 \"172.17.0.0/24\"",
            "7:15 {\"range\": \"172.17.0.0/24\"}",
            "7:7 \"ipam\"",
        ),
        (
            "indentation given",
            kept.as_str(),
            Style::Literal,
            "7:25 \"172.17.0.0/24\"",
            "7:15 {\"range\": \"172.17.0.0/24\"}",
            "7:7 \"ipam\"",
        ),
        (
            "double",
            double,
            Style::DoubleQuoted,
            "1:127 \\\"172.17.0.0/24\\\"",
            "1:115 {\\\"range\\\": \\\"172.17.0.0/24\\\"}",
            "1:105 \\\"ipam\\\"",
        ),
        (
            "single",
            single,
            Style::SingleQuoted,
            "4:48 \"172.17.0.0/24\"",
            "4:38 {\"range\": \"172.17.0.0/24\"}",
            "4:30 \"ipam\"",
        ),
    ] {
        let reading = read_plain("x", text);
        assert_eq!(problems(&reading), [""; 0], "{name}");
        let document = &reading.documents[0];
        let config = path("spec.config");
        assert_eq!(
            document.node(&config).map(|node| &node.value),
            Some(&landbridge_manifest::Shape::Scalar(style)),
            "{name}"
        );
        let inside =
            |inner: &str| at(document, document.locate_inside(&config, &path(inner)).unwrap());
        assert_eq!(inside("ipam.range"), range, "{name}");
        assert_eq!(inside("ipam.routes[0].dst"), missing, "{name}");
        assert_eq!(
            at(document, document.locate_key_inside(&config, &path("ipam")).unwrap()),
            key,
            "{name}"
        );
    }
    for (name, text) in
        [("folded", folded.as_str()), ("many lines", many_lines), ("no json", no_json)]
    {
        let reading = read_plain("x", text);
        let document = &reading.documents[0];
        let config = path("spec.config");
        assert_eq!(
            document.locate_inside(&config, &path("ipam.range")),
            document.locate(&config),
            "{name}"
        );
    }
    let reading = read_plain("x", literal);
    let document = &reading.documents[0];
    assert_eq!(at(document, document.locate_offset(&path("spec.config"), 4).unwrap()), "6:7 \"");
}

#[test]
fn problems_of_text() {
    for (name, text, expected, found) in [
        ("x.yaml", "", &["LB803 warning -"][..], 0),
        ("x.yaml", "# nothing\n---\n", &["LB803 warning -"], 0),
        (
            "x.yaml",
            "apiVersion: v1\nkind: A\n---\na: [1\n---\napiVersion: v1\nkind: B\n",
            &["LB804 error 4:4"],
            2,
        ),
        ("x.yaml", "a: 'x\n---\napiVersion: v1\nkind: B\n", &["LB804 error 1:4"], 1),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec:\n\ta: 1\n", &["LB804 error 4:2"], 0),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: a: 1\n", &["LB804 error 3:8"], 0),
        ("x.json", "{\"apiVersion\": \"v1\",\n \"kind\": \"A\",}", &["LB805 error 2:14"], 0),
        ("x.json", "{\"a\": \"x\n\"}", &["LB805 error 1:9"], 0),
        ("x.json", "{\"a\": tru}", &["LB805 error 1:7"], 0),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: {a: 1, b: 2, a: 3}\n", &["LB806 error 3:20"], 1),
        (
            "x.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"A\", \"kind\": \"B\"}",
            &["LB806 error 1:35"],
            1,
        ),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: *x\n", &["LB807 error 3:7"], 0),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: &x [*x]\n", &["LB807 error 3:11"], 0),
        ("x.yaml", "apiVersion: v1\nkind: A\n<<: 5\n", &["LB807 error 3:5"], 0),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: {{ .Values.x }}\n", &["LB809 error 3:8"], 0),
        ("x.yaml", "- apiVersion: v1\n", &["LB810 error 1:3"], 0),
        ("x.yaml", "5\n", &["LB810 error 1:1"], 0),
        ("x.yaml", "a: 1\n", &["LB811 error 1:1"], 0),
        ("x.yaml", "kind: A\n", &["LB811 error 1:1"], 0),
        ("x.yaml", "apiVersion: v1\nkind: On\n", &["LB811 error 2:7"], 0),
        ("x.yaml", "apiVersion: v1\nkind: List\nitems: 5\n", &["LB813 error 3:8"], 0),
        ("x.yaml", "apiVersion: v1\nkind: List\nitems: [5]\n", &["LB813 error 3:9"], 0),
        (
            "x.yaml",
            "The network has two parts.\nNeither is described here.\n",
            &["LB820 error 1:1"],
            0,
        ),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec:\n  ...\n  a: 1\n", &["LB822 error 4:3"], 1),
        ("x.yaml", "apiVersion: v1\nkind: A\nspec: ...\n", &["LB822 error 3:7"], 1),
    ] {
        let reading = read_plain(name, text);
        assert_eq!(problems(&reading), expected, "{text:?}");
        assert_eq!(reading.documents.len(), found, "{text:?}");
    }
}

#[test]
fn what_is_said_helps() {
    let help = |text: &str| read_plain("x.yaml", text).problems[0].help.clone().unwrap_or_default();
    for (text, words) in [
        ("a:\n\tb: 1\n", "spaces"),
        ("a: b: c\n", "quote the value"),
        ("a: {{ x }}\n", "helm template"),
        ("{{- if .x }}\na: 1\n", "helm template"),
        ("apiVersion: v1\n<<<<<<< HEAD\nkind: A\n", "merge conflict"),
        ("a: x\n- b\n", "is a key missing above"),
        ("a: \"x\n", "closing quote"),
        ("a: [1, 2\n", "closing bracket"),
        ("a: @x\n", "quote a value"),
        ("Kind: A\napiVersion: v1\n", "`Kind` meant to be `kind`"),
        ("apiVersion: v1\nkind: no\n", "in quotes"),
    ] {
        assert!(help(text).contains(words), "{text:?}: {:?}", help(text));
    }
}

#[test]
fn repeated_keys_show_both_places_and_the_last_counts() {
    let reading = read_plain("x.yaml", "apiVersion: v1\nkind: A\nspec:\n  vlan: 20\n  vlan: 21\n");
    let places: Vec<_> = reading.problems[0]
        .labels
        .iter()
        .filter_map(|label| Some((label.span?.line, label.primary)))
        .collect();
    assert_eq!(places, [(5, true), (4, false)]);
    let document = &reading.documents[0];
    assert_eq!(document.value()["spec"]["vlan"], json!(21));
    assert_eq!(document.locate(&path("spec.vlan")).unwrap().line, 5);
}

#[test]
fn files_that_are_no_text() {
    for (bytes, words, place) in [
        (&b"\xff\xfea\0"[..], "UTF-16", None),
        (b"\x7fELF\0\0", "binary", None),
        (b"a: 1\nb: \xe4\n", "0xe4 at offset 8", Some((2, 4))),
    ] {
        let reading = read("x", bytes, &Options::default());
        let [problem] = reading.problems.as_slice() else { panic!("{:?}", reading.problems) };
        assert_eq!(problem.code, "LB802");
        assert!(problem.message.contains(words), "{}", problem.message);
        assert_eq!(problem.labels[0].span.map(|span| (span.line, span.column)), place);
    }
}

#[test]
fn limits() {
    let read_within = |limits: Limits, text: &str| {
        problems(&read("x.yaml", text.as_bytes(), &Options { limits, ..Options::default() }))
    };
    let small = Limits { bytes: 1000, depth: 5, nodes: 20, alias_nodes: 10 };
    assert_eq!(read_within(small, &"#".repeat(1001)), ["LB801 error -"]);
    assert_eq!(read_within(small, "apiVersion: v1\nkind: A\na: [[[[1]]]]\n"), [""; 0]);
    assert_eq!(
        read_within(small, "apiVersion: v1\nkind: A\na: [[[[[1]]]]]\n"),
        ["LB808 error 3:8"]
    );
    assert_eq!(
        read_within(
            small,
            &format!("apiVersion: v1\nkind: A\na: {}1{}\n", "[".repeat(300), "]".repeat(300))
        ),
        ["LB808 error 3:10"]
    );
    assert_eq!(read_within(small, &format!("[{}]", "1,".repeat(30))), ["LB808 error 1:40"]);
    assert_eq!(read_within(small, &format!("a: [{}]", "1,".repeat(30))), ["LB808 error 1:39"]);
    assert_eq!(
        read_within(small, "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}"),
        ["LB808 error 1:26"]
    );

    // Each alias doubles: a gigabyte from a kilobyte, were it not for the budget.
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for level in 1..30 {
        writeln!(bomb, "a{level}: &a{level} [*a{0}, *a{0}]", level - 1).unwrap();
    }
    assert_eq!(read_within(Limits::default(), &bomb), ["LB808 error 16:18"]);
    // In many documents, with a broken one, so that they are read one by one.
    let documents = format!("a: [\n{}", "---\na: &a [x, x, x]\nb: *a\n".repeat(5));
    assert_eq!(
        read_within(Limits { nodes: 1000, ..small }, &documents),
        ["LB804 error 1:4", "LB811 error 3:1", "LB808 error 6:7"]
    );
}

#[test]
fn what_the_caller_knows() {
    let infer = |kind: &str| (kind == "IPSet").then(|| "network.openstack.org/v1beta1".to_owned());
    let guess = |value: &serde_json::Value| {
        value.get("network_config").map(|_| "a file for os-net-config".to_owned())
    };
    let options = Options { infer: Some(&infer), guess: Some(&guess), ..Options::default() };
    let reading = read(
        "x.yaml",
        b"kind: IPSet\nmetadata: {name: a}\n---\nkind: Other\n---\nnetwork_config: []\n",
        &options,
    );
    assert_eq!(problems(&reading), ["LB812 warning 1:7", "LB811 error 4:1", "LB811 error 6:1"]);
    let document = &reading.documents[0];
    assert_eq!(
        (document.api_version(), document.inferred),
        ("network.openstack.org/v1beta1", true)
    );
    assert_eq!(document.locate(&path("apiVersion")), Some(document.root().span));
    assert_eq!(reading.problems[2].labels[0].text, "looks like a file for os-net-config");
    assert_eq!(reading.fragments.len(), 2);
}

#[test]
fn a_thousand_problems_are_enough() {
    let reading = read_plain("x.yaml", &"---\n5\n".repeat(1500));
    assert_eq!(reading.problems.len(), 1001);
    let more = &reading.problems[0];
    assert_eq!((more.code, more.message.as_str()), ("LB814", "500 more problems in this file"));
    assert_eq!(more.severity, landbridge_manifest::Severity::Error);
}

#[test]
fn strangers_the_caller_knows_are_used_or_left_alone() {
    let known = |value: &serde_json::Value| {
        if value.is_array() || value.get("ports").is_some() {
            Some(Stranger::Useful("Neutron dump".to_owned()))
        } else {
            value.get("values").map(|_| Stranger::Other("a file of values".to_owned()))
        }
    };
    let options = Options { known: Some(&known), ..Options::default() };
    let read_it = |name: &str, text: &str| read(name, text.as_bytes(), &options);
    for text in ["[{\"id\": 1}]", "ports: []\n"] {
        let reading = read_it("x.yaml", text);
        assert_eq!(problems(&reading), Vec::<String>::new());
        assert_eq!(reading.documents[0].title(), "Neutron dump");
    }
    let reading = read_it("x.yaml", "values: 1\n");
    assert_eq!(problems(&reading), ["LB828 note 1:1"]);
    assert!(reading.documents.is_empty() && reading.fragments.is_empty());
    // What says what it is, is that; and in a text nothing is taken for anything.
    assert_eq!(read_it("x.yaml", "kind: A\nports: []\n").documents.len(), 0);
    assert_eq!(read_it("x.md", "```yaml\nports: []\n```\n").documents.len(), 0);
}

#[test]
fn names_that_yaml_takes_for_something_else() {
    let reading = read_plain(
        "x.yaml",
        "apiVersion: v1\nkind: A\nmetadata:\n  name: no\n  namespace: 007\n---\n\
         apiVersion: v1\nkind: A\nmetadata: {name: \"no\"}\n",
    );
    assert_eq!(problems(&reading), ["LB815 error 4:9", "LB815 error 5:14"]);
    assert_eq!(reading.problems[0].labels[0].text, "YAML reads this as false");
    assert_eq!(titles(&reading), ["A/-@1", "A/no@7"]);
}
