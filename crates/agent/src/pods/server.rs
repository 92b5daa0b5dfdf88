//! Name servers in pods: which containers they are, and what they are started with.
//!
//! Images are not run, but what a pod of a DNSMasq does, this program can do as well: a container whose
//! command is `dnsmasq` or `landbridge dns` is served by `landbridge dns`, with the container's arguments,
//! on the container's files. An init container that tries its options with `--test` is really tried.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use k8s_openapi::api::core::v1::{Container, Pod};

/// Options that name files or directories.
const PATHS: &[&str] = &[
    "conf-dir",
    "conf-file",
    "hostsdir",
    "addn-hosts",
    "resolv-file",
    "servers-file",
    "dhcp-hostsdir",
    "dhcp-optsdir",
];

/// A container that is a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Name of the container.
    pub container: String,
    /// The words behind `dnsmasq` or `landbridge dns`.
    pub arguments: Vec<String>,
}

/// The name servers of a pod: those among its init containers, and the one among its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameServers {
    pub tests: Vec<NameServer>,
    pub server: Option<NameServer>,
}

impl NameServers {
    /// Reads a pod. `addresses` are its own.
    pub fn of(pod: &Pod, addresses: &[IpAddr]) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let read = |container: &Container| {
            let arguments = arguments(container, pod, addresses)?;
            Some(NameServer { container: container.name.clone(), arguments })
        };
        let is_test = |server: &NameServer| server.arguments.iter().any(|word| word == "--test");
        Self {
            tests: spec.init_containers.iter().flatten().filter_map(read).filter(is_test).collect(),
            server: spec.containers.iter().find_map(read).filter(|server| !is_test(server)),
        }
    }
}

