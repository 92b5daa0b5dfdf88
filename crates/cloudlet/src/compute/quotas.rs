//! Nova's quotas: what a project may have of servers, cores and memory. Nothing is bounded until somebody says so.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::Call;
use super::refusal::Refusal;
use super::servers::SERVER;
use crate::identity::PROJECT;
use crate::object::Object;
use crate::request::Response;
use crate::state::{Kind, State, Tx};

/// The bounds of a project that has some of its own: `{id: project, bounds: {cores: 20}}`.
pub static COMPUTE_QUOTA: Kind = Kind { name: "compute_quota", index: |_, _| {}, blanks: &[] };

/// The names that clients expect.
const NAMES: [&str; 9] = [
    "cores",
    "instances",
    "key_pairs",
    "metadata_items",
    "ram",
    "server_groups",
    "server_group_members",
    "injected_files",
    "injected_file_content_bytes",
];

/// What servers take: how many there are, of how many cores and how much memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub instances: i64,
    pub cores: i64,
    pub ram: i64,
}

impl Taken {
    /// What the servers of a project take.
    pub fn by(state: &State, project: &str) -> Self {
        let servers = state.find(&SERVER, "project_id", project);
        servers.fold(Self::default(), |sum, server| sum.with(&server, 1))
    }

    /// With so many servers like this one.
    pub fn with(self, server: &Object, count: i64) -> Self {
        let of = |name: &str| server.get("flavor").get(name).and_then(Value::as_i64).unwrap_or(0);
        Self {
            instances: self.instances.saturating_add(count),
            cores: self.cores.saturating_add(of("vcpus").saturating_mul(count)),
            ram: self.ram.saturating_add(of("ram").saturating_mul(count)),
        }
    }

    fn get(self, name: &str) -> i64 {
        match name {
            "instances" => self.instances,
            "cores" => self.cores,
            "ram" => self.ram,
            _ => 0,
        }
    }
}

/// The bound of one thing for one project; -1 is none.
pub fn bound(state: &State, project: &str, name: &str) -> i64 {
    let own = state.get(&COMPUTE_QUOTA, project);
    own.and_then(|own| own.get("bounds").get(name)?.as_i64()).unwrap_or(-1)
}

/// Whether the server's project has room for so many of it.
pub fn room(state: &State, server: &Object, count: i64) -> Result<(), Refusal> {
    let project = server.project();
    let taken = Taken::by(state, project);
    let more = Taken::default().with(server, count);
    for name in ["instances", "cores", "ram"] {
        let (bound, used, asked) = (bound(state, project, name), taken.get(name), more.get(name));
        if bound >= 0 && used.saturating_add(asked) > bound {
            return Err(Refusal::new(
                403,
                format!(
                    "Quota exceeded for {name}: Requested {asked}, but already used {used} of {bound} {name}"
                ),
            ));
        }
    }
    Ok(())
}

/// Answers a call to `os-quota-sets`.
pub fn route(tx: &mut Tx<'_>, call: &Call<'_>, parts: &[&str]) -> Result<Response, Refusal> {
    let ok = |set: Value| Ok(Response::json(StatusCode::OK, &json!({"quota_set": set})));
    let may_see = |project: &str| {
        if call.who.project() == project {
            return Ok(());
        }
        call.admin("os_compute_api:os-quota-sets:show")
    };
    match (&call.request.method, parts) {
        (&Method::GET, [project]) => {
            may_see(project)?;
            known(tx, project)?;
            ok(shown(project, |name| bound(tx, project, name).into()))
        }
        (&Method::GET, [project, "defaults"]) => {
            known(tx, project)?;
            ok(shown(project, |_| json!(-1)))
        }
        (&Method::GET, [project, "detail"]) => {
            may_see(project)?;
            known(tx, project)?;
            let taken = Taken::by(tx, project);
            ok(shown(
                project,
                |name| json!({"limit": bound(tx, project, name), "in_use": taken.get(name), "reserved": 0}),
            ))
        }
        (&Method::PUT, [project]) => {
            call.admin("os_compute_api:os-quota-sets:update")?;
            known(tx, project)?;
            let bounds = changed(tx, project, &call.body()?)?;
            tx.put(&COMPUTE_QUOTA, Object::from_value(json!({"id": project, "bounds": bounds})));
            let mut set = shown(project, |name| bound(tx, project, name).into());
            if let Some(set) = set.as_object_mut() {
                set.remove("id");
            }
            ok(set)
        }
        (&Method::DELETE, [project]) => {
            call.admin("os_compute_api:os-quota-sets:delete")?;
            known(tx, project)?;
            if tx.exists(&COMPUTE_QUOTA, project) {
                tx.delete(&COMPUTE_QUOTA, project);
            }
            Ok(Response::empty(StatusCode::ACCEPTED))
        }
        _ => Err(Refusal::gone()),
    }
}

fn known(state: &State, project: &str) -> Result<(), Refusal> {
    if state.exists(&PROJECT, project) {
        return Ok(());
    }
    Err(Refusal::bad(format!("Project ID {project} is not a valid project.")))
}

fn shown(project: &str, of: impl Fn(&str) -> Value) -> Value {
    let mut set: Value = NAMES.into_iter().map(|name| (name, of(name))).collect();
    set["id"] = project.into();
    set
}

/// The bounds of a project with what the body says.
fn changed(state: &State, project: &str, body: &Value) -> Result<Map<String, Value>, Refusal> {
    let Some(given) = body.get("quota_set").and_then(Value::as_object) else {
        return Err(Refusal::bad(
            "Invalid input for field/attribute quota_set. Value: None. 'quota_set' is a required property",
        ));
    };
    let is_forced = given.get("force").is_some_and(|value| *value == true || *value == "True");
    let own = state.get(&COMPUTE_QUOTA, project).unwrap_or_default();
    let mut bounds = own.get("bounds").as_object().cloned().unwrap_or_default();
    let taken = Taken::by(state, project);
    for (name, value) in given.iter().filter(|(name, _)| *name != "force") {
        if !NAMES.contains(&name.as_str()) {
            return Err(Refusal::bad(format!(
                "Invalid input for field/attribute quota_set. Value: {}. Additional properties are not allowed \
                 ('{name}' was unexpected)",
                crate::network::python::repr(&Value::Object(given.clone()))
            )));
        }
        let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
        let number = number.filter(|number| (-1..=i64::from(i32::MAX)).contains(number));
        let Some(number) = number else {
            return Err(Refusal::bad(format!(
                "Invalid input for field/attribute {name}. Value: {}. It is no number from -1 to {}",
                crate::network::python::repr(value),
                i32::MAX
            )));
        };
        if !is_forced && number >= 0 && taken.get(name) > number {
            return Err(Refusal::bad(format!(
                "Quota limit {number} for {name} must be greater than or equal to already used and reserved {}.",
                taken.get(name)
            )));
        }
        bounds.insert(name.clone(), number.into());
    }
    Ok(bounds)
}
