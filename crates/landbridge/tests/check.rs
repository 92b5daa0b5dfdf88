//! `check`, `plan` and `explain` as people use them: the program itself, its output and exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // that is how tests fail

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landbridge"));
    // Paths in the output are as they are typed, so that it is the same on every machine.
    command.args(arguments).current_dir(root()).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// What a run said, and how it ended.
struct Ran {
    out: String,
    err: String,
    code: i32,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().expect("no signal");
        let ran = Ran { out: text(output.stdout), err: text(output.stderr), code };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }
}

impl Ran {
    /// `LB101 netconfig.yaml:15:9`, without directories.
    fn lines(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut code = "";
        for line in self.out.lines() {
            if let Some((_, rest)) = line
                .split_once('[')
                .filter(|(word, _)| matches!(*word, "error" | "warning" | "note"))
            {
                code = rest.split(']').next().unwrap();
            } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
                found.push(format!("{code} {}", place.rsplit('/').next().unwrap()));
            }
        }
        found
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

fn run(arguments: &[&str]) -> Ran {
    command(arguments).output().expect("the program starts").into()
}

fn feed(arguments: &[&str], input: &str) -> Ran {
    let mut command = command(arguments);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap().into()
}

/// Compares with a file; `LANDBRIDGE_BLESS=1` writes it.
fn assert_golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LANDBRIDGE_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == text, "tests/golden/{name} is out of date; LANDBRIDGE_BLESS=1. Now:\n{text}");
}

const NETCONFIG: &str = "\
apiVersion: network.openstack.org/v1beta1
kind: NetConfig
metadata: {name: netconfig, namespace: openstack}
spec:
  networks:
  - name: internalapi
    dnsDomain: internalapi.example.com
    subnets:
    - name: subnet1
      cidr: 172.17.0.0/24
      vlan: 20
      allocationRanges: [{start: 172.17.0.85, end: 172.17.0.250}]
";
const POOL: &str = "\
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: internalapi, namespace: metallb-system}
spec: {addresses: [172.17.0.80-172.17.0.90]}
";

#[test]
fn nothing_is_found_in_the_reference_plan() {
    let ran = run(&["check", "examples/plan"]);
    assert_eq!((ran.out.as_str(), ran.code), ("no problems in 7 files (28 documents)\n", 0));
    assert_eq!(run(&["check", "--strict", "--complete", "examples/plan"]).code, 0);
}

#[test]
fn the_broken_example_says_what_its_readme_says() {
    let ran = run(&["check", "examples/plan-broken"]);
    assert_golden("broken.txt", &ran.out);
    assert_eq!(ran.code, 1);
    let readme = fs::read_to_string(root().join("examples/plan-broken/README.md")).unwrap();
    let mut promised: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.trim_end_matches('|').rsplit('|').next())
        .flat_map(|codes| codes.split(',').map(str::trim))
        .filter(|code| code.starts_with("LB"))
        .collect();
    promised.sort_unstable();
    let mut found: Vec<String> = ran.lines().iter().map(|line| line[..5].to_owned()).collect();
    found.sort();
    assert_eq!(found, promised);
}

