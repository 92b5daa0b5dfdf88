//! A cloud that the cases run against.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use landbridge_cloudlet::identity::Account;
use landbridge_cloudlet::journal::Stored;
use landbridge_cloudlet::{Config, Server, Service, http};
use landbridge_openstack::config::Settings;
use landbridge_openstack::resources::Project;
use landbridge_openstack::{Client, Query};
use tokio::net::TcpListener;

const PASSWORD: &str = "secret";
/// Users and their projects, on both servers.
const USERS: [(&str, &str, &[&str]); 5] = [
    ("admin", "admin", &["admin"]),
    ("neutron", "service", &["admin", "service"]),
    ("member", "demo", &["member"]),
    ("reader", "demo", &["reader"]),
    ("other", "other", &["member"]),
];

pub struct Place {
    keystone: String,
    /// Nothing that a case makes has a name that something else has.
    run: String,
    count: AtomicU32,
    pub admin: Client,
    pub member: Client,
    pub reader: Client,
    /// Ended when the place goes.
    _held: Option<Held>,
}

enum Held {
    /// What the embedded cloud keeps.
    Directory { _kept: tempfile::TempDir },
    /// The directory of a pair that was started here.
    Pair { script: PathBuf, directory: tempfile::TempDir },
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Self::Pair { script, directory } = self {
            let _ = Command::new(script).arg("stop").arg(directory.path().join("peer")).status();
        }
    }
}

impl Place {
    /// The embedded cloud, in this process.
    pub async fn embedded() -> Self {
        let kept = tempfile::tempdir().unwrap();
        // Few rounds: nobody tries to guess these passwords.
        let mut config = Config { password_rounds: 10, ..Config::default() };
        let mut listeners = Vec::new();
        for service in Service::ALL {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            config.endpoints.insert(service, url);
            listeners.push((service, listener));
        }
        let keystone = config.endpoints[&Service::Identity].clone();
        let journal = Stored::open(&kept.path().join("state")).unwrap();
        let accounts = USERS.map(|(name, project, roles)| Account {
            name: name.to_owned(),
            password: PASSWORD.to_owned(),
            project: project.to_owned(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        });
        let server = Server::open(config, Box::new(journal), &accounts).await.unwrap();
        for (service, listener) in listeners {
            tokio::spawn(http::serve(server.clone(), service, listener, std::future::pending()));
        }
        Self::at(keystone, Some(Held::Directory { _kept: kept }))
    }

    /// The pair that the environment names, or one of our own; otherwise why there is none.
    pub fn real() -> Result<Self, String> {
        if let Some(url) = std::env::var("KEYSTONE_URL").ok().filter(|url| !url.is_empty()) {
            return Ok(Self::at(url, None));
        }
        if std::env::var("LANDBRIDGE_PEER").as_deref() != Ok("start") {
            return Err("KEYSTONE_URL is not set, and LANDBRIDGE_PEER is not start".to_owned());
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/openstack-peer");
        let directory = tempfile::tempdir().unwrap();
        let started = Command::new(&script)
            .arg("start")
            .arg(directory.path().join("peer"))
            .stderr(std::process::Stdio::inherit())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&started.stdout).into_owned();
        let url = said.lines().find_map(|line| line.strip_prefix("KEYSTONE_URL="));
        match (started.status.code(), url) {
            (Some(0), Some(url)) => {
                Ok(Self::at(url.to_owned(), Some(Held::Pair { script, directory })))
            }
            (Some(3), _) => Err("the two cannot be installed".to_owned()),
            (code, _) => panic!("openstack-peer ended with {code:?}"),
        }
    }

    fn at(keystone: String, held: Option<Held>) -> Self {
        let client = |user: &str| Client::connect(settings(&keystone, user)).unwrap();
        let (admin, member, reader) = (client("admin"), client("member"), client("reader"));
        let nanos = jiff::Timestamp::now().as_nanosecond();
        let run = format!("{:x}", nanos % 0x00ff_ffff_ffff);
        Self { keystone, run, count: AtomicU32::new(0), admin, member, reader, _held: held }
    }

    /// The settings of a user.
    pub fn settings(&self, user: &str) -> Settings {
        settings(&self.keystone, user)
    }

    /// A name that nothing else has.
    pub fn name(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.run, self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// The id of a project.
    pub async fn project(&self, name: &str) -> String {
        let query = Query::all().with("name", name);
        let found: Option<Project> = self.admin.only(&query).await.unwrap();
        found.unwrap_or_else(|| panic!("there is no project {name}")).id
    }
}

fn settings(keystone: &str, user: &str) -> Settings {
    let known = USERS.iter().find(|(name, ..)| *name == user).unwrap();
    // The real pair has one region, and so has the embedded cloud.
    let settings = Settings::simple(keystone, user, PASSWORD, known.1);
    Settings { region: Some("RegionOne".to_owned()), ..settings }
}
