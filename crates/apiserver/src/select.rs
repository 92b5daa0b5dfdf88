//! Which objects a list, a watch or a deletecollection is about.

use std::borrow::Cow;
use std::sync::Arc;

use landbridge_machinery::selector::{FieldSelector, LabelSelector, field_value};
use landbridge_machinery::status::{ApiError, ApiResult};
use serde_json::Value;

use crate::builtin::fields;
use crate::convert;
use crate::meta::Entry;
use crate::path::Target;
use crate::query::Query;
use crate::registry::{Resource, Version};

/// A set of objects of one resource.
#[derive(Clone)]
pub struct Selection {
    resource: Arc<Resource>,
    version: usize,
    prefix: String,
    exact_key: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
}

/// The words for built-in kinds whose metadata alone can be selected by.
fn only_metadata(fields: &FieldSelector) -> ApiError {
    let metadata = ["metadata.name", "metadata.namespace"];
    let unknown = fields.requirements().iter().find(|r| !metadata.contains(&r.field.as_str()));
    ApiError::bad_request(format!(
        "{:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        unknown.map(|r| r.field.as_str()).unwrap_or_default()
    ))
}

impl Selection {
    /// Reads the selectors of a request and checks that the kind has the fields they name.
    pub fn new(
        resource: &Arc<Resource>,
        version: usize,
        target: &Target,
        query: &Query,
    ) -> ApiResult<Self> {
        let labels = LabelSelector::parse(&query.label_selector)?;
        let mut fields = FieldSelector::parse(&query.field_selector)?;
        let selectable = &resource.versions[version].selectable;
        let supported = |field: &str| {
            field == "metadata.name"
                || field == "metadata.namespace"
                || selectable.iter().any(|s| s.trim_start_matches('.') == field)
        };
        if let Some(error) = fields.unsupported(supported) {
            let plain = selectable.is_empty() && resource.crd_uid.is_none();
            return Err(if plain { only_metadata(&fields) } else { error });
        }
        // One object by name in the path: the old form of watching a single object.
        let name = target.name.as_deref().or(fields.exact("metadata.name")).map(str::to_owned);
        let namespace = target.namespace.as_deref().or(fields.exact("metadata.namespace"));
        let exact_key = match (&name, namespace) {
            (Some(name), Some(_)) => Some(resource.key(namespace, name)),
            (Some(name), None) if !resource.namespaced => Some(resource.key(None, name)),
            _ => None,
        };
        let prefix = exact_key.clone().unwrap_or_else(|| resource.prefix(namespace));
        if exact_key.is_some() && fields.requirements().len() == 1 {
            fields = FieldSelector::everything(); // the key says it all
        }
        Ok(Self { resource: Arc::clone(resource), version, prefix, exact_key, labels, fields })
    }

    /// All objects below a prefix of keys.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The version the client speaks.
    pub fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }

    /// The resource.
    pub fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    /// Whether everything below the prefix belongs to it.
    pub fn is_everything(&self) -> bool {
        self.exact_key.is_none() && self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether this object belongs to it.
    pub fn contains(&self, entry: &Entry) -> bool {
        if self.exact_key.as_deref().is_some_and(|key| key != &*entry.key) {
            return false;
        }
        if !self.labels.is_empty() && !self.labels.matches(entry.meta.labels.as_ref()) {
            return false;
        }
        self.fields.is_empty() || self.fields_match(entry)
    }

    /// Some fields of built-in kinds are not plain paths.
    fn field<'a>(&self, object: &'a Value, field: &str) -> Cow<'a, str> {
        match &self.resource.crd_uid {
            Some(_) => field_value(object, field),
            None => {
                Cow::Owned(fields::value(&self.resource.group, &self.resource.kind, field, object))
            }
        }
    }

    fn fields_match(&self, entry: &Entry) -> bool {
        let simple = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
        let needs_object = self.fields.requirements().iter().any(|r| !simple(&r.field));
        let object = needs_object.then(|| convert::value(&self.resource, self.version(), entry));
        self.fields.matches_with(|field| match field {
            "metadata.name" => Some(Cow::Borrowed(entry.meta.name.as_str())),
            "metadata.namespace" => Some(Cow::Borrowed(entry.meta.namespace.as_str())),
            other => object.as_ref().map(|object| self.field(object, other)),
        })
    }
}
