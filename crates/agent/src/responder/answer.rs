//! What is answered: who this is, by which addresses it can be reached, and who asked.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::json;

use super::{Port, ResponderConfig};

/// An interface and its addresses, as `ip -br a` would list them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub addresses: Vec<String>,
}

/// What there is to say to one client.
pub struct Answer<'a> {
    pub config: &'a ResponderConfig,
    pub container: &'a str,
    pub port: Port,
    pub peer: SocketAddr,
    /// The name the client asked for, if it came by TLS.
    pub tls: Option<&'a str>,
    pub interfaces: &'a [Interface],
}

impl Answer<'_> {
    /// One line, for clients that do not speak HTTP.
    pub fn line(&self) -> String {
        let ResponderConfig { namespace, pod, node, .. } = self.config;
        let mut line = format!("pod {namespace}/{pod} on {node}");
        for interface in self.interfaces {
            let _ = write!(line, ", {} {}", interface.name, interface.addresses.join(" "));
        }
        let _ = writeln!(line, ", port {}, you are {}", self.port.number, self.peer);
        line
    }

    /// The same, in lines.
    pub fn text(&self) -> String {
        let ResponderConfig { namespace, pod, node, .. } = self.config;
        let mut text = format!("pod {namespace}/{pod} on {node}\n");
        for interface in self.interfaces {
            let _ = writeln!(text, "{} {}", interface.name, interface.addresses.join(" "));
        }
        let _ = writeln!(text, "port {} of container {}", self.port.number, self.container);
        if let Some(name) = self.tls {
            let _ = writeln!(text, "TLS for {name}");
        }
        let _ = writeln!(text, "you are {}", self.peer);
        text
    }

    /// The same, as an object.
    pub fn json(&self) -> String {
        let addresses: serde_json::Map<String, serde_json::Value> =
            self.interfaces.iter().map(|i| (i.name.clone(), json!(i.addresses))).collect();
        let mut answer = json!({
            "namespace": self.config.namespace,
            "pod": self.config.pod,
            "uid": self.config.uid,
            "node": self.config.node,
            "container": self.container,
            "port": self.port.number,
            "protocol": self.port.protocol,
            "addresses": addresses,
            "peer": self.peer.to_string(),
        });
        if let Some(name) = self.tls {
            answer["tls"] = name.into();
        }
        let mut text = answer.to_string();
        text.push('\n');
        text
    }
}
