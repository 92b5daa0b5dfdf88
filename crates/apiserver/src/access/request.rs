//! From a request to what has to be allowed for it.

use http::request::Parts;
use http::{HeaderMap, Method};
use landbridge_machinery::rbac::Attributes;
use landbridge_machinery::selector::FieldSelector;
use landbridge_machinery::status::ApiResult;

use super::subject;
use crate::identity::Identity;
use crate::path::{ApiPath, Target};
use crate::query::Query;
use crate::server::Inner;

/// Refuses a request its sender may not make. Costs the administrator nothing.
pub fn authorize(
    server: &Inner,
    identity: &Identity,
    head: &Parts,
    path: Option<&ApiPath>,
    query: &Query,
) -> ApiResult<()> {
    if identity.has_group(subject::MASTERS) {
        return Ok(());
    }
    let base =
        Attributes { user: &identity.user, groups: &identity.groups, ..Attributes::default() };
    let Some(ApiPath::Objects(target)) = path else {
        let verb = head.method.as_str().to_ascii_lowercase();
        let wanted = Attributes { verb: &verb, path: Some(head.uri.path()), ..base };
        return super::authorize(server, &wanted, "");
    };
    let verb = verb(&head.method, target, query);
    let selected = selected_name(verb, target, query);
    let name = target.name.as_deref().or(selected.as_deref()).unwrap_or_default();
    let wanted = Attributes {
        verb,
        group: &target.group,
        resource: &target.resource,
        subresource: first_segment(target.subresource.as_deref().unwrap_or_default()),
        name,
        namespace: namespace(target),
        ..base
    };
    super::authorize(server, &wanted, &query.field_selector)
}

/// The verb of a request about objects; empty for methods that do nothing, which no rule allows.
fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    let named = target.name.is_some();
    match *method {
        Method::GET if (query.watch || target.watch) && target.subresource.is_none() => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => "",
    }
}

/// Collections narrowed down to one name are about that object.
fn selected_name(verb: &str, target: &Target, query: &Query) -> Option<String> {
    let collection = target.name.is_none() && matches!(verb, "list" | "watch" | "deletecollection");
    if !collection || query.field_selector.is_empty() {
        return None;
    }
    let selector = FieldSelector::parse(&query.field_selector).ok()?;
    selector.exact("metadata.name").map(str::to_owned)
}

/// A namespace belongs to itself: a role in it may allow to read it.
fn namespace(target: &Target) -> &str {
    match (&target.namespace, &target.name) {
        (Some(namespace), _) => namespace,
        (None, Some(name)) if target.group.is_empty() && target.resource == "namespaces" => name,
        _ => "",
    }
}

fn first_segment(subresource: &str) -> &str {
    subresource.split('/').next().unwrap_or_default()
}

/// The token of an `Authorization: Bearer` header.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path;

    #[test]
    fn verbs_are_upstreams() {
        let table = [
            ("GET", "/api/v1/pods", "", "list"),
            ("GET", "/api/v1/pods", "watch=true", "watch"),
            ("GET", "/api/v1/watch/pods", "", "watch"),
            ("GET", "/api/v1/namespaces/a/pods/x", "", "get"),
            ("HEAD", "/api/v1/namespaces/a/pods/x", "", "get"),
            // What cannot be watched is read, whatever the query says.
            ("GET", "/api/v1/namespaces/a/pods/x/exec", "watch=true", "get"),
            ("POST", "/api/v1/namespaces/a/pods/x/exec", "", "create"),
            ("POST", "/api/v1/namespaces/a/pods", "", "create"),
            ("PUT", "/api/v1/namespaces/a/pods/x/status", "", "update"),
            ("PATCH", "/api/v1/namespaces/a/pods/x", "", "patch"),
            ("DELETE", "/api/v1/namespaces/a/pods/x", "", "delete"),
            ("DELETE", "/api/v1/namespaces/a/pods", "", "deletecollection"),
            ("OPTIONS", "/api/v1/pods", "", ""),
        ];
        for (method, path, query, wanted) in table {
            let Some(ApiPath::Objects(target)) = path::parse(path) else { panic!("{path}") };
            let query = Query::parse(query).unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(verb(&method, &target, &query), wanted, "{method} {path}");
        }
    }

    #[test]
    fn the_bearer_header_is_read() {
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::AUTHORIZATION, value.parse().unwrap());
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(with("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(with("bearer  abc "), Some("abc".to_owned()));
        assert_eq!(with("Basic abc"), None);
        assert_eq!(with("Bearer "), None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
