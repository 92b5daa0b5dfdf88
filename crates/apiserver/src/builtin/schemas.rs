//! OpenAPI definitions of the built-in kinds.
//!
//! All kinds share most of their definitions, so one generator makes them all at once; a kind's
//! schema is compiled from the shared map, which is not kept. Definitions are kept in the form the compiler reads
//! (`$ref` with siblings) and published in upstream's form (`allOf` around a `$ref` that has
//! siblings, because OpenAPI 3.0 ignores what stands beside one).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use k8s_openapi::api::{
    admissionregistration, apps, authentication, authorization, autoscaling, batch, coordination,
    core, discovery, events, networking, rbac, scheduling,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use landbridge_machinery::schema::Schema;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{defaults, entries, merge_keys};
use crate::registry::OpenApiSchemas;

/// Definitions by name.
pub type Definitions = BTreeMap<String, Value>;

const PREFIX: &str = "#/components/schemas/";
const API: &str = "io.k8s.api.";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Roots of the definitions any document may refer to.
const META_ROOTS: &[&str] = &[
    "meta.v1.ObjectMeta",
    "meta.v1.ListMeta",
    "meta.v1.OwnerReference",
    "meta.v1.ManagedFieldsEntry",
    "meta.v1.Time",
    "meta.v1.MicroTime",
    "meta.v1.Status",
    "meta.v1.StatusDetails",
    "meta.v1.StatusCause",
    "meta.v1.DeleteOptions",
    "meta.v1.Preconditions",
    "meta.v1.Patch",
    "meta.v1.WatchEvent",
    "autoscaling.v1.Scale",
];

/// The definitions, for as long as somebody has a use for them.
static SHARED: Mutex<Weak<Definitions>> = Mutex::new(Weak::new());

fn shape(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let is_prose = |key: &String, value: &Value| key == "description" && value.is_string();
            let kept = map.iter().filter(|(key, value)| !is_prose(key, value));
            kept.map(|(key, value)| (key.clone(), shape(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(shape).collect(),
        other => other.clone(),
    }
}

/// All definitions of all built-in kinds, with defaults and merge keys.
///
/// They are several MiB of text and trees, and needed at start and for the rare reader of OpenAPI
/// documents only. So they are made when asked for and go with the last one who holds them; whoever
/// needs them more than once in a row should hold on to them meanwhile.
pub fn definitions() -> Arc<Definitions> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let made = Arc::new(generate());
        *shared = Arc::downgrade(&made);
        made
    })
}

/// The definitions for tests, which may borrow from them.
#[cfg(test)]
pub fn all() -> &'static Definitions {
    static ALL: std::sync::LazyLock<Arc<Definitions>> = std::sync::LazyLock::new(definitions);
    &ALL
}

/// The definitions without their prose, to compile schemas from. Prose makes every reference to a
/// definition differ from the next, so that the compiler would have to copy what they share.
pub struct Shapes(Definitions);

impl Shapes {
    /// Of all definitions.
    pub fn new() -> Self {
        let shaped =
            definitions().iter().map(|(name, prose)| (name.clone(), shape(prose))).collect();
        Self(shaped)
    }

    /// Compiles the schema of a kind.
    pub fn compile(&self, root: &str) -> Result<Schema, String> {
        Schema::from_definitions(root, &self.0)
    }
}

/// The full name of a definition: `core.v1.Pod` stands for `io.k8s.api.core.v1.Pod`; `meta.` and
/// `apiextensions.` stand for their own long prefixes.
pub fn full_name(short: &str) -> String {
    for (start, prefix) in [("meta.v1.", META), ("apiextensions.v1.", EXTENSIONS)] {
        if let Some(rest) = short.strip_prefix(start) {
            return format!("{prefix}{rest}");
        }
    }
    if short.starts_with("io.k8s.") { short.to_owned() } else { format!("{API}{short}") }
}

