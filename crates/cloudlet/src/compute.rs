//! Nova v2.1: servers with their ports, flavors, key pairs, and the little around them that clients ask for.
//!
//! A server is a row; what runs it (in the lab: a namespace with the server's ports) follows the changes.
//!
//! | file | idea |
//! |---|---|
//! | [`version`] | versions and microversions |
//! | [`refusal`] | Nova's errors |
//! | [`flavors`], [`keypairs`] | what servers are made of |
//! | [`servers`], [`view`] | servers: create, change, delete; what is shown of them |
//! | [`nics`] | the ports of servers, which are Neutron's |
//! | [`hosts`] | where servers run |
//! | [`metadata`] | what owners write on their servers |
//! | [`actions`] | start, stop, and their like |
//! | [`quotas`] | what a project may have |
//! | [`other`] | zones, hypervisors, limits |

mod actions;
mod flavors;
mod hosts;
mod keypairs;
mod metadata;
pub(crate) mod nics;
mod other;
mod quotas;
mod refusal;
pub(crate) mod servers;
mod version;
mod view;

use http::Method;
use serde_json::Value;

pub use self::flavors::FLAVOR;
pub use self::keypairs::KEYPAIR;
pub use self::quotas::COMPUTE_QUOTA;
use self::refusal::Refusal;
pub use self::servers::SERVER;
pub use self::version::Micro;
use crate::caller::Caller;
use crate::request::{Request, Response};
use crate::state::{Kind, Tx};

/// The tables.
pub static KINDS: &[&Kind] = &[&SERVER, &FLAVOR, &KEYPAIR, &COMPUTE_QUOTA];

/// One call, with what everything needs to know of it.
pub(crate) struct Call<'a> {
    request: &'a Request,
    who: &'a Caller,
    micro: Micro,
}

impl Call<'_> {
    /// The body as a JSON object.
    fn body(&self) -> Result<Value, Refusal> {
        serde_json::from_slice::<Value>(&self.request.body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Refusal::bad("Malformed request body"))
    }

    /// The URL of something of this service.
    fn url(&self, path: &str) -> String {
        format!("{}/v2.1/{path}", self.request.base)
    }

    /// Only an administrator.
    fn admin(&self, rule: &str) -> Result<(), Refusal> {
        if self.who.is_admin() { Ok(()) } else { Err(Refusal::policy(rule)) }
    }
}

/// Answers a call.
pub fn handle(tx: &mut Tx<'_>, request: &Request) -> Response {
    let parts = request.parts();
    let parts: &[&str] = match parts.as_slice() {
        [] => return version::all(request),
        ["v2.1"] => return version::one(request),
        ["v2.1", rest @ ..] => rest,
        _ => return Refusal::gone().response(),
    };
    let who = match crate::identity::authenticate(tx, tx.config, tx.now, request) {
        Ok(who) => who,
        Err(response) => return response,
    };
    let micro = match Micro::read(request) {
        Ok(micro) => micro,
        Err(refusal) => return refusal.response(),
    };
    let call = Call { request, who: &who, micro };
    // Older clients put the project into the path.
    let parts = match parts {
        [project, rest @ ..] if *project == who.project() && !rest.is_empty() => rest,
        other => other,
    };
    let response = route(tx, &call, parts).unwrap_or_else(|refusal| refusal.response());
    micro.stamp(response)
}

fn route(tx: &mut Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    let get = call.request.method == Method::GET;
    match parts {
        ["servers", rest @ ..] => servers::route(tx, call, rest),
        ["flavors", rest @ ..] => flavors::route(tx, call, rest),
        ["os-keypairs", rest @ ..] => keypairs::route(tx, call, rest),
        ["os-quota-sets", rest @ ..] => quotas::route(tx, call, rest),
        _ if get => other::route(tx, call, parts),
        _ => Err(Refusal::gone()),
    }
}
