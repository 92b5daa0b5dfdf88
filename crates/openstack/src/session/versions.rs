//! Which API is behind a URL. Catalogues and people write it with the version and without.

use serde_json::Value;

use super::Wire;
use crate::error::read_body;
use crate::{Error, Service};

/// Where the API begins. Asks only if the URL does not say.
pub(super) async fn find(wire: &Wire, service: Service, url: &str) -> Result<String, Error> {
    if let Some(known) = told(service, url) {
        return Ok(known);
    }
    let base = without_version(service, url);
    let (asked, response) = wire.get(&format!("{base}/")).await?;
    match response.status().as_u16() {
        // Whoever hides the list of versions still has the version.
        404 | 405 if service == Service::Identity => Ok(format!("{base}/v3")),
        200 | 300 => offered(service, base, response.body()),
        408 | 429 | 500.. => {
            let refusal = read_body(asked, response.status(), response.headers(), response.body());
            Err(Error::Refused(Box::new(refusal)))
        }
        other => {
            Err(strange(service, base, format!("it answers {other} when asked for its versions")))
        }
    }
}

/// What the URL says by itself.
fn told(service: Service, url: &str) -> Option<String> {
    let mut segments = url.split('/').skip(3);
    let is_told = match service {
        // Nova's may go on with a project.
        Service::Compute => segments.any(|segment| matches!(segment, "v2.1" | "v2")),
        _ => segments.last() == Some(service.version()),
    };
    is_told.then(|| url.trim_end_matches('/').to_owned())
}

/// The URL without a version of Keystone that is no more.
fn without_version(service: Service, url: &str) -> &str {
    let url = url.trim_end_matches('/');
    match service {
        Service::Identity => url.strip_suffix("/v2.0").unwrap_or(url),
        _ => url,
    }
}

/// What the service says itself. The links in it are what it takes itself for; only the versions count.
fn offered(service: Service, base: &str, body: &[u8]) -> Result<String, Error> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Err(strange(service, base, "what it says is no JSON".to_owned()));
    };
    let list = body["versions"].as_array().or_else(|| body["versions"]["values"].as_array());
    let ids: Vec<&str> =
        list.into_iter().flatten().filter_map(|version| version["id"].as_str()).collect();
    let version = service.version();
    let fits = |id: &&str| {
        id.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    match ids.iter().any(fits) {
        true => Ok(format!("{base}/{version}")),
        false if ids.is_empty() => Err(strange(service, base, "it offers no versions".to_owned())),
        false => Err(strange(service, base, format!("it offers {}", ids.join(", ")))),
    }
}

fn strange(service: Service, url: &str, why: String) -> Error {
    let (service, version) = (service.name(), service.version());
    Error::NotThatApi { url: url.to_owned(), service, version, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_say_the_version_are_taken_as_they_are() {
        use Service::{Compute, Identity, Image, Network};
        for (service, url, expected) in [
            (Network, "http://n:9696/v2.0", Some("http://n:9696/v2.0")),
            (Network, "http://n:9696", None),
            (Network, "http://h/networking", None),
            (Network, "http://v2.0", None),
            (Identity, "http://k/identity/v3", Some("http://k/identity/v3")),
            (Identity, "http://k:5000/v2.0", None),
            (Compute, "http://c:8774/v2.1/abc", Some("http://c:8774/v2.1/abc")),
            (Compute, "http://c:8774/v2.1", Some("http://c:8774/v2.1")),
            (Compute, "http://c:8774", None),
            (Image, "http://g:9292", None),
            (Image, "http://g:9292/v2", Some("http://g:9292/v2")),
        ] {
            assert_eq!(told(service, url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn versions_are_read_in_all_forms() {
        use Service::{Compute, Identity, Image, Network};
        for (service, body, expected) in [
            (Network, r#"{"versions":[{"id":"v2.0","status":"CURRENT"}]}"#, Ok("http://x/v2.0")),
            (Identity, r#"{"versions":{"values":[{"id":"v3.14"}]}}"#, Ok("http://x/v3")),
            (Compute, r#"{"versions":[{"id":"v2.0"},{"id":"v2.1"}]}"#, Ok("http://x/v2.1")),
            (Image, r#"{"versions":[{"id":"v2.16"},{"id":"v2.9"}]}"#, Ok("http://x/v2")),
            (
                Network,
                r#"{"versions":[{"id":"v3"}]}"#,
                Err("http://x is not a Neutron API v2.0: it offers v3"),
            ),
            (Network, "{}", Err("http://x is not a Neutron API v2.0: it offers no versions")),
            (Network, "<html>", Err("http://x is not a Neutron API v2.0: what it says is no JSON")),
        ] {
            let found = offered(service, "http://x", body.as_bytes()).map_err(|e| e.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{body}");
        }
    }
}
