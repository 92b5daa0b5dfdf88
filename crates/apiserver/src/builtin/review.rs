//! Questions in the form of objects: they can only be created, and nothing is kept of them.

use super::entry::{CLUSTER, Entry};

const AUTHENTICATION: Entry =
    Entry { group: "authentication.k8s.io", virtual_only: true, ..CLUSTER };
const AUTHORIZATION: Entry = Entry { group: "authorization.k8s.io", ..AUTHENTICATION };

/// One row per kind.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        definition: "authentication.v1.SelfSubjectReview",
        ..AUTHENTICATION
    },
    Entry {
        kind: "TokenReview",
        plural: "tokenreviews",
        definition: "authentication.v1.TokenReview",
        ..AUTHENTICATION
    },
    Entry {
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        definition: "authorization.v1.LocalSubjectAccessReview",
        namespaced: true,
        ..AUTHORIZATION
    },
    Entry {
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        definition: "authorization.v1.SelfSubjectAccessReview",
        ..AUTHORIZATION
    },
    Entry {
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        definition: "authorization.v1.SelfSubjectRulesReview",
        ..AUTHORIZATION
    },
    Entry {
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        definition: "authorization.v1.SubjectAccessReview",
        ..AUTHORIZATION
    },
];
