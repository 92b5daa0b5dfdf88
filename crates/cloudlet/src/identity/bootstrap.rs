//! What a new cloud begins with: a domain, the roles, the services with their endpoints, and accounts.

use jiff::Timestamp;
use serde_json::json;

use super::entities::{
    DOMAIN, DOMAINS, ENDPOINTS, PROJECT, PROJECTS, REGION, ROLE, ROLES, SERVICES, USERS,
};
use super::refusal::Refusal;
use super::{assign, token};
use crate::chance::Chance;
use crate::config::Config;
use crate::object::Object;
use crate::request::Service;
use crate::state::{Change, Pools, State, Tx};

/// A user of a new cloud.
#[derive(Clone)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: String,
    /// The project, which is made where there is none.
    pub project: String,
    /// Its roles there; an administrator also gets its roles on the system.
    pub roles: Vec<String>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {} as {:?}", self.name, self.project, self.roles)
    }
}

/// The services of a control plane that log in to Keystone under their own names.
const SERVICE_USERS: [&str; 11] = [
    "barbican",
    "cinder",
    "designate",
    "glance",
    "heat",
    "manila",
    "neutron",
    "nova",
    "octavia",
    "placement",
    "swift",
];

impl Account {
    /// Those of a lab: the administrator, and one for each service, in the project `service`.
    pub fn lab(password: &str) -> Vec<Self> {
        let account = |name: &str, project: &str, roles: &[&str]| Self {
            name: name.to_owned(),
            password: password.to_owned(),
            project: project.to_owned(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        };
        let services = SERVICE_USERS.map(|name| account(name, "service", &["admin", "service"]));
        std::iter::once(account("admin", "admin", &["admin"])).chain(services).collect()
    }
}

/// Each implies the next; `service` stands alone.
const ROLE_CHAIN: [&str; 4] = ["admin", "manager", "member", "reader"];

/// Makes a new cloud of a state that has nothing yet: the state and what was made, for the journal.
pub fn bootstrap(
    config: &Config,
    now: Timestamp,
    chance: &mut dyn Chance,
    accounts: &[Account],
) -> Result<(State, Vec<Change>), Refusal> {
    let (empty, mut pools) = (State::default(), Pools::default());
    let mut tx = Tx::new(&empty, config, now, chance, &mut pools);
    token::make_key(&mut tx);
    tx.put(
        &DOMAIN,
        Object::from_value(json!({
            "id": "default", "name": "Default", "description": "The default domain",
            "enabled": true, "tags": [], "options": {},
        })),
    );
    roles(&mut tx)?;
    catalogue(&mut tx)?;
    for account in accounts {
        self::account(&mut tx, account)?;
    }
    Ok(tx.finish())
}

fn fresh(tx: &mut Tx<'_>, value: serde_json::Value) -> Object {
    let mut object = Object::from_value(value);
    object.set("id", tx.chance.hex_id());
    object
}

fn roles(tx: &mut Tx<'_>) -> Result<(), Refusal> {
    let mut below: Option<String> = None;
    for name in ROLE_CHAIN.iter().rev().chain(["service"].iter()) {
        let implies: Vec<String> = below.take().into_iter().collect();
        let implies = if *name == "service" { Vec::new() } else { implies };
        let role = fresh(
            tx,
            json!({"name": name, "description": null, "domain_id": null, "options": {"immutable": true}, "implies": implies}),
        );
        let role = ROLES.insert(tx, role)?;
        below = Some(role.id().to_owned());
    }
    Ok(())
}

fn catalogue(tx: &mut Tx<'_>) -> Result<(), Refusal> {
    let region = tx.config.region.clone();
    tx.put(
        &REGION,
        Object::from_value(json!({"id": region, "description": "", "parent_region_id": null})),
    );
    let urls: Vec<(Service, String)> =
        tx.config.endpoints.iter().map(|(service, url)| (*service, url.clone())).collect();
    for (service, root) in urls {
        let (name, url) = match service {
            Service::Identity => ("keystone", format!("{root}/v3")),
            Service::Network => ("neutron", root),
            Service::Compute => ("nova", format!("{root}/v2.1")),
            Service::Image => ("glance", root),
        };
        let kind = service.catalogue_type();
        let made = fresh(tx, json!({"type": kind, "name": name, "enabled": true}));
        let made = SERVICES.insert(tx, made)?;
        let internal = tx.config.internal.get(&service).cloned();
        for interface in tx.config.interfaces(service) {
            let own = internal.as_ref().filter(|_| *interface == "internal");
            let url = own.unwrap_or(&url);
            let endpoint = fresh(
                tx,
                json!({
                    "service_id": made.id(), "interface": interface, "url": url,
                    "region_id": region, "region": region, "enabled": true,
                }),
            );
            ENDPOINTS.insert(tx, endpoint)?;
        }
    }
    Ok(())
}

fn account(tx: &mut Tx<'_>, account: &Account) -> Result<(), Refusal> {
    let domain = DOMAINS.get(tx, "default")?.id().to_owned();
    let key = format!("{domain}/{}", account.project.to_lowercase());
    let held = tx.find(&PROJECT, "name", &key).next();
    let project = if let Some(project) = held {
        project
    } else {
        let project = fresh(
            tx,
            json!({
                "name": account.project, "domain_id": domain, "description": "",
                "enabled": true, "parent_id": domain, "is_domain": false, "tags": [], "options": {},
            }),
        );
        PROJECTS.insert(tx, project)?
    };
    let user = fresh(
        tx,
        json!({
            "name": account.name, "domain_id": domain, "password": account.password,
            "enabled": true, "options": {},
        }),
    );
    let user = USERS.insert(tx, user)?;
    for role in &account.roles {
        let found = tx.find(&ROLE, "name", &role.to_lowercase()).next();
        let role = found.ok_or_else(|| Refusal::missing("role", role))?;
        let actor = format!("user/{}", user.id());
        assign::grant(tx, &actor, &format!("project/{}", project.id()), role.id());
        if role.text("name") == "admin" {
            assign::grant(tx, &actor, "system/all", role.id());
        }
    }
    Ok(())
}