/// What the OpenAPI document says about a kind: its definition, that of its list, and all they
/// refer to.
pub fn openapi(root: &str) -> OpenApiSchemas {
    let all = definitions();
    let mut definitions = closure(&all, &[root.to_owned(), full_name("meta.v1.ListMeta")]);
    if let Some(list) = list_of(&all, root) {
        definitions.insert(format!("{root}List"), list);
    }
    OpenApiSchemas { root: root.to_owned(), definitions }
}

/// Definitions every document may refer to.
pub fn meta_definitions() -> Definitions {
    let roots: Vec<String> = META_ROOTS.iter().map(|short| full_name(short)).collect();
    closure(&definitions(), &roots)
}

/// The published form of these definitions and of all they refer to.
fn closure(all: &Definitions, roots: &[String]) -> Definitions {
    let mut found = Definitions::new();
    let mut todo = roots.to_vec();
    while let Some(name) = todo.pop() {
        let Some(definition) = all.get(&name).filter(|_| !found.contains_key(&name)) else {
            continue;
        };
        let published = publish(&name, definition);
        collect_refs(&published, &mut todo);
        found.insert(name, published);
    }
    found
}

fn collect_refs(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                into.extend(name.strip_prefix(PREFIX).map(str::to_owned));
            }
            map.values().for_each(|child| collect_refs(child, into));
        }
        Value::Array(list) => list.iter().for_each(|child| collect_refs(child, into)),
        _ => {}
    }
}

/// The form clients read.
fn publish(name: &str, definition: &Value) -> Value {
    let mut published = definition.clone();
    wrap_refs(&mut published);
    let Some(map) = published.as_object_mut() else { return published };
    match name {
        INT_OR_STRING => {
            map.remove("x-kubernetes-int-or-string");
            map.insert("format".into(), "int-or-string".into());
            map.insert("oneOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
        }
        QUANTITY => {
            map.remove(PRESERVE);
            map.insert("oneOf".into(), json!([{"type": "string"}, {"type": "number"}]));
        }
        _ => {
            map.remove(PRESERVE);
        }
    }
    published
}

/// OpenAPI 3.0 ignores what stands beside a `$ref`; upstream puts such a `$ref` into an `allOf`.
fn wrap_refs(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(wrap_refs);
            if map.len() > 1
                && map.get("$ref").is_some_and(Value::is_string)
                && let Some(target) = map.remove("$ref")
            {
                map.insert("allOf".into(), json!([{ "$ref": target }]));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(wrap_refs),
        _ => {}
    }
}

fn list_of(all: &Definitions, root: &str) -> Option<Value> {
    let gvk = all.get(root)?["x-kubernetes-group-version-kind"][0].clone();
    let kind = gvk["kind"].as_str()?;
    let property = |name: &str| all[root]["properties"][name].clone();
    Some(json!({
        "description": format!("{kind}List is a list of {kind} objects."),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": property("apiVersion"),
            "kind": property("kind"),
            "metadata": {"$ref": format!("{PREFIX}{META}ListMeta")},
            "items": {
                "description": format!("items is the list of {kind} objects."),
                "type": "array",
                "items": {"$ref": format!("{PREFIX}{root}")},
            },
        },
        "x-kubernetes-group-version-kind": [
            {"group": gvk["group"], "version": gvk["version"], "kind": format!("{kind}List")},
        ],
    }))
}

fn generate() -> Definitions {
    let mut definitions = typed_definitions();
    definitions.insert(WATCH_EVENT.into(), watch_event());
    loosen(&mut definitions);
    name_kinds(&mut definitions);
    defaults::inject(&mut definitions);
    merge_keys::inject(&mut definitions);
    definitions
}

