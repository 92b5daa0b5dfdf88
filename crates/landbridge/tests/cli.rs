//! The program as people use it: started, asked, stopped, killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // that is how tests fail

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The program, away from any state of the person who runs the tests.
fn landbridge(arguments: &[&str]) -> Output {
    let output = command(arguments).output().expect("the program starts");
    eprintln!("$ landbridge {}\n{}", arguments.join(" "), text(&output));
    output
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landbridge"));
    command
        .args(arguments)
        .env_remove("LANDBRIDGE_DIR")
        .env_remove("RUST_LOG")
        // The lab has tests of its own; here it would only cost time.
        .env("LANDBRIDGE_LAB", "none")
        .stdin(Stdio::null());
    command
}

/// Everything it said.
fn text(output: &Output) -> String {
    let words = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    words.concat()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// A state directory of one test; its server ends with the test.
struct Lab {
    _parent: TempDir,
    dir: PathBuf,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = command(&["down", "--dir", self.dir()]).output();
    }
}

impl Lab {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("state");
        Self { _parent: parent, dir }
    }

    fn dir(&self) -> &str {
        self.dir.to_str().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let all: Vec<&str> = arguments.iter().copied().chain(["--dir", self.dir()]).collect();
        landbridge(&all)
    }

    /// Starts in the background on a free port.
    fn up(&self) -> String {
        let output = self.run(&["up", "--detach", "--port", "0"]);
        assert_eq!(code(&output), Some(0), "{}", text(&output));
        text(&output)
    }

    fn status(&self) -> Value {
        let output = self.run(&["status", "-o", "json"]);
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn run_json(&self) -> Value {
        serde_json::from_slice(&fs::read(self.dir.join("run.json")).unwrap()).unwrap()
    }

    fn pid(&self) -> Pid {
        let pid = self.run_json()["pid"].as_i64().unwrap();
        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
    }

    fn port(&self) -> u16 {
        fs::read_to_string(self.dir.join("port")).unwrap().trim().parse().unwrap()
    }

    /// A client with nothing but the kubeconfig.
    async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.dir.join("kubeconfig")).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        kube::Client::try_from(config).unwrap()
    }

    async fn config_maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client().await)
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn config_map(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.data = Some(BTreeMap::from([("answer".to_owned(), "42".to_owned())]));
    object
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn end(mut child: Child) -> Option<i32> {
    let mut code = None;
    wait_until("the server ends", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    code.flatten()
}

#[test]
fn help_teaches() {
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--help"], &["Examples:", "LANDBRIDGE_DIR", "RUST_LOG", "completion", "KUBECONFIG="]),
        (
            &["up", "--help"],
            &["Examples:", "admin.sock", "store/", "127.0.0.1:6443", "--detach", "--lab"],
        ),
        (&["exec", "--help"], &["landbridge exec worker-0 -- ip a", "pod/NAME", "exit code"]),
        (&["agent", "--help"], &["--host", "IPSet", "--kubeconfig"]),
        (&["lab", "--help"], &["shapes", "reboot", "link"]),
        (&["status", "--help"], &["Exit codes:", "3  stopped", "-o json"]),
        (&["down", "--help"], &["--purge", "refuses", "kept"]),
        (&["crds", "--help"], &["kubectl apply --server-side -f -"]),
        (&["completion", "--help"], &["source <(landbridge completion bash)"]),
    ];
    for (arguments, wanted) in cases {
        let output = landbridge(arguments);
        assert_eq!(code(&output), Some(0));
        for words in wanted {
            assert!(text(&output).contains(words), "{arguments:?} lacks {words:?}");
        }
        assert!(!text(&output).contains("detached-child"), "an inner matter");
    }
    assert_eq!(code(&landbridge(&["upp"])), Some(2));
}

#[test]
fn the_version_names_the_commit() {
    let output = text(&landbridge(&["--version"]));
    let rest = output.trim().strip_prefix(concat!("landbridge ", env!("CARGO_PKG_VERSION"), " ("));
    let commit = rest.and_then(|rest| rest.strip_suffix(')')).expect("version (commit)");
    let hex = commit.trim_end_matches("-dirty");
    assert!(
        commit == "unknown commit" || hex.len() >= 7 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        "{commit}"
    );
}

#[test]
fn shells_get_their_completion() {
    for (shell, words) in [
        ("bash", "_landbridge()"),
        ("zsh", "#compdef landbridge"),
        ("fish", "complete -c landbridge"),
    ] {
        let output = landbridge(&["completion", shell]);
        assert!(text(&output).contains(words), "{shell}");
        assert!(text(&output).contains("purge"), "{shell}");
    }
}

#[test]
fn the_definitions_come_out_as_yaml() {
    // Those of others only when asked for: a cluster has them from their owners.
    let ours = landbridge_api::crds();
    let all = landbridge_api::all_crds();
    assert!(!ours.is_empty() && ours.len() < all.len());
    for (arguments, known) in [(&["crds"][..], ours), (&["crds", "--all"], all)] {
        let output = landbridge(arguments);
        assert_eq!(code(&output), Some(0));
        let yaml = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<Value> = yaml
            .split("---\n")
            .filter(|part| !part.trim().is_empty())
            .map(|part| serde_saphyr::from_str(part).unwrap())
            .collect();
        let known: Vec<Value> =
            known.into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
        assert_eq!(printed, known, "{arguments:?}");
    }
}

#[test]
fn up_status_down_and_purge() {
    let lab = Lab::new();
    let begun = Instant::now();
    let words = lab.up();
    let took = begun.elapsed();
    println!("up --detach took {} ms", took.as_millis());
    assert!(took < Duration::from_secs(5), "{took:?}");
    for wanted in ["state directory", "certificates", "store", "kinds", "API", "kubeconfig"] {
        assert!(words.contains(&format!("ok {wanted}")), "{wanted:?} is not in\n{words}");
    }
    assert!(words.is_ascii(), "no marks and colours but on a terminal");
    let kubectl = format!("kubectl --kubeconfig {}/kubeconfig get netconfigs", lab.dir());
    assert!(words.contains(&kubectl), "{words}");

    for name in ["kubeconfig", "run.json", "admin.sock", "landbridge.log", "pki/ca.key"] {
        assert_eq!(mode(&lab.dir.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&lab.dir), 0o700);

    let status = lab.run(&["status"]);
    assert_eq!(code(&status), Some(0));
    for wanted in ["running", "https://127.0.0.1:", "NetConfig"] {
        assert!(text(&status).contains(wanted), "{wanted}");
    }
    let status = lab.status();
    assert_eq!(status["state"], "running");
    assert!(status["revision"].as_u64().unwrap() > 0);
    let objects = status["objects"].as_u64().unwrap();
    assert!(objects > 4, "namespaces, definitions, …: {objects}");
    assert_eq!(status["kinds"].as_array().unwrap().len(), landbridge_api::crds().len());
    let yaml = lab.run(&["status", "-o", "yaml"]);
    let yaml: Value = serde_saphyr::from_str(&String::from_utf8_lossy(&yaml.stdout)).unwrap();
    assert_eq!(yaml["pid"], status["pid"]);

    let down = lab.run(&["down"]);
    assert_eq!(code(&down), Some(0));
    assert!(text(&down).contains("stopped"));
    assert!(!lab.dir.join("run.json").exists());
    assert!(!lab.dir.join("admin.sock").exists());
    assert_eq!(code(&lab.run(&["status"])), Some(3));
    let again = lab.run(&["down"]);
    assert_eq!(code(&again), Some(0));
    assert!(text(&again).contains("not running"));

    let purge = lab.run(&["down", "--purge"]);
    assert_eq!(code(&purge), Some(0));
    assert!(!lab.dir.exists());
}

#[test]
fn there_is_one_server_per_directory() {
    let lab = Lab::new();
    lab.up();
    let pid = lab.pid().as_raw_nonzero().to_string();
    for arguments in [&["up"][..], &["up", "--detach"]] {
        let second = lab.run(arguments);
        assert_eq!(code(&second), Some(1));
        for words in ["already up", pid.as_str(), "https://127.0.0.1:", "landbridge down --dir"] {
            assert!(text(&second).contains(words), "{words:?} is not in {}", text(&second));
        }
    }
    assert_eq!(lab.status()["state"], "running", "the first one is unharmed");
}

#[test]
fn the_port_stays_or_makes_way() {
    let lab = Lab::new();
    lab.up();
    let first = lab.port();
    lab.run(&["down"]);

    let again = lab.run(&["up", "--detach"]);
    assert_eq!(code(&again), Some(0));
    assert_eq!(lab.port(), first, "remembered");
    lab.run(&["down"]);

    let other = TcpListener::bind(("127.0.0.1", first)).unwrap();
    let moved = lab.run(&["up", "--detach"]);
    assert_eq!(code(&moved), Some(0));
    assert!(text(&moved).contains(&format!("port {first} is taken")), "{}", text(&moved));
    assert_ne!(lab.port(), first);
    let kubeconfig = fs::read_to_string(lab.dir.join("kubeconfig")).unwrap();
    assert!(kubeconfig.contains(&format!("https://127.0.0.1:{}", lab.port())));
    lab.run(&["down"]);

    let refused = lab.run(&["up", "--detach", "--port", &first.to_string()]);
    assert_eq!(code(&refused), Some(1), "asked for this port and no other");
    assert!(text(&refused).contains("is taken"));
    assert_eq!(code(&lab.run(&["status"])), Some(3));
    drop(other);
}

#[tokio::test]
async fn objects_survive_a_restart_and_a_crash() {
    let lab = Lab::new();
    lab.up();
    let object = config_map("survivor");
    lab.config_maps().await.create(&PostParams::default(), &object).await.unwrap();
    lab.run(&["down"]);
    lab.up();
    let found = lab.config_maps().await.get("survivor").await.unwrap();
    assert_eq!(found.data, object.data);

    let object = config_map("second");
    lab.config_maps().await.create(&PostParams::default(), &object).await.unwrap();
    let pid = lab.pid();
    kill_process(pid, Signal::KILL).unwrap();
    wait_until("it is dead", || code(&lab.run(&["status"])) == Some(3));
    let status = lab.run(&["status"]);
    assert!(text(&status).contains("ended without being stopped"), "{}", text(&status));
    lab.up();
    assert_ne!(lab.pid(), pid);
    for name in ["survivor", "second"] {
        assert_eq!(lab.config_maps().await.get(name).await.unwrap().data, object.data, "{name}");
    }

    kill_process(lab.pid(), Signal::KILL).unwrap();
    wait_until("it is dead", || code(&lab.run(&["status"])) == Some(3));
    let down = lab.run(&["down"]);
    assert_eq!(code(&down), Some(0));
    assert!(text(&down).contains("not running"));
    assert!(!lab.dir.join("run.json").exists());
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let lab = Lab::new();
    lab.up();
    let mut kubeconfig = Kubeconfig::read_from(lab.dir.join("kubeconfig")).unwrap();
    for user in &mut kubeconfig.auth_infos {
        let info = user.auth_info.as_mut().unwrap();
        info.client_certificate_data = None;
        info.client_key_data = None;
    }
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    match maps.get("x").await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 401),
        other => panic!("expected 401, got {other:?}"),
    }
}