/// The rows are those of the table of contradictions in the first seed. Rows 5 and 6 are about texts,
/// not manifests: an example without `interface`, and two generations of one API.
#[test]
fn every_contradiction_of_the_seed_is_found_where_it_stands() {
    let ran = run(&["check", "crates/plan/tests/data/seed"]);
    assert_eq!(ran.code, 1);
    let expected = [
        ("1: range over attachment, range over pool", "LB101 netconfig.yaml:21:9"),
        ("2: the same on storage", "LB101 netconfig.yaml:43:9"),
        ("3: VLAN of storage", "LB201 netconfig.yaml:46:13"),
        ("3: VLAN of tenant", "LB201 netconfig.yaml:63:13"),
        ("3: prefix of tenant", "LB202 nad.yaml:56:18"),
        ("3: storagemgmt has the prefix of tenant", "LB204 netconfig.yaml:53:13"),
        ("3: names say tenant is elsewhere", "LB206 dns.yaml:31:9"),
        ("4: MTU over the interface's", "LB203 netconfig.yaml:56:10"),
        ("4: MTU in the status", "LB207 ipset.yaml:52:10"),
        ("7: no pool ctlplane", "LB301 openstack.yaml:28:24"),
        ("8: letter case", "LB602 netconfig.yaml:17:11"),
        ("8: letter case", "LB602 netconfig.yaml:39:11"),
        ("8: letter case", "LB602 netconfig.yaml:55:11"),
        ("9: networkAttachents", "LB601 openstack.yaml:14:5"),
        ("9: networkAttachents", "LB601 openstack.yaml:17:5"),
        ("9: storge", "LB603 dns.yaml:27:7"),
        ("10: one address for all workers", "LB501 nncp.yaml:45:15"),
        ("not in the table: a router in the range", "LB105 netconfig.yaml:38:18"),
    ];
    let found = ran.lines();
    for (row, line) in expected {
        assert!(found.iter().any(|found| found == line), "{row}: {line} not in {found:#?}");
    }
    // Row 1 is two findings in one place.
    assert_eq!(found.len(), expected.len() + 1, "{found:#?}");
    assert_golden("seed.txt", &ran.out);
}

/// The seeds as they are, when they are at hand.
#[test]
fn raw_texts_are_read_and_what_is_missing_is_explained() {
    let shared = std::env::var_os("LANDBRIDGE_SHARED")
        .map_or_else(|| root().join("../shared"), PathBuf::from);
    let Ok(entries) = fs::read_dir(shared.join("seeds")) else {
        println!("skipped: the seeds are not there");
        if let Some(file) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            let why = "no folder of seeds (LANDBRIDGE_SHARED names what holds it)";
            writeln!(file, "check on the raw seeds: {why}").unwrap();
        }
        return;
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let ran: Vec<Ran> = files.iter().map(|file| run(&["check", file.to_str().unwrap()])).collect();
    let codes: Vec<i32> = ran.iter().map(|ran| ran.code).collect();
    assert_eq!(codes, [1, 0, 2, 2, 2]);
    let found: Vec<String> = ran[0]
        .lines()
        .iter()
        .map(|line| format!("{} {}", &line[..5], line.split_once(':').unwrap().1))
        .filter(|line| !line.starts_with("LB82"))
        .collect();
    let expected = [
        "LB501 135:15", // 10
        "LB601 391:3",  // 9, in a fragment
        "LB601 410:5",  // 9
        "LB601 414:5",  // 9
        "LB603 487:7",  // 9
        "LB206 491:9",  // 3
        "LB602 534:11", // 8
        "LB101 538:9",  // 1
        "LB101 538:9",  // 1
        "LB105 555:18",
        "LB602 556:11", // 8
        "LB101 560:9",  // 2
        "LB201 563:13", // 3
        "LB812 591:7",
        "LB207 665:10", // 4
    ];
    assert_eq!(found, expected);
    let words: [(usize, &[&str]); 5] = [
        (
            0,
            &[
                "did you mean networkAttachments?",
                "looks like part of the spec of an OpenStack service",
            ],
        ),
        (1, &["7 blocks in lines 150, 165", "shell commands with a patch"]),
        (2, &["is a key missing above it?", ":112:9"]),
        (3, &["none of the 12 fenced blocks of this text is a complete manifest"]),
        (4, &["this is a text, not a manifest", "fenced blocks"]),
    ];
    for (seed, words) in words {
        for word in words {
            assert!(ran[seed].out.contains(word), "seed {seed} lacks {word:?}: {}", ran[seed].out);
        }
    }
}

