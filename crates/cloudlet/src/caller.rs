//! Who calls: what a token says once it is checked.

use jiff::Timestamp;

/// A name in a domain, with its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The id of the domain it is in.
    pub domain_id: String,
    /// The name of that domain.
    pub domain_name: String,
}

/// What a token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project.
    Project(Named),
    /// One domain (`id` and `name` are the domain's own).
    Domain(Named),
    /// The cloud as a whole.
    System,
    /// Only to ask for another token.
    Unscoped,
}

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user: Named,
    /// The scope.
    pub scope: Scope,
    /// Ids and names of the roles in this scope, implied ones included.
    pub roles: Vec<(String, String)>,
    /// How the caller proved who it is (`password`, `token`, `application_credential`).
    pub methods: Vec<String>,
    /// The chain of audit ids: its own first.
    pub audit_ids: Vec<String>,
    /// When the token was issued.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// The application credential it was had with.
    pub application_credential: Option<String>,
}

impl Caller {
    /// The id of the project; `""` without one.
    pub fn project(&self) -> &str {
        match &self.scope {
            Scope::Project(project) => &project.id,
            _ => "",
        }
    }

    /// Whether the caller has the role in its scope.
    pub fn has_role(&self, name: &str) -> bool {
        self.roles.iter().any(|(_, role)| role == name)
    }

    /// Whether the services take the caller for an administrator.
    pub fn is_admin(&self) -> bool {
        self.has_role("admin")
    }

    /// Whether the caller may change things of the project.
    pub fn is_member_of(&self, project: &str) -> bool {
        !project.is_empty() && self.project() == project && self.has_role("member")
    }

    /// Whether the caller may look at things of the project.
    pub fn is_reader_of(&self, project: &str) -> bool {
        !project.is_empty() && self.project() == project && self.has_role("reader")
    }
}
