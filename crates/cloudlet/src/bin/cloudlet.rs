//! A cloud alone on loopback: for tests of clients, and to try things.
//!
//! `cloudlet DIR [--port SERVICE=PORT]… [--peer | --lab] [--password P]` keeps its state in `DIR/state`,
//! writes `DIR/clouds.yaml`, prints `ready` and serves until it is killed. `--peer` sets it up as the
//! Neutron that tests compare it with, `--lab` as the cloud of a lab.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use landbridge_cloudlet::chance::{Chance, System};
use landbridge_cloudlet::config::AGENTS;
use landbridge_cloudlet::identity::Account;
use landbridge_cloudlet::journal::Stored;
use landbridge_cloudlet::{Config, Server, Service, http};
use tokio::net::TcpListener;

struct Asked {
    dir: PathBuf,
    ports: BTreeMap<Service, u16>,
    like: Like,
    password: Option<String>,
}

/// What it is set up as.
enum Like {
    Itself,
    Peer,
    Lab,
}

fn asked() -> Result<Asked, String> {
    let mut args = std::env::args().skip(1);
    let (mut dir, mut like, mut password) = (None, Like::Itself, None);
    let mut ports = BTreeMap::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--peer" => like = Like::Peer,
            "--lab" => like = Like::Lab,
            "--password" => password = args.next(),
            "--port" => {
                let given = args.next().unwrap_or_default();
                let known = |name: &str| {
                    Service::ALL.into_iter().find(|service| service.catalogue_type() == name)
                };
                let pair = given
                    .split_once('=')
                    .and_then(|(name, port)| Some((known(name)?, port.parse::<u16>().ok()?)));
                let (service, port) =
                    pair.ok_or_else(|| format!("--port {given}: say identity=5000, for one"))?;
                ports.insert(service, port);
            }
            other if dir.is_none() && !other.starts_with('-') => dir = Some(PathBuf::from(other)),
            other => return Err(format!("{other}: not understood")),
        }
    }
    let dir = dir.ok_or("say in which directory the state shall be")?;
    Ok(Asked { dir, ports, like, password })
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cloudlet: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let asked = asked()?;
    let mut endpoints = BTreeMap::new();
    let mut listeners = Vec::new();
    for service in Service::ALL {
        let port = asked.ports.get(&service).copied().unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        endpoints.insert(service, format!("http://{}", listener.local_addr()?));
        listeners.push((service, listener));
    }
    let identity = endpoints.get(&Service::Identity).cloned().unwrap_or_default();
    let config = match asked.like {
        Like::Itself => Config { endpoints, ..Config::default() },
        Like::Peer => like_the_peer(endpoints),
        Like::Lab => {
            let hosts = ["edpm-compute-0", "edpm-compute-1"].map(str::to_owned).to_vec();
            Config::lab(endpoints, hosts)
        }
    };
    let password = asked.password.unwrap_or_else(|| (&mut System as &mut dyn Chance).hex_id());
    let accounts = accounts(&password);
    let region = config.region.clone();
    std::fs::create_dir_all(&asked.dir)?;
    let journal = Stored::open(&asked.dir.join("state"))?;
    let server = Server::open(config, Box::new(journal), &accounts).await?;
    write_clouds(&asked.dir, &region, &identity, &password, &accounts)?;
    let serving = listeners.into_iter().map(|(service, listener)| {
        tokio::spawn(http::serve(server.clone(), service, listener, std::future::pending()))
    });
    let serving: Vec<_> = serving.collect();
    println!("ready {identity}/v3");
    for one in serving {
        one.await?;
    }
    Ok(())
}

/// The settings of `tests/cloud/peer`.
fn like_the_peer(endpoints: BTreeMap<Service, String>) -> Config {
    let mut config = Config { endpoints, ..Config::default() };
    let network = &mut config.network;
    network.flat = vec!["octavia".to_owned(), "physnet1".to_owned()];
    network.geneve = (0, 0);
    network.project_types = vec!["vxlan".to_owned()];
    network.zones = Vec::new();
    network.extensions = AGENTS.map(str::to_owned).into();
    config
}

fn accounts(password: &str) -> Vec<Account> {
    let account = |name: &str, project: &str, roles: &[&str]| Account {
        name: name.to_owned(),
        password: password.to_owned(),
        project: project.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    };
    let people = [
        account("member", "demo", &["member"]),
        account("reader", "demo", &["reader"]),
        account("other", "other", &["member"]),
    ];
    Account::lab(password).into_iter().chain(people).collect()
}

fn write_clouds(
    dir: &Path,
    region: &str,
    identity: &str,
    password: &str,
    accounts: &[Account],
) -> std::io::Result<()> {
    let mut text = String::from("clouds:\n");
    for account in accounts {
        let _ = write!(
            text, // which takes everything
            "  {}:\n    region_name: {region}\n    auth:\n      auth_url: {identity}/v3\n      \
             username: {}\n      password: {password}\n      project_name: {}\n      \
             user_domain_name: Default\n      project_domain_name: Default\n",
            account.name,
            account.name,
            account.project
        );
    }
    let path = dir.join("clouds.yaml");
    let mut options = std::fs::OpenOptions::new();
    options.create(true).write(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(path)?, text.as_bytes())
}
