//! `CNI_ARGS`: `KEY=VALUE` pairs with semicolons between.

use std::fmt;

use thiserror::Error;

use crate::error::{Code, Coded};

/// The pairs, in order. A later pair of the same key counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args(Vec<(String, String)>);

/// The pod a call is made for, as kubelet's runtimes tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `K8S_POD_NAMESPACE`.
    pub namespace: String,
    /// `K8S_POD_NAME`.
    pub name: String,
    /// `K8S_POD_UID`; old runtimes do not give it.
    pub uid: String,
    /// `K8S_POD_INFRA_CONTAINER_ID`.
    pub sandbox: String,
}

impl Pod {
    /// `namespace/name`, which is how whereabouts refers to it.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

const IGNORE_UNKNOWN: &str = "IgnoreUnknown";

impl Args {
    /// Reads the text; empty is no pairs.
    pub fn parse(text: &str) -> Result<Self, BadArgs> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let pair = |pair: &str| match pair.split_once('=') {
            // A second `=` is refused by the peers too.
            Some((key, value)) if !value.contains('=') => Ok((key.to_owned(), value.to_owned())),
            _ => Err(BadArgs::Pair(pair.to_owned())),
        };
        let args = Self(text.split(';').map(pair).collect::<Result<_, _>>()?);
        args.ignores_unknown()?;
        Ok(args)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The pairs but those of one key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        Self(self.0.iter().filter(|(k, _)| k != key).cloned().collect())
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Refuses keys that are not known, unless the caller said to ignore them.
    pub fn only(&self, known: &[&str]) -> Result<(), BadArgs> {
        if self.ignores_unknown()? {
            return Ok(());
        }
        let is_known = |key: &str| key == IGNORE_UNKNOWN || known.contains(&key);
        let unknown = self.iter().filter(|(key, _)| !is_known(key));
        let unknown: Vec<_> = unknown.map(|(k, v)| format!("\"{k}={v}\"")).collect();
        if unknown.is_empty() { Ok(()) } else { Err(BadArgs::Unknown(unknown.join(" "))) }
    }

    /// The pod the pairs name; `None` without a pod name.
    pub fn pod(&self) -> Option<Pod> {
        let value = |key| self.get(key).unwrap_or_default().to_owned();
        let name = value("K8S_POD_NAME");
        (!name.is_empty()).then(|| Pod {
            namespace: value("K8S_POD_NAMESPACE"),
            name,
            uid: value("K8S_POD_UID"),
            sandbox: value("K8S_POD_INFRA_CONTAINER_ID"),
        })
    }

    /// What Multus hands to the plugins it runs: the pod first, then what else the caller gave,
    /// and the address and MAC a pod asked for.
    #[must_use]
    pub fn for_delegate(&self, pod: &Pod, mac: Option<&str>, ips: &[String]) -> Self {
        let own = [
            (IGNORE_UNKNOWN, "true"),
            ("K8S_POD_NAMESPACE", &pod.namespace),
            ("K8S_POD_NAME", &pod.name),
            ("K8S_POD_INFRA_CONTAINER_ID", &pod.sandbox),
            ("K8S_POD_UID", &pod.uid),
        ];
        let mut pairs: Vec<(String, String)> =
            own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let others = self.iter().filter(|(key, _)| own.iter().all(|(o, _)| o != key));
        pairs.extend(others.map(|(key, value)| (key.to_owned(), value.to_owned())));
        if let Some(mac) = mac.filter(|mac| !mac.is_empty()) {
            pairs.push(("MAC".to_owned(), mac.to_owned()));
        }
        if !ips.is_empty() {
            pairs.push(("IP".to_owned(), ips.join(",")));
        }
        Self(pairs)
    }

    fn ignores_unknown(&self) -> Result<bool, BadArgs> {
        let Some(text) = self.get(IGNORE_UNKNOWN) else { return Ok(false) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => Err(BadArgs::NotABool(text.to_owned())),
        }
    }
}

/// As it stands in the variable.
impl fmt::Display for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, value)) in self.iter().enumerate() {
            if place > 0 {
                f.write_str(";")?;
            }
            write!(f, "{key}={value}")?;
        }
        Ok(())
    }
}

/// Why `CNI_ARGS` is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadArgs {
    /// Not `KEY=VALUE`.
    #[error("ARGS: invalid pair {0:?}")]
    Pair(String),
    /// Keys nobody knows.
    #[error("ARGS: unknown args [{0}]")]
    Unknown(String),
    /// `IgnoreUnknown` is neither true nor false.
    #[error("ARGS: error parsing value of pair \"IgnoreUnknown={0}\": neither true nor false")]
    NotABool(String),
}

impl Coded for BadArgs {
    fn code(&self) -> Code {
        Code::INVALID_ENVIRONMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_refused_unless_ignored() {
        let args = Args::parse("IP=10.0.0.1/24;FOO=bar").unwrap();
        assert_eq!(args.only(&["IP", "FOO"]), Ok(()));
        let error = args.only(&["IP"]).unwrap_err();
        assert_eq!(error.to_string(), r#"ARGS: unknown args ["FOO=bar"]"#);
        for yes in ["1", "true", "TRUE"] {
            let args = Args::parse(&format!("IgnoreUnknown={yes};FOO=bar")).unwrap();
            assert_eq!(args.only(&[]), Ok(()));
        }
        assert!(Args::parse("IgnoreUnknown=0;FOO=bar").unwrap().only(&[]).is_err());
        assert!(Args::parse("IgnoreUnknown=perhaps").is_err());
    }

    #[test]
    fn pairs_are_pairs() {
        for bad in ["a", "a=b;", "a=b=c", ";"] {
            assert!(matches!(Args::parse(bad), Err(BadArgs::Pair(_))), "{bad}");
        }
        let args = Args::parse("a=1;a=2").unwrap();
        assert_eq!((args.get("a"), args.to_string().as_str()), (Some("2"), "a=1;a=2"));
        assert_eq!(Args::parse("").unwrap().pod(), None);
    }

    #[test]
    fn delegates_get_the_pod_first() {
        let args = Args::parse("FOO=1;K8S_POD_NAME=p;K8S_POD_NAMESPACE=n").unwrap();
        let pod = args.pod().unwrap();
        assert_eq!(pod.reference(), "n/p");
        let ips = ["10.0.0.1/24".to_owned(), "fd00::1/64".to_owned()];
        assert_eq!(
            args.for_delegate(&pod, Some("02:00:00:00:00:01"), &ips).to_string(),
            "IgnoreUnknown=true;K8S_POD_NAMESPACE=n;K8S_POD_NAME=p;K8S_POD_INFRA_CONTAINER_ID=;\
             K8S_POD_UID=;FOO=1;MAC=02:00:00:00:00:01;IP=10.0.0.1/24,fd00::1/64"
        );
    }
}
