//! A small cloud with four people in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use landbridge_cloudlet::chance::Seeded;
use landbridge_cloudlet::identity::{Account, bootstrap};
use landbridge_cloudlet::{Change, Cloud, Config, Request, Response, Service, State};
use serde_json::{Value, json};

/// Name, project and role of everybody.
pub const PEOPLE: [(&str, &str, &str); 4] = [
    ("admin", "admin", "admin"),
    ("member", "demo", "member"),
    ("reader", "demo", "reader"),
    ("other", "other", "member"),
];

pub struct World {
    pub cloud: Cloud,
    pub chance: Seeded,
    pub now: Timestamp,
    pub tokens: BTreeMap<String, String>,
    pub projects: BTreeMap<String, String>,
    /// What the last call changed.
    pub changes: Vec<Change>,
}

pub fn config() -> Config {
    Config { password_rounds: 1, ..Config::default() }
}

pub fn accounts() -> Vec<Account> {
    let account = |(name, project, role): (&str, &str, &str)| Account {
        name: name.to_owned(),
        password: format!("{name}-secret"),
        project: project.to_owned(),
        roles: vec![role.to_owned()],
    };
    PEOPLE.into_iter().map(account).collect()
}

pub fn password(user: &str, project: Option<&str>) -> Value {
    let mut auth = json!({"auth": {"identity": {"methods": ["password"], "password": {"user": {
        "name": user, "domain": {"id": "default"}, "password": format!("{user}-secret"),
    }}}}});
    if let Some(project) = project {
        auth["auth"]["scope"] =
            json!({"project": {"name": project, "domain": {"name": "Default"}}});
    }
    auth
}

impl World {
    pub fn new() -> Self {
        Self::with(config())
    }

    pub fn with(config: Config) -> Self {
        let mut chance = Seeded(42);
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (state, _) = bootstrap(&config, now, &mut chance, &accounts()).unwrap();
        Self::in_state(config, state, chance, now)
    }

    pub fn in_state(config: Config, state: State, chance: Seeded, now: Timestamp) -> Self {
        let cloud = Cloud::new(Arc::new(config), state);
        let (tokens, projects, changes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut world = Self { cloud, chance, now, tokens, projects, changes };
        for (user, project, _) in PEOPLE {
            let request = Request::new(Service::Identity, Method::POST, "/v3/auth/tokens");
            let answer = world.send(request.json(&password(user, Some(project))));
            assert_eq!(answer.status, 201, "{}", answer.value());
            world.tokens.insert(user.into(), answer.header("x-subject-token").unwrap().into());
            let id = answer.value()["token"]["project"]["id"].as_str().unwrap().to_owned();
            world.projects.insert(project.into(), id);
        }
        world
    }

    /// One second later, the call.
    pub fn send(&mut self, request: Request) -> Response {
        self.now += jiff::SignedDuration::from_secs(1);
        let outcome = self.cloud.handle(self.now, &mut self.chance, &request);
        self.changes = outcome.changes;
        outcome.response
    }

    fn call(
        &mut self,
        service: Service,
        root: &str,
        who: &str,
        line: &str,
        body: Option<&Value>,
    ) -> Response {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::new(service, method.parse().unwrap(), &format!("{root}/{path}"));
        if let Some(token) = self.tokens.get(who) {
            request = request.token(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.send(request)
    }

    /// `neutron("member", "GET ports?name=x")`
    pub fn neutron(&mut self, who: &str, line: &str) -> Response {
        self.call(Service::Network, "/v2.0", who, line, None)
    }

    pub fn neutron_with(&mut self, who: &str, line: &str, body: &Value) -> Response {
        self.call(Service::Network, "/v2.0", who, line, Some(body))
    }

    pub fn keystone(&mut self, who: &str, line: &str) -> Response {
        self.call(Service::Identity, "/v3", who, line, None)
    }

    pub fn keystone_with(&mut self, who: &str, line: &str, body: &Value) -> Response {
        self.call(Service::Identity, "/v3", who, line, Some(body))
    }

    /// Creates one and returns it; the path's name without `s` is that of the body.
    pub fn make(&mut self, who: &str, plural: &str, object: Value) -> Value {
        let single = match plural {
            "rbac-policies" => "rbac_policy".to_owned(),
            other => other.strip_suffix('s').unwrap().replace('-', "_"),
        };
        let answer = self.neutron_with(who, &format!("POST {plural}"), &json!({ &single: object }));
        assert_eq!(answer.status, 201, "{plural} {object}: {}", answer.value());
        answer.value()[&single].clone()
    }

    /// A network with one IPv4 subnet: their ids.
    pub fn net(&mut self, who: &str, cidr: &str) -> (String, String) {
        let network = id(&self.make(who, "networks", json!({"name": "net"})));
        let subnet = self.make(
            who,
            "subnets",
            json!({"network_id": network, "cidr": cidr, "ip_version": 4}),
        );
        (network, id(&subnet))
    }
}

pub fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}

/// Status, type and message of a refusal.
pub fn refusal(answer: &Response) -> (u16, String, String) {
    let body = answer.value();
    let error = &body["NeutronError"];
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status.as_u16(), text("type"), text("message"))
}

/// All rows of the state.
pub fn rows(state: &State) -> BTreeMap<(String, String), String> {
    let text = |row: &[u8]| String::from_utf8(row.to_vec()).unwrap();
    state.rows().map(|(kind, id, row)| ((kind.to_owned(), id), text(row))).collect()
}
