//! What is there in Neutron, as far as it concerns one Octavia.

use std::collections::BTreeMap;

use serde_json::Value;

/// One object, as Neutron gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thing(Value);

impl Thing {
    /// Takes an object in.
    pub fn new(value: Value) -> Self {
        Self(value)
    }

    /// A text of it; empty when there is none.
    pub fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    /// A field; `None` when this Neutron does not have it, or does not show it.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// Its project.
    pub fn project(&self) -> &str {
        let own = self.text("project_id");
        if own.is_empty() { self.text("tenant_id") } else { own }
    }

    /// Its tags.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.list("tags").filter_map(Value::as_str)
    }

    /// The elements of a list.
    pub fn list(&self, field: &str) -> impl Iterator<Item = &Value> {
        self.0[field].as_array().into_iter().flatten()
    }

    /// Of two that may both be meant, the older one is.
    pub fn age(&self) -> (&str, &str) {
        (self.text("created_at"), self.id())
    }
}

/// Everything that was looked at, in one go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The project of amphorae.
    pub project: Option<String>,
    /// The project of provider network and router.
    pub admin: Option<String>,
    /// Networks with one of the names, or one of our tags.
    pub networks: Vec<Thing>,
    /// All subnets of those.
    pub subnets: Vec<Thing>,
    /// Ports of those with one of the names, or noted.
    pub ports: Vec<Thing>,
    /// Routers with the name, or noted.
    pub routers: Vec<Thing>,
    /// Security groups with one of the names, or one of our tags, with their rules.
    pub groups: Vec<Thing>,
    /// Who may use the provider network.
    pub policies: Vec<Thing>,
    /// How many of what the project of amphorae may have.
    pub quota: Option<Thing>,
    /// Some of the ports on networks, by network: looked at only where a network is to go.
    pub users: BTreeMap<String, Vec<Thing>>,
}
