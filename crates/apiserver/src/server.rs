//! The server as a whole: what it is made of, how it starts and stops.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::Hooks;
use landbridge_machinery::status::ApiError;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::access::{Access, TokenKey};
use crate::addresses::ServiceAddresses;
use crate::figures::Figures;
use crate::limits::{Gates, Limits};
use crate::meta::{self, Store};
use crate::nodes::{NodeObjects, Nodes};
use crate::openapi::Documents;
use crate::registry::{Registry, Resource};
use crate::{access, bootstrap, builtin, crd, events_ttl, gc, namespaces};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the state is kept.
    pub dir: PathBuf,
    /// Ranges of cluster IPs, at most one per family; the first is the default family.
    pub service_cidrs: Vec<IpNet>,
    /// Certificate of the CA, published to every namespace as `kube-root-ca.crt`.
    pub ca_pem: Option<String>,
    /// How much is taken on at once.
    pub limits: Limits,
    /// How many changes are kept for watches that resume and lists that go on.
    pub history: usize,
    /// Key that signs tokens of service accounts; made when the file is not there. By default it
    /// stands in `dir`.
    pub token_key: Option<PathBuf>,
    /// Where the agents of nodes listen; without it exec, logs and the like say that nothing runs.
    pub nodes: Option<Arc<dyn Nodes>>,
    /// Kinds of which each node has objects of its own.
    pub node_objects: Vec<NodeObjects>,
    /// What `/metrics` says beside the server's own figures.
    pub figures: Option<Arc<dyn Figures>>,
}

impl Options {
    /// The usual ranges, and a state directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        // Written out as bytes so that nothing can fail to parse.
        let v4 = IpNet::V4(ipnet::Ipv4Net::new_assert([10, 96, 0, 0].into(), 16));
        let v6 =
            IpNet::V6(ipnet::Ipv6Net::new_assert([0xfd00, 0x10, 0x96, 0, 0, 0, 0, 0].into(), 108));
        Self {
            dir: dir.into(),
            service_cidrs: vec![v4, v6],
            ca_pem: None,
            token_key: None,
            limits: Limits::default(),
            history: 100_000,
            nodes: None,
            node_objects: Vec::new(),
            figures: None,
        }
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state cannot be read.
    #[error("cannot open the state of the API server")]
    Store(#[from] landbridge_store::OpenError),
    /// Tokens cannot be signed.
    #[error(transparent)]
    TokenKey(#[from] crate::pki::PkiError),
    /// The first objects could not be written.
    #[error("cannot write the first objects: {0}")]
    Bootstrap(#[from] ApiError),
    /// A background task of the runtime died.
    #[error("the runtime stopped while starting: {0}")]
    Runtime(#[from] tokio::task::JoinError),
}

/// A kind to be served: its CRD and the rules it brings.
pub struct CustomKind {
    /// The CustomResourceDefinition.
    pub crd: Value,
    /// Its rules.
    pub hooks: Option<Arc<dyn Hooks>>,
}

/// Figures for `landbridge status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Current revision.
    pub revision: u64,
    /// Number of objects.
    pub objects: usize,
}

/// The resources and the documents that describe them; swapped together.
pub struct Published {
    /// All resources.
    pub registry: Arc<Registry>,
    /// Their OpenAPI documents, made on demand.
    pub documents: Documents,
}

/// Everything requests share.
pub struct Inner {
    /// The objects.
    pub store: Store,
    /// Who may do what.
    pub access: Access,
    /// Cluster IPs and node ports.
    pub addresses: ServiceAddresses,
    /// Room for requests and watches.
    pub gates: Gates,
    /// Set to `true` when the server stops: streams end.
    pub stopping: watch::Sender<bool>,
    /// Certificate of the CA, if there is one.
    pub ca_pem: Option<String>,
    /// Where the agents of nodes listen.
    pub nodes: Option<Arc<dyn Nodes>>,
    /// Kinds of which each node has objects of its own.
    pub node_objects: Vec<NodeObjects>,
    /// What `/metrics` says beside the server's own figures.
    pub figures: Option<Arc<dyn Figures>>,
    published: ArcSwap<Published>,
    builtins: Vec<Arc<Resource>>,
    customs: Mutex<BTreeMap<String, Arc<Resource>>>,
    hooks: Mutex<BTreeMap<GroupKind, Arc<dyn Hooks>>>,
}

impl Inner {
    /// All resources, as they are now.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.published.load().registry)
    }

    /// The resources with the documents that describe them.
    pub fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    /// Rules registered for a custom kind.
    pub fn hooks_for(&self, kind: &GroupKind) -> Option<Arc<dyn Hooks>> {
        locked(&self.hooks).get(kind).cloned()
    }

    /// The resource of a CRD, by the CRD's name.
    pub fn custom(&self, crd: &str) -> Option<Arc<Resource>> {
        locked(&self.customs).get(crd).cloned()
    }

    /// Adds, replaces or removes the resource of a CRD and publishes the new registry.
    pub fn set_custom(&self, crd: &str, resource: Option<Arc<Resource>>) {
        let mut customs = locked(&self.customs);
        match resource {
            Some(resource) => customs.insert(crd.to_owned(), resource),
            None => customs.remove(crd),
        };
        // Built-in kinds come last: no CRD can replace one.
        let registry = Arc::new(Registry::new(customs.values().chain(&self.builtins).cloned()));
        let documents = self.published.load().documents.successor(&registry);
        self.published.store(Arc::new(Published { registry, documents }));
    }
}

/// A panic in another holder leaves a map that is still a map.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// An embedded Kubernetes API. Cheap to clone; all clones are one server.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) inner: Arc<Inner>,
    controllers: Arc<tokio::sync::Mutex<JoinSet<()>>>,
}

impl ApiServer {
    /// Opens the state, writes what every cluster has, and starts the server's own controllers.
    pub async fn open(options: Options) -> Result<Self, StartError> {
        let (dir, history) = (options.dir.clone(), options.history);
        let opened = tokio::task::spawn_blocking(move || {
            // In a thread of its own and before the store's: what the definitions of the built-in
            // kinds took is then the first memory the store's writer gets.
            let builtins = std::thread::spawn(builtin::resources).join();
            let kept = landbridge_store::Options { ring_events: history, ..Default::default() };
            landbridge_store::Store::open(&dir, kept).map(|store| (store, builtins))
        });
        let (store, builtins): (Store, _) = opened.await??;
        let builtins = builtins.unwrap_or_else(|_| builtin::resources());
        let key = options.token_key.unwrap_or_else(|| options.dir.join("service-account.key"));
        let registry = Arc::new(Registry::new(builtins.iter().cloned()));
        let documents = Documents::new(&registry, builtin::openapi_meta_definitions);
        let inner = Arc::new(Inner {
            published: ArcSwap::from_pointee(Published { registry, documents }),
            store,
            access: Access::new(TokenKey::ensure(&key)?),
            addresses: ServiceAddresses::new(options.service_cidrs),
            gates: Gates::new(options.limits),
            stopping: watch::Sender::new(false),
            ca_pem: options.ca_pem,
            nodes: options.nodes,
            node_objects: options.node_objects,
            figures: options.figures,
            builtins,
            customs: Mutex::default(),
            hooks: Mutex::default(),
        });
        if let Some(services) = inner.registry().get("", "services") {
            for entry in inner.store.snapshot().range(&services.prefix(None), None) {
                inner.addresses.adopt(&meta::parse(entry));
            }
        }
        crd::load(&inner);
        bootstrap::write(&inner).await?;
        let server = Self { inner, controllers: Arc::default() };
        server.start_controllers().await;
        Ok(server)
    }

