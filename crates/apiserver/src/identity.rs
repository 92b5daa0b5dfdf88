//! Who makes a request.

use std::collections::BTreeMap;

/// A user and the groups it belongs to, as a client certificate, a token or a socket says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// For example `kubernetes-admin` or `system:node:worker-0`.
    pub user: String,
    /// For example `system:masters`.
    pub groups: Vec<String>,
    /// Tells namesakes apart; empty where there is none. Service accounts have one.
    pub uid: String,
    /// More about the user: a token says which pod it was given to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// A user and its groups.
    pub fn new(user: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { user: user.into(), groups, ..Self::default() }
    }

    /// The administrator of this machine.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", &["system:masters"]).authenticated()
    }

    /// The server's own controllers.
    pub fn system(component: &str) -> Self {
        Self::new(format!("system:{component}"), &["system:masters"]).authenticated()
    }

    /// The same, as a member of the group of all who proved who they are.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        if !self.has_group("system:authenticated") {
            self.groups.push("system:authenticated".to_owned());
        }
        self
    }

    /// Whether it belongs to a group.
    pub fn has_group(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
