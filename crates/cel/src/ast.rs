//! Making and walking expressions.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, operators,
};

/// An expression we made; the parser numbers its own.
pub fn made(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

/// A name.
pub fn ident(name: &str) -> IdedExpr {
    made(Expr::Ident(name.to_owned()))
}

/// A text.
pub fn text(value: &str) -> IdedExpr {
    made(Expr::Literal(LiteralValue::String(value.into())))
}

/// A number.
pub fn number(value: i64) -> IdedExpr {
    made(Expr::Literal(LiteralValue::Int(value.into())))
}

/// `name(args…)`.
pub fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    made(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }))
}

/// `target.name(args…)`.
pub fn method(target: IdedExpr, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    let target = Some(Box::new(target));
    made(Expr::Call(CallExpr { func_name: name.to_owned(), target, args }))
}

/// `[elements…]`.
pub fn list(elements: Vec<IdedExpr>) -> IdedExpr {
    made(Expr::List(ListExpr::new(elements)))
}

/// `operand[key]`.
pub fn index(operand: IdedExpr, key: IdedExpr) -> IdedExpr {
    call(operators::INDEX, vec![operand, key])
}

/// `body` with `name` standing for `value`: a loop over nothing.
pub fn bind(name: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    made(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: list(Vec::new()),
        iter_var: "@unused".to_owned(),
        iter_var2: None,
        accu_var: name.to_owned(),
        accu_init: value,
        loop_cond: made(Expr::Literal(LiteralValue::Boolean(false.into()))),
        loop_step: ident(name),
        result: body,
    })))
}

/// The expressions directly inside.
pub fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(c) => {
            vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Struct(map) => map.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(pair) => vec![&pair.key, &pair.value],
    }
}

/// Changes every expression, the inner ones first.
pub fn rework(expr: &mut IdedExpr, change: &dyn Fn(&mut IdedExpr)) {
    match &mut expr.expr {
        Expr::Call(call) => {
            for inner in call.target.as_deref_mut().into_iter().chain(&mut call.args) {
                rework(inner, change);
            }
        }
        Expr::Comprehension(c) => {
            for inner in [
                &mut c.iter_range,
                &mut c.accu_init,
                &mut c.loop_cond,
                &mut c.loop_step,
                &mut c.result,
            ] {
                rework(inner, change);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|inner| rework(inner, change)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(pair) = &mut entry.expr {
                    rework(&mut pair.key, change);
                    rework(&mut pair.value, change);
                }
            }
        }
        Expr::Select(select) => rework(&mut select.operand, change),
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    change(expr);
}

/// How deep the expression is nested.
pub fn depth(expr: &IdedExpr) -> usize {
    1 + children(expr).into_iter().map(depth).max().unwrap_or(0)
}

/// Whether a name occurs anywhere.
pub fn mentions(expr: &IdedExpr, name: &str) -> bool {
    matches!(&expr.expr, Expr::Ident(found) if found == name)
        || children(expr).into_iter().any(|inner| mentions(inner, name))
}
