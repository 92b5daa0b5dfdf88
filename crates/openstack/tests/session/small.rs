//! A small cloud in this process: a Keystone with one user, and networks of a Neutron, with one fault
//! at one request. Time is virtual.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use landbridge_openstack::{Client, Clock, Query, Session, Settings, Transport, Trouble};
use serde_json::{Value, json};

pub const PASSWORD: &str = "tiger";

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody answers the door.
    Unreachable,
    /// The request gets lost.
    LostBefore,
    /// The request takes effect, and the answer gets lost.
    LostAfter,
    /// Answered with this status instead of being carried out.
    Instead(u16),
    /// Carried out, and answered with this status all the same.
    Despite(u16),
    /// Carried out, and answered with something unreadable.
    Garbage,
}

pub const FAULTS: [Fault; 12] = [
    Fault::Unreachable,
    Fault::LostBefore,
    Fault::LostAfter,
    Fault::Instead(401),
    Fault::Instead(429),
    Fault::Instead(500),
    Fault::Instead(502),
    Fault::Instead(503),
    Fault::Instead(504),
    Fault::Despite(500),
    Fault::Despite(502),
    Fault::Despite(504),
];

#[derive(Debug)]
pub struct State {
    pub now: Timestamp,
    /// Method and path of every request.
    pub seen: Vec<String>,
    /// At which request, counted from 0, what goes wrong.
    pub faults: BTreeMap<usize, Fault>,
    pub networks: BTreeMap<String, Value>,
    pub made: usize,
    pub logins: usize,
    /// Tokens that are good.
    pub tokens: Vec<String>,
    pub password: String,
    pub life: Duration,
    /// Where the catalogue says Neutron is.
    pub neutron: String,
    pub retry_after: Option<u64>,
    /// Headers of the last request.
    pub headers: http::HeaderMap,
}

#[derive(Clone)]
pub struct Small(Arc<Mutex<State>>);

impl Small {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            seen: Vec::new(),
            faults: BTreeMap::new(),
            networks: BTreeMap::new(),
            made: 0,
            logins: 0,
            tokens: Vec::new(),
            password: PASSWORD.to_owned(),
            life: Duration::from_hours(1),
            neutron: "http://neutron:9696".to_owned(),
            retry_after: None,
            headers: http::HeaderMap::new(),
        })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn settings() -> Settings {
        Settings::simple("http://keystone:5000", "scott", PASSWORD, "demo")
    }

    pub fn client(&self) -> Client {
        Client::new(Session::new(Self::settings(), self.clone(), self.clone()))
    }

    pub fn pass(&self, time: Duration) {
        let mut state = self.state();
        state.now += time;
    }
}

impl Clock for Small {
    fn now(&self) -> Timestamp {
        self.state().now
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.pass(wait);
            tokio::task::yield_now().await;
        })
    }

    fn chance(&self) -> u64 {
        7
    }
}

impl Transport for Small {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>> {
        Box::pin(async move {
            // Others get a chance to ask at the same time.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            self.state().answer(&request)
        })
    }
}

type Answer = Result<Response<Bytes>, Trouble>;

impl State {
    fn answer(&mut self, request: &Request<Bytes>) -> Answer {
        let place = self.seen.len();
        let path = request.uri().path();
        self.seen.push(format!("{} {path}", request.method()));
        self.headers = request.headers().clone();
        let fault = self.faults.get(&place).copied();
        match fault {
            Some(Fault::Unreachable) => {
                return Err(Trouble::Unreachable("connection refused".to_owned()));
            }
            Some(Fault::LostBefore) => return Err(Trouble::Lost("none within 60 s".to_owned())),
            Some(Fault::Instead(status)) => return Ok(self.refuse(status)),
            _ => {}
        }
        let answer = self.carry_out(request);
        match fault {
            Some(Fault::LostAfter) => Err(Trouble::Lost("connection closed".to_owned())),
            Some(Fault::Despite(status)) => Ok(self.refuse(status)),
            Some(Fault::Garbage) => Ok(reply(200, b"<html>")),
            _ => Ok(answer),
        }
    }

