//! Clouds that answer as real ones do: the embedded one, in this process and without sockets, and a real Keystone and
//! Neutron.
//!
//! `KEYSTONE_URL` names the real ones, separated by spaces (`http://127.0.0.1:5000`, as `scripts/openstack-peer` prints
//! it); user, project and password are admin, admin and `LANDBRIDGE_TEST_PASSWORD` (`secret`), and there is a physical
//! network `octavia`.

use std::env;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use jiff::Timestamp;
use landbridge_cloudlet::chance::Seeded;
use landbridge_cloudlet::identity::{Account, bootstrap};
use landbridge_cloudlet::{Cloud, Config, Request as Asked, Service as Which, State};
use landbridge_openstack::{
    Call, Client, Clock, Error, Method, Service, Session, Settings, Transport, Trouble,
};
use serde_json::Value;

/// A cloud, and how it is called in messages.
pub struct Place {
    pub name: String,
    pub client: Client,
    /// Whether there is a Nova.
    pub has_nova: bool,
}

impl Place {
    /// A new embedded cloud.
    pub fn embedded() -> Self {
        let client = Embedded::new().client("admin", "secret");
        Self { name: "embedded".to_owned(), client, has_nova: true }
    }

    /// What the environment names; when that is nothing, it is told.
    pub fn real() -> Vec<Self> {
        let urls = env::var("KEYSTONE_URL").unwrap_or_default();
        let password = env::var("LANDBRIDGE_TEST_PASSWORD").unwrap_or("secret".to_owned());
        let connect = |url: &str| {
            let root = format!("{}/v3", url.trim_end_matches('/').trim_end_matches("/v3"));
            let settings = Settings::simple(&root, "admin", &password, "admin");
            let client = Client::connect(settings).unwrap();
            Self { name: url.to_owned(), client, has_nova: false }
        };
        let all: Vec<_> = urls.split_whitespace().map(connect).collect();
        if all.is_empty() {
            let why = "Octavia's networks on a real Neutron: KEYSTONE_URL names none";
            println!("skipped: {why}");
            if let Some(notes) = env::var_os("LANDBRIDGE_SKIP_FILE") {
                use std::io::Write as _;
                let mut notes =
                    std::fs::OpenOptions::new().append(true).create(true).open(notes).unwrap();
                writeln!(notes, "{why}").unwrap();
            }
        }
        all
    }

    /// A call, whatever comes of it.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Error> {
        let mut call = Call::new(Service::Network, method, path);
        call.body = body;
        Ok(self.client.call(call).await?.body)
    }

    pub async fn put(&self, path: &str, body: Value) -> Value {
        self.ask(Method::PUT, path, Some(body)).await.unwrap()
    }

    pub async fn all_of(&self, collection: &str) -> Vec<Value> {
        let body = self.ask(Method::GET, &format!("/{collection}"), None).await.unwrap();
        body[collection.replace('-', "_")].as_array().unwrap().clone()
    }

    pub async fn named(&self, collection: &str, name: &str) -> Value {
        let mut found = self.all_of(collection).await;
        found.retain(|object| object["name"] == name);
        assert_eq!(found.len(), 1, "{}: {name}: {found:#?}", self.name);
        found.remove(0)
    }

    /// The id of a project.
    pub async fn project(&self, name: &str) -> String {
        let body = self.client.call(Call::get(Service::Identity, "/projects")).await.unwrap().body;
        let found = body["projects"].as_array().unwrap().iter().find(|one| one["name"] == name);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    }
}

/// Holds real clouds; tests of other processes are kept apart by whoever runs them.
pub fn alone() -> MutexGuard<'static, ()> {
    static REAL: Mutex<()> = Mutex::new(());
    REAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something that waits for answers.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// The embedded cloud as a value behind a wire. Clones are one cloud.
#[derive(Clone)]
pub struct Embedded(Arc<Mutex<(Cloud, Seeded)>>);

impl Embedded {
    pub fn new() -> Self {
        let mut config = Config { password_rounds: 1, ..Config::default() };
        for service in Which::ALL {
            config.endpoints.insert(service, format!("http://{}", service.catalogue_type()));
        }
        config.network.zones = ["zone-1", "edge-a", "edge-b"].map(str::to_owned).into();
        let account = |name: &str, project: &str, role: &str| Account {
            name: name.to_owned(),
            password: "secret".to_owned(),
            project: project.to_owned(),
            roles: vec![role.to_owned()],
        };
        let accounts = [
            account("admin", "admin", "admin"),
            account("octavia", "service", "admin"),
            account("member", "demo", "member"),
        ];
        let mut chance = Seeded(7);
        let (state, _) = bootstrap(&config, Timestamp::now(), &mut chance, &accounts).unwrap();
        Self(Arc::new(Mutex::new((Cloud::new(Arc::new(config), state), chance))))
    }

    /// A client that waits for nothing but answers.
    pub fn client(&self, user: &str, password: &str) -> Client {
        let settings = Settings::simple("http://identity/v3", user, password, "admin");
        Client::new(Session::new(settings, self.clone(), Quick))
    }

    pub fn state(&self) -> State {
        self.0.lock().unwrap().0.state().clone()
    }

    /// Everything is again as it was.
    pub fn go_back(&self, state: State) {
        self.0.lock().unwrap().0.go_back(state);
    }
}

impl Transport for Embedded {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>> {
        let (parts, body) = request.into_parts();
        let host = parts.uri.host().unwrap();
        let service = Which::ALL.into_iter().find(|one| one.catalogue_type() == host).unwrap();
        let path = parts.uri.path_and_query().unwrap().as_str();
        let mut asked = Asked::new(service, parts.method, path);
        asked.headers = parts.headers;
        asked.body = body;
        asked.base = format!("http://{host}");
        let (cloud, chance) = &mut *self.0.lock().unwrap();
        let answer = cloud.handle(Timestamp::now(), chance, &asked).response;
        let mut response = Response::builder().status(answer.status);
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        Box::pin(std::future::ready(Ok(response.body(answer.body).unwrap())))
    }
}

/// A clock that does not wait.
struct Quick;

impl Clock for Quick {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn chance(&self) -> u64 {
        0
    }
}
