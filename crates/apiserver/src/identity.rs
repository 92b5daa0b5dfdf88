//! Who makes a request.

/// A user and the groups it belongs to, as a client certificate or a socket says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// For example `kubernetes-admin` or `system:node:worker-0`.
    pub user: String,
    /// For example `system:masters`.
    pub groups: Vec<String>,
}

impl Identity {
    /// The administrator of this machine.
    pub fn admin() -> Self {
        Self { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] }
    }

    /// The server's own controllers.
    pub fn system(component: &str) -> Self {
        Self { user: format!("system:{component}"), groups: vec!["system:masters".into()] }
    }
}
