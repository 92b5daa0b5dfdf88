//! Paths that are about the server itself: discovery, OpenAPI, health, version.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::{Value, json};

use crate::body::Body;
use crate::discovery::{self, Aggregated};
use crate::figures;
use crate::negotiate::{self, Encoding};
use crate::openapi::{content_hash, v2};
use crate::path::ApiPath;
use crate::query::Query;
use crate::registry::Registry;
use crate::reply;
use crate::server::Inner;

/// The Kubernetes version whose API this is. Clients compare the minor number.
pub const MINOR: &str = "34";

/// `/version`.
pub fn version() -> Value {
    json!({
        "major": "1",
        "minor": MINOR,
        "gitVersion": format!("v1.{MINOR}.0+landbridge-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": "none: written in Rust",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/api`, `/apis` and below, without objects.
pub fn discovery(
    server: &Arc<Inner>,
    method: &Method,
    path: &ApiPath,
    headers: &HeaderMap,
) -> ApiResult<Response<Body>> {
    only_get(method)?;
    let registry = server.registry();
    let found = match path {
        ApiPath::CoreVersions => return Ok(groups(&registry, true, headers)),
        ApiPath::Groups => return Ok(groups(&registry, false, headers)),
        ApiPath::Group(group) => discovery::group(&registry, group),
        ApiPath::Resources { group, version } => {
            discovery::resource_list(&registry, group, version)
        }
        ApiPath::Objects(_) => None,
    };
    let document = found.ok_or_else(ApiError::no_such_path)?;
    let encoding = negotiate::agree(headers, false)?.encoding;
    Ok(reply::value(StatusCode::OK, &document, encoding, headers))
}

/// `/api` and `/apis` have two forms; kubectl asks for the aggregated one first.
fn groups(registry: &Registry, core: bool, headers: &HeaderMap) -> Response<Body> {
    let accept = negotiate::accept_header(headers);
    let aggregated = negotiate::media_ranges(&accept).into_iter().find_map(|range| {
        match (range.parameter("as"), range.parameter("g"), range.parameter("v")) {
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Some(Aggregated::V2)),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => {
                Some(Some(Aggregated::V2Beta1))
            }
            ("", _, _) => Some(None),
            _ => None,
        }
    });
    let (document, media) = match aggregated.flatten() {
        Some(form) => (discovery::aggregated(registry, core, form), form.media_type()),
        None if core => {
            // Where the client reached us, as far as it says so.
            let host = headers.get(http::header::HOST).and_then(|v| v.to_str().ok());
            let address = host.unwrap_or("localhost");
            (discovery::legacy_api_versions(registry, address), "application/json")
        }
        None => (discovery::group_list(registry), "application/json"),
    };
    let bytes = serde_json::to_vec(&document).unwrap_or_default();
    let tag = format!("\"{:032X}\"", content_hash(&bytes));
    tagged(headers, &tag, || reply::with_type(StatusCode::OK, bytes.into(), media, headers))
}

/// Answers 304 when the client has the document already.
fn tagged(
    headers: &HeaderMap,
    tag: &str,
    answer: impl FnOnce() -> Response<Body>,
) -> Response<Body> {
    let known =
        headers.get(IF_NONE_MATCH).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(tag));
    let mut response = if known {
        let mut response = Response::new(Body::Whole(None));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        answer()
    };
    if let Ok(value) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, value);
    }
    response.headers_mut().insert(http::header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// Everything outside of `/api` and `/apis`.
pub fn other(
    server: &Arc<Inner>,
    method: &Method,
    path: &str,
    query: &Query,
    headers: &HeaderMap,
) -> ApiResult<Response<Body>> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    only_get(method)?;
    match parts.as_slice() {
        ["version"] => Ok(reply::value(StatusCode::OK, &version(), Encoding::Json, headers)),
        ["healthz" | "livez" | "readyz", ..] => health(&parts, query),
        ["metrics"] => Ok(reply::text(StatusCode::OK, figures::page(server))),
        ["openapi", "v2"] => openapi_v2(server, headers),
        ["openapi", "v3"] => {
            let index = server.published().documents.index();
            Ok(reply::value(StatusCode::OK, &index, Encoding::Json, headers))
        }
        ["openapi", "v3", "api", version] => openapi(server, "", version, headers),
        ["openapi", "v3", "apis", group, version] => openapi(server, group, version, headers),
        [""] => {
            Ok(reply::value(StatusCode::OK, &paths(&server.registry()), Encoding::Json, headers))
        }
        _ => Err(ApiError::no_such_path()),
    }
}

fn only_get(method: &Method) -> ApiResult<()> {
    if method == Method::GET { Ok(()) } else { Err(ApiError::method_not_allowed()) }
}

fn openapi(
    server: &Inner,
    group: &str,
    version: &str,
    headers: &HeaderMap,
) -> ApiResult<Response<Body>> {
    let published = server.published();
    let document = published.documents.get(group, version).ok_or_else(ApiError::no_such_path)?;
    let tag = format!("\"{}\"", document.hash);
    let mut response = tagged(headers, &tag, || {
        reply::with_type(StatusCode::OK, document.bytes.clone().into(), "application/json", headers)
    });
    // The URL in the index carries the hash, so what it names never changes.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    Ok(response)
}

/// Only in the encoding kubectl asks for; people and other clients read v3.
fn openapi_v2(server: &Inner, headers: &HeaderMap) -> ApiResult<Response<Body>> {
    let accept = negotiate::accept_header(headers);
    let wanted = negotiate::media_ranges(&accept)
        .into_iter()
        .any(|range| v2::MEDIA_TYPES.contains(&range.media));
    if !wanted {
        return Err(ApiError::not_acceptable(&v2::MEDIA_TYPES));
    }
    let bytes = v2::document(&server.registry());
    Ok(reply::with_type(StatusCode::OK, bytes.into(), v2::MEDIA_TYPES[0], headers))
}

/// The checks behind the health endpoints. Serving this answer at all means the store is open.
const CHECKS: [&str; 3] = ["ping", "store", "controllers"];

fn health(parts: &[&str], query: &Query) -> ApiResult<Response<Body>> {
    match parts {
        [_, check] if CHECKS.contains(check) => Ok(reply::text(StatusCode::OK, "ok")),
        [_, _, ..] => Err(ApiError::no_such_path()),
        [endpoint] if query.verbose => {
            let lines = CHECKS.map(|check| format!("[+]{check} ok\n")).concat();
            Ok(reply::text(StatusCode::OK, format!("{lines}{endpoint} check passed\n")))
        }
        _ => Ok(reply::text(StatusCode::OK, "ok")),
    }
}

fn paths(registry: &Registry) -> Value {
    let mut list = vec!["/api".to_owned(), "/apis".to_owned()];
    for (group, version) in discovery::group_versions(registry) {
        list.push(if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        });
    }
    list.extend(
        ["/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    json!({"paths": list})
}