fn typed_definitions() -> Definitions {
    macro_rules! generate {
        ($generator:ident, $($kind:ty),+ $(,)?) => { $( $generator.subschema_for::<$kind>(); )+ };
    }
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = SchemaGenerator::new(settings);
    generate!(
        generator,
        core::v1::Namespace,
        core::v1::ConfigMap,
        core::v1::Secret,
        core::v1::ServiceAccount,
        core::v1::Service,
        core::v1::Endpoints,
        core::v1::Node,
        core::v1::Pod,
        core::v1::Binding,
        core::v1::Event,
        events::v1::Event,
        coordination::v1::Lease,
        discovery::v1::EndpointSlice,
        apps::v1::Deployment,
        apps::v1::ReplicaSet,
        apps::v1::DaemonSet,
        apps::v1::StatefulSet,
        apps::v1::ControllerRevision,
        batch::v1::Job,
        rbac::v1::Role,
        rbac::v1::RoleBinding,
        rbac::v1::ClusterRole,
        rbac::v1::ClusterRoleBinding,
        networking::v1::NetworkPolicy,
        scheduling::v1::PriorityClass,
        admissionregistration::v1::ValidatingWebhookConfiguration,
        admissionregistration::v1::MutatingWebhookConfiguration,
        apiextensions::v1::CustomResourceDefinition,
        authentication::v1::SelfSubjectReview,
        authentication::v1::TokenReview,
        authorization::v1::LocalSubjectAccessReview,
        authorization::v1::SelfSubjectAccessReview,
        authorization::v1::SelfSubjectRulesReview,
        authorization::v1::SubjectAccessReview,
        autoscaling::v1::Scale,
        meta::v1::ListMeta,
        meta::v1::Status,
        meta::v1::DeleteOptions,
        meta::v1::Patch,
        RawExtension,
    );
    generator.take_definitions(false).into_iter().collect()
}

/// Shapes the type system cannot say: any JSON, numbers or texts, schemas or booleans.
fn loosen(definitions: &mut Definitions) {
    let anything = ["JSON", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrArray"]
        .iter()
        .chain(&["JSONSchemaPropsOrStringArray"])
        .map(|name| format!("{EXTENSIONS}{name}"))
        .chain([QUANTITY.to_owned()]);
    for name in anything {
        if let Some(map) = definitions.get_mut(&name).and_then(Value::as_object_mut) {
            for keyword in ["type", "oneOf", "x-kubernetes-int-or-string"] {
                map.remove(keyword);
            }
            map.insert(PRESERVE.into(), true.into());
        }
    }
    for name in [RAW.to_owned(), format!("{META}FieldsV1")] {
        if let Some(map) = definitions.get_mut(&name).and_then(Value::as_object_mut) {
            map.insert(PRESERVE.into(), true.into());
        }
    }
}

/// Says which definition is which kind; kubectl finds kinds by it.
fn name_kinds(definitions: &mut Definitions) {
    let served = entries().map(|entry| (full_name(entry.definition), entry.group, entry.kind));
    let others = [
        (full_name("meta.v1.Status"), "", "Status"),
        (full_name("meta.v1.DeleteOptions"), "", "DeleteOptions"),
        (full_name("meta.v1.WatchEvent"), "", "WatchEvent"),
        (full_name("autoscaling.v1.Scale"), "autoscaling", "Scale"),
    ];
    for (name, group, kind) in served.chain(others) {
        if let Some(map) = definitions.get_mut(&name).and_then(Value::as_object_mut) {
            let gvk = json!([{"group": group, "version": "v1", "kind": kind}]);
            map.insert("x-kubernetes-group-version-kind".into(), gvk);
        }
    }
}

fn watch_event() -> Value {
    json!({
        "description": "Event represents a single event to a watched resource.",
        "type": "object",
        "required": ["type", "object"],
        "properties": {
            "type": {"type": "string"},
            "object": {"$ref": format!("{PREFIX}{RAW}")},
        },
    })
}

/// The definition a schema refers to.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix(PREFIX)
}

/// The schema of one field of a definition, to write annotations into.
pub(super) fn property<'a>(
    definitions: &'a mut Definitions,
    definition: &str,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    definitions
        .get_mut(&full_name(definition))?
        .get_mut("properties")?
        .get_mut(field)?
        .as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_again_they_are_the_same() {
        assert!(generate() == *all(), "hashes of documents must not change");
    }

    #[test]
    fn they_are_shared_while_somebody_holds_them() {
        let held = definitions();
        assert!(Arc::ptr_eq(&held, &definitions()));
    }
}
