//! A session with one cloud: who we are, where its services are, and how often to try.
//!
//! ```text
//!  Call ──▶ token (shared, renewed before it ends and once on 401)
//!             └▶ endpoint (override, or catalogue by interface and region)
//!                  └▶ version (asked once where the URL does not say)
//!                       └▶ request ──▶ answer, refusal, or nothing
//!                            ▲               │
//!                            └── wait ◀── Attempts: may it be repeated, does it make sense?
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`attempts`] | whether and when to try again |
//! | [`catalogue`] | where the services are |
//! | [`login`] | what Keystone says when one logs in |
//! | [`versions`] | which API is behind a URL |

pub mod attempts;
pub mod catalogue;
pub mod login;
mod logins;
pub mod versions;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, IF_MATCH, LOCATION, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use serde_json::Value;

use self::attempts::Attempts;
use self::login::Login;
use self::logins::Logins;
use crate::clock::{Clock, Machine};
use crate::config::Settings;
use crate::error::{Asked, Refusal, read_body};
use crate::transport::{Net, Transport, Trouble};
use crate::{Call, Client, Cloud, Error, Reply, Service};

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("landbridge/", env!("CARGO_PKG_VERSION")));

/// Keystone counts in whole seconds: a token from the very second in which a password was changed, say, counts
/// as one from before.
const SECOND: Duration = Duration::from_millis(1100);

/// A session with one cloud.
pub struct Session {
    settings: Settings,
    wire: Wire,
    clock: Arc<dyn Clock>,
    logins: Logins,
}

impl Client {
    /// A client of the cloud that these settings describe. Nothing is asked before the first call.
    pub fn connect(settings: Settings) -> Result<Self, Error> {
        let net = Net::new(&settings.trust, settings.patience)
            .map_err(|why| Error::Settings(format!("cloud {}: {why}", settings.cloud)))?;
        Ok(Self::new(Session::new(settings, net, Machine)))
    }
}

impl Session {
    /// A session over this wire, by this clock.
    pub fn new(
        settings: Settings,
        transport: impl Transport + 'static,
        clock: impl Clock + 'static,
    ) -> Self {
        let wire = Wire(Arc::new(transport));
        Self { settings, wire, clock: Arc::new(clock), logins: Logins::default() }
    }

    async fn carry_out(&self, call: Call) -> Result<Reply, Error> {
        let mut attempts = Attempts::new(self.clock.now());
        let mut is_renewed = false;
        loop {
            let error = match self.logins.current(&self.settings, &self.wire, &*self.clock).await {
                Err(error) => error,
                Ok(login) => match self.once(&call, &login).await {
                    Ok(reply) => return Ok(reply),
                    // The token was revoked, or Keystone has lost its keys: once a new one is tried.
                    Err(error) if error.status() == Some(401) && !is_renewed => {
                        is_renewed = true;
                        self.logins.forget(&login).await;
                        if self.clock.now().duration_since(login.since).unsigned_abs() < SECOND {
                            self.clock.sleep(SECOND).await;
                        }
                        continue;
                    }
                    Err(error) => {
                        // The service may have moved, or come: the next login brings another catalogue.
                        if matches!(
                            error,
                            Error::Unreachable { .. }
                                | Error::NotThatApi { .. }
                                | Error::NoEndpoint { .. }
                        ) {
                            self.logins.doubt(&login, self.clock.now()).await;
                        }
                        error
                    }
                },
            };
            match attempts.next(&error, call.repeat, self.clock.now(), self.clock.chance()) {
                Some(wait) => {
                    tracing::debug!(%error, ?wait, "will be tried again");
                    self.clock.sleep(wait).await;
                }
                None => return Err(error),
            }
        }
    }

