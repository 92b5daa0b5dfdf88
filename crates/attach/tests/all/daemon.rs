//! The socket, the thin binary, and calls that come while nobody is there.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use landbridge_attach::daemon::Daemon;
use landbridge_attach::message::Message;
use landbridge_attach::networks::{Networks, Sandboxes};
use landbridge_attach::objects::Objects;
use landbridge_attach::objects::fake::FakeObjects;
use landbridge_attach::releases::Releases;
use landbridge_attach::serve::serve;
use landbridge_attach::shim::{Output, Places, shim};
use landbridge_cni::{CniError, Code};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{FakeNetworks, FakeSandboxes, INTERNALAPI, cluster, pod};

struct Lab {
    fake: Arc<FakeObjects>,
    objects: Arc<dyn Objects>,
    networks: Arc<FakeNetworks>,
    directory: TempDir,
}

impl Lab {
    fn new() -> Self {
        let (fake, objects) = cluster();
        fake.define("openstack", "internalapi", INTERNALAPI);
        fake.put_pod(pod("openstack/p", "internalapi"));
        let directory = tempfile::tempdir().unwrap();
        Self { fake, objects, networks: Arc::default(), directory }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("cni.sock")
    }

    fn releases(&self) -> PathBuf {
        self.directory.path().join("releases")
    }

    fn daemon(&self) -> Arc<Daemon> {
        let networks = Arc::clone(&self.networks);
        let daemon = Daemon::new(
            Arc::clone(&self.objects),
            Releases::new(self.releases()),
            Arc::new(FakeSandboxes::default()) as Arc<dyn Sandboxes>,
            move |ipams| {
                *networks.ipams.lock().unwrap() = Some(ipams);
                networks as Arc<dyn Networks>
            },
        );
        Arc::new(daemon)
    }

    /// Runs the daemon while `work` is done.
    fn served<T>(&self, work: impl FnOnce() -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let _ = std::fs::remove_file(self.socket());
        let listener =
            runtime.block_on(async { tokio::net::UnixListener::bind(self.socket()).unwrap() });
        let server = runtime.spawn(serve(listener, self.daemon(), async {
            let _ = stopped.await;
        }));
        let done = work();
        stop.send(()).unwrap();
        runtime.block_on(server).unwrap();
        done
    }

    fn call(&self, command: &str, container: &str) -> Output {
        self.call_alone(command, container, &|_| {
            Err(CniError::new(Code::INTERNAL, "nobody works alone in this test"))
        })
    }