#[test]
fn exit_codes_say_how_bad_it_is() {
    let warned = NETCONFIG.replace("172.17.0.85", "172.17.0.100")
        + "---\n"
        + POOL
        + "---\napiVersion: metallb.io/v1beta1\nkind: L2Advertisement\nmetadata: {name: l2, namespace: metallb-system}\n"
        + "spec: {ipAddressPools: [other]}\n";
    let both = format!("{NETCONFIG}---\n{POOL}");
    for (arguments, input, code) in [
        (&["check", "-"][..], NETCONFIG, 0),
        (&["check", "-"], &warned, 0),
        (&["check", "--strict", "-"], &warned, 1),
        (&["check", "-"], &both, 1),
        (&["check", "-"], "a: [", 2),
        (&["check", "-"], "", 2),
        (&["check", "-"], &format!("{both}---\na: ["), 2),
        (&["check"], "", 2),
    ] {
        let ran = feed(arguments, input);
        assert_eq!(ran.code, code, "{arguments:?} {input}\n{}{}", ran.out, ran.err);
    }
}

#[test]
fn documents_lists_json_and_stdin_say_the_same() {
    let indent = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    let list = format!(
        "apiVersion: v1\nkind: List\nmetadata: {{resourceVersion: \"\"}}\nitems:\n- {}\n- {}\n",
        indent(NETCONFIG),
        indent(POOL)
    );
    let values: Vec<Value> =
        [NETCONFIG, POOL].iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let kubectl = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": values});
    let message = |ran: &Ran| ran.out.lines().next().unwrap_or_default().to_owned();
    let first = message(&feed(&["check", "-"], &format!("{NETCONFIG}---\n{POOL}")));
    assert_eq!(
        first,
        "error[LB101]: 172.17.0.85-172.17.0.250 of NetConfig openstack/netconfig, network internalapi and \
         172.17.0.80-172.17.0.90 of IPAddressPool metallb-system/internalapi share 172.17.0.85-172.17.0.90 (6 addresses)"
    );
    for text in [list, kubectl.to_string(), format!("{:#}\n{:#}", values[0], values[1])] {
        let ran = feed(&["check", "-"], &text);
        assert_eq!(message(&ran), first, "{text}\n{}", ran.out);
        assert!(ran.out.contains("--> <stdin>:"), "{}", ran.out);
    }
    // Standard input is read once, however often it is named.
    assert_eq!(feed(&["check", "-", "-"], NETCONFIG).out, "no problems in 1 file (1 document)\n");
}

#[test]
fn what_neutron_prints_is_part_of_the_plan() {
    let dump = r#"{"networks": [{"id": "n1", "name": "provider", "provider:network_type": "vlan",
        "provider:physical_network": "datacentre", "provider:segmentation_id": 20}],
        "subnets": [{"id": "s1", "name": "internal", "network_id": "n1", "cidr": "172.17.0.0/24",
        "gateway_ip": "172.17.0.1", "allocation_pools": [{"start": "172.17.0.200", "end": "172.17.0.210"}]}]}"#;
    let ran = feed(&["check", "-"], dump);
    assert_eq!((ran.out.as_str(), ran.code), ("no problems in 1 file (1 document)\n", 0));
    let ran = feed(&["plan", "-"], dump);
    assert!(ran.out.contains("Neutron subnet internal"), "{}", ran.out);
    let ran = feed(&["check", "-"], r#"[{"ID": "n1", "Name": "a", "Subnets": []}]"#);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let ran = feed(&["check", "-"], "network_config:\n- type: interface\n  name: nic1\n");
    assert!(ran.out.contains("a file for os-net-config, not a Kubernetes manifest"), "{}", ran.out);
}

