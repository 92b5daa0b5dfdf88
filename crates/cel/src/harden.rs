//! Makes an expression cheap and finite.
//!
//! - Field selection becomes indexing, which borrows where selection copies whole subtrees.
//! - Every turn of a loop pays ([`TICK`], [`TICK_LIST`]).
//! - Functions that can be methods become methods, for better errors.
//! - Sums of texts are limited ([`LIMIT`]): doubling needs no loop.

use std::collections::HashSet;

use kube_cel::cel::common::ast::{Expr, IdedExpr, operators};

use crate::ast;

/// `@tick(condition, operations)`: pays for a turn, then is the condition.
pub const TICK: &str = "@tick";
/// `@tickList(condition, operations, name)`: pays for the list under that name, too.
pub const TICK_LIST: &str = "@tickList";
/// `@limit(sum)`: the sum, unless it is too long.
pub const LIMIT: &str = "@limit";

/// What an operation that copies or walks through a value counts; comparing texts counts one.
pub const WHOLE: i64 = 8;

/// Operators that look at no more than a word of each operand.
const CHEAP: [&str; 14] = [
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::NOT_STRICTLY_FALSE,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::NEGATE,
    operators::INDEX,
    TICK,
    TICK_LIST,
    LIMIT,
];

/// Functions that can be called as methods, too.
const METHODS: [&str; 5] = ["size", "string", "int", "uint", "double"];

/// Rewrites the expression; `cheap` are comparisons of simple values.
pub fn run(expr: &mut IdedExpr, cheap: &HashSet<u64>) {
    ast::rework(expr, &|expr| harden(expr, cheap));
}

fn harden(expr: &mut IdedExpr, cheap: &HashSet<u64>) {
    match &mut expr.expr {
        Expr::Select(select) if !select.test => {
            let operand = std::mem::take(&mut *select.operand);
            *expr = ast::index(operand, ast::text(&select.field));
        }
        Expr::Comprehension(loops) => {
            let operations = bulk(&loops.loop_step, cheap) + bulk(&loops.loop_cond, cheap);
            let condition = std::mem::take(&mut loops.loop_cond);
            let mut args = vec![condition, ast::number(operations)];
            let list = matches!(loops.accu_init.expr, Expr::List(_));
            if list {
                args.push(ast::text(&loops.accu_var));
            }
            loops.loop_cond = ast::call(if list { TICK_LIST } else { TICK }, args);
        }
        Expr::Call(call)
            if call.func_name == operators::ADD
                && !call
                    .args
                    .iter()
                    .any(|arg| matches!(&arg.expr, Expr::Ident(name) if name.starts_with('@'))) =>
        {
            let sum = std::mem::take(expr);
            *expr = ast::call(LIMIT, vec![sum]);
        }
        // As functions these hide what went wrong with their argument.
        Expr::Call(call)
            if call.target.is_none()
                && call.args.len() == 1
                && METHODS.contains(&call.func_name.as_str()) =>
        {
            call.target = call.args.pop().map(Box::new);
        }
        _ => {}
    }
}

/// Operations that may look at a whole value, outside of inner loops (those pay for themselves).
fn bulk(expr: &IdedExpr, cheap: &HashSet<u64>) -> i64 {
    let own = match &expr.expr {
        Expr::Comprehension(_) => return WHOLE,
        Expr::Call(_) if expr.id != 0 && cheap.contains(&expr.id) => 1,
        Expr::Call(call) if !CHEAP.contains(&call.func_name.as_str()) => {
            let scalar = call.args.iter().any(|arg| matches!(arg.expr, Expr::Literal(_)));
            if call.target.is_some() || !scalar { WHOLE } else { 0 }
        }
        _ => 0,
    };
    own + ast::children(expr).into_iter().map(|inner| bulk(inner, cheap)).sum::<i64>()
}
