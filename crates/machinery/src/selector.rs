//! Label and field selectors: which objects a list, a watch or a rule is about.
//!
//! | module | idea |
//! |---|---|
//! | [`label`] | the selector itself: parse, match, print |
//! | `parser` | upstream's grammar of `labelSelector=` |
//! | `object` | `matchLabels` and `matchExpressions` inside objects |
//! | [`field`] | the smaller language of `fieldSelector=` |

pub mod field;
pub mod label;
mod object;
mod parser;

pub use field::{FieldRequirement, FieldSelector, field_value};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};