#[test]
fn json_has_stable_fields() {
    let ran = run(&["check", "--format", "json", "examples/plan-broken"]);
    assert_eq!(ran.code, 1);
    let report = ran.json();
    assert_eq!(report["version"], 1);
    assert_eq!(report["summary"]["errors"], 6);
    assert_eq!(report["summary"]["documents"], 8);
    for finding in report["findings"].as_array().unwrap() {
        for field in ["code", "severity", "message", "help", "file"] {
            assert!(finding[field].is_string(), "{field}: {finding:#}");
        }
        assert!(finding["line"].is_u64() && finding["column"].is_u64(), "{finding:#}");
        assert!(finding.get("url").is_some());
        for label in finding["labels"].as_array().unwrap() {
            for field in ["file", "text", "object", "field"] {
                assert!(label[field].is_string(), "{field}: {label:#}");
            }
            assert!(label["primary"].is_boolean());
            for field in ["start", "end", "line", "column", "endLine", "endColumn"] {
                assert!(label["span"][field].is_u64(), "{field}: {label:#}");
            }
        }
    }
    let clean = run(&["check", "--format", "json", "examples/plan"]);
    assert_eq!((clean.code, clean.json()["findings"].as_array().unwrap().len()), (0, 0));
}

#[test]
fn sarif_is_what_code_hosts_take() {
    let ran = run(&["check", "--format", "sarif", "examples/plan-broken"]);
    assert_eq!(ran.code, 1);
    let log = ran.json();
    assert_eq!(log["version"], "2.1.0");
    let run_ = &log["runs"][0];
    assert_eq!(run_["tool"]["driver"]["name"], "landbridge");
    assert_eq!(run_["columnKind"], "unicodeCodePoints");
    let rules = run_["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), landbridge::codes::all().count());
    let results = run_["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(matches!(result["level"].as_str().unwrap(), "error" | "warning" | "note"));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("examples/plan-broken/"), "{uri}");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
    }
}

#[test]
fn colour_is_for_terminals() {
    for format in ["human", "json", "sarif"] {
        let ran = run(&["check", "--format", format, "examples/plan-broken"]);
        assert!(!ran.out.contains('\u{1b}'), "{format}");
    }
}

#[test]
fn the_plan_comes_as_table_yaml_and_json() {
    let table = run(&["plan", "examples/plan"]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    assert_golden("plan.txt", &table.out);
    let yaml = run(&["plan", "examples/plan", "-o", "yaml"]);
    assert_golden("plan.yaml", &yaml.out);
    let json = run(&["plan", "examples/plan", "-o", "json"]);
    let parsed: Value = serde_saphyr::from_str(&yaml.out).unwrap();
    assert_eq!(parsed, json.json());
    let internal = json.json()["segments"]
        .as_array()
        .unwrap()
        .iter()
        .find(|segment| segment["name"] == "internalapi")
        .unwrap()
        .clone();
    assert_eq!(internal["vlan"], 20);
    assert_eq!(internal["ranges"][1]["by"], "MetalLB");
    let (taken, free) = (&internal["ranges"][1]["taken"], &internal["ranges"][1]["free"]);
    assert_eq!((taken.as_u64(), free.as_u64()), (Some(3), Some(8)));
}

#[test]
fn a_plan_with_contradictions_is_printed_and_says_so_beside() {
    let ran = run(&["plan", "examples/plan-broken"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("internalapi  VLAN 20"), "{}", ran.out);
    assert_eq!(ran.err, "6 contradictions in this plan; `landbridge check` says which\n");
    let ran = run(&["plan", "nowhere", "examples/plan"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error[LB800]: nowhere cannot be read"), "{}", ran.err);
    assert!(ran.out.contains("internalapi  VLAN 20"), "what could be read is there: {}", ran.out);
}

#[test]
fn every_code_is_explained() {
    let list = run(&["explain"]).out;
    let rules: Vec<_> = landbridge::codes::all().collect();
    assert_eq!(list.lines().count(), rules.len());
    for (rule, line) in rules.iter().zip(list.lines()) {
        assert_eq!(line, format!("{}   {}", rule.code, rule.title));
        let page = run(&["explain", &rule.code.to_lowercase()]);
        assert_eq!(page.code, 0);
        assert!(
            page.out.starts_with(&format!("{}: {}\n\n", rule.code, rule.title)),
            "{}",
            page.out
        );
        assert!(page.out.contains("\nRemedy: "), "{}", page.out);
        assert!(page.out.lines().all(|line| line.chars().count() <= 100), "{}", page.out);
        assert!(landbridge::codes::remedy(rule.code).is_some_and(|remedy| !remedy.is_empty()));
    }
    let ran = run(&["explain", "LB999"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("lists all of them"), "{}", ran.err);
}

/// The table in docs/check.md; `LANDBRIDGE_BLESS=1` writes it anew.
#[test]
fn the_documentation_lists_every_code() {
    let file = root().join("docs/check.md");
    let text = fs::read_to_string(&file).unwrap();
    let mark = "<!-- codes: kept by a test, `LANDBRIDGE_BLESS=1 cargo test -p landbridge --test check` -->\n";
    let (before, _) = text.split_once(mark).expect("the mark");
    let mut table = String::from("| code | what |\n|---|---|\n");
    for rule in landbridge::codes::all() {
        writeln!(table, "| {} | {} |", rule.code, rule.title).unwrap();
    }
    let now = format!("{before}{mark}{table}");
    if std::env::var_os("LANDBRIDGE_BLESS").is_some() {
        fs::write(&file, &now).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == now, "docs/check.md: the table of codes is old");
}

/// Whatever is given, there is a diagnostic with a place and a remedy, exit code 2, and no panic.
#[test]
fn bad_input_is_told_apart() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir(at("text-only")).unwrap();
    fs::write(at("text-only/notes.txt"), NETCONFIG).unwrap();
    fs::write(at("binary.yaml"), [0, 159, 146, 150, 255]).unwrap();
    fs::write(at("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    fs::write(at("utf16.yaml"), b"\xff\xfea\0:\0").unwrap();
    fs::write(at("broken.yaml"), "apiVersion: v1\nkind: Service\n  metadata: x\n").unwrap();
    fs::write(at("tabs.yaml"), "a:\n\tb: 1\n").unwrap();
    fs::write(at("broken.json"), "{\"a\": 1,}").unwrap();
    fs::write(at("number.yaml"), "42\n").unwrap();
    fs::write(at("headless.yaml"), "metadata: {name: a}\nspec: {networks: []}\n").unwrap();
    fs::write(at("template.yaml"), "name: {{ .Values.name }}\n").unwrap();
    fs::write(at("deep.yaml"), "[".repeat(5000)).unwrap();
    fs::write(at("file"), "").unwrap();
    let bomb: String = (1..40).fold("a0: &a0 [x, x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    fs::write(at("bomb.yaml"), bomb).unwrap();
    std::os::unix::fs::symlink("loop.yaml", at("loop.yaml")).unwrap();
    // Sparse: it takes no space, and it is not read to its end.
    fs::File::create(at("huge.yaml")).unwrap().set_len(70 << 20).unwrap();
    let cases = [
        ("missing.yaml", "LB800", "No such file"),
        ("empty", "LB800", "holds no manifest"),
        ("text-only", "LB800", "holds no manifest"),
        ("file/below.yaml", "LB800", "Not a directory"),
        ("loop.yaml", "LB800", "symbolic links"),
        ("/proc/self/mem", "LB800", "cannot be read"),
        ("file", "LB800", "nothing was checked"),
        ("huge.yaml", "LB801", "larger than 64 MiB"),
        ("binary.yaml", "LB802", "binary"),
        ("latin1.yaml", "LB802", "byte 0xe9"),
        ("utf16.yaml", "LB802", "UTF-16"),
        ("broken.yaml", "LB804", "indentation"),
        ("tabs.yaml", "LB804", "tab"),
        ("broken.json", "LB805", "not valid JSON"),
        ("template.yaml", "LB809", "template"),
        ("number.yaml", "LB810", "not an object"),
        ("headless.yaml", "LB811", "apiVersion and kind are missing"),
        ("deep.yaml", "LB8", "LB8"),
        ("bomb.yaml", "LB808", "alias"),
    ];
    for (name, code, words) in cases {
        let path = at(name);
        let ran = run(&["check", path.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(&format!("error[{code}")), "{name}: {}", ran.out);
        assert!(ran.out.to_lowercase().contains(&words.to_lowercase()), "{name}: {}", ran.out);
        assert!(ran.out.contains("= help: "), "{name} has no remedy: {}", ran.out);
        assert!(ran.out.contains(&format!("--> {}", path.display())), "{name}: {}", ran.out);
        let json = run(&["check", "--format", "json", path.to_str().unwrap()]).json();
        assert!(json["summary"]["errors"].as_u64().unwrap() > 0, "{name}");
    }
    // What is wrong with one of them does not keep the others from being looked at.
    let ran = run(&["check", at("broken.yaml").to_str().unwrap(), "examples/plan-broken"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("LB804") && ran.out.contains("LB101"), "{}", ran.out);
}

#[test]
fn wrong_types_are_told_with_their_place() {
    let text = NETCONFIG.replace("vlan: 20", "vlan: many")
        + "---\n"
        + &POOL.replace("[172.17.0.80-172.17.0.90]", "5")
        + "---\napiVersion: v1\nkind: Service\nmetadata: {name: no}\n"
        + "---\napiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: a}\n\
           spec: {desiredState: {interfaces: [{name: eth0, mtu: big, vlan: 4}]}}\n";
    let ran = feed(&["check", "-"], &text);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let lines = ran.lines();
    for wanted in
        ["LB001 <stdin>:11:13", "LB003 <stdin>:17:19", "LB815 <stdin>:21:18", "LB003 <stdin>:26:54"]
    {
        assert!(lines.iter().any(|line| line == wanted), "{wanted} not in {lines:?}\n{}", ran.out);
    }
}

/// A pipe that the shell makes for `<(…)` is read; one that lies in a directory is not waited for.
#[test]
fn pipes_are_read_when_they_are_named() {
    let parent = tempfile::tempdir().unwrap();
    let pipe = parent.path().join("pipe.yaml");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    fs::write(parent.path().join("pool.yaml"), POOL).unwrap();
    let ran = run(&["check", parent.path().to_str().unwrap()]);
    assert!(ran.out.contains("in 1 file (1 document)"), "{}", ran.out);
    let ran = feed(&["check", "/dev/stdin"], NETCONFIG);
    assert_eq!(ran.out, "no problems in 1 file (1 document)\n");
}

#[test]
fn help_teaches() {
    for (command, wanted) in [
        (
            "check",
            &["Examples:", "Exit codes:", "--format", "--strict", "explain", "kubectl get"][..],
        ),
        ("plan", &["Examples:", "-o yaml", "-o json"]),
        ("explain", &["LB101"]),
    ] {
        let ran = run(&[command, "--help"]);
        for words in wanted {
            assert!(ran.out.contains(words), "{command} --help lacks {words:?}");
        }
    }
}

#[test]
fn options_and_names_that_are_not_served_are_told() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("names.yaml");
    let text = "apiVersion: network.openstack.org/v1beta1\nkind: DNSMasq\nmetadata: {name: dns}\nspec:\n  options:\n  \
        - {key: server, values: [192.168.122.1]}\n  - {key: host-record, values: [a.example, 10.0.0.300]}\n---\n\
        apiVersion: network.openstack.org/v1beta1\nkind: DNSData\nmetadata: {name: hosts}\nspec:\n  hosts:\n  \
        - {ip: 10.0.0.1, hostnames: [a.example]}\n  - {ip: 10.0.0.300, hostnames: [b.example]}\n  \
        - {ip: 10.0.0.2, hostnames: [a.example]}\n";
    fs::write(&file, text).unwrap();
    let ran = run(&["check", file.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    for part in [
        "warning[LB607]: \"host-record=a.example,10.0.0.300\": ",
        "= in: DNSMasq dns, spec.options[1].values\n",
        "\"10.0.0.300\" is not an IP address, its names will not resolve",
        "a.example is 10.0.0.2 here and 10.0.0.1 in spec.hosts[0]: both are answered",
        "3 warnings in 1 file",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}
