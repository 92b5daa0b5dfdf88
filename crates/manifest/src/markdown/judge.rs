//! What a block is, when it is no manifest.
//!
//! Guesses, from the few shapes that documentation has: what a terminal shows, scripts, parts of CRDs. They decide
//! which note is given, never whether a manifest is read: whatever has apiVersion and kind and parses is.

use serde_json::Value;

use crate::{Severity, Span, failure::Failure, rules};

/// What the fence says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Shell,
    /// Says nothing, or nothing useful.
    Unknown,
    /// Something that cannot hold a manifest.
    Other(String),
}

pub(super) fn language(info: &str) -> Language {
    let word = info.split([' ', ',', '{', '}']).find(|word| !word.is_empty()).unwrap_or_default();
    match word.trim_start_matches('.').to_ascii_lowercase().as_str() {
        "yaml" | "yml" | "json" | "json5" | "jsonc" => Language::Yaml,
        "sh" | "bash" | "shell" | "zsh" | "console" | "shell-session" | "terminal" => {
            Language::Shell
        }
        "" | "text" | "txt" | "plain" | "plaintext" | "none" | "output" | "code" => {
            Language::Unknown
        }
        other => Language::Other(other.to_owned()),
    }
}

/// Whether a text has the lines that only objects have.
pub(super) fn has_kind(text: &str) -> bool {
    let starts = |key: &str| {
        text.lines().any(|line| {
            let line = line.trim_start().trim_start_matches("- ").trim_start_matches('"');
            line.strip_prefix(key)
                .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(':'))
        })
    };
    starts("apiVersion") || starts("kind")
}

const PROGRAMS: &[&str] = &[
    "oc",
    "kubectl",
    "openstack",
    "sudo",
    "cat",
    "curl",
    "ip",
    "nmcli",
    "helm",
    "git",
    "make",
    "podman",
    "docker",
    "cd",
    "export",
    "echo",
    "for",
    "while",
    "if",
    "virsh",
    "ssh",
    "scp",
    "systemctl",
    "dnf",
    "apt",
    "apt-get",
    "yum",
    "mkdir",
    "landbridge",
    "ping",
    "dig",
    "os-net-config",
];

/// Whether a text is commands to type.
pub(super) fn is_shell(text: &str, language: &Language) -> bool {
    if *language == Language::Shell {
        return true;
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first
        .and_then(|line| line.trim_start_matches("$ ").split_whitespace().next())
        .is_some_and(|word| PROGRAMS.contains(&word))
        && !has_kind(text.lines().next().unwrap_or_default())
}

/// Whether a text is what a terminal shows: a prompt and what came back, a table, a log.
pub(super) fn is_output(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(200).collect();
    let Some(first) = lines.first() else { return false };
    let share =
        |test: fn(&str) -> bool| 2 * lines.iter().filter(|line| test(line)).count() > lines.len();
    // `# oc get … -o yaml` above an object is a comment to YAML, and the object is worth reading.
    let manifest = has_kind(text) && first.starts_with("# ");
    let prompted = !manifest && lines.len() > 1 && lines.iter().any(|line| is_prompt(line));
    prompted
        || lines.iter().any(|line| line.trim_start().starts_with("+--"))
        || first.starts_with("Error from server")
        || (lines.len() > 1 && first.contains(" explain "))
        || is_log(first)
        || (!has_kind(text) && (share(is_row) || share(is_interface)))
}

/// `# oc get …`, `$ ip a`, `sh-4.4# ip a`, `[root@host ~]# …`.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(command) = line.strip_prefix("# ").or_else(|| line.strip_prefix("$ ")) {
        // A comment in a manifest also begins with `# `: only the name of a program counts.
        let word = command.split_whitespace().next().unwrap_or_default();
        if word == "for" {
            return command.contains(";do") || command.contains("; do");
        }
        return PROGRAMS.contains(&word)
            && !matches!(word, "if" | "while" | "make" | "export" | "ip");
    }
    let shell = line.starts_with("sh-")
        && line.split_once(['#', '$']).is_some_and(|(prompt, _)| !prompt.contains(' '));
    let host = line.starts_with('[')
        && line
            .split_once(']')
            .is_some_and(|(inside, after)| inside.contains('@') && after.starts_with(['#', '$']));
    shell || host
}

/// Columns with two or more spaces between them, at least three.
fn is_row(line: &str) -> bool {
    let line = line.trim();
    if line.contains(": ") || line.starts_with(['-', '{', '"', '#']) {
        return false;
    }
    line.split("  ").filter(|cell| !cell.trim().is_empty()).count() >= 3
}

/// `4: net1@if26: <BROADCAST,…`, `br-ex -- enp6s0`
fn is_interface(line: &str) -> bool {
    let number =
        line.split_once(": ").is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok());
    number
        || line.contains(" -- ")
        || ["link/", "inet ", "inet6 ", "valid_lft "]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
}

/// klog: `E0223 14:27:04.644406       1 file.go:460]`
fn is_log(line: &str) -> bool {
    let mut bytes = line.bytes();
    matches!(bytes.next(), Some(b'E' | b'W' | b'I' | b'F'))
        && bytes.take(4).filter(u8::is_ascii_digit).count() == 4
}

