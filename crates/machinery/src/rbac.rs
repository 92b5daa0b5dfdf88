//! Role-based access control: who may do what, as a function of the roles and bindings there are.
//!
//! ```text
//!  Roles, ClusterRoles ─┐
//!                       ├─► Policy ── decide(Attributes) ─► Allow(why) | NoOpinion(why not)
//!  bindings ────────────┘      └───── rules_for(subject, namespace) ─► covers(…)
//! ```
//!
//! Rights only add up: there is no rule that takes one away, so whatever no rule allows is not
//! allowed. A ClusterRole with an `aggregationRule` has the rules of all ClusterRoles its selectors
//! match, and of those they match, and none of its own.

mod cover;
mod policy;
mod rule;

pub use cover::uncovered;
pub use policy::{Policy, RoleKind};
pub use rule::Rule;

/// What somebody wants to do. Texts that do not apply are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// Who.
    pub user: &'a str,
    /// The groups the user belongs to.
    pub groups: &'a [String],
    /// For example `list`; the method in small letters for other paths.
    pub verb: &'a str,
    /// API group; empty for core.
    pub group: &'a str,
    /// Plural, for example `pods`.
    pub resource: &'a str,
    /// For example `status`.
    pub subresource: &'a str,
    /// Name of the object; empty for collections and on create.
    pub name: &'a str,
    /// Namespace; empty for the whole cluster.
    pub namespace: &'a str,
    /// The path, when the request is not about a resource.
    pub path: Option<&'a str>,
}

/// What an authorizer says. None of ours denies for good: another may still allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, and why.
    Allow(String),
    /// Nothing here allows it; the text, if any, says what got in the way.
    NoOpinion(String),
}

impl Decision {
    /// Whether it is a yes.
    pub fn allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    /// Why, or why not; may be empty.
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow(reason) | Self::NoOpinion(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests;