#[test]
fn in_the_foreground_it_ends_with_a_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let lab = Lab::new();
        let child = command(&["up", "--port", "0", "--dir", lab.dir()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("it is up", || code(&lab.run(&["status"])) == Some(0));
        assert!(!lab.dir.join("landbridge.log").exists(), "it logs to the terminal");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(end(child), Some(0));
        assert!(!lab.dir.join("run.json").exists());
        assert_eq!(code(&lab.run(&["status"])), Some(3));
    }
}

#[test]
fn a_failed_start_says_why() {
    let lab = Lab::new();
    lab.up();
    lab.run(&["down"]);
    fs::write(lab.dir.join("pki/ca.key"), "rubbish").unwrap();
    for arguments in [&["up", "--detach"][..], &["up"]] {
        let failed = lab.run(arguments);
        assert_eq!(code(&failed), Some(1));
        for words in ["error:", "ca.key is not a private key", "remove both"] {
            assert!(text(&failed).contains(words), "{words:?} is not in {}", text(&failed));
        }
        assert!(!text(&failed).contains("last lines of"), "it has said why itself");
        assert!(!lab.dir.join("run.json").exists());
    }
}

#[test]
fn foreign_directories_are_left_alone() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("thesis.tex"), "years of work").unwrap();
    let dir = home.path().to_str().unwrap();
    for arguments in [&["down", "--purge", "--dir", dir][..], &["up", "--detach", "--dir", dir]] {
        let refused = landbridge(arguments);
        assert_eq!(code(&refused), Some(1));
        assert!(text(&refused).contains("not a landbridge state directory"), "{}", text(&refused));
    }
    let names: Vec<_> =
        fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.tex"]);
}

