//! What the keys of a cloud mean.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use http::Uri;
use serde_json::{Value, json};

use super::Mistake;
use super::entry::Entry;
use super::files::Texts;
use crate::Service;

/// How long an answer may take when nothing is said.
const PATIENCE: Duration = Duration::from_mins(1);

/// A domain of Keystone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// By its id.
    Id(String),
    /// By its name.
    Name(String),
}

impl Domain {
    fn json(&self) -> Value {
        match self {
            Self::Id(id) => json!({"id": id}),
            Self::Name(name) => json!({"name": name}),
        }
    }
}

/// Who logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// By the id.
    Id(String),
    /// By the name in a domain.
    Name(String, Domain),
}

impl User {
    fn json(&self) -> Value {
        match self {
            Self::Id(id) => json!({"id": id}),
            Self::Name(name, domain) => json!({"name": name, "domain": domain.json()}),
        }
    }
}

/// How one logs in.
#[derive(Clone, PartialEq, Eq)]
pub enum Authentication {
    /// With a password.
    Password { user: User, password: String },
    /// With an application credential by its id.
    CredentialId { id: String, secret: String },
    /// With an application credential by its name.
    CredentialName { name: String, user: User, secret: String },
    /// With a token that somebody else got.
    Token(String),
}

// Written by hand: what is derived would print passwords.
impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { user, .. } => {
                f.debug_struct("Password").field("user", user).finish_non_exhaustive()
            }
            Self::CredentialId { id, .. } => {
                f.debug_struct("CredentialId").field("id", id).finish_non_exhaustive()
            }
            Self::CredentialName { name, user, .. } => f
                .debug_struct("CredentialName")
                .field("name", name)
                .field("user", user)
                .finish_non_exhaustive(),
            Self::Token(_) => f.write_str("Token"),
        }
    }
}

/// For what one logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Whatever Keystone gives: application credentials have their own.
    Own,
    /// A project by its id.
    ProjectId(String),
    /// A project by its name in a domain.
    ProjectName(String, Domain),
    /// A domain.
    Domain(Domain),
    /// The whole system.
    System,
}

/// Which of a service's endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// For everybody.
    #[default]
    Public,
    /// For the cloud's own.
    Internal,
    /// For administrators.
    Admin,
}

impl Interface {
    /// As the catalogue calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Admin => "admin",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix("URL").unwrap_or(text) {
            "public" => Some(Self::Public),
            "internal" => Some(Self::Internal),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// Whom to believe, and who one is, over TLS.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// PEM of the authorities; those of the machine when there is none.
    pub authorities: Option<Vec<u8>>,
    /// Believes anybody.
    pub is_insecure: bool,
    /// PEM of the own certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("authorities", &self.authorities.is_some())
            .field("is_insecure", &self.is_insecure)
            .field("identity", &self.identity.is_some())
            .finish()
    }
}