/// The arguments, if the container is a name server.
fn arguments(container: &Container, pod: &Pod, addresses: &[IpAddr]) -> Option<Vec<String>> {
    // Most containers have nothing to do with it, and are looked at often.
    let mut words = container.command.iter().flatten().chain(container.args.iter().flatten());
    if !words.any(|word| word.contains("dns")) {
        return None;
    }
    let environment = environment(container, pod, addresses);
    let expand = |word: &String| expand(word, &environment);
    let command: Vec<String> = container.command.iter().flatten().map(expand).collect();
    let args: Vec<String> = container.args.iter().flatten().map(expand).collect();
    let words: Vec<String> = match (command.as_slice(), args.as_slice()) {
        // The image's own command, which is this program's.
        ([], [first, ..]) if first == "dns" => {
            let image = container.image.as_deref().unwrap_or_default();
            image.contains("landbridge").then(|| [vec!["landbridge".to_owned()], args].concat())?
        }
        _ => [command, args].concat(),
    };
    let words = match words.as_slice() {
        [shell, option, script, ..] if is_shell(shell) && option == "-c" => split(script)?,
        _ => words,
    };
    let mut words = words.into_iter().skip_while(|word| word == "exec");
    match base(&words.next()?) {
        "dnsmasq" => Some(words.collect()),
        "landbridge" => (words.next()? == "dns").then(|| words.collect()),
        _ => None,
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_shell(word: &str) -> bool {
    matches!(base(word), "bash" | "sh" | "dash")
}

/// The words of a script that is one plain command; nothing where it is more than that.
fn split(script: &str) -> Option<Vec<String>> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut quote = None;
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('\''), letter) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().push(letters.next()?),
            (_, '$' | '`') | (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n') => return None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The variables of a container, as far as they can be known here.
fn environment(container: &Container, pod: &Pod, addresses: &[IpAddr]) -> BTreeMap<String, String> {
    let status = pod.status.clone().unwrap_or_default();
    let spec = pod.spec.clone().unwrap_or_default();
    let field = |path: &str| match path {
        "metadata.name" => pod.metadata.name.clone(),
        "metadata.namespace" => pod.metadata.namespace.clone(),
        "metadata.uid" => pod.metadata.uid.clone(),
        "spec.nodeName" => spec.node_name.clone(),
        "spec.serviceAccountName" => spec.service_account_name.clone(),
        "status.hostIP" => status.host_ip.clone(),
        "status.podIP" => {
            let own = addresses.first().map(ToString::to_string);
            own.or_else(|| status.pod_ip.clone())
        }
        "status.podIPs" => {
            Some(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        }
        _ => None,
    };
    let mut known = BTreeMap::new();
    for variable in container.env.iter().flatten() {
        let from = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let value = match from {
            Some(from) => field(&from.field_path),
            None => variable.value.as_ref().map(|text| expand(text, &known)),
        };
        known.extend(value.map(|value| (variable.name.clone(), value)));
    }
    known
}

/// Puts variables in the place of `$(NAME)`, as Kubernetes does; `$$` is a plain dollar.
fn expand(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let value = behind.strip_prefix('(').and_then(|inner| {
            let (name, after) = inner.split_once(')')?;
            Some((known.get(name)?, after))
        });
        rest = if let Some((value, after)) = value {
            expanded.push_str(value);
            after
        } else {
            expanded.push('$');
            behind.strip_prefix('$').unwrap_or(behind)
        };
    }
    expanded + rest
}

/// The arguments with paths below `root`, where the container's files really are. Only paths of which
/// something is there are changed: others are the node's.
pub fn rooted(arguments: &[String], root: &Path) -> Vec<String> {
    let there = |path: &str| {
        let inner = path.trim_start_matches('/');
        let real = root.join(inner);
        (path.starts_with('/') && !inner.is_empty() && real.exists())
            .then(|| real.to_string_lossy().into_owned())
    };
    let mut rooted = Vec::new();
    let mut is_path = false;
    for word in arguments {
        if std::mem::take(&mut is_path) {
            rooted.push(there(word).unwrap_or_else(|| word.clone()));
            continue;
        }
        let option = word.trim_start_matches("--");
        is_path = word.starts_with("--") && PATHS.contains(&option);
        let changed = option.split_once('=').filter(|(key, _)| PATHS.contains(key)).and_then(
            |(key, value)| {
                // `directory,.suffix` is a list.
                let (path, more) = value.split_at(value.find(',').unwrap_or(value.len()));
                Some(format!("--{key}={}{more}", there(path)?))
            },
        );
        rooted.push(changed.unwrap_or_else(|| word.clone()));
    }
    rooted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(container: &Value) -> Option<String> {
        let mut container = container.clone();
        container["name"] = "c".into();
        container["env"] = json!([
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "WHERE", "value": "/etc/$(POD_IP)"},
        ]);
        let pod = json!({"metadata": {"namespace": "n", "name": "p"}, "spec": {"containers": [container]}});
        let pod = serde_json::from_value(pod).unwrap();
        let servers = NameServers::of(&pod, &["10.244.0.5".parse().unwrap()]);
        servers.server.map(|server| server.arguments.join("|"))
    }

    #[test]
    fn name_servers_are_recognised() {
        let listen = "--listen-address=$(POD_IP)";
        for (container, expected) in [
            (
                json!({"command": ["/bin/bash"], "args": ["-c", format!("dnsmasq --interface=* {listen} --port 5353 --pid-file=")]}),
                Some("--interface=*|--listen-address=10.244.0.5|--port|5353|--pid-file="),
            ),
            (
                json!({"command": ["landbridge", "dns"], "args": [listen, "--conf-dir=$(WHERE)"]}),
                Some("--listen-address=10.244.0.5|--conf-dir=/etc/10.244.0.5"),
            ),
            (
                json!({"image": "example.com/landbridge:1", "args": ["dns", "--port=53"]}),
                Some("--port=53"),
            ),
            (json!({"image": "example.com/other", "args": ["dns"]}), None),
            (json!({"command": ["/usr/sbin/dnsmasq", "-k"]}), Some("-k")),
            (
                json!({"command": ["sh", "-c", "exec dnsmasq '--txt-record=a,b c'"]}),
                Some("--txt-record=a,b c"),
            ),
            (json!({"command": ["sh", "-c", "dnsmasq; sleep 1"]}), None),
            (json!({"command": ["sh", "-c", "dnsmasq \"--port=$PORT\""]}), None),
            (json!({"command": ["/bin/bash"], "args": ["-c", "/bin/sleep infinity"]}), None),
            (json!({"command": ["landbridge", "up"]}), None),
            (json!({"command": ["dnsmasq", "--test"]}), None),
            (json!({}), None),
        ] {
            assert_eq!(read(&container).as_deref(), expected, "{container}");
        }
    }

    #[test]
    fn variables_are_kubernetes() {
        let known = BTreeMap::from([("A".to_owned(), "x".to_owned())]);
        for (text, expected) in [
            ("$(A)-$(A)", "x-x"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expand(text, &known), expected, "{text}");
        }
    }

    #[test]
    fn paths_lead_to_the_containers_files() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("etc/dnsmasq.d")).unwrap();
        let words = [
            "--conf-dir=/etc/dnsmasq.d,.conf",
            "--hostsdir",
            "/etc/dnsmasq.d",
            "--port=53",
            "--resolv-file=/etc/resolv.conf",
            "--conf-file=",
        ];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let at = root.path().display();
        assert_eq!(
            rooted(&words, root.path()),
            [
                format!("--conf-dir={at}/etc/dnsmasq.d,.conf"),
                "--hostsdir".to_owned(),
                format!("{at}/etc/dnsmasq.d"),
                "--port=53".to_owned(),
                "--resolv-file=/etc/resolv.conf".to_owned(),
                "--conf-file=".to_owned(),
            ]
        );
    }

    #[test]
    fn tests_are_those_of_init_containers() {
        let pod = json!({"spec": {
            "initContainers": [{"name": "init", "command": ["/bin/bash"], "args": ["-c", "dnsmasq --port 5353 --test"]},
                               {"name": "other", "command": ["true"]}],
            "containers": [{"name": "dnsmasq-dns", "command": ["/bin/bash"], "args": ["-c", "dnsmasq --port 5353"]}]}});
        let servers = NameServers::of(&serde_json::from_value(pod).unwrap(), &[]);
        assert_eq!(servers.tests.len(), 1);
        assert_eq!(servers.tests[0].arguments, ["--port", "5353", "--test"]);
        assert_eq!(servers.server.unwrap().container, "dnsmasq-dns");
    }
}