#[test]
fn purge_stops_a_running_server_and_leaves_foreign_files() {
    let lab = Lab::new();
    lab.up();
    let pid = lab.pid();
    fs::write(lab.dir.join("notes.txt"), "mine").unwrap();
    let purge = lab.run(&["down", "--purge"]);
    assert_eq!(code(&purge), Some(0));
    assert!(text(&purge).contains("notes.txt"), "{}", text(&purge));
    let left: Vec<_> = fs::read_dir(&lab.dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    // Where nobody collects orphans it stays a zombie.
    let gone = fs::read_to_string(stat).map_or(true, |stat| stat.contains(") Z "));
    assert!(gone, "the server has ended");
}

#[test]
fn the_environment_names_the_directory() {
    let lab = Lab::new();
    let output = command(&["status"]).env("LANDBRIDGE_DIR", lab.dir()).output().unwrap();
    assert_eq!(code(&output), Some(3));
    assert!(text(&output).contains(lab.dir()));
}

/// The password and the URL of Keystone in a clouds.yaml, and the names of its clouds.
fn cloud_of(dir: &Path) -> (String, String, Vec<String>) {
    let text = std::fs::read_to_string(dir.join("clouds.yaml")).unwrap();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
        line.trim().trim_matches('"').to_owned()
    };
    let names = text.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.trim().trim_end_matches(':').to_owned()).collect();
    (value("password:"), value("auth_url:"), names)
}

