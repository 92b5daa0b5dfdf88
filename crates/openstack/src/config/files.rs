//! What stands in the files, put together: the profile, over it the cloud, over it what is secret.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Mistake;
use super::entry::Entry;
use super::find::Environment;

/// Profiles may be based on profiles, but not for ever.
const DEEPEST: usize = 5;
/// These only choose or find: with nothing else the environment describes no cloud.
const SELECTORS: [&str; 6] = [
    "OS_CLOUD",
    "OS_CLOUD_NAME",
    "OS_REGION_NAME",
    "OS_CLIENT_CONFIG_FILE",
    "OS_CLIENT_SECURE_FILE",
    "OS_CLIENT_VENDOR_FILE",
];
/// What the cloud is called that the environment describes.
const ENVVARS: &str = "envvars";

/// A file, or something like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it is called in messages.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// A text with a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The files, as far as there are any.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// clouds.yaml.
    pub clouds: Option<Source>,
    /// secure.yaml.
    pub secure: Option<Source>,
    /// clouds-public.yaml.
    pub public: Option<Source>,
}

impl Texts {
    /// The entry of one cloud.
    pub fn entry(&self, environment: &Environment, cloud: Option<&str>) -> Result<Entry, Mistake> {
        let files = Files {
            clouds: parsed(self.clouds.as_ref())?,
            secure: parsed(self.secure.as_ref())?,
            public: parsed(self.public.as_ref())?,
        };
        let named = cloud.or_else(|| environment.get("OS_CLOUD"));
        let own = environment.get("OS_CLOUD_NAME").unwrap_or(ENVVARS);
        let described = from_environment(environment);
        if let Some(fields) = described.filter(|_| named.is_none_or(|named| named == own)) {
            return Ok(Entry { file: "environment".to_owned(), cloud: own.to_owned(), fields });
        }
        let Some((file, _)) = &files.clouds else {
            let places = environment.directories();
            let places: Vec<String> =
                places.iter().map(|path| path.display().to_string()).collect();
            return Err(Mistake::Nothing { looked: places.join(", ") });
        };
        let known = files.clouds()?;
        let name = match named {
            Some(name) => name.to_owned(),
            None if known.len() == 1 => known.keys().next().cloned().unwrap_or_default(),
            None => {
                let file = file.to_string();
                return Err(Mistake::NoChoice { file, have: names(known) });
            }
        };
        let mut fields = files.cloud(&name)?;
        if let Some(region) = environment.get("OS_REGION_NAME") {
            fields.insert("region_name".to_owned(), region.into());
        }
        Ok(Entry { file: file.to_string(), cloud: name, fields })
    }

    /// The entry of one cloud of a Secret: nothing but the Secret counts.
    pub fn of_secret(
        name: &str,
        data: &BTreeMap<String, Vec<u8>>,
        cloud: Option<&str>,
    ) -> Result<Entry, Mistake> {
        let source = |key: &str| -> Result<Option<Source>, Mistake> {
            let Some(bytes) = data.get(key) else { return Ok(None) };
            let name = format!("Secret {name}, key {key}");
            match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(Source::new(name, text))),
                Err(error) => Err(malformed(&name, &format!("it is no text: {error}"))),
            }
        };
        let texts = Self {
            clouds: source("clouds.yaml")?,
            secure: source("secure.yaml")?,
            public: source("clouds-public.yaml")?,
        };
        if texts.clouds.is_none() {
            return Err(malformed(&format!("Secret {name}"), "it has no key clouds.yaml"));
        }
        texts.entry(&Environment::default(), cloud)
    }
}

type Fields = Map<String, Value>;

