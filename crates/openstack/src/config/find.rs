//! Which files there are, and which cloud is meant.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::files::{Source, Texts};
use super::{Mistake, Settings};

/// No file of settings is larger.
const LARGEST: u64 = 1 << 20;
/// In this order, in every directory.
const SUFFIXES: [&str; 3] = ["yaml", "yml", "json"];

/// What surrounds a process, as a value.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Variables.
    pub variables: BTreeMap<String, String>,
    /// Where it stands.
    pub directory: PathBuf,
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Self {
        Self {
            // Variables that are no text cannot be ours.
            variables: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            directory: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// A variable that says something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where files are looked for, in openstacksdk's order: here, with the user, with the machine.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut found = vec![self.directory.clone()];
        let home = self.get("HOME").map(PathBuf::from);
        if let Some(config) = self.get("XDG_CONFIG_HOME") {
            found.push(Path::new(config).join("openstack"));
        }
        found.extend(home.map(|home| home.join(".config/openstack")));
        let site = self.get("XDG_CONFIG_DIRS").and_then(|all| all.split(':').next());
        found.push(Path::new(site.unwrap_or("/etc/xdg")).join("openstack"));
        found.push(PathBuf::from("/etc/openstack"));
        found
    }
}

/// The settings of a cloud: the named one, that of `OS_CLOUD`, the one the environment describes, or
/// the only one.
pub fn load(environment: &Environment, cloud: Option<&str>) -> Result<Settings, Mistake> {
    let texts = Texts {
        clouds: one(environment, "clouds", "OS_CLIENT_CONFIG_FILE")?,
        secure: one(environment, "secure", "OS_CLIENT_SECURE_FILE")?,
        public: one(environment, "clouds-public", "OS_CLIENT_VENDOR_FILE")?,
    };
    let entry = texts.entry(environment, cloud)?;
    let mut read = |path: &str| {
        // As openstacksdk: relative to where the process stands.
        let path = environment.directory.join(expanded(path, environment));
        text(&path).map(String::into_bytes)
    };
    Settings::read(&entry, &mut read)
}

/// A path that begins at home.
fn expanded(path: &str, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~/"), environment.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// The first file of a name. One that a variable names must be there.
fn one(environment: &Environment, name: &str, variable: &str) -> Result<Option<Source>, Mistake> {
    if let Some(named) = environment.get(variable) {
        let path = environment.directory.join(expanded(named, environment));
        return Ok(Some(Source::new(path.display().to_string(), text(&path)?)));
    }
    for directory in environment.directories() {
        for suffix in SUFFIXES {
            let path = directory.join(format!("{name}.{suffix}"));
            if path.is_file() {
                return Ok(Some(Source::new(path.display().to_string(), text(&path)?)));
            }
        }
    }
    Ok(None)
}

fn text(path: &Path) -> Result<String, Mistake> {
    let told = |why: String| Mistake::Unreadable { file: path.display().to_string(), why };
    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => told("there is no such file".to_owned()),
        _ => told(error.to_string()),
    })?;
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| told(error.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(told(format!("it is larger than {LARGEST} bytes")));
    }
    Ok(text)
}
