//! The cloudlet, called in this process.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use landbridge_cloudlet::chance::System;
use landbridge_cloudlet::config::AGENTS;
use landbridge_cloudlet::identity::{Account, bootstrap};
use landbridge_cloudlet::{Cloud, Config, Request, Service};

use crate::normal::{Answer, HEADERS};
use crate::real::body_of;
use crate::server::{Sent, Server, USERS};

const IDENTITY: &str = "http://keystone.example:5000";
const NETWORK: &str = "http://neutron.example:9696";

/// A cloud that is set up like the real pair of tests/cloud/peer.
pub struct Ours {
    cloud: Cloud,
}

impl Ours {
    /// A new one, with the users of the stories.
    pub fn new() -> Self {
        let config = config();
        let account = |(name, project): (&str, &str)| Account {
            name: name.to_owned(),
            password: "secret".to_owned(),
            project: project.to_owned(),
            roles: vec![
                if ["admin", "reader"].contains(&name) { name } else { "member" }.to_owned(),
            ],
        };
        let mut accounts: Vec<Account> = USERS.into_iter().map(account).collect();
        accounts.push(Account {
            name: "neutron".to_owned(),
            password: "secret".to_owned(),
            project: "service".to_owned(),
            roles: vec!["admin".to_owned(), "service".to_owned()],
        });
        let (state, _) =
            bootstrap(&config, Timestamp::now(), &mut System, &accounts).expect("a new cloud");
        Self { cloud: Cloud::new(Arc::new(config), state) }
    }
}

fn config() -> Config {
    let mut config = Config { password_rounds: 1, ..Config::default() };
    let roots = [(Service::Identity, IDENTITY), (Service::Network, NETWORK)];
    config.endpoints = roots.map(|(service, root)| (service, root.to_owned())).into();
    config.network.flat = vec!["octavia".to_owned(), "physnet1".to_owned()];
    config.network.geneve = (0, 0);
    config.network.project_types = vec!["vxlan".to_owned()];
    config.network.zones = Vec::new();
    config.network.extensions = AGENTS.map(str::to_owned).into();
    config
}

impl Server for Ours {
    fn root(&self, service: &str) -> &str {
        if service == "identity" { IDENTITY } else { NETWORK }
    }

    fn send(&mut self, sent: &Sent<'_>) -> Answer {
        let service = if sent.service == "identity" { Service::Identity } else { Service::Network };
        let method = Method::from_bytes(sent.method.as_bytes()).expect("a method");
        let mut request = Request::new(service, method, sent.path);
        self.root(sent.service).clone_into(&mut request.base);
        request.body = sent.body.clone().into();
        for (name, value) in &sent.headers {
            let name: http::HeaderName = name.parse().expect("a header");
            request.headers.insert(name, value.parse().expect("a header's value"));
        }
        let answered = self.cloud.handle(Timestamp::now(), &mut System, &request).response;
        let header = |(name, _): &(&str, bool)| {
            Some(((*name).to_owned(), answered.header(name)?.to_owned()))
        };
        Answer {
            status: answered.status.as_u16(),
            headers: HEADERS.iter().filter_map(header).collect(),
            // The HTTP front sends none after HEAD.
            body: if sent.method == "HEAD" {
                serde_json::Value::Null
            } else {
                body_of(&answered.body)
            },
        }
    }
}
