//! A node of its own for each test: namespace, API, agent.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use landbridge_agent::pods::process;
use landbridge_agent::pods::record::Records;
use landbridge_agent::pods::{self, Attachments, Directory, PodIdentity, Settings};

use landbridge_apiserver::{ApiServer, Identity, Options};
use landbridge_cni::result::{Interface, Ip};
use landbridge_cni::{CniError, CniResult, Code};
use landbridge_linux::namespace::named;
use landbridge_linux::{Address, Handle, IfName, LinkKind, Namespace, NewLink};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

pub const NODE: &str = "worker-0";

/// Runs a test in a network of its own, or says why not.
pub fn in_node<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send) {
    if !rustix::process::geteuid().is_root() {
        return skip("agent: pods", "needs root");
    }
    let namespace = Namespace::unnamed().unwrap();
    let net = Handle::in_namespace(&namespace).unwrap();
    net.set_up(&name("lo")).unwrap();
    namespace
        .run(|| {
            // One thread, so that every thread it makes is in the namespace too.
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let test = tokio::time::timeout(Duration::from_mins(2), test());
                test.await.expect("the test takes too long");
            });
            runtime.shutdown_timeout(Duration::from_secs(5));
        })
        .unwrap();
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).unwrap()
}

pub fn skip(what: &str, why: &str) {
    eprintln!("skipped: {what}: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{what}: {why}").unwrap();
}

/// Waits until something holds.
pub async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut check: impl FnMut() -> F,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(40), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Attaches sandboxes with one veth pair each: 10.9.N.2/24 and fd09:N::2/64 in the pod.
#[derive(Default)]
pub struct Veths {
    next: AtomicU8,
    pub attached: Mutex<BTreeSet<String>>,
    pub added: Mutex<Vec<PodIdentity>>,
    pub refuse: AtomicBool,
    pub refuse_del: AtomicBool,
    pub hang_del: AtomicBool,
}

impl Attachments for Veths {
    fn add(&self, pod: &PodIdentity, id: &str, netns: &Path) -> Result<CniResult, CniError> {
        self.attached.lock().unwrap().insert(id.to_owned());
        if self.refuse.load(Ordering::SeqCst) {
            return Err(CniError::new(Code::TRY_AGAIN, "no addresses left in 10.9.0.0/16"));
        }
        self.added.lock().unwrap().push(pod.clone());
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let (host, inside) = (Handle::open().unwrap(), Namespace::open(netns).unwrap());
        let end = |text: &str| NewLink::new(name(text), LinkKind::Veth).up();
        host.create_veth(&end(&format!("v{n}")), &end("eth0"), Some(&inside)).unwrap();
        let pod = Handle::in_namespace(&inside).unwrap();
        let mut result = CniResult::default();
        result.interfaces.push(Interface { name: "eth0".into(), ..Interface::default() });
        for net in [format!("10.9.{n}."), format!("fd09:{n}::")] {
            let bits = if net.contains(':') { 64 } else { 24 };
            let ends = [(&host, format!("v{n}"), 1), (&pod, "eth0".to_owned(), 2)];
            for (net_of, link, last) in ends {
                let index = net_of.index(&name(&link)).unwrap();
                let address = Address::new(index, format!("{net}{last}/{bits}").parse().unwrap());
                net_of.add_address(&address.without_dad()).unwrap();
            }
            let address = format!("{net}2/{bits}").parse().unwrap();
            result.ips.push(Ip { address, gateway: None, interface: Some(0) });
        }
        Ok(result)
    }

    fn del(&self, _: &PodIdentity, id: &str, _: &Path) -> Result<(), CniError> {
        let start = Instant::now();
        // Not for ever: a test that fails would never end.
        while self.hang_del.load(Ordering::SeqCst) && start.elapsed() < Duration::from_secs(50) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.refuse_del.load(Ordering::SeqCst) {
            return Err(CniError::new(Code::TRY_AGAIN, "the API does not answer"));
        }
        self.attached.lock().unwrap().remove(id);
        Ok(())
    }
}

/// A node with an API. Everything it has made is gone with it.
pub struct Node {
    pub dir: tempfile::TempDir,
    pub server: ApiServer,
    pub veths: Arc<Veths>,
    pub directory: Directory,
    addresses: watch::Sender<Vec<IpAddr>>,
    agent: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Node {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(Options::new(dir.path().join("api"))).await.unwrap();
        // Pods are created with an account of their namespace.
        let account = json!({"metadata": {"name": "default", "namespace": "default"}});
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
            Api::namespaced(server.client(Identity::admin()), "default");
        let _ = accounts
            .create(&PostParams::default(), &serde_json::from_value(account).unwrap())
            .await;
        let (addresses, _) = watch::channel(vec!["127.0.0.1".parse().unwrap()]);
        let (veths, directory) = (Arc::default(), Directory::default());
        Self { dir, server, veths, directory, addresses, agent: None }
    }

