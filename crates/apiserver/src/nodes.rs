//! What the server knows about the machines its pods run on: where to reach them, and which objects
//! are theirs.

use std::fmt::Debug;
use std::path::PathBuf;

/// Where the agents of nodes listen.
///
/// Requests about running pods (exec, attach, port-forward, logs) are passed on to them as HTTP/1.1
/// over a Unix socket:
///
/// | request | path on the socket |
/// |---|---|
/// | `pods/P/exec` | `/exec/NAMESPACE/P/CONTAINER?command=…&stdin=…&stdout=…&stderr=…&tty=…` |
/// | `pods/P/attach` | `/attach/NAMESPACE/P/CONTAINER?stdin=…&stdout=…&stderr=…&tty=…` |
/// | `pods/P/portforward` | `/portForward/NAMESPACE/P?ports=…` |
/// | `pods/P/log` | `/containerLogs/NAMESPACE/P/CONTAINER?follow=…&tailLines=…&…` |
///
/// The first three carry the client's upgrade headers; after a 101 bytes are copied both ways.
/// The agent trusts who opens its socket: access was checked before.
pub trait Nodes: Debug + Send + Sync {
    /// The socket of a node's agent; `None` when no such node is attached to this server.
    fn socket(&self, node: &str) -> Option<PathBuf>;
}

/// A kind of which nodes have objects of their own. Nodes may read and write those, and (whatever
/// roles say) write no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeObjects {
    /// API group.
    pub group: String,
    /// Plural of the resource.
    pub resource: String,
    /// Which objects are a node's own.
    pub name: NodeObjectName,
}

/// How the name of an object says whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeObjectName {
    /// It is the name of the node.
    Exact,
    /// It begins with the name of the node and a dot: `NODE.REST`.
    PrefixDot,
}

impl NodeObjects {
    /// Whether an object of this kind and name belongs to the node.
    pub fn owns(&self, node: &str, name: &str) -> bool {
        match self.name {
            NodeObjectName::Exact => name == node,
            NodeObjectName::PrefixDot => name
                .strip_prefix(node)
                .and_then(|rest| rest.strip_prefix('.'))
                .is_some_and(|rest| !rest.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_an_object_is() {
        let of = |name| NodeObjects { group: String::new(), resource: "x".into(), name };
        let (exact, prefix) = (of(NodeObjectName::Exact), of(NodeObjectName::PrefixDot));
        assert!(exact.owns("one", "one") && !exact.owns("one", "one.policy"));
        assert!(prefix.owns("one", "one.policy") && prefix.owns("one", "one.a.b"));
        for other in ["one", "one.", "onetwo.policy", "two.policy", "two.one.policy"] {
            assert!(!prefix.owns("one", other), "{other}");
        }
    }
}
