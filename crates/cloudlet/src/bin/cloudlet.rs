//! A cloud alone on loopback: for tests of clients, and to try things.
//!
//! `cloudlet DIR [--port SERVICE=PORT]… [--peer]` keeps its state in `DIR/state`, writes
//! `DIR/clouds.yaml`, prints `ready` and serves until it is killed. `--peer` sets it up as the Neutron
//! that tests compare it with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use landbridge_cloudlet::chance::{Chance, System};
use landbridge_cloudlet::identity::Account;
use landbridge_cloudlet::journal::Stored;
use landbridge_cloudlet::{Config, Server, Service, http};
use tokio::net::TcpListener;

struct Asked {
    dir: PathBuf,
    ports: BTreeMap<Service, u16>,
    peer: bool,
    password: Option<String>,
}

fn asked() -> Result<Asked, String> {
    let mut args = std::env::args().skip(1);
    let (mut dir, mut peer, mut password) = (None, false, None);
    let mut ports = BTreeMap::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--peer" => peer = true,
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
    Ok(Asked { dir, ports, peer, password })
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
    let mut config = Config::default();
    let mut listeners = Vec::new();
    for service in Service::ALL {
        let port = asked.ports.get(&service).copied().unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        config.endpoints.insert(service, format!("http://{}", listener.local_addr()?));
        listeners.push((service, listener));
    }
    if asked.peer {
        like_the_peer(&mut config);
    }
    let password = asked.password.unwrap_or_else(|| (&mut System as &mut dyn Chance).hex_id());
    let accounts = accounts(&password);
    let identity = config.endpoints.get(&Service::Identity).cloned().unwrap_or_default();
    std::fs::create_dir_all(&asked.dir)?;
    let journal = Stored::open(&asked.dir.join("state"))?;
    let server = Server::open(config, Box::new(journal), &accounts).await?;
    write_clouds(&asked.dir, &identity, &password, &accounts)?;
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
fn like_the_peer(config: &mut Config) {
    let network = &mut config.network;
    network.flat = vec!["octavia".to_owned(), "physnet1".to_owned()];
    network.geneve = (0, 0);
    network.project_types = vec!["vxlan".to_owned()];
    network.zones = Vec::new();
    network.extensions.clear();
}

fn accounts(password: &str) -> Vec<Account> {
    let account = |name: &str, project: &str, roles: &[&str]| Account {
        name: name.to_owned(),
        password: password.to_owned(),
        project: project.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    };
    vec![
        account("admin", "admin", &["admin"]),
        account("neutron", "service", &["admin", "service"]),
        account("member", "demo", &["member"]),
        account("reader", "demo", &["reader"]),
        account("other", "other", &["member"]),
    ]
}

fn write_clouds(
    dir: &Path,
    identity: &str,
    password: &str,
    accounts: &[Account],
) -> std::io::Result<()> {
    let mut text = String::from("clouds:\n");
    for account in accounts {
        text.push_str(&format!(
            "  {}:\n    region_name: RegionOne\n    auth:\n      auth_url: {identity}/v3\n      \
             username: {}\n      password: {password}\n      project_name: {}\n      \
             user_domain_name: Default\n      project_domain_name: Default\n",
            account.name, account.name, account.project
        ));
    }
    let path = dir.join("clouds.yaml");
    let mut options = std::fs::OpenOptions::new();
    options.create(true).write(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(path)?, text.as_bytes())
}
