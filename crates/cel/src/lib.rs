//! The rules a CRD writes in CEL (`x-kubernetes-validations`).
//!
//! ```text
//!  rule text ─ parse ─ expand ─ check ─ harden ─► expression        once per CRD
//!                                                     │
//!  value + schema ─ value ─► self, oldSelf ──────── judge ─► Findings   per write
//! ```
//! kube-cel (on the `cel` crate) parses, evaluates and brings the function libraries. Ours is what
//! makes it a server's: types follow the schema, old and new values are correlated as upstream does
//! it, texts read like upstream's, a typing mistake in a rule is found when the CRD is written,
//! and no rule runs forever.
//!
//! Invariants:
//! - Nothing here panics: parsing and deep evaluation run on a stack of their own, evaluation is
//!   fenced.
//! - Evaluation ends: every turn of a loop and every byte that grows is paid from a budget. It
//!   stands in the place of upstream's cost budget and only approximates it.

mod ast;
mod budget;
mod check;
mod compile;
mod expand;
mod functions;
mod harden;
mod judge;
mod names;
mod parse;
mod path;
mod rule;
mod stack;
mod tidy;
mod value;

use std::sync::Arc;

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::schema::Schema;
use serde_json::Value;

use self::compile::Tree;

/// All rules of one schema, ready to run.
pub struct CompiledRules {
    schema: Arc<Schema>,
    tree: Tree,
    deep: bool,
}

/// What rules found.
#[derive(Debug, Default, PartialEq)]
pub struct Findings {
    /// Rules that are broken.
    pub errors: Vec<FieldError>,
    /// Rules that are broken by values which were there before and did not change.
    pub warnings: Vec<String>,
}

impl CompiledRules {
    /// Compiles the rules of a schema; `None` when it has none. All that is wrong with them is
    /// returned, with paths below `path`.
    pub fn compile(
        schema: &Arc<Schema>,
        path: &FieldPath,
    ) -> Result<Option<Self>, Vec<FieldError>> {
        let tree = compile::run(schema, path)?;
        Ok(tree.map(|tree| Self { schema: Arc::clone(schema), deep: tree.is_deep(), tree }))
    }

    /// Runs the rules over an object that fits its schema. `old` is the state it replaces.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Findings {
        if self.deep {
            let work = || judge::run(&self.schema, &self.tree, new, old);
            stack::run(work).ok().flatten().unwrap_or_else(Findings::unknown)
        } else {
            judge::run(&self.schema, &self.tree, new, old)
        }
    }
}

impl Findings {
    /// Nothing could be found out; nothing passes unjudged.
    fn unknown() -> Self {
        let error = FieldError::invalid(&FieldPath::root(), "object", "rules cannot be evaluated");
        Self { errors: vec![error], warnings: Vec::new() }
    }
}

impl std::fmt::Debug for CompiledRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledRules").finish_non_exhaustive()
    }
}
