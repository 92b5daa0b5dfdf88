//! The tables of what Keystone keeps.

use serde_json::{Value, json};

use super::entity::{Entity, Field, Is};
use super::refusal::Refusal;
use super::{assign, credentials, members, password, show, token};
use crate::object::Object;
use crate::state::{Blank, Kind, State, Tx};

const BLANKS: &[(&str, Blank)] = &[
    ("description", Blank::Text),
    ("enabled", Blank::True),
    ("tags", Blank::List),
    ("options", Blank::Map),
];
/// Those of kinds that have none of the usual fields.
const NO_BLANKS: &[(&str, Blank)] = &[];

fn by_name(object: &Object, keys: &mut crate::state::Keys) {
    keys.add(
        "name",
        format!("{}/{}", object.text("domain_id"), object.text("name").to_lowercase()),
    );
    keys.add("domain_id", object.text("domain_id"));
}

pub static DOMAIN: Kind = Kind { name: "domain", index: by_name, blanks: BLANKS };
pub static PROJECT: Kind = Kind { name: "project", index: by_name, blanks: BLANKS };
pub static USER: Kind = Kind {
    name: "user",
    index: by_name,
    blanks: &[
        ("enabled", Blank::True),
        ("options", Blank::Map),
        ("password_expires_at", Blank::Null),
    ],
};
pub static GROUP: Kind = Kind { name: "group", index: by_name, blanks: NO_BLANKS };
pub static ROLE: Kind = Kind {
    name: "role",
    index: |role, keys| keys.add("name", role.text("name").to_lowercase()),
    blanks: &[("options", Blank::Map), ("domain_id", Blank::Null), ("implies", Blank::List)],
};
pub static SERVICE: Kind = Kind {
    name: "service",
    index: |service, keys| keys.add("type", service.text("type")),
    blanks: &[("enabled", Blank::True)],
};
pub static ENDPOINT: Kind = Kind {
    name: "endpoint",
    index: |endpoint, keys| {
        keys.add("service_id", endpoint.text("service_id"));
        keys.add("region_id", endpoint.text("region_id"));
    },
    blanks: &[("enabled", Blank::True)],
};
pub static REGION: Kind = Kind {
    name: "region",
    index: |region, keys| keys.add("parent_region_id", region.text("parent_region_id")),
    blanks: &[("parent_region_id", Blank::Null)],
};

fn yes() -> Value {
    true.into()
}
fn no() -> Value {
    false.into()
}
fn nothing() -> Value {
    Value::Null
}
fn empty() -> Value {
    "".into()
}
fn none() -> Value {
    json!([])
}
fn map() -> Value {
    json!({})
}

/// All of them, by their name in paths.
pub static ENTITIES: &[&Entity] =
    &[&DOMAINS, &PROJECTS, &USERS, &GROUPS, &ROLES, &SERVICES, &ENDPOINTS, &REGIONS];

pub static DOMAINS: Entity = Entity {
    kind: &DOMAIN,
    single: "domain",
    plural: "domains",
    fields: &[
        Field::required("name", Is::Name),
        Field::default("description", Is::Text, empty),
        Field::default("enabled", Is::Flag, yes),
        Field::default("tags", Is::Texts, none),
        Field::default("options", Is::Map, map),
    ],
    hidden: &[],
    create: |tx, domain| unique(tx, &DOMAIN, "domain", domain, None),
    update: |tx, before, domain| unique(tx, &DOMAIN, "domain", domain, Some(before)),
    delete: |tx, domain| {
        if domain.flag("enabled") {
            return Err(Refusal::not_now(
                "Cannot delete a domain that is enabled, please disable it first.",
            ));
        }
        for (kind, index) in [(&PROJECT, "project"), (&USER, "user"), (&GROUP, "group")] {
            let held: Vec<Object> = tx.find(kind, "domain_id", domain.id()).collect();
            for object in held {
                let entity = ENTITIES.iter().find(|entity| entity.single == index);
                if let Some(entity) = entity {
                    (entity.delete)(tx, &object)?;
                }
                tx.delete(kind, object.id());
            }
        }
        assign::forget(tx, "target", &format!("domain/{}", domain.id()));
        Ok(())
    },
};

