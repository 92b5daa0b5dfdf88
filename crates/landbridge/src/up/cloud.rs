//! The OpenStack of `up`: the embedded one on the loopback and behind pods of the lab, or somebody else's.
//!
//! ```text
//!  openstack, openstacksdk ──▶ 127.0.0.1:PORT ─┐
//!                                              ├─▶ cloudlet ──▶ state directory/cloud
//!  the lab: VIP ─▶ pod of Keystone ─▶ socket ──┘
//! ```

mod files;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use landbridge_agent::pods::cloud as pods;
use landbridge_apiserver::pki::write_private;
use landbridge_cloudlet::identity::Account;
use landbridge_cloudlet::journal::Stored;
use landbridge_cloudlet::{Config, Server, Service, http};
use landbridge_controllers::clouds::Secret;
use landbridge_lab::spec::{Kind, Shape};
use landbridge_openstack::config::Environment;
use landbridge_openstack::resources::{Endpoint, EndpointChange};
use landbridge_openstack::{Client, Query, Surroundings};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{ingress, wait_for};
use crate::args::UpArgs;
use crate::connect;
use crate::state::StateDir;

/// In a node's directory.
pub const DIRECTORY: &str = "cloud";
/// Hosts of a lab without any compute node.
const NO_HOST: &str = "localhost";

/// Which OpenStack `up` works with.
pub enum Choice {
    /// The embedded one.
    Embedded,
    /// Nobody's.
    None,
    /// One of the clouds that the `openstack` command would find.
    Named(String),
    /// One that a Secret describes.
    Secret { namespace: String, name: String, cloud: Option<String> },
}

impl Choice {
    /// What was asked for.
    pub fn of(args: &UpArgs) -> Self {
        if let Some((namespace, name)) = args.cloud_secret.clone() {
            let cloud = args.cloud.clone();
            return Self::Secret { namespace, name, cloud };
        }
        match args.cloud.as_deref() {
            // Without controllers nobody would use it.
            None if args.no_controllers => Self::None,
            None | Some("embedded") => Self::Embedded,
            Some("none") => Self::None,
            Some(name) => Self::Named(name.to_owned()),
        }
    }

    /// A client of an OpenStack that is not ours.
    pub fn client(&self, kube: &kube::Client) -> Option<Client> {
        match self {
            Self::Embedded | Self::None => None,
            Self::Named(name) => {
                let environment = Environment::of_process();
                Some(Client::following(Surroundings { environment, cloud: Some(name.clone()) }))
            }
            Self::Secret { namespace, name, cloud } => Some(Client::following(Secret {
                kube: kube.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
                cloud: cloud.clone(),
            })),
        }
    }
}

/// The embedded cloud, which serves.
pub struct Embedded {
    pub server: Server,
    /// Where its Keystone is.
    pub url: String,
    clouds: PathBuf,
    password: String,
}

impl Embedded {
    /// Opens the cloud of a state directory and serves it on the loopback until it is told to stop.
    pub async fn start(
        state: &StateDir,
        shape: Option<&Shape>,
        tasks: &mut JoinSet<()>,
        stopped: &watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let directory = state.cloud();
        let password = files::password(&directory)?;
        let before = files::ports(&directory);
        let mut listeners = Vec::new();
        let mut urls = BTreeMap::new();
        for service in Service::ALL {
            let listener = listen(before.get(service.catalogue_type()).copied()).await?;
            let address = listener.local_addr().context("cannot tell which port was chosen")?;
            urls.insert(service, format!("http://{address}"));
            listeners.push((service, listener, address.port()));
        }
        let ports = listeners.iter().map(|(service, _, port)| (service.catalogue_type(), *port));
        let ports: BTreeMap<&str, u16> = ports.collect();
        let moved = files::moved(&before, &ports);
        files::remember_ports(&directory, &ports)?;

        let hosts = shape.map(|shape| shape.of_kind(Kind::Host).map(str::to_owned).collect());
        let mut hosts: Vec<String> = hosts.unwrap_or_default();
        if hosts.is_empty() {
            hosts.push(NO_HOST.to_owned());
        }
        let mut config = Config::lab(urls.clone(), hosts);
        config.internal.insert(Service::Identity, format!("{}/v3", files::INSIDE));
        let kept = directory.join("store");
        let journal = Stored::open(&kept)
            .with_context(|| format!("cannot open the embedded cloud in {}", kept.display()))?;
        let server = Server::open(config, Box::new(journal), &Account::lab(&password))
            .await
            .with_context(|| format!("cannot open the embedded cloud in {}", kept.display()))?;
        for (service, listener, _) in listeners {
            let until = wait_for(stopped.clone());
            tasks.spawn(http::serve(server.clone(), service, listener, until));
        }
        let clouds = state.clouds();
        write_private(&clouds, files::clouds(&urls, &password).as_bytes())?;
        let url = urls.get(&Service::Identity).cloned().unwrap_or_default();
        let embedded = Self { server, url, clouds, password };
        if !moved.is_empty() {
            embedded.correct_catalogue(&moved).await?;
        }
        Ok(embedded)
    }

