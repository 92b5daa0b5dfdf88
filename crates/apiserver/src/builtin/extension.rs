//! Kinds that extend the API itself.

use super::entry::{CLUSTER, Entry};
use super::hooks::{Rules, crd, webhook};

const API_EXTENSIONS: &[&str] = &["api-extensions"];

const WEBHOOKS: Entry = Entry {
    group: "admissionregistration.k8s.io",
    categories: API_EXTENSIONS,
    generation: true,
    unconditional_update: false,
    rules: Rules { check: webhook::check, ..Rules::NONE },
    ..CLUSTER
};

/// One row per kind.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        definition: "apiextensions.v1.CustomResourceDefinition",
        short_names: &["crd", "crds"],
        categories: API_EXTENSIONS,
        generation: true,
        unconditional_update: false,
        status: true,
        rules: Rules { mutate: crd::mutate, check: crd::check },
        ..CLUSTER
    },
    Entry {
        kind: "ValidatingWebhookConfiguration",
        plural: "validatingwebhookconfigurations",
        definition: "admissionregistration.v1.ValidatingWebhookConfiguration",
        ..WEBHOOKS
    },
    Entry {
        kind: "MutatingWebhookConfiguration",
        plural: "mutatingwebhookconfigurations",
        definition: "admissionregistration.v1.MutatingWebhookConfiguration",
        ..WEBHOOKS
    },
];
