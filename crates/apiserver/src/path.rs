//! What a URL asks for.
//!
//! ```text
//! /api/v1/namespaces/NS/RESOURCE/NAME/SUBRESOURCE
//! /apis/GROUP/VERSION/RESOURCE/NAME/SUBRESOURCE
//! ```

use std::borrow::Cow;

/// A path below `/api` or `/apis`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiPath {
    /// `/api`: versions of the core group.
    CoreVersions,
    /// `/apis`: all groups.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`: resources of one version.
    Resources { group: String, version: String },
    /// Objects.
    Objects(Target),
}

/// The objects a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// API group; empty for core.
    pub group: String,
    /// Version.
    pub version: String,
    /// Namespace in the path, if any.
    pub namespace: Option<String>,
    /// Plural.
    pub resource: String,
    /// Name; `None` for collections.
    pub name: Option<String>,
    /// For example `status`; the rest of a longer path is kept joined by `/`.
    pub subresource: Option<String>,
    /// The old `/watch/` prefix was used.
    pub watch: bool,
}

/// Takes a path apart. `None` for paths that are none of ours or not well formed.
pub fn parse(path: &str) -> Option<ApiPath> {
    let mut parts: Vec<Cow<'_, str>> = Vec::new();
    for part in path.trim_start_matches('/').trim_end_matches('/').split('/') {
        parts.push(percent_decode(part)?);
    }
    let mut parts = parts.iter().map(AsRef::as_ref);
    let (group, version) = match parts.next()? {
        "api" => match parts.next() {
            None => return Some(ApiPath::CoreVersions),
            Some(version) => ("", version),
        },
        "apis" => match (parts.next(), parts.next()) {
            (None, _) => return Some(ApiPath::Groups),
            (Some(group), None) => return Some(ApiPath::Group(group.to_owned())),
            (Some(group), Some(version)) => (group, version),
        },
        _ => return None,
    };
    let (group, version) = (group.to_owned(), version.to_owned());
    let rest: Vec<&str> = parts.collect();
    if rest.iter().any(|part| part.is_empty()) {
        return None;
    }
    match rest.as_slice() {
        [] => Some(ApiPath::Resources { group, version }),
        ["watch", rest @ ..] if !rest.is_empty() => {
            let mut target = objects(group, version, rest);
            target.watch = true;
            Some(ApiPath::Objects(target))
        }
        rest => Some(ApiPath::Objects(objects(group, version, rest))),
    }
}

fn objects(group: String, version: String, parts: &[&str]) -> Target {
    // Namespaces are objects themselves: `/namespaces/NAME` and its own subresources are not a
    // namespace prefix.
    let (namespace, rest) = match parts {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
            (None, parts)
        }
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, parts),
    };
    let join = |parts: &[&str]| (!parts.is_empty()).then(|| parts.join("/"));
    Target {
        group,
        version,
        namespace: namespace.map(str::to_owned),
        resource: rest.first().map(|r| (*r).to_owned()).unwrap_or_default(),
        name: rest.get(1).map(|n| (*n).to_owned()),
        subresource: join(rest.get(2..).unwrap_or_default()),
        watch: false,
    }
}

/// Decodes `%XX`. `None` when an escape is broken or the result is no text.
pub fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> (String, Option<String>, Option<String>, Option<String>) {
        match parse(path) {
            Some(ApiPath::Objects(t)) => (t.resource, t.namespace, t.name, t.subresource),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn objects_and_collections() {
        assert_eq!(target("/api/v1/namespaces"), ("namespaces".into(), None, None, None));
        assert_eq!(
            target("/api/v1/namespaces/a"),
            ("namespaces".into(), None, Some("a".to_owned()), None)
        );
        assert_eq!(
            target("/api/v1/namespaces/a/finalize"),
            ("namespaces".into(), None, Some("a".to_owned()), Some("finalize".to_owned()))
        );
        assert_eq!(
            target("/api/v1/namespaces/a/pods"),
            ("pods".into(), Some("a".to_owned()), None, None)
        );
        assert_eq!(
            target("/apis/apps/v1/namespaces/a/deployments/d/scale"),
            (
                "deployments".into(),
                Some("a".to_owned()),
                Some("d".to_owned()),
                Some("scale".to_owned())
            )
        );
        assert_eq!(
            target("/apis/x.io/v1/namespaces/a/status"),
            ("status".into(), Some("a".to_owned()), None, None),
        );
        assert_eq!(
            target("/api/v1/nodes/n%2F1"),
            ("nodes".into(), None, Some("n/1".to_owned()), None)
        );
        assert_eq!(
            target("/api/v1/namespaces/a/pods/p/proxy/x/y"),
            (
                "pods".into(),
                Some("a".to_owned()),
                Some("p".to_owned()),
                Some("proxy/x/y".to_owned())
            )
        );
    }

    #[test]
    fn discovery_and_nonsense() {
        assert_eq!(parse("/api"), Some(ApiPath::CoreVersions));
        assert_eq!(parse("/apis/"), Some(ApiPath::Groups));
        assert_eq!(parse("/apis/apps"), Some(ApiPath::Group("apps".into())));
        assert_eq!(parse("/api/v1//pods"), None);
        assert_eq!(parse("/foo"), None);
        assert_eq!(parse("/api/v1/pods/%zz"), None);
        assert!(matches!(parse("/api/v1/watch/pods"), Some(ApiPath::Objects(t)) if t.watch));
    }
}