#[test]
fn it_serves_a_cloud_that_stays_the_same() {
    let here = Lab::new();
    assert!(here.up().contains("ok cloud"));
    let dir = Path::new(here.dir());
    let (password, url, names) = cloud_of(dir);
    assert_eq!(names, ["landbridge", "lab"]);
    assert_eq!(mode(&dir.join("clouds.yaml")), 0o600);
    assert_eq!(mode(&dir.join("cloud")), 0o700);
    let status = here.status();
    assert_eq!(status["cloud"].as_str().map(|root| format!("{root}/v3")).as_deref(), Some(&*url));
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v3")).unwrap();
    let login = |password: &str| {
        let body = format!(
            r#"{{"auth": {{"identity": {{"methods": ["password"], "password": {{"user": {{"name": "admin", "password": "{password}", "domain": {{"id": "default"}}}}}}}}}}}}"#
        );
        let request = format!(
            "POST /v3/auth/tokens HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(login(&password), "HTTP/1.1 201 Created");
    assert_eq!(login("wrong"), "HTTP/1.1 401 Unauthorized");
    let log = std::fs::read_to_string(dir.join("landbridge.log")).unwrap_or_default();
    assert!(!log.contains(&password), "no password in the log");

    // The same ports and the same password the next time; nothing of it without.
    assert_eq!(code(&here.run(&["down"])), Some(0));
    here.up();
    assert_eq!(cloud_of(dir), (password.clone(), url.clone(), names));
    assert_eq!(login(&password), "HTTP/1.1 201 Created");
    assert_eq!(code(&here.run(&["down"])), Some(0));
    // Somebody else has the port meanwhile: another one is taken, and the catalogue knows it.
    let taken = std::net::TcpListener::bind(address).unwrap();
    here.up();
    let (_, moved, _) = cloud_of(dir);
    assert_ne!(moved, url);
    drop(taken);
    assert_eq!(code(&here.run(&["down", "--purge"])), Some(0));
    assert!(!dir.exists());
}
