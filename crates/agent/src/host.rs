//! A host that is no Kubernetes node.
