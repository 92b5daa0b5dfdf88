//! Projects, users and the catalogue of Keystone.

use serde::{Deserialize, Serialize};

use super::{or_default, request, resource};

/// One project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub domain_id: String,
    #[serde(default)]
    pub parent_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub enabled: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
}

request!(
    /// What a new project is to be.
    NewProject {
        name: String,
        description: String,
        domain_id: String,
        enabled: bool,
        tags: Vec<String>,
    }
);

request!(
    /// What is to be different about a project.
    ProjectChange {
        name: String,
        description: String,
        enabled: bool,
        tags: Vec<String>,
    }
);

resource!(Project (NewProject, ProjectChange) = Identity "/projects" "projects" "project",
name name, revision uncounted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "domain_id" domain_id = |it| Some(it.domain_id.clone()),
]);

/// One user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub domain_id: String,
    #[serde(default)]
    pub default_project_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub enabled: bool,
}

/// What a new user is to be.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewUser {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// What is to be different about a user.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct UserChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

// Written by hand: what is derived would print passwords.
impl std::fmt::Debug for NewUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewUser")
            .field("name", &self.name)
            .field("domain_id", &self.domain_id)
            .field("has_password", &self.password.is_some())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for UserChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserChange")
            .field("name", &self.name)
            .field("has_password", &self.password.is_some())
            .finish_non_exhaustive()
    }
}

resource!(User (NewUser, UserChange) = Identity "/users" "users" "user",
name name, revision uncounted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "domain_id" domain_id = |it| Some(it.domain_id.clone()),
]);

/// One domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub enabled: bool,
}

request!(
    /// What a new domain is to be.
    NewDomain {
        name: String,
        description: String,
        enabled: bool,
    }
);

request!(
    /// What is to be different about a domain.
    DomainChange {
        name: String,
        description: String,
        enabled: bool,
    }
);

resource!(Domain (NewDomain, DomainChange) = Identity "/domains" "domains" "domain",
    name name, revision uncounted,
    trace ["name" name = |it| Some(it.name.clone())]);

/// What a user may be for a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default)]
    pub domain_id: Option<String>,
}

request!(
    /// What a new role is to be.
    NewRole {
        name: String,
        description: String,
    }
);

request!(
    /// What is to be different about a role.
    RoleChange {
        name: String,
        description: String,
    }
);

resource!(Role (NewRole, RoleChange) = Identity "/roles" "roles" "role",
    name name, revision uncounted,
    trace ["name" name = |it| Some(it.name.clone())]);

/// A service in the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredService {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub enabled: bool,
}

request!(
    /// What a new service is to be.
    NewService {
        name: String,
        type_("type"): String,
        description: String,
        enabled: bool,
    }
);

request!(
    /// What is to be different about a service.
    ServiceChange {
        name: String,
        type_("type"): String,
        description: String,
        enabled: bool,
    }
);

resource!(RegisteredService (NewService, ServiceChange) = Identity "/services" "services" "service",
name name, revision uncounted,
trace [
    "name" name = |it| Some(it.name.clone()),
    "type" type_ = |it| Some(it.type_.clone()),
]);

/// Where a service is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub id: String,
    pub service_id: String,
    /// public, internal or admin.
    pub interface: String,
    pub url: String,
    #[serde(default)]
    pub region_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub enabled: bool,
}

request!(
    /// What a new endpoint is to be.
    NewEndpoint {
        service_id: String,
        interface: String,
        url: String,
        region_id: String,
        enabled: bool,
    }
);

request!(
    /// What is to be different about an endpoint.
    EndpointChange {
        service_id: String,
        interface: String,
        url: String,
        region_id: String,
        enabled: bool,
    }
);

// Keystone filters endpoints by service, interface and region, not by URL; what was found is compared.
resource!(Endpoint (NewEndpoint, EndpointChange) = Identity "/endpoints" "endpoints" "endpoint",
name interface, revision uncounted,
trace [
    "service_id" service_id = |it| Some(it.service_id.clone()),
    "interface" interface = |it| Some(it.interface.clone()),
    "region_id" region_id = |it| it.region_id.clone(),
]);

/// A part of a cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default)]
    pub parent_region_id: Option<String>,
}

request!(
    /// What a new region is to be.
    NewRegion {
        id: String,
        description: String,
        parent_region_id: String,
    }
);

request!(
    /// What is to be different about a region.
    RegionChange {
        description: String,
        parent_region_id: Option<String>,
    }
);

// Regions have no filter on the id; what was found is compared.
resource!(Region (NewRegion, RegionChange) = Identity "/regions" "regions" "region",
    name id, revision uncounted,
    trace ["" id = |it| Some(it.id.clone())]);
