//! What a plugin is called with: the variables of its environment.
//!
//! | variable | ADD, CHECK | DEL | GC, STATUS | VERSION |
//! |---|---|---|---|---|
//! | `CNI_CONTAINERID`, `CNI_IFNAME` | yes | yes | no | no |
//! | `CNI_NETNS` | yes | may be there | no | no |
//! | `CNI_PATH` | yes | yes | yes | no |
//! | `CNI_ARGS` | may be there | may be there | no | no |

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::args::{Args, BadArgs};
use crate::error::{Code, Coded};
use crate::names::{self, BadName};
use crate::version::Version;

/// What the plugin is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Attach the container.
    Add,
    /// Detach it; what is gone already is no error.
    Del,
    /// Is it still attached as the previous result says?
    Check,
    /// Remove what belongs to none of the attachments listed.
    Gc,
    /// Could ADD be served?
    Status,
    /// Which versions are spoken?
    Version,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Add, Self::Del, Self::Check, Self::Gc, Self::Status, Self::Version];

    /// As it stands in `CNI_COMMAND`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Del => "DEL",
            Self::Check => "CHECK",
            Self::Gc => "GC",
            Self::Status => "STATUS",
            Self::Version => "VERSION",
        }
    }

    /// Whether it concerns one container.
    pub fn has_container(self) -> bool {
        matches!(self, Self::Add | Self::Del | Self::Check)
    }

    /// Whether a configuration of this version may ask for it.
    pub fn allowed_in(self, version: Version) -> Result<(), BadEnvironment> {
        let allowed = match self {
            Self::Check => version.has_check(),
            Self::Gc | Self::Status => version.has_gc_and_status(),
            Self::Add | Self::Del | Self::Version => true,
        };
        if allowed { Ok(()) } else { Err(BadEnvironment::TooOld { command: self, version }) }
    }

    /// Whether the variable must be there.
    fn needs(self, variable: &str) -> bool {
        match variable {
            "CNI_CONTAINERID" | "CNI_IFNAME" => self.has_container(),
            "CNI_NETNS" => matches!(self, Self::Add | Self::Check),
            "CNI_PATH" => self != Self::Version,
            _ => false,
        }
    }
}

impl FromStr for Command {
    type Err = BadEnvironment;

    fn from_str(text: &str) -> Result<Self, BadEnvironment> {
        let found = Self::ALL.into_iter().find(|command| command.as_str() == text);
        found.ok_or_else(|| BadEnvironment::UnknownCommand(text.to_owned()))
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The environment of one call, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// What to do.
    pub command: Command,
    /// For which container; empty for commands without one.
    pub container_id: String,
    /// In which network namespace. DEL may come without one: then there is nothing to do in it.
    pub netns: Option<String>,
    /// The interface inside the container; empty for commands without one.
    pub interface: String,
    /// What the runtime passes along.
    pub args: Args,
    /// Where plugins are found, in order.
    pub path: Vec<String>,
    /// Whether the namespace may be the plugin's own.
    pub netns_override: bool,
}

impl Environment {
    /// Reads the variables. `None` when there is no `CNI_COMMAND` at all: then somebody started
    /// the plugin by hand, and a word about it is due rather than an error.
    pub fn read(variables: &BTreeMap<String, String>) -> Result<Option<Self>, BadEnvironment> {
        let value = |name: &str| variables.get(name).map_or("", String::as_str);
        if value("CNI_COMMAND").is_empty() {
            return Ok(None);
        }
        let command: Command = value("CNI_COMMAND").parse()?;
        let missing: Vec<&str> = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"]
            .into_iter()
            .filter(|name| command.needs(name) && value(name).is_empty())
            .collect();
        if !missing.is_empty() {
            return Err(BadEnvironment::Missing(missing.join(",")));
        }
        if command.has_container() {
            names::container(value("CNI_CONTAINERID"))?;
            names::interface(value("CNI_IFNAME"))?;
        }
        let netns = value("CNI_NETNS");
        let path = value("CNI_PATH").split(':').filter(|part| !part.is_empty());
        let yes = value("CNI_NETNS_OVERRIDE");
        Ok(Some(Self {
            command,
            container_id: value("CNI_CONTAINERID").to_owned(),
            netns: (!netns.is_empty()).then(|| netns.to_owned()),
            interface: value("CNI_IFNAME").to_owned(),
            args: Args::parse(value("CNI_ARGS"))?,
            path: path.map(str::to_owned).collect(),
            netns_override: yes == "1" || yes.eq_ignore_ascii_case("true"),
        }))
    }

    /// The variables to call another plugin with.
    pub fn write(&self) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        let mut set = |name: &str, value: &str| {
            variables.insert(name.to_owned(), value.to_owned());
        };
        set("CNI_COMMAND", self.command.as_str());
        set("CNI_CONTAINERID", &self.container_id);
        set("CNI_NETNS", self.netns.as_deref().unwrap_or_default());
        set("CNI_IFNAME", &self.interface);
        set("CNI_ARGS", &self.args.to_string());
        set("CNI_PATH", &self.path.join(":"));
        if self.netns_override {
            set("CNI_NETNS_OVERRIDE", "1");
        }
        variables
    }
}

