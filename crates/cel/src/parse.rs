//! From text to an expression.

use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::parser::Parser;

use crate::{ast, expand, tidy};

/// How long a rule may be. Upstream allows 100 000 characters; nobody writes 10 000.
const MAX_LENGTH: usize = 10_000;
/// How deep an expression may be nested: evaluation recurses, and a server's stack is small.
const MAX_DEPTH: usize = 100;

/// Parses and expands macros. Needs a large stack: the parser recurses before anything can be
/// known about the depth of the text.
pub fn run(source: &str) -> Result<IdedExpr, String> {
    let length = source.chars().count();
    if length > MAX_LENGTH {
        return Err(format!(
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: {length}, \
             limit {MAX_LENGTH}"
        ));
    }
    let parser = Parser::new().enable_optional_syntax(true);
    let mut expr = parser
        .parse(&tidy::run(source))
        .map_err(|errors| errors.to_string().replace("\n|", "\n |"))?;
    expand::run(&mut expr);
    if ast::depth(&expr) > MAX_DEPTH {
        return Err(format!(
            "ERROR: <input>:-1:0: expression recursion limit exceeded: {MAX_DEPTH}"
        ));
    }
    Ok(expr)
}

/// An error about the place where `needle` stands in the rule, drawn as CEL draws it.
pub fn point_at(source: &str, needle: &str, what: &str) -> String {
    for (number, line) in source.lines().enumerate() {
        if let Some(at) = line.find(needle) {
            let column = line[..at].chars().count();
            let dots = ".".repeat(column);
            let number = number + 1;
            return format!(
                "ERROR: <input>:{number}:{}: {what}\n | {line}\n | {dots}^",
                column + 1
            );
        }
    }
    format!("ERROR: <input>:1:1: {what}")
}