/// Everything about one cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What it is called.
    pub cloud: String,
    /// Where its Keystone is.
    pub auth_url: String,
    /// How one logs in.
    pub authentication: Authentication,
    /// For what.
    pub scope: Scope,
    /// In which region; the first of the catalogue when nothing is said.
    pub region: Option<String>,
    /// Which endpoints.
    pub interface: Interface,
    /// Which endpoints of single services.
    pub interfaces: BTreeMap<Service, Interface>,
    /// Where services are, whatever the catalogue says.
    pub overrides: BTreeMap<Service, String>,
    /// Microversion of Nova when a call does not say.
    pub microversion: Option<String>,
    /// TLS.
    pub trust: Trust,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Settings {
    /// A cloud with a user, a password and a project, all in the domain `Default`.
    pub fn simple(auth_url: &str, user: &str, password: &str, project: &str) -> Self {
        let domain = || Domain::Name("Default".to_owned());
        Self {
            cloud: "simple".to_owned(),
            auth_url: auth_url.to_owned(),
            authentication: Authentication::Password {
                user: User::Name(user.to_owned(), domain()),
                password: password.to_owned(),
            },
            scope: Scope::ProjectName(project.to_owned(), domain()),
            region: None,
            interface: Interface::default(),
            interfaces: BTreeMap::new(),
            overrides: BTreeMap::new(),
            microversion: None,
            trust: Trust::default(),
            patience: PATIENCE,
        }
    }

    /// From a Secret with the keys `clouds.yaml` and, if the cloud needs it, `cacert`.
    pub fn of_secret(
        name: &str,
        data: &BTreeMap<String, Vec<u8>>,
        cloud: Option<&str>,
    ) -> Result<Self, Mistake> {
        let entry = Texts::of_secret(name, data, cloud)?;
        // Paths in a Secret lead nowhere here; a file of the Secret is meant.
        let mut read = |path: &str| {
            let file = path.rsplit('/').next().unwrap_or(path);
            data.get(file).cloned().ok_or_else(|| Mistake::Unreadable {
                file: path.to_owned(),
                why: format!("Secret {name} has no key {file}"),
            })
        };
        let mut settings = Self::read(&entry, &mut read)?;
        if settings.trust.authorities.is_none() {
            settings.trust.authorities = data.get("cacert").cloned();
        }
        Ok(settings)
    }

    /// What an entry means. `read` gives what is in a file that it names.
    pub fn read(
        entry: &Entry,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, Mistake>,
    ) -> Result<Self, Mistake> {
        let auth_url = url(entry, "auth_url", &entry.required("auth_url", "")?)?;
        let authentication = authentication(entry)?;
        let scope = scope(entry, &authentication)?;
        let mut interfaces = BTreeMap::new();
        let mut overrides = BTreeMap::new();
        for service in Service::ALL {
            let key = format!("{}_interface", service.type_());
            if let Some(text) = entry.text(&key)? {
                interfaces.insert(service, interface(entry, &key, &text)?);
            }
            for key in ["endpoint_override", "endpoint"] {
                let key = format!("{}_{key}", service.type_());
                if let Some(text) = entry.text(&key)?
                    && !overrides.contains_key(&service)
                {
                    overrides.insert(service, url(entry, &key, &text)?);
                }
            }
        }
        Ok(Self {
            cloud: entry.cloud.clone(),
            auth_url,
            authentication,
            scope,
            region: region(entry)?,
            interface: match entry.text("interface")? {
                Some(text) => interface(entry, "interface", &text)?,
                None => Interface::default(),
            },
            interfaces,
            overrides,
            microversion: microversion(entry)?,
            trust: trust(entry, read)?,
            patience: patience(entry)?,
        })
    }

    /// The body of a login, for Keystone.
    pub fn login(&self) -> Value {
        let identity = match &self.authentication {
            Authentication::Password { user, password } => {
                let mut user = user.json();
                user["password"] = password.as_str().into();
                json!({"methods": ["password"], "password": {"user": user}})
            }
            Authentication::CredentialId { id, secret } => json!({
                "methods": ["application_credential"],
                "application_credential": {"id": id, "secret": secret},
            }),
            Authentication::CredentialName { name, user, secret } => json!({
                "methods": ["application_credential"],
                "application_credential": {"name": name, "user": user.json(), "secret": secret},
            }),
            Authentication::Token(token) => json!({"methods": ["token"], "token": {"id": token}}),
        };
        let scope = match &self.scope {
            Scope::Own => return json!({"auth": {"identity": identity}}),
            Scope::ProjectId(id) => json!({"project": {"id": id}}),
            Scope::ProjectName(name, domain) => {
                json!({"project": {"name": name, "domain": domain.json()}})
            }
            Scope::Domain(domain) => json!({"domain": domain.json()}),
            Scope::System => json!({"system": {"all": true}}),
        };
        json!({"auth": {"identity": identity, "scope": scope}})
    }

    /// Which endpoints of a service.
    pub fn interface_of(&self, service: Service) -> Interface {
        self.interfaces.get(&service).copied().unwrap_or(self.interface)
    }
}

fn authentication(entry: &Entry) -> Result<Authentication, Mistake> {
    let has = |key: &str| entry.value(key).is_some();
    let kind = match entry.text("auth_type")? {
        Some(kind) => kind,
        None if has("application_credential_id") || has("application_credential_name") => {
            "v3applicationcredential".to_owned()
        }
        None if has("token") => "v3token".to_owned(),
        None => "password".to_owned(),
    };
    match kind.as_str() {
        "password" | "v3password" => Ok(Authentication::Password {
            user: user(entry)?,
            password: entry.required("password", "")?,
        }),
        "v3applicationcredential" => {
            let secret = entry.required("application_credential_secret", "")?;
            match entry.text("application_credential_id")? {
                Some(id) => Ok(Authentication::CredentialId { id, secret }),
                None => Ok(Authentication::CredentialName {
                    name: entry
                        .required("application_credential_name", "or application_credential_id")?,
                    user: user(entry)?,
                    secret,
                }),
            }
        }
        "token" | "v3token" => Ok(Authentication::Token(entry.required("token", "")?)),
        other => {
            let why = format!(
                "{other} is not supported: it may be password, v3password, v3applicationcredential or v3token"
            );
            Err(entry.wrong("auth_type", why))
        }
    }
}

fn user(entry: &Entry) -> Result<User, Mistake> {
    if let Some(id) = entry.text("user_id")? {
        return Ok(User::Id(id));
    }
    let name = entry.required("username", "or user_id")?;
    let domain = domain(entry, "user_domain")?;
    let domain = domain.map_or_else(|| fallback(entry, "user_domain_name"), Ok)?;
    Ok(User::Name(name, domain))
}

fn domain(entry: &Entry, prefix: &str) -> Result<Option<Domain>, Mistake> {
    if let Some(id) = entry.text(&format!("{prefix}_id"))? {
        return Ok(Some(Domain::Id(id)));
    }
    Ok(entry.text(&format!("{prefix}_name"))?.map(Domain::Name))
}

