//! Defaults of a DNSMasq that a schema cannot express.

use landbridge_machinery::hooks::{Hooks, Operation, Request};
use landbridge_machinery::object;
use landbridge_machinery::status::ApiResult;
use serde_json::{Map, Value, json};

use super::{DNSMasqSpec, rules};
use crate::admission::{self, Findings};

/// The rules of DNSMasq.
pub struct DNSMasqHooks {
    image: String,
}

impl DNSMasqHooks {
    /// Rules that fill in `image` where none is named.
    pub fn new(image: String) -> Self {
        Self { image }
    }
}

impl Hooks for DNSMasqHooks {
    fn mutate(&self, request: &Request<'_>, object: &mut Value) -> ApiResult<()> {
        if request.operation == Operation::Delete {
            return Ok(());
        }
        let namespace = request.namespace.unwrap_or_else(|| object::namespace(object)).to_owned();
        let spec = object.as_object_mut().map(|object| {
            let spec = object.entry("spec").or_insert_with(|| Value::Object(Map::new()));
            if spec.is_null() {
                *spec = Value::Object(Map::new());
            }
            spec
        });
        if let Some(spec) = spec.and_then(Value::as_object_mut) {
            default_image(spec, &self.image);
            default_local(spec, &namespace);
        }
        Ok(())
    }

    fn validate(&self, request: &Request<'_>, object: &Value) -> ApiResult<Vec<String>> {
        if request.operation == Operation::Delete || admission::keeps_spec(request, object) {
            return Ok(Vec::new());
        }
        let spec: DNSMasqSpec = admission::spec(request, object)?;
        let mut findings = Findings::default();
        rules::check(&spec, admission::namespace(request), &mut findings);
        findings.answer(request)
    }

    fn webhook_name(&self) -> Option<&str> {
        Some("vdnsmasq-v1beta1.kb.io")
    }
}

fn default_image(spec: &mut Map<String, Value>, image: &str) {
    let given = spec.get("containerImage");
    if given.is_none_or(|given| given.is_null() || given.as_str() == Some("")) {
        spec.insert("containerImage".to_owned(), image.into());
    }
}

/// Names of Services in the own namespace are answered here or not at all; asking the next server
/// for them only costs time.
fn default_local(spec: &mut Map<String, Value>, namespace: &str) {
    if namespace.is_empty() {
        return;
    }
    let options = spec.entry("options").or_insert_with(|| json!([]));
    if options.is_null() {
        *options = json!([]);
    }
    // Anything but a list is left for the schema to complain about.
    let Some(options) = options.as_array_mut() else { return };
    if options.iter().all(|option| option["key"] != "local") {
        options.push(json!({"key": "local", "values": [format!("/{namespace}.svc/")]}));
    }
}
