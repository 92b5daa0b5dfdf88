//! Finds mistakes before a rule ever runs: names that are not there, and types that cannot work.
//!
//! A small part of CEL's type checker: it follows the schema through selections, loops and
//! comparisons and is silent about what it does not know ([`Shape::Unknown`]).

use std::collections::HashSet;

use kube_cel::cel::Context;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use landbridge_machinery::schema::NodeRef;

use crate::expand::{self, OPTIONAL_SELECT};
use crate::{functions, names, parse};

/// What is known about a value.
#[derive(Clone, Copy)]
pub enum Shape<'a> {
    /// An object, map or list the schema describes.
    Node(NodeRef<'a>),
    /// An object with metadata: the top of a resource, or an embedded one.
    Resource(NodeRef<'a>),
    /// `metadata`, of which rules see the names only.
    Metadata,
    /// A simple type, by its CEL name.
    Simple(&'static str),
    /// Anything.
    Unknown,
}

impl<'a> Shape<'a> {
    /// What stands at a place in a schema.
    pub fn of(node: NodeRef<'a>) -> Self {
        if node.is_int_or_string() {
            return Self::Unknown;
        }
        match node.type_name() {
            Some("object") if node.is_embedded_resource() => Self::Resource(node),
            Some("object" | "array") => Self::Node(node),
            Some("integer") => Self::Simple("int"),
            Some("number") => Self::Simple("double"),
            Some("boolean") => Self::Simple("bool"),
            Some("string") => Self::Simple(match node.format() {
                Some("date" | "date-time") => "google.protobuf.Timestamp",
                Some("duration") => "google.protobuf.Duration",
                Some("byte") => "bytes",
                _ => "string",
            }),
            _ => Self::Unknown,
        }
    }

    /// The type CEL gives it, for messages.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Simple(name) => Some(name),
            Self::Node(node) if node.type_name() == Some("array") => Some("list"),
            Self::Node(_) | Self::Resource(_) | Self::Metadata => Some("object"),
            Self::Unknown => None,
        }
    }
}

