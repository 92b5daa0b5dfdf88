//! Options of a DNSMasq that the name server refuses.

use landbridge_controllers::dns::options::options;
use landbridge_manifest::{Diagnostic, Document, Label, Path, Severity};

use crate::codes::BAD_OPTION;

/// One diagnostic for each of them.
pub fn diagnostics(document: &Document) -> Vec<Diagnostic> {
    let value = document.value();
    let is_server = value["kind"] == "DNSMasq"
        && value["apiVersion"].as_str().is_some_and(|v| v.starts_with("network.openstack.org/"));
    if !is_server {
        return Vec::new();
    }
    let faults = options(&value["spec"]).faults.into_iter();
    faults
        .map(|fault| {
            let path: Path =
                format!("spec.options[{}].values", fault.option).parse().unwrap_or_default();
            let span = document.locate(&path).unwrap_or(document.root().span);
            let label = Label::primary(document.file(), span, "").of_object(document.title());
            Diagnostic::new(Severity::Warning, BAD_OPTION, fault.why)
                .with_label(label.at_field(path.to_string()))
        })
        .collect()
}
