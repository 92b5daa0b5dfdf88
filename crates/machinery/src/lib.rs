//! What Kubernetes means by an object, without IO.
//!
//! Everything here is a function of its arguments: a schema validates a value, a patch turns one
//! value into another, a selector matches labels, a hook judges a request. The API server, the
//! kinds and (later) real admission webhooks all stand on the same code.
//!
//! | module | idea |
//! |---|---|
//! | [`gvk`] | names of kinds and resources |
//! | [`field`] | one thing wrong with one field, in the words users know |
//! | [`status`] | the `Status` a server answers when it refuses |
//! | [`decode`] | JSON from outside, with repeated keys reported |
//! | [`object`] | reading and writing metadata of an untyped object |
//! | [`names`] | which names are allowed |
//! | [`schema`] | structural schemas: validate, prune, default |
//! | [`patch`] | JSON patch, merge patch, strategic merge patch |
//! | [`apply`] | server-side apply: merging by owner, `managedFields` |
//! | [`selector`] | label and field selectors |
//! | [`table`] | columns, the JSONPath dialect, ages |
//! | [`hooks`] | what a kind may bring of its own |
//! | [`rbac`] | who may do what, by roles and bindings |

pub mod apply;
pub mod decode;
pub mod field;
pub mod gvk;
pub mod hooks;
pub mod names;
pub mod object;
pub mod patch;
pub mod rbac;
pub mod schema;
pub mod selector;
pub mod status;
pub mod table;
