//! The error object of the protocol, and the numbers that go with it.
//!
//! Every error of this crate that can end a call knows its [`Code`]; [`Coded::report`] turns it
//! into the object a plugin prints.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json;

/// What kind of failure it was. Numbers from 100 on belong to the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub u32);

impl Code {
    /// No kind was given.
    pub const UNKNOWN: Self = Self(0);
    /// The plugin does not speak the version of the configuration.
    pub const INCOMPATIBLE_VERSION: Self = Self(1);
    /// A field of the configuration is not supported; the message names it.
    pub const UNSUPPORTED_FIELD: Self = Self(2);
    /// The container does not exist or was not named; nothing is left to clean up.
    pub const UNKNOWN_CONTAINER: Self = Self(3);
    /// A variable of the environment is missing or wrong.
    pub const INVALID_ENVIRONMENT: Self = Self(4);
    /// Reading or writing failed.
    pub const IO_FAILURE: Self = Self(5);
    /// The input is no JSON, or not of the right form.
    pub const DECODING_FAILURE: Self = Self(6);
    /// The network configuration is wrong.
    pub const INVALID_CONFIG: Self = Self(7);
    /// The network namespace is not one to work in.
    pub const INVALID_NETNS: Self = Self(8);
    /// A passing condition; the runtime should try again.
    pub const TRY_AGAIN: Self = Self(11);
    /// STATUS: the plugin cannot serve ADD now.
    pub const NOT_AVAILABLE: Self = Self(50);
    /// STATUS: as 50, and the containers there are may have limited connectivity.
    pub const LIMITED_CONNECTIVITY: Self = Self(51);
    /// Plugins and Multus wrap every error without a number of its own in this one.
    pub const INTERNAL: Self = Self(999);

    /// What the number says, in the words of the specification.
    pub fn meaning(self) -> &'static str {
        match self.0 {
            0 => "unknown error",
            1 => "incompatible CNI version",
            2 => "unsupported field in network configuration",
            3 => "container unknown or does not exist",
            4 => "invalid necessary environment variables",
            5 => "I/O failure",
            6 => "failed to decode content",
            7 => "invalid network config",
            8 => "invalid network namespace",
            11 => "try again later",
            50 => "the plugin is not available",
            51 => {
                "the plugin is not available and existing containers may have limited connectivity"
            }
            999 => "internal error",
            9 | 10 | 12..=99 => "reserved by the specification",
            _ => "specific to the plugin",
        }
    }

    /// Whether the same call may succeed later without any change to the configuration.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::TRY_AGAIN | Self::NOT_AVAILABLE | Self::LIMITED_CONNECTIVITY)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.meaning())
    }
}

/// The error object a plugin prints instead of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CniError {
    /// The version the object is written in.
    #[serde(rename = "cniVersion", default, skip_serializing_if = "String::is_empty")]
    pub cni_version: String,
    /// The kind of failure.
    #[serde(default = "unknown")]
    pub code: Code,
    /// One sentence for people.
    #[serde(default)]
    pub msg: String,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
}

fn unknown() -> Code {
    Code::UNKNOWN
}

impl CniError {
    /// An error without details.
    pub fn new(code: Code, msg: impl Into<String>) -> Self {
        Self { cni_version: String::new(), code, msg: msg.into(), details: String::new() }
    }

    /// What a delegated plugin printed on failure. Output that is no error object becomes the
    /// message of one, so that nothing a foreign plugin said is lost.
    pub fn from_output(plugin: &str, output: &[u8]) -> Self {
        match serde_json::from_slice::<Self>(output) {
            Ok(error) if !error.msg.is_empty() => error,
            _ if output.iter().all(u8::is_ascii_whitespace) => {
                Self::new(Code::INTERNAL, format!("plugin {plugin} failed without saying why"))
            }
            _ => Self {
                details: String::from_utf8_lossy(output).trim().to_owned(),
                ..Self::new(Code::INTERNAL, format!("plugin {plugin} failed"))
            },
        }
    }

    /// The text for standard output.
    pub fn print(&self) -> Result<String, serde_json::Error> {
        json::indented(self)
    }
}

/// As the peers print it: the message, then the details.
impl fmt::Display for CniError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.msg)?;
        if self.details.is_empty() { Ok(()) } else { write!(f, "; {}", self.details) }
    }
}

impl std::error::Error for CniError {}

/// An error that knows its number.
pub trait Coded: std::error::Error {
    /// The kind of failure.
    fn code(&self) -> Code;

    /// What else there is to say; empty when the message says it all.
    fn details(&self) -> String {
        String::new()
    }

    /// The object to print, in the version the caller speaks.
    fn report(&self, cni_version: &str) -> CniError {
        CniError {
            cni_version: cni_version.to_owned(),
            code: self.code(),
            msg: self.to_string(),
            details: self.details(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_printed_with_four_blanks_and_without_empty_keys() {
        let mut error = CniError::new(Code::INVALID_CONFIG, "missing network name");
        assert_eq!(
            error.print().unwrap(),
            "{\n    \"code\": 7,\n    \"msg\": \"missing network name\"\n}"
        );
        error.cni_version = "1.0.0".into();
        error.details = "<why>".into();
        let printed = error.print().unwrap();
        assert_eq!(
            printed,
            "{\n    \"cniVersion\": \"1.0.0\",\n    \"code\": 7,\n    \"msg\": \"missing network \
             name\",\n    \"details\": \"\\u003cwhy\\u003e\"\n}"
        );
        assert_eq!(CniError::from_output("x", printed.as_bytes()), error);
        assert_eq!(error.to_string(), "missing network name; <why>");
    }

    #[test]
    fn output_that_is_no_error_object_is_kept() {
        let silent = CniError::from_output("bridge", b" \n");
        assert_eq!(silent.to_string(), "plugin bridge failed without saying why");
        let noisy = CniError::from_output("bridge", b"panic: oh\n");
        assert_eq!(noisy.to_string(), "plugin bridge failed; panic: oh");
        assert_eq!(CniError::from_output("bridge", b"{}").details, "{}");
        assert_eq!(noisy.code, Code::INTERNAL);
    }

    #[test]
    fn numbers_read_as_words() {
        assert_eq!(Code(11).to_string(), "11 (try again later)");
        assert_eq!(Code(10).meaning(), "reserved by the specification");
        assert_eq!(Code(100).meaning(), "specific to the plugin");
        assert!(Code::TRY_AGAIN.is_passing() && !Code::INTERNAL.is_passing());
    }
}