/// What a value without apiVersion and kind is, if it is no part of an object.
pub(crate) fn judge_value(value: &Value, before: &str, fence: Span) -> Option<Failure> {
    if is_schema(value, 4) {
        return Some(
            Failure::new(rules::SCHEMA, fence, "a fragment of a CRD schema, not a manifest")
                .severity(Severity::Note)
                .label("describes fields, gives them no values")
                .help("nothing to do"),
        );
    }
    (is_listing(value) || announces_output(before)).then(|| {
        Failure::new(rules::OUTPUT, fence, "output of a command, not a manifest")
            .severity(Severity::Note)
            .label("this block")
            .help("nothing to do")
    })
}

/// Whether a value describes fields instead of giving them.
fn is_schema(value: &Value, depth: usize) -> bool {
    let Value::Object(map) = value else { return false };
    let typed = map.get("type").and_then(Value::as_str).is_some_and(|kind| {
        matches!(kind, "string" | "object" | "array" | "integer" | "boolean" | "number")
    });
    let described = ["description", "properties", "items", "format", "default", "enum", "required"]
        .iter()
        .any(|key| map.contains_key(*key));
    let has_properties = map
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| properties.values().any(Value::is_object));
    if (typed && described) || has_properties {
        return true;
    }
    depth > 0 && map.len() <= 3 && map.values().any(|value| is_schema(value, depth - 1))
}

/// The forms in which OpenStack's client prints things with `-f yaml`.
fn is_listing(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            !items.is_empty()
                && items.iter().all(|item| item.get("ID").is_some() && item.get("Name").is_some())
        }
        Value::Object(map) => {
            [
                "created_at",
                "updated_at",
                "revision_number",
                "project_id",
                "tenant_id",
                "admin_state_up",
            ]
            .iter()
            .filter(|key| map.contains_key(**key))
            .count()
                >= 2
        }
        _ => false,
    }
}

/// Whether the sentence before a block says that it shows what a command printed.
fn announces_output(before: &str) -> bool {
    let before = before.to_ascii_lowercase();
    let commands = ["oc ", "kubectl ", "openstack "].iter().any(|program| before.contains(program));
    let shows = ["-f yaml", "-o yaml", "-f json", "-o json", "output of", "running `"]
        .iter()
        .any(|words| before.contains(words));
    commands && shows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn languages() {
        for (info, expected) in [
            ("yaml", Language::Yaml),
            ("YAML title=x", Language::Yaml),
            ("{.json}", Language::Yaml),
            ("console", Language::Shell),
            ("", Language::Unknown),
            ("go", Language::Other("go".to_owned())),
        ] {
            assert_eq!(language(info), expected, "{info}");
        }
    }

    #[test]
    fn output() {
        for (text, expected) in [
            ("# oc get vmi\nNAME  AGE\n", true),
            ("# for n in a b;do oc get $n;done\n  a: 1\n  a: 2\n", true),
            ("# for all networks\na: 1\n", false),
            ("sh-4.4# bridge link show\n4: net1@if61: <BROADCAST> mtu 1500\n", true),
            ("[root@controller-0 ~]# cat x | jq .\n{\n}\n", true),
            ("+-----+\n| a   |\n+-----+\n", true),
            ("  octavia-api-5cf   2/2     Running   0   42h\n", true),
            ("E0223 14:27:04.644406       1 x.go:460]\n", true),
            ("enp1s0 -- tap0\nenp2s0 -- tap1\n", true),
            ("kubectl explain openstackcluster.spec\nKIND:     OpenStackCluster\n", true),
            ("# oc get netconfig -o yaml\napiVersion: v1\n", false),
            ("$ oc get netconfig -o yaml\napiVersion: v1\n", true),
            ("# the first network\napiVersion: v1\nkind: Service\n", false),
            ("spec:\n  networks:\n  - name: a\n", false),
            ("- a\n- b\n", false),
            ("", false),
        ] {
            assert_eq!(is_output(text), expected, "{text:?}");
        }
    }

    #[test]
    fn values() {
        let fence = Span::default();
        let verdict = |value: Value, before: &str| {
            judge_value(&value, before, fence).map(|failure| failure.code)
        };
        assert_eq!(
            verdict(
                json!({"externalEndpoint": {"description": "x", "properties": {"ip": {"type": "string"}}}}),
                ""
            ),
            Some(rules::SCHEMA)
        );
        assert_eq!(verdict(json!([{"ID": 1, "Name": "a"}]), ""), Some(rules::OUTPUT));
        assert_eq!(
            verdict(json!({"host_routes": []}), "run `oc rsh x openstack subnet show -f yaml`"),
            Some(rules::OUTPUT)
        );
        assert_eq!(
            verdict(json!({"spec": {"type": "LoadBalancer"}}), "the output looks like"),
            None
        );
        assert_eq!(verdict(json!({"externalEndpoints": [{"endpoint": "internal"}]}), ""), None);
    }
}
