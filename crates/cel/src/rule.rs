//! One rule: what it says, and what is wrong with how it says it.

use kube_cel::cel::Context;
use kube_cel::cel::common::ast::IdedExpr;
use landbridge_machinery::field::{FieldError, FieldPath, Problem};
use landbridge_machinery::schema::NodeRef;
use serde_json::Value;

use crate::check::{self, Shape};
use crate::{ast, harden, parse, path};

/// As deep as an expression may be nested to be evaluated on any stack.
const SHALLOW: usize = 16;
const MAX_MESSAGE: usize = 2048;
const REASONS: [(&str, Problem); 4] = [
    ("FieldValueDuplicate", Problem::Duplicate),
    ("FieldValueForbidden", Problem::Forbidden),
    ("FieldValueInvalid", Problem::Invalid),
    ("FieldValueRequired", Problem::Required),
];

/// A compiled rule.
pub struct Rule {
    pub program: IdedExpr,
    pub message_program: Option<IdedExpr>,
    pub text: String,
    pub message: String,
    pub reason: Problem,
    pub field: FieldPath,
    pub uses_old: bool,
    /// `oldSelf` is an optional value, and the rule runs without an old one, too.
    pub optional_old: bool,
    /// Evaluation needs a large stack.
    pub deep: bool,
}

impl Rule {
    /// What is shown for the rule itself.
    pub fn shown(&self) -> &str {
        if self.message.is_empty() { self.text.trim() } else { self.message.trim() }
    }

    /// What is said when the rule is broken and has no better message.
    pub fn complaint(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.shown())
        } else {
            self.shown().to_owned()
        }
    }
}

/// Where a rule stands.
pub struct Place<'a, 'c> {
    pub node: NodeRef<'a>,
    /// The top of the resource.
    pub root: bool,
    /// The list above whose elements cannot be told apart between two states.
    pub uncorrelatable: Option<&'c FieldPath>,
    pub context: &'c Context<'c>,
}

/// Compiles a rule as written.
pub fn compile(
    raw: &Value,
    place: &Place<'_, '_>,
    path: &FieldPath,
) -> Result<Rule, Vec<FieldError>> {
    let said = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = said("rule").to_owned();
    let optional_old = raw.get("optionalOldSelf").and_then(Value::as_bool);
    let mut errors = words(raw, path);
    let self_shape = if place.root { Shape::Resource(place.node) } else { Shape::of(place.node) };
    let old_shape = if optional_old == Some(true) { Shape::Unknown } else { self_shape };
    let scope = [("self", self_shape), ("oldSelf", old_shape)];
    let mut build = |name: &str, source: &str, wanted: &str| {
        let built = parse::run(source).and_then(|mut expr| {
            let cheap = check::run(source, &expr, place.context, &scope, wanted)?;
            let uses_old = ast::mentions(&expr, "oldSelf");
            harden::run(&mut expr, &cheap);
            Ok((expr, uses_old))
        });
        match built {
            Ok(built) => Some(built),
            Err(why) => {
                let before = if name == "rule" { "" } else { "messageExpression " };
                let detail = if let Some(wanted) = why.strip_prefix("must evaluate to ") {
                    let what = if name == "rule" { "cel expression" } else { "messageExpression" };
                    format!("{what} must evaluate to a {wanted}")
                } else {
                    format!("{before}compilation failed: {why}")
                };
                errors.push(FieldError::invalid(&path.child(name), raw.clone(), detail));
                None
            }
        }
    };
    let program = if text.trim().is_empty() { None } else { build("rule", &text, "bool") };
    let expression = said("messageExpression");
    let message_program = if expression.trim().is_empty() {
        None
    } else {
        build("messageExpression", expression, "string")
    };
    if text.trim().is_empty() {
        errors.push(FieldError::required(&path.child("rule"), "rule is not specified"));
    }
    let uses_old = program.as_ref().is_some_and(|(_, uses_old)| *uses_old);
    if let (true, Some(list)) = (uses_old, place.uncorrelatable) {
        let detail = format!(
            "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
        );
        errors.push(FieldError::invalid(&path.child("rule"), text.as_str(), detail));
    }
    if let (Some(flag), Some(_), false) = (optional_old, &program, uses_old) {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(&path.child("optionalOldSelf"), flag, detail));
    }
    let field = match path::parse(said("fieldPath"), place.node) {
        Ok(field) => field,
        Err(why) => {
            let detail = format!("fieldPath must be a valid path: {why}");
            errors.push(FieldError::invalid(&path.child("fieldPath"), said("fieldPath"), detail));
            FieldPath::root()
        }
    };
    let programs = program.iter().chain(&message_program);
    let deep = programs.map(|(expr, _)| ast::depth(expr)).any(|depth| depth > SHALLOW);
    match program {
        Some((program, _)) if errors.is_empty() => Ok(Rule {
            program,
            message_program: message_program.map(|(program, _)| program),
            message: said("message").to_owned(),
            reason: reason(said("reason")).unwrap_or(Problem::Invalid),
            field,
            uses_old,
            optional_old: optional_old == Some(true),
            deep,
            text,
        }),
        _ => Err(errors),
    }
}

fn reason(name: &str) -> Option<Problem> {
    REASONS.iter().find(|(known, _)| *known == name).map(|(_, problem)| *problem)
}

/// Checks everything about a rule that is not CEL.
fn words(raw: &Value, path: &FieldPath) -> Vec<FieldError> {
    let said = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
    let (message, expression) = (said("message"), said("messageExpression"));
    let mut errors = Vec::new();
    let mut wrong = |name: &str, detail: &str| {
        errors.push(FieldError::invalid(&path.child(name), said(name), detail));
    };
    if !message.is_empty() && message.trim().is_empty() {
        wrong("message", "message must be non-empty if specified");
    } else if message.trim().contains('\n') {
        wrong("message", "message must not contain line breaks");
    }
    if said("fieldPath").contains('\n') {
        wrong("fieldPath", "fieldPath must not contain line breaks");
    }
    if message.len() > MAX_MESSAGE {
        wrong("message", "message must have a maximum length of 2048");
    }
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&path.child("messageExpression"), detail));
    }
    if message.is_empty() && expression.is_empty() && said("rule").trim().contains('\n') {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&path.child("message"), detail));
    }
    if !said("reason").is_empty() && reason(said("reason")).is_none() {
        let known = REASONS.map(|(name, _)| name);
        errors.push(FieldError::not_supported(&path.child("reason"), said("reason"), &known));
    }
    errors
}
