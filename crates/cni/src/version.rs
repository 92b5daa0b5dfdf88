//! The versions of the protocol, what each of them knows, and which one to answer in.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

use crate::error::{Code, Coded};
use crate::json;

/// A version of the specification, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// What a configuration without a version is written in.
    #[default]
    V0_1_0,
    /// `ip4` and `ip6`.
    V0_2_0,
    /// Lists of interfaces, addresses and plugins.
    V0_3_0,
    /// As 0.3.0.
    V0_3_1,
    /// CHECK, and the previous result on DEL.
    V0_4_0,
    /// Addresses without a version of their own; lists only.
    V1_0_0,
    /// GC, STATUS, more about interfaces and routes.
    V1_1_0,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 7] = [
        Self::V0_1_0,
        Self::V0_2_0,
        Self::V0_3_0,
        Self::V0_3_1,
        Self::V0_4_0,
        Self::V1_0_0,
        Self::V1_1_0,
    ];

    /// The newest.
    pub const NEWEST: Self = Self::V1_1_0;

    /// As it stands in `cniVersion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// Whether CHECK exists, and DEL gets the previous result.
    pub fn has_check(self) -> bool {
        self >= Self::V0_4_0
    }

    /// Whether GC and STATUS exist.
    pub fn has_gc_and_status(self) -> bool {
        self >= Self::V1_1_0
    }

    /// Whether plugins of a list hand their result on.
    pub fn has_chaining(self) -> bool {
        self >= Self::V0_3_0
    }

    /// Reads `cniVersion` of a configuration. Empty means the oldest.
    pub fn of_config(text: &str) -> Result<Self, Unsupported> {
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }

    /// The version to speak with a list that names several: the newest we know. What is newer is
    /// passed by; what is no version at all is an error.
    pub fn newest_of<'a>(
        single: &'a str,
        several: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Unsupported> {
        let mut best = None;
        let mut newer = None;
        for text in several.into_iter().chain((!single.is_empty()).then_some(single)) {
            match Self::of_config(text) {
                Ok(version) => best = best.max(Some(version)),
                Err(error) if is_newer(text) => newer = Some(error),
                Err(error) => return Err(error),
            }
        }
        match (best, newer) {
            (Some(version), _) => Ok(version),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Self::default()),
        }
    }
}

/// Whether the text is a version after the newest we know.
fn is_newer(text: &str) -> bool {
    numbers(text).is_some_and(|numbers| Some(numbers) > self::numbers(Version::NEWEST.as_str()))
}

fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

impl FromStr for Version {
    type Err = Unsupported;

    fn from_str(text: &str) -> Result<Self, Unsupported> {
        let found = Self::ALL.into_iter().find(|version| version.as_str() == text);
        found.ok_or_else(|| Unsupported { config: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The configuration is of a version we do not speak.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("incompatible CNI versions")]
pub struct Unsupported {
    /// The version of the configuration.
    pub config: String,
}

impl Coded for Unsupported {
    fn code(&self) -> Code {
        Code::INCOMPATIBLE_VERSION
    }

    fn details(&self) -> String {
        let ours: Vec<_> = Version::ALL.iter().map(|v| format!("{:?}", v.as_str())).collect();
        format!("config is {:?}, plugin supports [{}]", self.config, ours.join(" "))
    }
}

/// The answer to VERSION.
pub fn answer() -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        cni_version: &'static str,
        supported_versions: [&'static str; 7],
    }
    json::compact(&Answer {
        cni_version: Version::NEWEST.as_str(),
        supported_versions: Version::ALL.map(Version::as_str),
    })
    .map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_reads_as_it_prints_and_they_are_in_order() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert!(Version::ALL.is_sorted());
        assert_eq!(Version::of_config(""), Ok(Version::V0_1_0));
    }

    #[test]
    fn unknown_versions_are_refused_with_both_sides_named() {
        let error = Version::of_config("0.9.0").unwrap_err();
        assert_eq!(error.code(), Code(1));
        assert_eq!(
            error.report("1.0.0").to_string(),
            "incompatible CNI versions; config is \"0.9.0\", plugin supports [\"0.1.0\" \
             \"0.2.0\" \"0.3.0\" \"0.3.1\" \"0.4.0\" \"1.0.0\" \"1.1.0\"]"
        );
    }

    #[test]
    fn of_several_versions_the_newest_known_one_counts() {
        let cases: [(&str, &[&str], Result<&str, &str>); 6] = [
            ("0.4.0", &[], Ok("0.4.0")),
            ("0.3.1", &["0.4.0", "1.1.0", "1.0.0"], Ok("1.1.0")),
            ("1.0.0", &["0.4.0"], Ok("1.0.0")),
            ("", &["1.0.0", "2.0.0"], Ok("1.0.0")),
            ("", &["2.0.0"], Err("2.0.0")),
            ("1.0.0", &["one"], Err("one")),
        ];
        for (single, several, expected) in cases {
            let found = Version::newest_of(single, several.iter().copied());
            let found = found.as_ref().map(|v| v.as_str()).map_err(|e| e.config.as_str());
            assert_eq!(found, expected, "{single} {several:?}");
        }
    }

    #[test]
    fn version_is_answered_on_one_line() {
        assert_eq!(
            answer().unwrap(),
            "{\"cniVersion\":\"1.1.0\",\"supportedVersions\":[\"0.1.0\",\"0.2.0\",\"0.3.0\",\
             \"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n"
        );
    }
}