    /// One try.
    async fn once(&self, call: &Call, login: &Login) -> Result<Reply, Error> {
        let root = self.root(call.service, login).await?;
        let mut url = format!("{root}{}", call.path);
        if !call.query.is_empty() {
            url = format!("{url}?{}", call.query);
        }
        let asked = Asked { method: call.method.clone(), url };
        let mut request = Wire::request(&asked, call.body.as_ref())?;
        let headers = request.headers_mut();
        headers.insert("x-auth-token", login.token.clone());
        let header = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| {
                Error::Settings(format!("{asked}: {text:?} cannot be sent in a header"))
            })
        };
        if let Some(subject) = &call.subject {
            let mut subject = subject.clone();
            subject.set_sensitive(true);
            headers.insert("x-subject-token", subject);
        }
        if let Some(revision) = call.revision {
            headers.insert(IF_MATCH, header(&format!("revision_number={revision}"))?);
        }
        let microversion = call.microversion.as_ref().or(self.settings.microversion.as_ref());
        if let (Service::Compute, Some(version)) = (call.service, microversion) {
            headers.insert("openstack-api-version", header(&format!("compute {version}"))?);
            headers.insert("x-openstack-nova-api-version", header(version)?);
        }
        let response = self.wire.send(&asked, request).await?;
        answer(&asked, response)
    }

    /// Where a service's API begins.
    async fn root(&self, service: Service, login: &Login) -> Result<String, Error> {
        if let Some(known) = login.roots.get(service) {
            return Ok(known);
        }
        let url = match self.settings.overrides.get(&service) {
            Some(url) => url.clone(),
            None => login.catalogue.endpoint(&self.settings, service)?,
        };
        let root = versions::find(&self.wire, service, &url).await?;
        login.roots.put(service, &root);
        Ok(root)
    }
}

impl Cloud for Session {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.carry_out(call))
    }
}

/// A transport, and how requests to services look.
#[derive(Clone)]
struct Wire(Arc<dyn Transport>);

impl Wire {
    /// A request without a token.
    fn request(asked: &Asked, body: Option<&Value>) -> Result<Request<Bytes>, Error> {
        let mut builder = Request::builder()
            .method(asked.method.clone())
            .uri(&asked.url)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, AGENT);
        let bytes = match body {
            Some(body) => {
                builder =
                    builder.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        builder
            .body(bytes)
            .map_err(|error| Error::Settings(format!("{asked}: this cannot be asked: {error}")))
    }

    async fn send(&self, asked: &Asked, request: Request<Bytes>) -> Result<Response<Bytes>, Error> {
        let asked = || asked.clone();
        self.0.send(request).await.map_err(|trouble| match trouble {
            Trouble::Unreachable(why) => Error::Unreachable { asked: asked(), why },
            Trouble::Lost(why) => Error::Lost { asked: asked(), why },
            Trouble::Unreadable(why) => Error::Unreadable { asked: asked(), why },
        })
    }

    /// Reads something that needs no token.
    async fn get(&self, url: &str) -> Result<(Asked, Response<Bytes>), Error> {
        let asked = Asked { method: Method::GET, url: url.to_owned() };
        let request = Self::request(&asked, None)?;
        let response = self.send(&asked, request).await?;
        Ok((asked, response))
    }
}

/// What an answer says.
fn answer(asked: &Asked, response: Response<Bytes>) -> Result<Reply, Error> {
    let (parts, body) = response.into_parts();
    if !parts.status.is_success() {
        let mut refusal = read_body(asked.clone(), parts.status, &parts.headers, &body);
        redirected(&mut refusal, parts.headers.get(LOCATION));
        return Err(Error::Refused(Box::new(refusal)));
    }
    let body = if body.is_empty() || parts.status == StatusCode::NO_CONTENT {
        Value::Null
    } else {
        serde_json::from_slice(&body).map_err(|error| {
            let why = format!("it is no JSON: {error}");
            Error::Unreadable { asked: asked.clone(), why }
        })?
    };
    Ok(Reply { status: parts.status, headers: parts.headers, body })
}

/// Tokens are not carried wherever somebody points to.
fn redirected(refusal: &mut Refusal, location: Option<&HeaderValue>) {
    if refusal.status.is_redirection()
        && let Some(location) = location.and_then(|location| location.to_str().ok())
    {
        refusal.message = format!("it is said to be at {location}: correct the endpoint");
    }
}