    fn call_alone(
        &self,
        command: &str,
        container: &str,
        alone: &dyn Fn(&Message) -> Result<String, CniError>,
    ) -> Output {
        let env: BTreeMap<String, String> = [
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", container),
            ("CNI_NETNS", "/run/netns/test"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=openstack;K8S_POD_NAME=p"),
            ("CNI_PATH", "/opt/cni/bin"),
            ("SECRET", "of the runtime"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let config = json!({
            "cniVersion": "0.3.1", "name": "multus-cni-network", "type": "multus",
            "socket": self.socket(), "cniDir": self.directory.path().join("multus"),
            "delegates": [{"cniVersion": "0.3.1", "name": "cbr0", "type": "bridge"}],
        });
        let places = Places { socket: None, releases: self.releases() };
        shim("multus", &env, config.to_string().as_bytes(), &places, alone)
    }

    fn http(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }
}

#[test]
fn the_thin_binary_prints_what_the_daemon_answers() {
    let lab = Lab::new();
    lab.served(|| {
        let output = lab.call("ADD", "c1");
        assert_eq!(output.code, 0, "{output:?}");
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(result["cniVersion"], "0.3.1");
        assert_eq!(result["ips"][0]["address"], "10.244.0.5/24");
        assert!(lab.fake.state().reservations.contains_key("172.17.0.30"));
        let output = lab.call("DEL", "c1");
        assert_eq!((output.code, output.stdout.as_str()), (0, ""));
        assert!(lab.fake.state().reservations.is_empty());
        // An error is an error object and exit 1.
        lab.fake.state().definitions.clear();
        let output = lab.call("ADD", "c2");
        assert_eq!(output.code, 1);
        let error: CniError = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(error.cni_version, "0.3.1");
        assert!(error.msg.contains("cannot find a network-attachment-definition"), "{error}");
    });
}

#[test]
fn a_del_without_a_daemon_succeeds_and_is_made_up_for() {
    let lab = Lab::new();
    lab.served(|| assert_eq!(lab.call("ADD", "c1").code, 0));
    // The socket is there and nobody listens.
    let output = lab.call("DEL", "c1");
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let queued = Releases::new(lab.releases()).all().unwrap();
    assert_eq!(queued.len(), 1);
    let text = std::fs::read_to_string(&queued[0].0).unwrap();
    assert!(!text.contains("SECRET") && !text.contains("CNI_NETNS"), "{text}");
    assert_eq!(crate::support::mode(&queued[0].0), 0o600);
    std::fs::remove_file(lab.socket()).unwrap();
    assert_eq!(lab.call("DEL", "c1").code, 0);
    // The next daemon does it first of all.
    assert_eq!(lab.daemon().retry().unwrap(), 0);
    assert!(lab.fake.state().reservations.is_empty());
    assert!(lab.fake.state().pools["172.17.0.0-24"].spec.allocations.is_empty());
    assert!(Releases::new(lab.releases()).all().unwrap().is_empty());
}

#[test]
fn an_add_without_a_daemon_is_done_alone() {
    let lab = Lab::new();
    let output = lab.call_alone("ADD", "c1", &|message| lab.daemon().handle(message));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(lab.fake.state().reservations.contains_key("172.17.0.30"));
}

#[test]
fn a_queued_call_that_can_never_be_served_does_not_stay_for_ever() {
    let lab = Lab::new();
    let env = [
        ("CNI_COMMAND", "DEL"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_PATH", "/x"),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let release = landbridge_attach::releases::Release::Call {
        plugin: "multus".into(),
        env,
        config: "e30=".into(),
    };
    let releases = Releases::new(lab.releases());
    releases.put(&release).unwrap();
    assert_eq!(lab.daemon().retry().unwrap(), 0);
    assert!(releases.all().unwrap().is_empty());
}

#[test]
fn no_command_is_a_word_and_version_needs_nobody() {
    let lab = Lab::new();
    let places = Places { socket: None, releases: lab.releases() };
    let alone = |_: &Message| Err(CniError::new(Code::INTERNAL, "not here"));
    let output = shim("macvlan", &BTreeMap::new(), b"", &places, &alone);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(output.stderr.starts_with("CNI macvlan plugin"), "{}", output.stderr);
    let env = [("CNI_COMMAND".to_owned(), "VERSION".to_owned())].into();
    let output = shim("multus", &env, b"{}", &places, &alone);
    assert!(output.stdout.contains("\"supportedVersions\""), "{output:?}");
}

#[test]
fn bad_requests_get_an_error_object() {
    let lab = Lab::new();
    lab.served(|| {
        let post = |body: &str| {
            lab.http(&format!(
                "POST /cni HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
        };
        let cases = [
            ("{", "\"code\": 6"),
            ("{}", "\"code\": 6"),
            (r#"{"env":{},"config":""}"#, "required env variables [CNI_COMMAND] missing"),
            (r#"{"env":{"CNI_COMMAND":"ADD"}}"#, "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing"),
            (r#"{"env":{"CNI_COMMAND":"GO"}}"#, "unknown CNI_COMMAND: GO"),
            (r#"{"env":{"CNI_COMMAND":"VERSION"},"config":"!"}"#, "no base64"),
            (r#"{"env":{"CNI_COMMAND":"VERSION"},"config":"e30=","plugin":"sh"}"#, "the daemon does not serve plugin"),
        ];
        for (body, expected) in cases {
            let answer = post(body);
            assert!(answer.starts_with("HTTP/1.1 400"), "{body}: {answer}");
            assert!(answer.contains(expected), "{body}: {answer}");
        }
        let large = "x".repeat(9 << 20);
        let mut stream = UnixStream::connect(lab.socket()).unwrap();
        let head = format!("POST /cni HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", large.len());
        stream.write_all(head.as_bytes()).unwrap();
        let _ = stream.write_all(large.as_bytes());
        let mut answer = [0; 12];
        if stream.read_exact(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 400");
        }
        let get = |path: &str| lab.http(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
        assert!(get("/healthz").starts_with("HTTP/1.1 200"));
        assert!(get("/readyz").starts_with("HTTP/1.1 200"));
        assert!(get("/cni").starts_with("HTTP/1.1 405"));
        assert!(get("/etc/passwd").starts_with("HTTP/1.1 404"));
    });
}
