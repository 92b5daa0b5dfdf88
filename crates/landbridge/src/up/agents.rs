//! The nodes of a lab as clients of the API: a socket for each, and what each may do.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use landbridge_agent::rights;
use landbridge_apiserver::{Identity, NodeObjectName, NodeObjects, Nodes, Options};
use landbridge_lab::spec::{Kind, Node, Shape};
use tokio::net::UnixListener;

use crate::args::ServicePath;
use crate::connect;
use crate::node_file::NodeFile;

const RBAC: &str = "rbac.authorization.k8s.io";
const NODES: &str = "system:nodes";

/// Where the agents of a lab listen.
#[derive(Debug)]
pub struct Agents {
    nodes: PathBuf,
}

impl Agents {
    /// Those of the lab in a directory.
    pub fn of(lab: &Path) -> Arc<dyn Nodes> {
        // In-process clients and the server share one working directory, but not for ever.
        let nodes = std::path::absolute(lab).unwrap_or_else(|_| lab.to_owned()).join("nodes");
        Arc::new(Self { nodes })
    }
}

impl Nodes for Agents {
    fn socket(&self, node: &str) -> Option<PathBuf> {
        // A name with a slash is nobody's; the kinds' rules keep it out, too.
        let plain = !node.is_empty() && !node.contains('/') && !node.starts_with('.');
        let socket = self.nodes.join(node).join("kubelet.sock");
        (plain && socket.exists()).then_some(socket)
    }
}

/// Kinds of which each node has objects of its own.
pub fn node_objects() -> Vec<NodeObjects> {
    let by_name = |resource: &str| {
        if resource == "nodenetworkconfigurationenactments" {
            NodeObjectName::PrefixDot
        } else {
            NodeObjectName::Exact
        }
    };
    let kinds = rights::PER_NODE.iter();
    kinds
        .map(|(group, resource)| NodeObjects {
            group: (*group).to_owned(),
            resource: (*resource).to_owned(),
            name: by_name(resource),
        })
        .collect()
}

/// A socket of the API, and who comes through it.
pub struct Door {
    pub listener: UnixListener,
    pub identity: Identity,
}

/// Makes the directory of every node, with a door to the API in it.
pub fn doors(lab: &Path, shape: &Shape, services: ServicePath) -> anyhow::Result<Vec<Door>> {
    shape
        .nodes
        .iter()
        .map(|node| {
            let directory = lab.join("nodes").join(&node.name);
            let shown = directory.display();
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(&directory).with_context(|| format!("cannot create {shown}"))?;
            let service_cidrs = Options::new(PathBuf::new()).service_cidrs;
            NodeFile { service_cidrs, services, ..NodeFile::of(node) }.write(&directory)?;
            let listener = connect::listen(&directory.join("api.sock"))
                .with_context(|| format!("cannot listen in {shown}"))?;
            Ok(Door { listener, identity: identity(node) })
        })
        .collect()
}

fn identity(node: &Node) -> Identity {
    match node.kind {
        Kind::Kubernetes => Identity::new(format!("system:node:{}", node.name), &[NODES]),
        Kind::Host => Identity::new(host_user(&node.name), &["landbridge:hosts"]),
    }
    .authenticated()
}

fn host_user(name: &str) -> String {
    format!("landbridge:host:{name}")
}

/// Gives every agent its role, with the client of somebody who may.
pub async fn grant(client: &Client, shape: &Shape) -> kube::Result<()> {
    give(client, "landbridge:agents", rights::lab(), "Group", NODES).await?;
    for node in shape.nodes.iter().filter(|node| node.kind == Kind::Host) {
        let user = host_user(&node.name);
        give(client, &user, rights::host(&node.name), "User", &user).await?;
    }
    Ok(())
}

/// Writes a role and its binding to one subject.
pub async fn give(
    client: &Client,
    name: &str,
    rules: Vec<PolicyRule>,
    kind: &str,
    subject: &str,
) -> kube::Result<()> {
    let params = PatchParams::apply("landbridge").force();
    let mut role = ClusterRole { rules: Some(rules), ..ClusterRole::default() };
    role.metadata.name = Some(name.to_owned());
    let mut binding = ClusterRoleBinding {
        role_ref: RoleRef {
            api_group: RBAC.to_owned(),
            kind: "ClusterRole".to_owned(),
            name: name.to_owned(),
        },
        subjects: Some(vec![Subject {
            api_group: Some(RBAC.to_owned()),
            kind: kind.to_owned(),
            name: subject.to_owned(),
            namespace: None,
        }]),
        ..ClusterRoleBinding::default()
    };
    binding.metadata.name = Some(name.to_owned());
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.patch(&role.name_any(), &params, &Patch::Apply(&role)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    bindings.patch(&binding.name_any(), &params, &Patch::Apply(&binding)).await?;
    Ok(())
}