    /// Has the catalogue say where the services are that have moved to another port.
    async fn correct_catalogue(&self, moved: &[(String, String)]) -> anyhow::Result<()> {
        let client = self.client()?;
        let all: Vec<Endpoint> = client.list(&Query::all()).await?;
        for endpoint in all {
            let new = moved.iter().find_map(|(old, new)| {
                let rest = endpoint.url.strip_prefix(old.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{new}{rest}"))
            });
            if let Some(url) = new {
                let change = EndpointChange { url: Some(url), ..EndpointChange::default() };
                client.update::<Endpoint>(&endpoint.id, &change, None).await?;
            }
        }
        Ok(())
    }

    /// A client of it, as anybody's: through its own clouds.yaml.
    pub fn client(&self) -> anyhow::Result<Client> {
        let file = std::path::absolute(&self.clouds).context("cannot find the state directory")?;
        let file = file.to_string_lossy().into_owned();
        let environment = Environment {
            variables: BTreeMap::from([("OS_CLIENT_CONFIG_FILE".to_owned(), file)]),
            directory: PathBuf::from("/"),
        };
        let cloud = Some(files::NAME.to_owned());
        Ok(Client::following(Surroundings { environment, cloud }))
    }

    /// Puts it behind the pods of the lab: a socket for each service and what clients need, in the
    /// directory of every Kubernetes node.
    pub fn doors(
        &self,
        lab: &Path,
        shape: &Shape,
        tasks: &mut JoinSet<()>,
        stopped: &watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        for node in shape.of_kind(Kind::Kubernetes) {
            let of_node = lab.join("nodes").join(node);
            let directory = of_node.join(DIRECTORY);
            files::private_directory(&directory)?;
            for service in Service::ALL {
                let path = pods::socket(&directory, service.catalogue_type());
                let listener = connect::listen(&path)
                    .with_context(|| format!("cannot listen on {}", path.display()))?;
                let until = wait_for(stopped.clone());
                tasks.spawn(http::serve(self.server.clone(), service, listener, until));
            }
            write_private(&directory.join(pods::PASSWORD), self.password.as_bytes())?;
            let authority = of_node.join(ingress::PODS);
            if let Ok(text) = std::fs::read(&authority) {
                write_private(&directory.join(pods::AUTHORITY), &text)?;
            }
        }
        Ok(())
    }

    /// For the line of progress.
    pub fn describe(&self) -> String {
        let file = self.clouds.display();
        format!("{}: OS_CLIENT_CONFIG_FILE={file} OS_CLOUD={}", self.url, files::NAME)
    }
}

/// Listens on the loopback, on the port used last if it is free.
async fn listen(last: Option<u16>) -> anyhow::Result<TcpListener> {
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if let Some(port) = last
        && let Ok(listener) = TcpListener::bind(here(port)).await
    {
        return Ok(listener);
    }
    TcpListener::bind(here(0)).await.context("cannot listen on the loopback for the embedded cloud")
}