/// Checks one expression; `wanted` is the type it must have. Returns the comparisons of simple values,
/// which are cheap.
pub fn run(
    source: &str,
    expr: &IdedExpr,
    context: &Context<'_>,
    scope: &[(&str, Shape<'_>)],
    wanted: &str,
) -> Result<HashSet<u64>, String> {
    let mut checker = Checker {
        source,
        context,
        scope: scope.iter().map(|(name, shape)| ((*name).to_owned(), *shape)).collect(),
        cheap: HashSet::new(),
    };
    let shape = checker.shape(expr)?;
    if shape.name().is_some_and(|name| name != wanted) {
        return Err(format!("must evaluate to {wanted}"));
    }
    Ok(checker.cheap)
}

struct Checker<'s, 'a> {
    source: &'s str,
    context: &'s Context<'s>,
    /// Inner names last.
    scope: Vec<(String, Shape<'a>)>,
    /// Comparisons of simple values.
    cheap: HashSet<u64>,
}

impl<'a> Checker<'_, 'a> {
    fn shape(&mut self, expr: &IdedExpr) -> Result<Shape<'a>, String> {
        match &expr.expr {
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Shape::Simple("bool"),
                LiteralValue::Bytes(_) => Shape::Simple("bytes"),
                LiteralValue::Double(_) => Shape::Simple("double"),
                LiteralValue::Int(_) => Shape::Simple("int"),
                LiteralValue::String(_) => Shape::Simple("string"),
                LiteralValue::UInt(_) => Shape::Simple("uint"),
                LiteralValue::Null => Shape::Unknown,
            }),
            Expr::Ident(name) => self.lookup(name).ok_or_else(|| self.undeclared(name)),
            Expr::Select(select) => {
                let operand = self.shape(&select.operand)?;
                let found = self.field(operand, &select.field)?;
                Ok(if select.test { Shape::Simple("bool") } else { found })
            }
            Expr::Comprehension(loops) => {
                let range = self.shape(&loops.iter_range)?;
                let start = self.shape(&loops.accu_init)?;
                let item = match range {
                    Shape::Node(node) if node.type_name() == Some("array") => {
                        node.items().map_or(Shape::Unknown, Shape::of)
                    }
                    Shape::Node(_) => Shape::Simple("string"),
                    Shape::Simple(kind) => {
                        let what = format!(
                            "expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
                        );
                        return Err(parse::point_at(self.source, ".", &what));
                    }
                    _ => Shape::Unknown,
                };
                let before = self.scope.len();
                self.scope.push((loops.accu_var.clone(), start));
                self.scope.push((loops.iter_var.clone(), item));
                self.shape(&loops.loop_cond)?;
                self.shape(&loops.loop_step)?;
                self.scope.truncate(before + 1);
                let result = self.shape(&loops.result);
                self.scope.truncate(before);
                result
            }
            Expr::Call(call) => self.call(expr.id, call),
            Expr::List(_) | Expr::Map(_) => {
                for inner in crate::ast::children(expr) {
                    self.shape(inner)?;
                }
                Ok(Shape::Unknown)
            }
            Expr::Struct(made) => Err(self.undeclared(&made.type_name)),
            Expr::Unspecified => Err("ERROR: <input>:1:1: empty expression".to_owned()),
        }
    }

    fn lookup(&self, name: &str) -> Option<Shape<'a>> {
        self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, shape)| *shape)
    }

    fn undeclared(&self, name: &str) -> String {
        let what = format!("undeclared reference to '{name}' (in container '')");
        parse::point_at(self.source, name, &what)
    }

    fn field(&self, operand: Shape<'a>, name: &str) -> Result<Shape<'a>, String> {
        let missing = || {
            let needle = format!(".{name}");
            Err(parse::point_at(self.source, &needle, &format!("undefined field '{name}'")))
        };
        match operand {
            Shape::Unknown => Ok(Shape::Unknown),
            Shape::Metadata if matches!(name, "name" | "generateName") => {
                Ok(Shape::Simple("string"))
            }
            Shape::Resource(_) if name == "metadata" => Ok(Shape::Metadata),
            Shape::Node(node) | Shape::Resource(node) if node.type_name() == Some("object") => {
                if let Some(values) = node.additional() {
                    return Ok(Shape::of(values));
                }
                if node.takes_any_key() {
                    return Ok(Shape::Unknown);
                }
                let found = node.properties().find(|(declared, _)| {
                    names::escape(declared).is_some_and(|escaped| escaped == name)
                });
                found.map_or_else(missing, |(_, node)| Ok(Shape::of(node)))
            }
            Shape::Node(_) | Shape::Resource(_) | Shape::Simple(_) => {
                let what = format!(
                    "type '{}' does not support field selection",
                    operand.name().unwrap_or_default()
                );
                Err(parse::point_at(self.source, &format!(".{name}"), &what))
            }
            Shape::Metadata => missing(),
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Result<Shape<'a>, String> {
        let name = call.func_name.as_str();
        if name == OPTIONAL_SELECT {
            if let Some((operand, field)) = expand::selected(&call.args) {
                let operand = self.shape(operand)?;
                self.field(operand, field)?;
            }
            return Ok(Shape::Unknown);
        }
        if let Some(shape) = self.operator(id, call)? {
            return Ok(shape);
        }
        let prefix = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(prefix), .. }) => Some(prefix),
            _ => None,
        };
        let qualified = prefix.map(|prefix| format!("{prefix}.{name}"));
        let known = match qualified {
            Some(qualified) if functions::exists(self.context, &qualified) => true,
            _ => {
                if let Some(target) = &call.target {
                    self.shape(target)?;
                }
                functions::exists(self.context, name)
            }
        };
        if !known {
            return Err(self.undeclared(name));
        }
        for arg in &call.args {
            self.shape(arg)?;
        }
        Ok(match name {
            "size" | "indexOf" | "lastIndexOf" | "int" => Shape::Simple("int"),
            "startsWith" | "endsWith" | "matches" | "contains" | "hasValue" => {
                Shape::Simple("bool")
            }
            "string" | "format" | "join" | "lowerAscii" | "upperAscii" | "replace" | "trim"
            | "substring" | "charAt" => Shape::Simple("string"),
            "double" => Shape::Simple("double"),
            _ => Shape::Unknown,
        })
    }

    /// The shape of an operator's result; `None` when the call is none.
    fn operator(&mut self, id: u64, call: &CallExpr) -> Result<Option<Shape<'a>>, String> {
        let name = call.func_name.as_str();
        let sign = name.trim_matches('_');
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT, args) => {
                for arg in args {
                    let shape = self.shape(arg)?;
                    if let Some(kind) = shape.name().filter(|kind| *kind != "bool") {
                        return Err(self.no_overload(name, sign, &[kind]));
                    }
                }
                Ok(Some(Shape::Simple("bool")))
            }
            (
                operators::EQUALS
                | operators::NOT_EQUALS
                | operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS,
                [left, right],
            ) => {
                let (left, right) = (self.shape(left)?, self.shape(right)?);
                if let (Shape::Simple(left), Shape::Simple(right)) = (left, right) {
                    let numbers = |kind| matches!(kind, "int" | "uint" | "double");
                    let equality = matches!(name, operators::EQUALS | operators::NOT_EQUALS);
                    if left != right && (equality || !numbers(left) || !numbers(right)) {
                        return Err(self.no_overload(name, sign, &[left, right]));
                    }
                    self.cheap.insert(id);
                }
                Ok(Some(Shape::Simple("bool")))
            }
            (operators::IN, [left, right]) => {
                self.shape(left)?;
                self.shape(right)?;
                Ok(Some(Shape::Simple("bool")))
            }
            (operators::NOT_STRICTLY_FALSE, [inner]) => {
                self.shape(inner)?;
                Ok(Some(Shape::Simple("bool")))
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.shape(condition)?;
                let (yes, no) = (self.shape(yes)?, self.shape(no)?);
                Ok(Some(match (yes, no) {
                    (Shape::Simple(a), Shape::Simple(b)) if a == b => yes,
                    _ => Shape::Unknown,
                }))
            }
            (operators::INDEX | operators::OPT_INDEX, [operand, key]) => {
                self.shape(key)?;
                let found = match self.shape(operand)? {
                    Shape::Node(node) => node.items().or_else(|| node.additional()),
                    _ => None,
                };
                let optional = name == operators::OPT_INDEX;
                Ok(Some(found.filter(|_| !optional).map_or(Shape::Unknown, Shape::of)))
            }
            (
                operators::ADD
                | operators::SUBSTRACT
                | operators::MULTIPLY
                | operators::DIVIDE
                | operators::MODULO,
                [left, right],
            ) => {
                let (left, right) = (self.shape(left)?, self.shape(right)?);
                Ok(Some(match (left, right) {
                    (Shape::Simple(left), Shape::Simple(right)) => {
                        let times = left.contains('.') || right.contains('.');
                        if left != right && !times {
                            return Err(self.no_overload(name, sign, &[left, right]));
                        }
                        if times { Shape::Unknown } else { Shape::Simple(left) }
                    }
                    _ => Shape::Unknown,
                }))
            }
            (operators::NEGATE, [inner]) => self.shape(inner).map(Some),
            _ => Ok(None),
        }
    }

    fn no_overload(&self, name: &str, sign: &str, kinds: &[&str]) -> String {
        let what =
            format!("found no matching overload for '{name}' applied to '({})'", kinds.join(", "));
        parse::point_at(self.source, sign, &what)
    }
}
