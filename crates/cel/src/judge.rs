//! Runs the rules over an object.
//!
//! The walk goes down new value, old value and rules together. Two questions are asked about the
//! old state, and they have different answers: what `oldSelf` is (found by key in maps and keyed
//! lists, nowhere else), and whether the value changed at all. A rule broken by what did not change
//! is a warning only ("ratcheting"), unless it speaks of `oldSelf`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::{self, Context, ExecutionError};
use landbridge_machinery::field::{FieldError, FieldPath, Problem};
use landbridge_machinery::schema::{MAX_DEPTH, NodeRef, Schema};
use serde_json::{Map, Value};

use crate::Findings;
use crate::budget::Budget;
use crate::compile::Tree;
use crate::rule::Rule;
use crate::{functions, value};

/// The longest message an expression may make.
const MAX_MESSAGE: usize = 5 * 1024;
/// How much of an error of the evaluator is shown; some hold whole values.
const MAX_ERROR: usize = 400;
const SPENT: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Judges a whole object.
pub fn run(schema: &Schema, tree: &Tree, new: &Value, old: Option<&Value>) -> Findings {
    let budget = Arc::new(Budget::new());
    let mut judge =
        Judge { budget, context: OnceLock::new(), findings: Findings::default(), stopped: false };
    let before = Before { old, unchanged: old == Some(new) };
    judge.value(tree, schema.root(), new, before, &FieldPath::root(), 0);
    judge.findings
}

/// What was there before.
#[derive(Clone, Copy)]
struct Before<'a> {
    /// The value `oldSelf` stands for.
    old: Option<&'a Value>,
    /// The value, or the last one above it that can be found again, is the same.
    unchanged: bool,
}

struct Judge {
    budget: Arc<Budget>,
    /// Made when the first rule runs.
    context: OnceLock<Context<'static>>,
    findings: Findings,
    stopped: bool,
}

impl Judge {
    fn value(
        &mut self,
        tree: &Tree,
        node: NodeRef<'_>,
        new: &Value,
        before: Before<'_>,
        path: &FieldPath,
        depth: usize,
    ) {
        // Rules about null stand further up: there is nothing here to judge.
        if self.stopped || new.is_null() || depth > MAX_DEPTH {
            return;
        }
        if !tree.rules.is_empty() {
            self.rules(&tree.rules, node, new, before, path);
        }
        match new {
            Value::Object(map) => self.object(tree, node, map, before, path, depth),
            Value::Array(list) => self.list(tree, node, list, before, path, depth),
            _ => {}
        }
    }

    fn object(
        &mut self,
        tree: &Tree,
        node: NodeRef<'_>,
        map: &Map<String, Value>,
        before: Before<'_>,
        path: &FieldPath,
        depth: usize,
    ) {
        let old = before.old.and_then(Value::as_object);
        for (key, new) in map {
            let old = old.and_then(|old| old.get(key));
            let before = Before { old, unchanged: old.map_or(before.unchanged, |old| old == new) };
            if let (Some(tree), Some(node)) = (tree.properties.get(key), node.property(key)) {
                self.value(tree, node, new, before, &path.child(key), depth + 1);
            } else if let (Some(tree), Some(node)) = (&tree.additional, node.additional()) {
                self.value(tree, node, new, before, &path.key(key), depth + 1);
            }
        }
    }

    fn list(
        &mut self,
        tree: &Tree,
        node: NodeRef<'_>,
        list: &[Value],
        before: Before<'_>,
        path: &FieldPath,
        depth: usize,
    ) {
        let (Some(tree), Some(items)) = (&tree.items, node.items()) else { return };
        let keyed = node.list_type() == Some("map");
        let old = before.old.and_then(Value::as_array).filter(|_| keyed);
        let keys = node.list_map_keys();
        for (index, new) in list.iter().enumerate() {
            let same = |old: &&Value| {
                keys.iter().all(|key| key_of(items, old, key) == key_of(items, new, key))
            };
            let old = old.and_then(|old| old.iter().find(same));
            let before = Before { old, unchanged: old.map_or(before.unchanged, |old| old == new) };
            self.value(tree, items, new, before, &path.index(index), depth + 1);
        }
    }