struct Files<'t> {
    clouds: Option<(&'t str, Fields)>,
    secure: Option<(&'t str, Fields)>,
    public: Option<(&'t str, Fields)>,
}

impl Files<'_> {
    fn clouds(&self) -> Result<&Fields, Mistake> {
        let Some((file, top)) = &self.clouds else {
            return Err(Mistake::Nothing { looked: String::new() });
        };
        match top.get("clouds") {
            Some(Value::Object(clouds)) if !clouds.is_empty() => Ok(clouds),
            Some(Value::Object(_) | Value::Null) | None => {
                Err(malformed(file, "it has no key clouds with a cloud in it"))
            }
            Some(_) => Err(malformed(file, "clouds must hold one entry for each cloud, by name")),
        }
    }

    /// The fields of a cloud, all files put together.
    fn cloud(&self, name: &str) -> Result<Fields, Mistake> {
        let clouds = self.clouds()?;
        let file = self.clouds.as_ref().map_or("", |(file, _)| *file);
        let own = match clouds.get(name) {
            Some(Value::Object(own)) => normalized(own),
            Some(_) => {
                let why = format!("cloud {name} must have keys and values");
                return Err(malformed(file, &why));
            }
            None => {
                return Err(Mistake::NoCloud {
                    file: file.to_owned(),
                    cloud: name.to_owned(),
                    have: names(clouds),
                });
            }
        };
        let mut whole = self.base(file, name, &own, 0)?;
        merge(&mut whole, &own);
        if let Some((_, secure)) = &self.secure
            && let Some(secrets) = secure.get("clouds").and_then(|all| all.get(name)?.as_object())
        {
            merge(&mut whole, &normalized(secrets));
        }
        Ok(whole)
    }

    /// What the profile of an entry says.
    fn base(&self, file: &str, cloud: &str, own: &Fields, depth: usize) -> Result<Fields, Mistake> {
        // `cloud` is how profiles were named once.
        let Some(profile) = own.get("profile").or_else(|| own.get("cloud")).and_then(Value::as_str)
        else {
            return Ok(Fields::new());
        };
        let found = self
            .public
            .as_ref()
            .and_then(|(_, public)| public.get("public-clouds")?.get(profile)?.as_object());
        let Some(found) = found.filter(|_| depth < DEEPEST && profile != cloud) else {
            return Err(Mistake::NoProfile {
                file: file.to_owned(),
                cloud: cloud.to_owned(),
                profile: profile.to_owned(),
            });
        };
        let found = normalized(found);
        let mut base = self.base(file, profile, &found, depth + 1)?;
        merge(&mut base, &found);
        Ok(base)
    }
}

fn parsed(source: Option<&Source>) -> Result<Option<(&str, Fields)>, Mistake> {
    let Some(source) = source else { return Ok(None) };
    // A user may be called `n`; what stands where yes or no is asked for is read there.
    let options = serde_saphyr::options! { strict_booleans: true };
    let value: Value = serde_saphyr::from_str_with_options(&source.text, options)
        .map_err(|error| malformed(&source.name, &first_line(&error.to_string())))?;
    match value {
        Value::Object(fields) => Ok(Some((&source.name, fields))),
        Value::Null => Ok(Some((&source.name, Fields::new()))),
        _ => Err(malformed(&source.name, "it must hold keys and values")),
    }
}

/// The rest of a parser's message shows lines of the file, and with them passwords.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

fn malformed(file: &str, why: &str) -> Mistake {
    Mistake::Malformed { file: file.to_owned(), why: why.to_owned() }
}

fn names(fields: &Fields) -> String {
    fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Keys are also written with dashes.
fn normalized(fields: &Fields) -> Fields {
    let value = |value: &Value| match value {
        Value::Object(inner) => Value::Object(normalized(inner)),
        other => other.clone(),
    };
    fields.iter().map(|(key, inner)| (key.replace('-', "_"), value(inner))).collect()
}

/// Puts what comes later over what was there.
fn merge(below: &mut Fields, above: &Fields) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

/// What the variables that begin with `OS_` say, if they describe a cloud.
fn from_environment(environment: &Environment) -> Option<Fields> {
    let own = environment.variables.iter().filter(|(name, value)| {
        name.starts_with("OS_") && !SELECTORS.contains(&name.as_str()) && !value.is_empty()
    });
    let mut fields: Fields = own
        .filter_map(|(name, value)| {
            let key = name.strip_prefix("OS_")?.to_ascii_lowercase();
            Some((key, Value::String(value.clone())))
        })
        .collect();
    // Other programs have variables like these, too (OS_TYPE, OS_VERSION): they describe no cloud.
    if ![
        "auth_url",
        "username",
        "user_id",
        "application_credential_id",
        "application_credential_name",
    ]
    .iter()
    .any(|key| fields.contains_key(*key))
    {
        return None;
    }
    if let Some(region) = environment.get("OS_REGION_NAME") {
        fields.insert("region_name".to_owned(), region.into());
    }
    Some(fields)
}
