//! From a CRD to the resource it defines.

use std::sync::Arc;

use landbridge_cel::CompiledRules;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::hooks::{Hooks, NoHooks};
use landbridge_machinery::object;
use landbridge_machinery::schema::Schema;
use landbridge_machinery::table::{Column, Columns, JsonPath};
use serde_json::Value;

use crate::discovery::compare_versions;
use crate::openapi;
use crate::registry::{Resource, ScalePaths, Strategy, Version};

/// The kind a CRD defines.
pub fn group_kind(crd: &Value) -> GroupKind {
    GroupKind::new(text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]))
}

/// Whether the resource was made from this state of the CRD.
pub fn is_current(resource: &Resource, crd: &Value) -> bool {
    !resource.terminating
        && resource.crd_uid.as_deref() == Some(object::uid(crd))
        && resource.crd_generation == object::generation(crd)
}

/// Builds the resource, or says what is wrong with the CRD.
pub fn resource(
    crd: &Value,
    hooks: Option<Arc<dyn Hooks>>,
    revision: u64,
) -> Result<Resource, String> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let group = text(&spec["group"]).to_owned();
    let kind = text(&names["kind"]).to_owned();
    let plural = text(&names["plural"]).to_owned();
    let mut versions = Vec::new();
    for declared in spec["versions"].as_array().into_iter().flatten() {
        versions.push((
            version(&group, &kind, declared, hooks.as_deref())?,
            declared["storage"] == true,
        ));
    }
    versions.sort_by(|a, b| compare_versions(&a.0.name, &b.0.name));
    let storage = versions.iter().position(|(_, storage)| *storage).ok_or("no storage version")?;
    Ok(Resource {
        storage_prefix: format!("/{group}/{plural}/"),
        singular: or(text(&names["singular"]), &kind.to_lowercase()),
        list_kind: or(text(&names["listKind"]), &format!("{kind}List")),
        short_names: strings(&names["shortNames"]),
        categories: strings(&names["categories"]),
        namespaced: spec["scope"] != "Cluster",
        versions: versions.into_iter().map(|(version, _)| version).collect(),
        storage,
        strategy: Strategy::CUSTOM,
        hooks: hooks.unwrap_or_else(|| Arc::new(NoHooks)),
        crd_uid: Some(object::uid(crd).to_owned()),
        crd_generation: object::generation(crd),
        terminating: false,
        schema_revision: revision,
        group,
        plural,
        kind,
    })
}

/// A schema and the rules in it.
type Compiled = (Arc<Schema>, Option<Arc<CompiledRules>>);

/// Compiles a schema with its rules, or says all that is wrong with them.
pub fn compile(schema: &Value, path: &FieldPath) -> Result<Compiled, Vec<FieldError>> {
    let schema = Arc::new(Schema::structural(schema, path)?);
    let rules = CompiledRules::compile(&schema, path)?;
    Ok((schema, rules.map(Arc::new)))
}

fn version(
    group: &str,
    kind: &str,
    declared: &Value,
    hooks: Option<&dyn Hooks>,
) -> Result<Version, String> {
    let name = text(&declared["name"]).to_owned();
    let raw = Arc::new(declared["schema"]["openAPIV3Schema"].clone());
    let (schema, rules) = compile(&raw, &FieldPath::new("openAPIV3Schema"))
        .map_err(|errors| landbridge_machinery::field::join(&errors))?;
    let scale = &declared["subresources"]["scale"];
    let deprecation = (declared["deprecated"] == true).then(|| {
        or(text(&declared["deprecationWarning"]), &format!("{group}/{name} {kind} is deprecated"))
    });
    let (of_group, of_version, of_kind) = (group.to_owned(), name.clone(), kind.to_owned());
    Ok(Version {
        served: declared["served"] == true,
        schema,
        rules,
        openapi: Arc::new(move || openapi::crd_schemas(&of_group, &of_version, &of_kind, &raw)),
        status: declared["subresources"]["status"].is_object(),
        scale: scale.is_object().then(|| ScalePaths {
            spec_replicas: text(&scale["specReplicasPath"]).to_owned(),
            status_replicas: text(&scale["statusReplicasPath"]).to_owned(),
            label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
        }),
        columns: columns(declared, hooks, &name),
        selectable: declared["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        deprecation,
        name,
    })
}

fn columns(declared: &Value, hooks: Option<&dyn Hooks>, version: &str) -> Columns {
    if let Some(columns) = hooks.and_then(|hooks| hooks.columns(version)) {
        return columns;
    }
    let list = declared["additionalPrinterColumns"].as_array().into_iter().flatten();
    let declared = list.filter_map(|column| {
        // Admission has refused broken paths; one that slipped through loses its column only.
        let path = JsonPath::parse(text(&column["jsonPath"])).ok()?;
        let described = Column {
            name: text(&column["name"]).to_owned(),
            kind: text(&column["type"]).to_owned(),
            format: text(&column["format"]).to_owned(),
            description: text(&column["description"]).to_owned(),
            priority: column["priority"].as_i64().and_then(|p| i32::try_from(p).ok()).unwrap_or(0),
        };
        Some((described, path))
    });
    Columns::Declared(declared.collect())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn or(text: &str, fallback: &str) -> String {
    if text.is_empty() { fallback.to_owned() } else { text.to_owned() }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