pub static PROJECTS: Entity = Entity {
    kind: &PROJECT,
    single: "project",
    plural: "projects",
    fields: &[
        Field::required("name", Is::Name),
        Field::default("domain_id", Is::Text, default_domain).fixed(),
        Field::default("description", Is::Text, empty),
        Field::default("enabled", Is::Flag, yes),
        Field::default("parent_id", Is::TextOrNull, nothing).fixed(),
        Field::default("is_domain", Is::Flag, no).fixed(),
        Field::default("tags", Is::Texts, none),
        Field::default("options", Is::Map, map),
    ],
    hidden: &[],
    create: |tx, mut project| {
        in_domain(tx, &project)?;
        if project.get("parent_id").is_null() {
            project.set("parent_id", project.get("domain_id").clone());
        } else if !tx.exists(&PROJECT, project.text("parent_id"))
            && project.text("parent_id") != project.text("domain_id")
        {
            return Err(Refusal::missing("project", project.text("parent_id")));
        }
        unique(tx, &PROJECT, "project", project, None)
    },
    update: |tx, before, project| unique(tx, &PROJECT, "project", project, Some(before)),
    delete: |tx, project| {
        let id = project.id();
        if tx.all(&PROJECT).any(|other| other.text("parent_id") == id) {
            return Err(Refusal::not_now(format!(
                "Cannot delete project {id} since it is not a leaf in the hierarchy."
            )));
        }
        assign::forget(tx, "target", &format!("project/{id}"));
        credentials::forget(tx, "project_id", id);
        Ok(())
    },
};

pub static USERS: Entity = Entity {
    kind: &USER,
    single: "user",
    plural: "users",
    fields: &[
        Field::required("name", Is::Name),
        Field::default("domain_id", Is::Text, default_domain).fixed(),
        Field::optional("password", Is::TextOrNull),
        Field::default("enabled", Is::Flag, yes),
        Field::optional("default_project_id", Is::TextOrNull),
        Field::optional("description", Is::TextOrNull),
        Field::optional("email", Is::TextOrNull),
        Field::default("options", Is::Map, map),
    ],
    hidden: &["password"],
    create: |tx, user| {
        in_domain(tx, &user)?;
        let mut user = unique(tx, &USER, "user", user, None)?;
        user.set("password_expires_at", Value::Null);
        Ok(hashed(tx, user))
    },
    update: |tx, before, user| {
        let user = unique(tx, &USER, "user", user, Some(before))?;
        if user.get("password") == before.get("password") {
            return Ok(user);
        }
        token::revoke_all(tx, before.id());
        Ok(hashed(tx, user))
    },
    delete: |tx, user| {
        assign::forget(tx, "actor", &format!("user/{}", user.id()));
        members::forget(tx, "user", user.id());
        credentials::forget(tx, "user_id", user.id());
        Ok(())
    },
};

pub static GROUPS: Entity = Entity {
    kind: &GROUP,
    single: "group",
    plural: "groups",
    fields: &[
        Field::required("name", Is::Name),
        Field::default("domain_id", Is::Text, default_domain).fixed(),
        Field::default("description", Is::Text, empty),
    ],
    hidden: &[],
    create: |tx, group| {
        in_domain(tx, &group)?;
        unique(tx, &GROUP, "group", group, None)
    },
    update: |tx, before, group| unique(tx, &GROUP, "group", group, Some(before)),
    delete: |tx, group| {
        assign::forget(tx, "actor", &format!("group/{}", group.id()));
        members::forget(tx, "group", group.id());
        Ok(())
    },
};

pub static ROLES: Entity = Entity {
    kind: &ROLE,
    single: "role",
    plural: "roles",
    fields: &[
        Field::required("name", Is::Name),
        Field::default("description", Is::TextOrNull, nothing),
        Field::default("domain_id", Is::TextOrNull, nothing).fixed(),
        Field::default("options", Is::Map, map),
    ],
    hidden: &["implies"],
    create: |tx, role| unique(tx, &ROLE, "role", role, None),
    update: |tx, before, role| unique(tx, &ROLE, "role", role, Some(before)),
    delete: |tx, role| {
        assign::forget(tx, "role", role.id());
        Ok(())
    },
};

pub static SERVICES: Entity = Entity {
    kind: &SERVICE,
    single: "service",
    plural: "services",
    fields: &[
        Field::required("type", Is::Name),
        Field::default("name", Is::Text, empty),
        Field::optional("description", Is::TextOrNull),
        Field::default("enabled", Is::Flag, yes),
    ],
    hidden: &[],
    create: |_, service| Ok(service),
    update: |_, _, service| Ok(service),
    delete: |tx, service| {
        let endpoints: Vec<Object> = tx.find(&ENDPOINT, "service_id", service.id()).collect();
        for endpoint in endpoints {
            tx.delete(&ENDPOINT, endpoint.id());
        }
        Ok(())
    },
};

