//! Keystone v3: who there is, what they may do, tokens, and where services are.
//!
//! | file | idea |
//! |---|---|
//! | [`entity`] | one frame for projects, users, roles, services, …: a table of fields and some rules |
//! | [`entities`] | those tables |
//! | [`assign`] | who has which role where |
//! | [`token`], [`login`], [`show`] | tokens: sealed by a key in the state, so that issuing one changes nothing |
//! | [`bootstrap`] | what a new cloud begins with |

mod assign;
mod bootstrap;
mod credentials;
mod entities;
mod entity;
mod login;
mod members;
mod password;
mod refusal;
mod route;
mod show;
mod token;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::json;

pub use self::assign::roles;
pub use self::bootstrap::{Account, bootstrap};
pub use self::entities::{DOMAIN, ENDPOINT, GROUP, PROJECT, REGION, ROLE, SERVICE, USER};
pub use self::refusal::Refusal;
pub use self::route::handle;
use crate::caller::Caller;
use crate::config::Config;
use crate::request::{Request, Response, Service};
use crate::state::{Kind, State};

/// The tables.
pub static KINDS: &[&Kind] = &[
    &entities::DOMAIN,
    &entities::PROJECT,
    &entities::USER,
    &entities::GROUP,
    &entities::ROLE,
    &entities::SERVICE,
    &entities::ENDPOINT,
    &entities::REGION,
    &assign::ASSIGNMENT,
    &members::MEMBERSHIP,
    &credentials::APPLICATION_CREDENTIAL,
    &token::KEY,
    &token::REVOCATION,
];

/// Who makes a call to one of the other services, by its token; otherwise the 401 that these answer.
pub fn authenticate(
    state: &State,
    config: &Config,
    now: Timestamp,
    request: &Request,
) -> Result<Caller, Response> {
    let caller =
        request.header_text("x-auth-token").and_then(|text| token::check(state, now, text));
    caller.ok_or_else(|| {
        let message = "The request you have made requires authentication.";
        let body = json!({"error": {"code": 401, "title": "Unauthorized", "message": message}});
        let uri = config.endpoints.get(&Service::Identity).map_or("", String::as_str);
        Response::json(StatusCode::UNAUTHORIZED, &body)
            .with("www-authenticate", format!("Keystone uri=\"{uri}\""))
    })
}
