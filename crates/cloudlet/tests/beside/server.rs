//! Plays a story on a server: logs in, sends the calls, keeps what later ones need.

use serde_json::{Value, json};

use crate::calls::{Call, Kept, Story, at, fill, fill_value};
use crate::normal::{Answer, Normal, Plain};

/// One call as it is sent.
pub struct Sent<'a> {
    /// `identity` or `network`.
    pub service: &'a str,
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Who answers.
pub trait Server {
    /// The root of a service's URLs.
    fn root(&self, service: &str) -> &str;
    /// Sends a call.
    fn send(&mut self, sent: &Sent<'_>) -> Answer;
}

/// The users of the stories, and their projects. Every password is `secret`.
pub const USERS: [(&str, &str); 4] =
    [("admin", "admin"), ("member", "demo"), ("reader", "demo"), ("other", "other")];

/// The answers to a story.
pub fn play(server: &mut dyn Server, story: &Story) -> Vec<Plain> {
    let mut kept = Kept::new();
    for (user, project) in USERS {
        log_in(server, user, project, &mut kept);
    }
    let mut normal = Normal::new(story, server.root("identity"), server.root("network"));
    story.calls.iter().map(|call| one(server, &mut normal, call, &mut kept)).collect()
}

/// Keeps `token NAME`, `user NAME` and the id of the project under its name.
fn log_in(server: &mut dyn Server, user: &str, project: &str, kept: &mut Kept) {
    let domain = json!({"id": "default"});
    let body = json!({"auth": {
        "identity": {"methods": ["password"], "password": {
            "user": {"name": user, "domain": domain, "password": "secret"}}},
        "scope": {"project": {"name": project, "domain": domain}},
    }});
    let sent = Sent {
        service: "identity",
        method: "POST",
        path: "/v3/auth/tokens",
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string(),
    };
    let answer = server.send(&sent);
    assert_eq!(answer.status, 201, "{user} logs in: {:?}", answer.body);
    let token = answer.headers.iter().find(|(name, _)| name == "x-subject-token");
    kept.insert(format!("token {user}"), token.expect("a token").1.clone().into());
    for (name, path) in
        [(format!("user {user}"), "token.user.id"), (project.to_owned(), "token.project.id")]
    {
        kept.insert(name, at(&answer.body, path).expect("a token says who and where").clone());
    }
}

fn one(server: &mut dyn Server, normal: &mut Normal, call: &Call, kept: &mut Kept) -> Plain {
    let (method, path) = call.line.split_once(' ').expect("a call is a method and a path");
    // Most paths are below the version.
    let path = match (path.starts_with('/'), call.at.as_str()) {
        (true, _) => path.to_owned(),
        (false, "identity") => format!("/v3/{path}"),
        (false, _) => format!("/v2.0/{path}"),
    };
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    match call.user.as_str() {
        "nobody" => {}
        "forged" => headers.push(("x-auth-token".to_owned(), "gAAAAABforged".to_owned())),
        user => {
            headers.push(("x-auth-token".to_owned(), fill(&format!("${{token {user}}}"), kept)));
        }
    }
    headers
        .extend(call.headers.iter().map(|(name, value)| (name.to_lowercase(), fill(value, kept))));
    let body = call.body.as_ref().map(|body| fill_value(body, kept).to_string());
    let answer = server.send(&Sent {
        service: &call.at,
        method,
        path: &fill(&path, kept),
        headers,
        body: body.or_else(|| call.text.clone()).unwrap_or_default(),
    });
    for (name, path) in &call.keep {
        let value = match path.strip_prefix("header ") {
            Some(header) => {
                let found = answer.headers.iter().find(|(name, _)| name == header);
                found.map(|(_, value)| Value::from(value.clone()))
            }
            None => at(&answer.body, path).cloned(),
        };
        if let Some(value) = value {
            kept.insert(name.clone(), value);
        }
    }
    normal.plain(call, &answer, kept)
}