    fn rules(
        &mut self,
        rules: &[Rule],
        node: NodeRef<'_>,
        new: &Value,
        before: Before<'_>,
        path: &FieldPath,
    ) {
        let old = before.old.filter(|old| !old.is_null());
        let size = value::size(new) + old.map_or(0, value::size);
        self.budget.set_size(size);
        let budget = Arc::clone(&self.budget);
        let context = self.context.get_or_init(|| functions::context(&budget));
        let mut scope = context.new_inner_scope();
        scope.add_variable_from_value("self", value::typed(new, node));
        let old = old.map(|old| value::typed(old, node));
        if let Some(old) = &old {
            scope.add_variable_from_value("oldSelf", old.clone());
        }
        for rule in rules {
            if rule.uses_old && old.is_none() && !rule.optional_old {
                continue;
            }
            let mut inner = scope.new_inner_scope();
            if rule.optional_old {
                inner.add_variable_from_value("oldSelf", functions::optional(old.clone()));
            }
            let outcome = evaluate(&rule.program, &inner);
            let shown = shown(new);
            if !budget.pay(1 + size as u64 / 256) || budget.is_spent() {
                self.findings.errors.push(FieldError::invalid(path, shown, SPENT));
                self.stopped = true;
                return;
            }
            let complaint = match outcome {
                Ok(cel::Value::Bool(true)) => continue,
                Ok(cel::Value::Bool(false)) => {
                    let made = rule.message_program.as_ref().and_then(|p| message(p, &scope));
                    made.unwrap_or_else(|| rule.complaint())
                }
                Ok(_) => {
                    let detail = format!("no such overload evaluating rule: {}", rule.shown());
                    self.findings.errors.push(FieldError::invalid(path, shown, detail));
                    continue;
                }
                Err(why) => {
                    let detail = if why.starts_with("no such overload") {
                        format!(
                            "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                            rule.shown()
                        )
                    } else {
                        format!("{why} evaluating rule: {}", rule.shown())
                    };
                    self.findings.errors.push(FieldError::invalid(path, shown, detail));
                    continue;
                }
            };
            let error = broken(rule, path, shown, complaint);
            if before.unchanged && !rule.uses_old {
                self.findings.warnings.push(error.to_string());
            } else {
                self.findings.errors.push(error);
            }
        }
    }
}

/// The key of an element of a keyed list, or the default it stands for.
fn key_of<'a>(items: NodeRef<'a>, element: &'a Value, key: &str) -> Option<&'a Value> {
    element.get(key).or_else(|| items.property(key).and_then(NodeRef::default_value))
}

fn broken(rule: &Rule, path: &FieldPath, shown: Value, complaint: String) -> FieldError {
    let path = match rule.field.as_str() {
        "" => path.clone(),
        field if field.starts_with('[') => FieldPath::new(&format!("{}{field}", path.as_str())),
        field => path.child(field),
    };
    match rule.reason {
        Problem::Required => FieldError::required(&path, complaint),
        Problem::Forbidden => FieldError::forbidden(&path, complaint),
        Problem::Duplicate => FieldError::duplicate(&path, shown),
        _ => FieldError::invalid(&path, shown, complaint),
    }
}

/// What stands for the value in an error: structures are named, not shown.
fn shown(value: &Value) -> Value {
    match value {
        Value::Object(_) => "object".into(),
        Value::Array(_) => "array".into(),
        value => value.clone(),
    }
}

fn message(program: &IdedExpr, context: &Context<'_>) -> Option<String> {
    let Ok(cel::Value::String(text)) = evaluate(program, context) else { return None };
    let text = text.trim();
    let usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
    usable.then(|| text.to_owned())
}

/// Evaluates behind a fence: the evaluator has corners where it panics.
fn evaluate(program: &IdedExpr, context: &Context<'_>) -> Result<cel::Value, String> {
    match catch_unwind(AssertUnwindSafe(|| context.resolve(program))) {
        Ok(result) => result.map_err(|error| wording(&error)),
        Err(_) => Err("internal error".to_owned()),
    }
}

/// An evaluator's error in upstream's words.
fn wording(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::UnsupportedBinaryOperator(..) => "no such overload".to_owned(),
        ExecutionError::FunctionError { message, .. } => clipped(message),
        other => clipped(&other.to_string()),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(MAX_ERROR).collect()
}
