//! Versions and microversions: what a client can count on by the number it names.

use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::request::{Request, Response};

/// The first.
const LEAST: (u16, u16) = (2, 1);
/// The last whose changes of servers and flavors are all made here.
const MOST: (u16, u16) = (2, 96);

/// The minor number of the microversion a call is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micro(u16);

impl Micro {
    /// The one that the call names; the first where it names none.
    pub fn read(request: &Request) -> Result<Self, Refusal> {
        let new = request.header_text("openstack-api-version").and_then(|text| {
            let wanted = text.split(',').filter_map(|part| part.trim().strip_prefix("compute"));
            wanted.map(str::trim).next()
        });
        let Some(text) = new.or_else(|| request.header_text("x-openstack-nova-api-version")) else {
            return Ok(Self(LEAST.1));
        };
        if text == "latest" {
            return Ok(Self(MOST.1));
        }
        let parsed: Option<(u16, u16)> =
            text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parsed {
            Some(version) if (LEAST..=MOST).contains(&version) => Ok(Self(version.1)),
            Some((major, minor)) => Err(Refusal::new(
                406,
                format!(
                    "Version {major}.{minor} is not supported by the API. Minimum is {}.{} and \
                     maximum is {}.{}.",
                    LEAST.0, LEAST.1, MOST.0, MOST.1
                ),
            )),
            None => Err(Refusal::bad(format!(
                "API Version String {text} is of invalid format. Must be of format MajorNum.MinorNum."
            ))),
        }
    }

    /// Whether what came with 2.`minor` is there.
    pub fn has(self, minor: u16) -> bool {
        self.0 >= minor
    }

    /// The answer with the headers that tell the version.
    pub fn stamp(self, response: Response) -> Response {
        let number = format!("2.{}", self.0);
        response
            .with("openstack-api-version", format!("compute {number}"))
            .with("x-openstack-nova-api-version", number)
            .with("vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
    }
}

fn described(request: &Request) -> Value {
    json!({
        "id": "v2.1", "status": "CURRENT",
        "version": format!("{}.{}", MOST.0, MOST.1), "min_version": format!("{}.{}", LEAST.0, LEAST.1),
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": format!("{}/v2.1/", request.base)}],
    })
}

/// `GET /`
pub fn all(request: &Request) -> Response {
    Response::json(StatusCode::OK, &json!({"versions": [described(request)]}))
}

/// `GET /v2.1/`
pub fn one(request: &Request) -> Response {
    let mut version = described(request);
    version["media-types"] = json!([{
        "base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1",
    }]);
    Response::json(StatusCode::OK, &json!({"version": version}))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::request::Service;

    fn read(header: &'static str, value: &str) -> Result<Micro, Refusal> {
        let request = Request::new(Service::Compute, Method::GET, "/v2.1/servers");
        Micro::read(&request.header(header, value))
    }

    #[test]
    fn a_microversion_is_taken_from_either_header_and_bounded() {
        let none = Request::new(Service::Compute, Method::GET, "/");
        assert_eq!(Micro::read(&none), Ok(Micro(1)));
        assert_eq!(read("openstack-api-version", "compute 2.47"), Ok(Micro(47)));
        assert_eq!(read("openstack-api-version", "compute latest"), Ok(Micro(MOST.1)));
        assert_eq!(read("x-openstack-nova-api-version", "2.19"), Ok(Micro(19)));
        assert!(read("openstack-api-version", "compute 2.97").is_err());
        assert!(read("openstack-api-version", "compute 3.1").is_err());
        assert!(read("openstack-api-version", "compute 2").is_err());
        // Another service's number is none of ours.
        assert_eq!(read("openstack-api-version", "volume 3.5"), Ok(Micro(1)));
    }
}
