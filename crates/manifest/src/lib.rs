//! Manifests as text: documents with the place of every value, and diagnostics that point there.
//!
//! This is the front end of `landbridge check` and `landbridge plan`. It reads bytes the caller
//! hands over, under a name the caller gives them, and never touches a file itself: standard input,
//! an archive and a test are all the same to it. What a kind *means* is not known here; the caller
//! lends two functions ([`Options::infer`], [`Options::guess`]) where that knowledge helps a message.
//!
//! ```text
//!  bytes ─▶ source ─▶ yaml / json ─▶ node tree + value ─▶ documents ─┐
//!                 └▶ markdown ─▶ blocks ─▶ (the same) ───────────────┼▶ Reading
//!                              problems of all of these ─────────────┘
//!  diagnostics (ours and the caller's) ─▶ render::{human, json, sarif}
//! ```
//!
//! Invariants, kept by property tests:
//! - no input makes [`read`] panic, and the work is bounded by [`Limits`];
//! - a span lies inside the file and on character boundaries;
//! - the same input gives the same output, to the byte.
//!
//! | module | idea |
//! |---|---|
//! | [`source`] | a file's text, its lines, and places in it |
//! | [`node`] | the tree of places, as written |
//! | [`path`] | `spec.networks[1].vlan` as a value |
//! | [`document`] | one object with its tree; from a path to a place |
//! | [`read()`] | from bytes to documents and problems |
//! | [`diagnostic`] | what is wrong, where, and what to do |
//! | [`rules`] | the codes of this crate, explained |
//! | [`render`] | diagnostics for people, programs and code hosts |
//! | [`suggest`] | "did you mean" |
//!
//! ```
//! use landbridge_manifest::{Options, Path, read};
//!
//! let text = b"apiVersion: v1\nkind: Service\nmetadata: {name: api}\nspec:\n  type: LoadBalancer\n";
//! let reading = read("service.yaml", text, &Options::default());
//! let document = &reading.documents[0];
//! let path: Path = "spec.type".parse().unwrap();
//! let span = document.locate(&path).unwrap();
//! assert_eq!((span.line, span.column), (5, 9));
//! ```

pub mod diagnostic;
pub mod document;
mod elision;
mod embedded;
mod failure;
mod json;
mod limits;
mod markdown;
pub mod node;
pub mod path;
mod prose;
mod read;
pub mod render;
pub mod rules;
pub mod source;
pub mod suggest;
mod yaml;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use document::{Document, Origin};
pub use limits::Limits;
pub use node::{Entry, Node, Shape, Style};
pub use path::{Path, Segment};
pub use read::{Guess, Infer, Known, Options, Reading, Stranger, read};
pub use render::{Sources, Summary};
pub use rules::Rule;
pub use source::{Source, Span};
pub use suggest::didyoumean;