    /// A client with no more rights than the node has.
    pub fn own_client(&self) -> kube::Client {
        let identity = Identity::new(format!("system:node:{NODE}"), &["system:nodes"]);
        self.server.client(identity.authenticated())
    }

    pub fn admin(&self) -> kube::Client {
        self.server.client(Identity::admin())
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.admin(), "default")
    }

    pub fn netns_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("netns")
    }

    pub fn start(&mut self) {
        let settings = Settings {
            netns_dir: self.netns_dir(),
            responder: crate::processes::responder_command(),
            detach_within: Duration::from_secs(2),
            ..Settings::new(NODE, &self.dir.path().join("state"), Path::new("landbridge"))
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (client, addresses) = (self.own_client(), self.addresses.subscribe());
        let (veths, directory) = (self.veths.clone(), self.directory.clone());
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            pods::run(client, settings, veths, addresses, directory, stopped).await.unwrap();
        });
        self.agent = Some((stop, task));
    }

    /// Ends the agent; what it has started goes on.
    pub async fn stop(&mut self) {
        let (stop, task) = self.agent.take().unwrap();
        drop(stop);
        task.await.unwrap();
    }

    pub async fn create(&self, pod: &str, spec: Value) -> Pod {
        let mut spec = spec;
        spec["nodeName"] = NODE.into();
        if spec["terminationGracePeriodSeconds"].is_null() {
            spec["terminationGracePeriodSeconds"] = 5.into();
        }
        // Held, so that the node sees it end however the API deletes pods.
        let meta =
            json!({"name": pod, "namespace": "default", "finalizers": ["landbridge.dev/test"]});
        let object = json!({"metadata": meta, "spec": spec});
        let object = serde_json::from_value(object).unwrap();
        self.pods().create(&PostParams::default(), &object).await.unwrap()
    }

    /// Waits until the status of a pod is as wanted.
    pub async fn pod_is(&self, pod: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(&format!("{pod} {what}"), || async {
            let found = self.pods().get_opt(pod).await.unwrap()?;
            let value = serde_json::to_value(found).unwrap();
            is(&value["status"]).then_some(value)
        })
        .await
    }

    pub async fn ready(&self, pod: &str) -> Value {
        self.pod_is(pod, "ready", |status| condition(status, "Ready") == Some("True".into())).await
    }

    pub async fn delete(&self, pod: &str) {
        self.pods().delete(pod, &DeleteParams::default()).await.unwrap();
    }

    /// Takes a pod away without notice.
    pub async fn force_delete(&self, pod: &str) {
        self.let_go(pod).await;
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.pods().delete(pod, &now).await.unwrap();
    }

    async fn let_go(&self, pod: &str) {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        match self.pods().patch(pod, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.unwrap()),
        }
    }

    /// Waits until the node has done with a pod that was deleted, and the API too.
    pub async fn gone(&self, pod: &str) {
        until(&format!("{pod} left by its node"), || async {
            self.directory.get("default", pod).is_none().then_some(())
        })
        .await;
        self.let_go(pod).await;
        until(&format!("{pod} gone"), || async {
            self.pods().get_opt(pod).await.unwrap().is_none().then_some(())
        })
        .await;
    }

    /// Waits until nothing is left of any pod.
    pub async fn clean(&self) {
        until("nothing left", || async {
            let files = |name: &str| {
                let dir = std::fs::read_dir(self.dir.path().join("state").join(name));
                dir.map_or(0, Iterator::count)
            };
            let left = named::list(&self.netns_dir()).unwrap().len()
                + self.veths.attached.lock().unwrap().len()
                + files("sandboxes")
                + files("releases")
                + files("pods");
            (left == 0).then_some(())
        })
        .await;
    }

    /// The Events about a pod, with a reason.
    pub async fn event(&self, pod: &str, reason: &str) -> Event {
        let events: Api<Event> = Api::namespaced(self.admin(), "default");
        until(&format!("an Event {reason} of {pod}"), || async {
            let all = events.list(&ListParams::default()).await.unwrap();
            all.items.into_iter().find(|event| {
                event.involved_object.name.as_deref() == Some(pod)
                    && event.reason.as_deref() == Some(reason)
            })
        })
        .await
    }

    pub fn pid(&self, pod: &str) -> u32 {
        self.directory.get("default", pod).unwrap().pid.unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A test that failed leaves what its agent would have removed.
        let state = Records::open(&self.dir.path().join("state")).unwrap();
        for record in state.sandboxes().unwrap() {
            let _ = record.process.map(|process| process::signal(&process, true));
        }
        for name in named::list(&self.netns_dir()).unwrap_or_default() {
            let _ = named::delete(&self.netns_dir(), &name);
        }
    }
}

pub fn condition(status: &Value, kind: &str) -> Option<String> {
    let all = status["conditions"].as_array()?;
    let found = all.iter().find(|condition| condition["type"] == kind)?;
    Some(found["status"].as_str()?.to_owned())
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A request over HTTP, and what is answered to it.
pub async fn get(address: &str, headers: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET /x HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