/// The domain of whatever names none.
fn fallback(entry: &Entry, key: &str) -> Result<Domain, Mistake> {
    domain(entry, "default_domain")?.ok_or_else(|| Mistake::Missing {
        file: entry.file.clone(),
        cloud: entry.cloud.clone(),
        key: key.to_owned(),
        why: "names are unique only within a domain; most often it is Default".to_owned(),
    })
}

fn scope(entry: &Entry, authentication: &Authentication) -> Result<Scope, Mistake> {
    // An application credential is for its own project, and Keystone refuses another word about it.
    if matches!(
        authentication,
        Authentication::CredentialId { .. } | Authentication::CredentialName { .. }
    ) {
        return Ok(Scope::Own);
    }
    match entry.text("system_scope")?.as_deref() {
        None => {}
        Some("all") => return Ok(Scope::System),
        Some(other) => {
            let why = format!("{other} cannot be: there is only all");
            return Err(entry.wrong("system_scope", why));
        }
    }
    if let Some(id) = entry.text("project_id")? {
        return Ok(Scope::ProjectId(id));
    }
    if let Some(name) = entry.text("project_name")? {
        let domain = domain(entry, "project_domain")?;
        let domain = domain.map_or_else(|| fallback(entry, "project_domain_name"), Ok)?;
        return Ok(Scope::ProjectName(name, domain));
    }
    match domain(entry, "domain")? {
        Some(domain) => Ok(Scope::Domain(domain)),
        None if matches!(authentication, Authentication::Token(_)) => Ok(Scope::Own),
        None => Err(Mistake::Missing {
            file: entry.file.clone(),
            cloud: entry.cloud.clone(),
            key: "project_name".to_owned(),
            why: "or project_id, domain_name, domain_id, system_scope: without one there is no catalogue"
                .to_owned(),
        }),
    }
}

fn interface(entry: &Entry, key: &str, text: &str) -> Result<Interface, Mistake> {
    Interface::parse(text).ok_or_else(|| {
        entry.wrong(key, format!("{text} cannot be: it may be public, internal or admin"))
    })
}

/// The region, or the first of several.
fn region(entry: &Entry) -> Result<Option<String>, Mistake> {
    if let Some(name) = entry.text("region_name")? {
        return Ok(Some(name));
    }
    let Some((at, value)) = entry.value("regions") else { return Ok(None) };
    match value.as_array().and_then(|all| all.first()) {
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(Value::Object(fields)) => match fields.get("name").and_then(Value::as_str) {
            Some(name) => Ok(Some(name.to_owned())),
            None => Err(entry.wrong(format!("{at}[0]"), "it has no name")),
        },
        _ => Err(entry.wrong(at, "it must be a list of names")),
    }
}

/// The microversion of Nova. As a number 2.90 would be 2.9, which is another one.
fn microversion(entry: &Entry) -> Result<Option<String>, Mistake> {
    for key in ["compute_default_microversion", "default_microversion"] {
        if let Some((at, Value::Number(number))) = entry.value(key)
            && number.is_f64()
        {
            return Err(entry.wrong(at, "put it in quotes: numbers lose their last 0"));
        }
        if let Some(found) = entry.text(key)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn trust(
    entry: &Entry,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, Mistake>,
) -> Result<Trust, Mistake> {
    let mut file = |key: &str| match entry.text(key)? {
        None => Ok(None),
        Some(path) => {
            read(&path).map(Some).map_err(|mistake| entry.wrong(key, mistake.to_string()))
        }
    };
    let authorities = file("cacert")?;
    let (certificate, key) = (file("cert")?, file("key")?);
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        // One file may hold both.
        (Some(both), None) => Some((both.clone(), both)),
        (None, Some(_)) => return Err(entry.wrong("key", "there is a key but no cert")),
    };
    let is_insecure =
        entry.flag("insecure")?.unwrap_or(false) || entry.flag("verify")? == Some(false);
    Ok(Trust { authorities, is_insecure, identity })
}

fn patience(entry: &Entry) -> Result<Duration, Mistake> {
    let Some(text) = entry.text("api_timeout")? else { return Ok(PATIENCE) };
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(entry.wrong("api_timeout", "it must be a number of seconds between 0.1 and 3600")),
    }
}

/// A URL without what does not belong into one.
fn url(entry: &Entry, key: &str, text: &str) -> Result<String, Mistake> {
    let wrong = |why: &str| entry.wrong(key, why);
    let uri: Uri = text.trim().parse().map_err(|_| wrong("it is no URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("it must begin with http:// or https://"));
    }
    let Some(authority) = uri.authority() else { return Err(wrong("it has no host")) };
    // It would end up in every message.
    if authority.as_str().contains('@') {
        return Err(wrong("user and password do not belong into the URL"));
    }
    Ok(text.trim().trim_end_matches('/').to_owned())
}