    fn refuse(&self, status: u16) -> Response<Bytes> {
        let body = json!({"NeutronError": {"type": "Trouble", "message": "No.", "detail": ""}});
        let mut answer = reply(status, body.to_string().as_bytes());
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert("retry-after", seconds.into());
        }
        answer.headers_mut().insert("x-openstack-request-id", "req-7".parse().unwrap());
        answer
    }

    fn carry_out(&mut self, request: &Request<Bytes>) -> Response<Bytes> {
        let uri = request.uri();
        let authority = uri.authority().unwrap().as_str();
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        match (authority, request.method(), uri.path()) {
            ("keystone:5000", &Method::GET, "/") => {
                say(300, &json!({"versions": {"values": [{"id": "v3.14"}]}}))
            }
            ("keystone:5000", &Method::POST, "/v3/auth/tokens") => self.login(&body),
            (_, _, _) if format!("http://{authority}") != self.neutron => say(404, &json!({})),
            (_, &Method::GET, "/") => say(200, &json!({"versions": [{"id": "v2.0"}]})),
            (_, method, path) => {
                let token = request.headers().get("x-auth-token").and_then(|t| t.to_str().ok());
                if !self.tokens.iter().any(|good| Some(good.as_str()) == token) {
                    let text = json!({"error": {"title": "Unauthorized", "message": "Log in."}});
                    return say(401, &text);
                }
                let Some(path) = path.strip_prefix("/v2.0/networks") else {
                    let error = json!({"type": "HTTPNotFound", "message": "Nothing there."});
                    return say(404, &json!({"NeutronError": error}));
                };
                let query = Query::parse(uri.query().unwrap_or_default());
                self.networks(method, path.trim_start_matches('/'), &query, &body, request)
            }
        }
    }

    fn login(&mut self, body: &Value) -> Response<Bytes> {
        self.logins += 1;
        let user = &body["auth"]["identity"]["password"]["user"];
        if user["password"] != *self.password {
            let message = "The request you have made requires authentication.";
            let text = json!({"error": {"code": 401, "title": "Unauthorized", "message": message}});
            return say(401, &text);
        }
        let token = format!("token-{}", self.logins);
        self.tokens.push(token.clone());
        let network = json!({"interface": "public", "region_id": "one", "url": self.neutron});
        let endpoints = if self.neutron.is_empty() { vec![] } else { vec![network] };
        let mut answer = say(
            201,
            &json!({"token": {
                "issued_at": self.now.to_string(),
                "expires_at": (self.now + self.life).to_string(),
                "catalog": [{"type": "network", "endpoints": endpoints}],
            }}),
        );
        answer.headers_mut().insert("x-subject-token", token.parse().unwrap());
        answer
    }

    fn networks(
        &mut self,
        method: &Method,
        id: &str,
        query: &Query,
        body: &Value,
        request: &Request<Bytes>,
    ) -> Response<Bytes> {
        if let Some((id, tag)) = id.split_once("/tags/") {
            let Some(network) = self.networks.get_mut(id) else { return missing(id) };
            let tags = network["tags"].as_array_mut().unwrap();
            tags.retain(|known| known != tag);
            if *method == Method::PUT {
                tags.push(tag.into());
            }
            return reply(if *method == Method::PUT { 201 } else { 204 }, b"");
        }
        match *method {
            Method::GET if id.is_empty() => self.list(query),
            Method::GET => match self.networks.get(id) {
                Some(network) => say(200, &json!({"network": network})),
                None => missing(id),
            },
            Method::POST => {
                self.made += 1;
                let id = format!("n{:03}", self.made);
                let mut network = body["network"].clone();
                network["id"] = id.as_str().into();
                network["revision_number"] = 1.into();
                network["tags"] = json!([]);
                self.networks.insert(id, network.clone());
                say(201, &json!({"network": network}))
            }
            Method::PUT => {
                let Some(network) = self.networks.get_mut(id) else { return missing(id) };
                let revision = network["revision_number"].as_u64().unwrap();
                let wanted = request.headers().get("if-match");
                let is_other = |text: &str| text != format!("revision_number={revision}");
                if wanted.is_some_and(|text| is_other(text.to_str().unwrap())) {
                    let kind = "RevisionNumberConstraintFailed";
                    return say(412, &json!({"NeutronError": {"type": kind, "message": "Other."}}));
                }
                for (key, value) in body["network"].as_object().unwrap() {
                    network[key] = value.clone();
                }
                network["revision_number"] = (revision + 1).into();
                say(200, &json!({"network": network}))
            }
            Method::DELETE => match self.networks.remove(id) {
                Some(_) => reply(204, b""),
                None => missing(id),
            },
            _ => say(405, &json!({})),
        }
    }

    fn list(&self, query: &Query) -> Response<Bytes> {
        let name = query.get("name");
        let fits = |network: &&Value| name.is_none_or(|name| network["name"] == name);
        let limit: usize = query.get("limit").unwrap().parse().unwrap();
        let after = query.get("marker").unwrap_or_default();
        let found: Vec<&Value> = self
            .networks
            .iter()
            .filter(|(id, _)| id.as_str() > after)
            .map(|(_, network)| network)
            .filter(fits)
            .take(limit)
            .collect();
        let mut body = json!({"networks": found});
        if found.len() == limit
            && let Some(last) = found.last()
        {
            let id = last["id"].as_str().unwrap();
            // As if behind a proxy: the address in the link leads nowhere.
            let href = format!("http://elsewhere/v2.0/networks?limit={limit}&marker={id}");
            body["networks_links"] =
                json!([{"rel": "previous", "href": "x"}, {"rel": "next", "href": href}]);
        }
        say(200, &body)
    }
}

fn missing(id: &str) -> Response<Bytes> {
    let message = format!("Network {id} could not be found.");
    say(404, &json!({"NeutronError": {"type": "NetworkNotFound", "message": message}}))
}

fn say(status: u16, body: &Value) -> Response<Bytes> {
    reply(status, body.to_string().as_bytes())
}

fn reply(status: u16, body: &[u8]) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::copy_from_slice(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}
