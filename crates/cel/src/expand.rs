//! What the parser leaves to others: `cel.bind`, `optMap`, `optFlatMap`, optional selection, and
//! the names of types.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use crate::ast;

/// `operand.?field`; the evaluator's own one fails where the field is missing.
pub const OPTIONAL_SELECT: &str = "@select";

/// An optional value as a list of one or none.
pub const OPTIONAL_LIST: &str = "@list";

/// `@type("int")`: a type, as `type(…)` gives it.
pub const TYPE: &str = "@type";
/// Types that have names. A variable of the same name hides the type.
const TYPES: [&str; 10] =
    ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];

/// Replaces the macros and the names of types.
pub fn run(expr: &mut IdedExpr) {
    ast::rework(expr, &|expr| {
        if let Some(new) = replacement(expr) {
            *expr = new;
        }
    });
    let mut bound = Vec::new();
    variables(expr, &mut bound);
    ast::rework(expr, &|expr| {
        if let Some(name) = ident(expr)
            && TYPES.contains(&name)
            && !bound.iter().any(|known| known == name)
        {
            *expr = ast::call(TYPE, vec![ast::text(name)]);
        }
    });
}

/// The names that loops give to things.
fn variables(expr: &IdedExpr, found: &mut Vec<String>) {
    if let Expr::Comprehension(loops) = &expr.expr {
        found.extend([loops.iter_var.clone(), loops.accu_var.clone()]);
    }
    for inner in ast::children(expr) {
        variables(inner, found);
    }
}

fn replacement(expr: &IdedExpr) -> Option<IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
            ("bind", Some(target), [name, value, body]) if is_ident(target, "cel") => {
                Some(ast::bind(ident(name)?, value.clone(), body.clone()))
            }
            ("optMap", Some(target), [name, body]) => {
                let body = body.clone();
                Some(mapped(target, ident(name)?, |bound| {
                    ast::method(ast::ident("optional"), "of", vec![bound(body)])
                }))
            }
            ("optFlatMap", Some(target), [name, body]) => {
                let body = body.clone();
                Some(mapped(target, ident(name)?, |bound| bound(body)))
            }
            (operators::OPT_SELECT, None, [operand, field]) => {
                Some(ast::call(OPTIONAL_SELECT, vec![operand.clone(), field.clone()]))
            }
            _ => None,
        },
        // After one optional step all others are optional, too: `self.?a.b`.
        Expr::Select(select) if !select.test && is_optional(&select.operand) => Some(ast::call(
            OPTIONAL_SELECT,
            vec![(*select.operand).clone(), ast::text(&select.field)],
        )),
        _ => None,
    }
}

/// `target.hasValue() ? make(body with NAME = target.value()) : optional.none()`. The target is
/// evaluated once and held as a list: the evaluator loses the optional of an optional variable.
fn mapped(
    target: &IdedExpr,
    name: &str,
    make: impl FnOnce(&dyn Fn(IdedExpr) -> IdedExpr) -> IdedExpr,
) -> IdedExpr {
    const HELD: &str = "@held";
    let value = || ast::index(ast::ident(HELD), ast::number(0));
    let choice = vec![
        ast::call(operators::NOT_EQUALS, vec![ast::ident(HELD), ast::list(Vec::new())]),
        make(&|body| ast::bind(name, value(), body)),
        ast::method(ast::ident("optional"), "none", Vec::new()),
    ];
    let held = ast::call(OPTIONAL_LIST, vec![target.clone()]);
    ast::bind(HELD, held, ast::call(operators::CONDITIONAL, choice))
}

fn is_ident(expr: &IdedExpr, name: &str) -> bool {
    matches!(&expr.expr, Expr::Ident(found) if found == name)
}

fn ident(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}

/// Whether the text alone says that this is an optional value.
fn is_optional(expr: &IdedExpr) -> bool {
    match &expr.expr {
        Expr::Call(call) => match call.func_name.as_str() {
            OPTIONAL_SELECT | operators::OPT_INDEX => true,
            operators::INDEX => call.args.first().is_some_and(is_optional),
            _ => false,
        },
        _ => false,
    }
}

/// The field of a selection made by this module.
pub fn selected(args: &[IdedExpr]) -> Option<(&IdedExpr, &str)> {
    match args {
        [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }] => {
            Some((operand, field.inner()))
        }
        _ => None,
    }
}