    async fn start_controllers(&self) {
        let mut tasks = self.controllers.lock().await;
        tasks.spawn(crd::run(Arc::clone(&self.inner)));
        tasks.spawn(namespaces::run(Arc::clone(&self.inner)));
        tasks.spawn(gc::run(Arc::clone(&self.inner)));
        tasks.spawn(events_ttl::run(Arc::clone(&self.inner)));
        tasks.spawn(access::aggregate(Arc::clone(&self.inner)));
        tasks.spawn(access::secret_tokens(Arc::clone(&self.inner)));
    }

    /// Serves these kinds from now on: creates or updates their CRDs and waits until each is
    /// established.
    pub async fn install(&self, kinds: Vec<CustomKind>) -> Result<(), ApiError> {
        for kind in &kinds {
            if let Some(hooks) = &kind.hooks {
                let names = &kind.crd["spec"];
                let of = GroupKind::new(
                    names["group"].as_str().unwrap_or_default(),
                    names["names"]["kind"].as_str().unwrap_or_default(),
                );
                locked(&self.inner.hooks).insert(of, Arc::clone(hooks));
            }
        }
        crd::load(&self.inner); // CRDs that were stored already get their rules now
        for kind in kinds {
            crd::install(&self.inner, kind.crd).await?;
        }
        Ok(())
    }

    /// Figures.
    pub fn stats(&self) -> Stats {
        let snapshot = self.inner.store.snapshot();
        Stats { revision: snapshot.revision(), objects: snapshot.len() }
    }

    /// Ends all streams and controllers and closes the store: its directory is free afterwards,
    /// whoever still holds a clone. What was acknowledged is on disk already.
    pub async fn shutdown(&self) {
        self.inner.stopping.send_replace(true);
        self.controllers.lock().await.shutdown().await;
        self.inner.store.clone().close().await;
    }
}
