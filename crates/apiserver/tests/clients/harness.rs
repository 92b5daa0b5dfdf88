//! Starts servers, runs the cases, and says everything that failed, not only the first.

use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use landbridge_apiserver::pki::Pki;
use landbridge_apiserver::{ApiServer, Identity, Options};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::ctx::Ctx;
use crate::reply::Reply;
use crate::suite::{self, Case};

/// Longer than any case takes on a busy cluster.
const CASE_LIMIT: Duration = Duration::from_mins(3);
/// Cases that run at a time.
const AT_A_TIME: usize = 8;

/// A server of our own on a temporary directory.
pub struct Local {
    server: ApiServer,
    pki: Pki,
    dir: TempDir,
    stop: watch::Sender<bool>,
}

/// A server of our own behind TLS.
pub struct Endpoint<'a> {
    pki: &'a Pki,
    url: String,
}

impl Local {
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let pki =
            Pki::ensure(&dir.path().join("pki"), jiff::Timestamp::now()).expect("certificates");
        let ca_pem = Some(pki.ca_pem().to_owned());
        let options = Options { ca_pem, ..Options::new(dir.path().join("state")) };
        let server = ApiServer::open(options).await.expect("server");
        Self { server, pki, dir, stop: watch::Sender::new(false) }
    }

    pub fn in_process(&self) -> Client {
        self.server.client(Identity::admin())
    }

    pub fn unix(&self) -> Client {
        let path = self.dir.path().join("api.sock");
        let listener = tokio::net::UnixListener::bind(&path).expect("socket");
        let (server, stopped) = (self.server.clone(), self.stopped());
        tokio::spawn(async move { server.serve_unix(listener, Identity::admin(), stopped).await });
        landbridge_client::unix(&path)
    }

    pub async fn tls(&self) -> Endpoint<'_> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("https://{}", listener.local_addr().expect("address"));
        let config = self.pki.server_tls().expect("TLS");
        let (server, stopped) = (self.server.clone(), self.stopped());
        tokio::spawn(async move { server.serve_tls(listener, config, stopped).await });
        Endpoint { pki: &self.pki, url }
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            let _ = stop.wait_for(|stop| *stop).await; // a dropped sender stops as well
        }
    }

    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.server.shutdown().await;
    }
}

impl Endpoint<'_> {
    pub async fn client(&self) -> Client {
        let text = self.pki.admin_kubeconfig(&self.url);
        from_kubeconfig(Kubeconfig::from_yaml(&text).expect("kubeconfig")).await
    }

    /// Without a certificate there is an answer, and it is 401.
    pub async fn refuses_strangers(&self) {
        let text = self.pki.admin_kubeconfig(&self.url);
        let mut kubeconfig = Kubeconfig::from_yaml(&text).expect("kubeconfig");
        for user in &mut kubeconfig.auth_infos {
            user.auth_info = Some(kube::config::AuthInfo::default());
        }
        let client = from_kubeconfig(kubeconfig).await;
        for path in ["/api/v1/namespaces", "/version", "/no/such/path"] {
            let request =
                http::Request::get(path).body(kube::client::Body::empty()).expect("request");
            let reply = Reply::read(client.send(request).await.expect("an answer")).await;
            let reply = reply.expect("a whole answer");
            reply.refused(401, "Unauthorized", "Unauthorized").expect(path);
        }
    }
}

async fn from_kubeconfig(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("kubeconfig");
    config.default_retry = false; // a 504 is an answer to look at, not one to hide
    Client::try_from(config).expect("client")
}

pub async fn from_kubeconfig_file(path: &Path) -> Client {
    from_kubeconfig(Kubeconfig::read_from(path).expect("kubeconfig")).await
}

/// Says what was not run, on the terminal and in the file that collects such lines.
pub fn skip(what: &str, why: &str) {
    println!("skipped: {what}: {why}");
    let Some(path) = std::env::var_os("LANDBRIDGE_SKIP_FILE") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.expect("LANDBRIDGE_SKIP_FILE"), "{what}: {why}").expect("LANDBRIDGE_SKIP_FILE");
}

/// Runs all cases through one client; fails at the end with everything that failed.
pub async fn run_suite(label: &str, client: Client, ours: bool) {
    let begun = Instant::now();
    let controllers = ours || std::env::var("LANDBRIDGE_TEST_CONTROLLERS").as_deref() != Ok("0");
    let only = std::env::var("LANDBRIDGE_TEST_ONLY").unwrap_or_default();
    let mut cases = Vec::new();
    for (position, case) in suite::all().filter(|case| case.name.contains(&only)).enumerate() {
        if case.needs_controllers && !controllers {
            skip(&format!("{label}: {}", case.name), "LANDBRIDGE_TEST_CONTROLLERS=0");
        } else {
            cases.push((position, case));
        }
    }
    let count = cases.len();
    let failures: Mutex<Vec<String>> = Mutex::default();
    futures::stream::iter(cases)
        .for_each_concurrent(AT_A_TIME, |(position, case)| {
            let (client, failures) = (client.clone(), &failures);
            async move {
                let begun = Instant::now();
                let outcome = run_case(client, ours, case, position).await;
                let took = begun.elapsed().as_millis();
                match outcome {
                    Ok(()) => println!("{label}: {} ok ({took} ms)", case.name),
                    Err(error) => {
                        println!("{label}: {} FAILED ({took} ms)", case.name);
                        let text = format!("{}: {error:#}", case.name);
                        failures.lock().expect("failures").push(text);
                    }
                }
            }
        })
        .await;
    let failures = failures.into_inner().expect("failures");
    println!("{label}: {count} cases, {} failed, {:?}", failures.len(), begun.elapsed());
    assert!(
        failures.is_empty(),
        "{label}: {} of {count} cases failed:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

/// One case in a namespace of its own. A panic is a failure like any other.
async fn run_case(
    client: Client,
    ours: bool,
    case: &'static Case,
    position: usize,
) -> anyhow::Result<()> {
    let ctx = Ctx::new(client, ours, position).await?;
    let work = async |ctx: Ctx| {
        let outcome = tokio::time::timeout(CASE_LIMIT, (case.run)(&ctx)).await;
        let tidied = ctx.tidy_up().await;
        match outcome {
            Ok(Ok(())) => tidied,
            Ok(Err(error)) => Err(error),
            Err(_) => Err(anyhow::anyhow!("not done after {CASE_LIMIT:?}")),
        }
    };
    let runtime = tokio::runtime::Handle::current();
    match tokio::task::spawn_blocking(move || runtime.block_on(work(ctx))).await {
        Ok(outcome) => outcome,
        Err(error) => Err(anyhow::anyhow!("panicked: {error}")),
    }
}