pub static ENDPOINTS: Entity = Entity {
    kind: &ENDPOINT,
    single: "endpoint",
    plural: "endpoints",
    fields: &[
        Field::required("service_id", Is::Name),
        Field::required("interface", Is::Name),
        Field::required("url", Is::Name),
        Field::default("region_id", Is::TextOrNull, nothing),
        Field::default("region", Is::TextOrNull, nothing),
        Field::optional("name", Is::TextOrNull),
        Field::default("enabled", Is::Flag, yes),
    ],
    hidden: &[],
    create: endpoint,
    update: |tx, before, mut changed| {
        // Both names of the region are one: what was changed wins.
        if changed.get("region_id") == before.get("region_id") {
            changed.set("region_id", changed.get("region").clone());
        }
        changed.set("region", Value::Null);
        endpoint(tx, changed)
    },
    delete: |_, _| Ok(()),
};

pub static REGIONS: Entity = Entity {
    kind: &REGION,
    single: "region",
    plural: "regions",
    fields: &[
        Field::default("description", Is::Text, empty),
        Field::default("parent_region_id", Is::TextOrNull, nothing),
    ],
    hidden: &[],
    create: |tx, region| {
        if tx.exists(&REGION, region.id()) {
            return Err(Refusal::conflict("region", format!("Duplicate ID, {}.", region.id())));
        }
        if let Some(parent) =
            region.some_text("parent_region_id").filter(|p| !tx.exists(&REGION, p))
        {
            return Err(Refusal::missing("region", parent));
        }
        Ok(region)
    },
    update: |_, _, region| Ok(region),
    delete: |tx, region| {
        if tx.find_ids(&ENDPOINT, "region_id", region.id()).next().is_some() {
            return Err(Refusal::not_now(format!(
                "Unable to delete region {} because it or its child regions have associated \
                 endpoints.",
                region.id()
            )));
        }
        Ok(())
    },
};

fn default_domain() -> Value {
    "default".into()
}

fn in_domain(state: &State, object: &Object) -> Result<(), Refusal> {
    let domain = object.text("domain_id");
    if state.exists(&DOMAIN, domain) {
        return Ok(());
    }
    Err(Refusal::bad(format!("Could not find domain: {domain}.")))
}

/// No other of the kind has the name in the domain.
fn unique(
    tx: &Tx<'_>,
    kind: &'static Kind,
    what: &str,
    object: Object,
    before: Option<&Object>,
) -> Result<Object, Refusal> {
    let name = object.text("name").to_lowercase();
    let key = if what == "role" { name } else { format!("{}/{name}", object.text("domain_id")) };
    let own = before.map(Object::id).unwrap_or_default();
    if tx.find_ids(kind, "name", &key).all(|id| id == own) {
        return Ok(object);
    }
    let name = object.text("name");
    Err(match what {
        "project" => Refusal::conflict(
            what,
            format!(
                "it is not permitted to have two projects with either the same name or same id in the \
                 same domain: name is {name}, project id {}",
                object.id()
            ),
        ),
        "role" => Refusal::conflict(what, format!("Duplicate entry found with name {name}")),
        _ => Refusal::conflict(
            what,
            format!(
                "Duplicate entry found with name {name} at domain ID {}",
                object.text("domain_id")
            ),
        ),
    })
}

fn hashed(tx: &mut Tx<'_>, mut user: Object) -> Object {
    match user.get("password").as_str().map(str::to_owned) {
        Some(plain) => {
            let rounds = tx.config.password_rounds;
            user.set("password", password::hash(tx.chance, rounds, &plain));
        }
        None => {
            user.remove("password");
        }
    }
    user
}

fn endpoint(tx: &mut Tx<'_>, mut endpoint: Object) -> Result<Object, Refusal> {
    if !tx.exists(&SERVICE, endpoint.text("service_id")) {
        return Err(Refusal::expecting("endpoint service_id", "service table"));
    }
    let interface = endpoint.text("interface");
    if !["public", "internal", "admin"].contains(&interface) {
        return Err(Refusal::bad(format!(
            "Invalid input for field/attribute interface. Value: {interface}. '{interface}' is not one of ['admin', 'internal', \
             'public']"
        )));
    }
    let url = endpoint.text("url");
    if !show::is_template(url) {
        let message = format!("Cannot create an endpoint with an invalid URL: {url}.");
        return Err(Refusal::bad(message));
    }
    // `region` is how older clients say it, and makes the region where there is none.
    let old = endpoint.some_text("region").map(str::to_owned);
    let region = endpoint.some_text("region_id").map(str::to_owned).or(old.clone());
    if let Some(region) = &region
        && !tx.exists(&REGION, region)
    {
        if old.is_none() {
            return Err(Refusal::expecting("endpoint region_id", "region table"));
        }
        let made = json!({"id": region, "description": "", "parent_region_id": null});
        tx.put(&REGION, Object::from_value(made));
    }
    endpoint.set("region_id", region.clone());
    endpoint.set("region", region);
    Ok(endpoint)
}