/// Why a call is refused before its configuration is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadEnvironment {
    /// Variables are missing; their names, with commas.
    #[error("required env variables [{0}] missing")]
    Missing(String),
    /// The command is none.
    #[error("unknown CNI_COMMAND: {0}")]
    UnknownCommand(String),
    /// The command came later than the configuration's version.
    #[error("config version does not allow {command}")]
    TooOld {
        /// What was asked for.
        command: Command,
        /// The version of the configuration.
        version: Version,
    },
    /// A name is refused.
    #[error(transparent)]
    Name(#[from] BadName),
    /// `CNI_ARGS` cannot be read.
    #[error(transparent)]
    Args(#[from] BadArgs),
}

impl Coded for BadEnvironment {
    fn code(&self) -> Code {
        match self {
            Self::Missing(_) | Self::UnknownCommand(_) => Code::INVALID_ENVIRONMENT,
            Self::TooOld { .. } => Code::INCOMPATIBLE_VERSION,
            Self::Name(error) => error.code(),
            Self::Args(error) => error.code(),
        }
    }

    fn details(&self) -> String {
        match self {
            Self::TooOld { version, .. } => format!("the configuration is of version {version}"),
            Self::Name(error) => error.details(),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    const FULL: [(&str, &str); 6] = [
        ("CNI_COMMAND", "ADD"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/run/netns/x"),
        ("CNI_IFNAME", "net1"),
        ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=p"),
        ("CNI_PATH", "/opt/cni/bin::/usr/lib/cni"),
    ];

    #[test]
    fn a_full_environment_reads_and_writes() {
        let read = Environment::read(&variables(&FULL)).unwrap().unwrap();
        assert_eq!(read.command, Command::Add);
        assert_eq!(read.path, ["/opt/cni/bin", "/usr/lib/cni"]);
        assert_eq!(read.args.get("K8S_POD_NAME"), Some("p"));
        assert_eq!(Environment::read(&read.write()).unwrap().unwrap(), read);
    }

    #[test]
    fn each_command_names_what_it_misses() {
        let all = "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH";
        let cases = [
            ("ADD", Some(all)),
            ("CHECK", Some(all)),
            ("DEL", Some("CNI_CONTAINERID,CNI_IFNAME,CNI_PATH")),
            ("GC", Some("CNI_PATH")),
            ("STATUS", Some("CNI_PATH")),
            ("VERSION", None),
        ];
        for (command, missing) in cases {
            let found = Environment::read(&variables(&[("CNI_COMMAND", command)])).err();
            let expected = missing.map(|names| BadEnvironment::Missing(names.to_owned()));
            assert_eq!(found, expected, "{command}");
        }
        assert_eq!(Environment::read(&BTreeMap::new()), Ok(None));
    }

    #[test]
    fn wrong_values_are_refused_with_their_numbers() {
        let cases = [
            ("CNI_COMMAND", "add", 4, "unknown CNI_COMMAND: add"),
            ("CNI_CONTAINERID", "a b", 4, "invalid characters in containerID"),
            ("CNI_IFNAME", "a:b", 4, "interface name contains / or : or whitespace characters"),
            ("CNI_ARGS", "a", 4, "ARGS: invalid pair \"a\""),
        ];
        for (name, value, code, message) in cases {
            let mut with = variables(&FULL);
            with.insert(name.to_owned(), value.to_owned());
            let error = Environment::read(&with).unwrap_err();
            assert_eq!((error.code(), error.to_string()), (Code(code), message.to_owned()));
        }
    }

    #[test]
    fn commands_wait_for_their_version() {
        let since = [
            (Command::Add, "0.1.0"),
            (Command::Del, "0.1.0"),
            (Command::Version, "0.1.0"),
            (Command::Check, "0.4.0"),
            (Command::Gc, "1.1.0"),
            (Command::Status, "1.1.0"),
        ];
        for (command, first) in since {
            let first: Version = first.parse().unwrap();
            for version in Version::ALL {
                assert_eq!(command.allowed_in(version).is_ok(), version >= first, "{command}");
            }
        }
        let error = Command::Check.allowed_in(Version::V0_3_1).unwrap_err();
        assert_eq!(error.to_string(), "config version does not allow CHECK");
        assert_eq!(error.code(), Code::INCOMPATIBLE_VERSION);
    }

    #[test]
    fn a_late_del_needs_no_namespace() {
        let mut with = variables(&FULL);
        with.insert("CNI_COMMAND".into(), "DEL".into());
        with.remove("CNI_NETNS");
        assert_eq!(Environment::read(&with).unwrap().unwrap().netns, None);
    }
}
