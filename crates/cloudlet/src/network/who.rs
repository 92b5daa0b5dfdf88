//! Neutron's default policy, as the few groups of people it names.

use crate::caller::Caller;
use crate::object::Object;
use crate::state::State;

/// Who may do a thing to an object.
#[derive(Clone, Copy)]
pub enum Who {
    /// Whoever may do what it is part of.
    Anybody,
    /// An administrator, or a reader of the object's project.
    Reader,
    /// An administrator, or a member of the object's project.
    Member,
    /// An administrator, or a manager of the object's project.
    Manager,
    /// An administrator.
    Admin,
    /// An administrator or another service (role `service`).
    AdminOrService,
    /// Another service only.
    Service,
    /// Anything else: a function of state, caller and object.
    Rule(fn(&State, &Caller, &Object) -> bool),
}

impl Who {
    /// Whether the caller is one of them.
    pub fn includes(self, state: &State, who: &Caller, object: &Object) -> bool {
        let of = object.project();
        match self {
            Self::Anybody => true,
            Self::Reader => who.is_admin() || who.is_reader_of(of),
            Self::Member => who.is_admin() || who.is_member_of(of),
            Self::Manager => who.is_admin() || (who.project() == of && who.has_role("manager")),
            Self::Admin => who.is_admin(),
            Self::AdminOrService => who.is_admin() || who.has_role("service"),
            Self::Service => who.has_role("service"),
            Self::Rule(rule) => rule(state, who, object),
        }
    }

    /// Whether there is a rule at all.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Anybody)
    }
}

impl std::fmt::Debug for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Anybody => "Anybody",
            Self::Reader => "Reader",
            Self::Member => "Member",
            Self::Manager => "Manager",
            Self::Admin => "Admin",
            Self::AdminOrService => "AdminOrService",
            Self::Service => "Service",
            Self::Rule(_) => "Rule",
        })
    }
}
