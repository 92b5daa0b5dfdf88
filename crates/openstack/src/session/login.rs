//! What Keystone says when one logs in.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde_json::Value;

use super::catalogue::Catalogue;
use super::{Wire, answer, versions};
use crate::config::Settings;
use crate::error::Asked;
use crate::{Error, Service};

/// A token is renewed so long before it ends, or after three quarters of its life.
const MARGIN: Duration = Duration::from_mins(2);
/// How long a token is taken to live that does not say.
const UNSAID: Duration = Duration::from_mins(5);
/// No token is kept longer, whatever it says: the catalogue that came with it grows old.
const LONGEST: Duration = Duration::from_hours(24);

/// What was given when logging in.
#[derive(Debug)]
pub(crate) struct Login {
    /// Marked as a secret: it is printed nowhere.
    pub token: HeaderValue,
    /// When a new one is due.
    pub renew_at: Timestamp,
    /// When it was given.
    pub since: Timestamp,
    pub catalogue: Catalogue,
    /// Where the APIs begin, as far as that is known.
    pub roots: Roots,
}

/// Where the APIs begin.
#[derive(Debug, Default)]
pub(crate) struct Roots(Mutex<BTreeMap<Service, String>>);

impl Roots {
    pub fn get(&self, service: Service) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&service).cloned()
    }

    pub fn put(&self, service: Service, root: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(service, root.to_owned());
    }
}

/// Logs in.
pub(super) async fn login(
    settings: &Settings,
    wire: &Wire,
    now: Timestamp,
) -> Result<Login, Error> {
    let root = versions::find(wire, Service::Identity, &settings.auth_url).await?;
    let asked = Asked { method: Method::POST, url: format!("{root}/auth/tokens") };
    let request = Wire::request(&asked, Some(&settings.login()))?;
    let response = wire.send(&asked, request).await?;
    let reply = answer(&asked, response)?;
    let unreadable = |why: &str| Error::Unreadable { asked: asked.clone(), why: why.to_owned() };
    let mut token = reply
        .headers
        .get("x-subject-token")
        .cloned()
        .ok_or_else(|| unreadable("there is no token in it"))?;
    token.set_sensitive(true);
    let body = &reply.body["token"];
    if !body.is_object() {
        return Err(unreadable("it does not say anything about the token"));
    }
    Ok(Login {
        token,
        renew_at: renew_at(body, now),
        since: now,
        catalogue: Catalogue::read(&body["catalog"]),
        roots: Roots::default(),
    })
}

/// When a new token is due. Only how long it lives is taken from Keystone: its clock may be wrong.
fn renew_at(token: &Value, now: Timestamp) -> Timestamp {
    let time = |key: &str| token[key].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let life = match (time("issued_at"), time("expires_at")) {
        (Some(from), Some(to)) => to.duration_since(from).try_into().unwrap_or(Duration::ZERO),
        (None, Some(to)) => to.duration_since(now).try_into().unwrap_or(Duration::ZERO),
        _ => UNSAID,
    };
    let life = life.min(LONGEST);
    let margin = MARGIN.min(life / 4);
    now.checked_add(life.saturating_sub(margin)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_renewed_before_they_end_whatever_keystones_clock_says() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for (token, minutes) in [
            (
                json!({"issued_at": "2020-05-05T10:00:00.000000Z", "expires_at": "2020-05-05T11:00:00.000000Z"}),
                58.0,
            ),
            (
                json!({"issued_at": "2030-05-05T10:00:00Z", "expires_at": "2030-05-05T10:04:00Z"}),
                3.0,
            ),
            (json!({"expires_at": "2026-01-01T00:10:00Z"}), 8.0),
            (
                json!({"issued_at": "2026-01-01T00:10:00Z", "expires_at": "2026-01-01T00:00:00Z"}),
                0.0,
            ),
            (json!({"expires_at": "soon"}), 3.75),
            (
                json!({"issued_at": "-009999-01-01T00:00:00Z", "expires_at": "9999-12-01T00:00:00Z"}),
                1438.0,
            ),
        ] {
            let wait = renew_at(&token, now).duration_since(now).as_secs_f64() / 60.0;
            assert!((wait - minutes).abs() < 0.001, "{token}: {wait}");
        }
    }
}
