//! What expressions may call: the libraries of kube-cel, corrected where they differ from upstream,
//! and the functions that expressions are hardened with.

use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::{Key, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};

use crate::budget::{Budget, MAX_TEXT};
use crate::expand::{OPTIONAL_LIST, OPTIONAL_SELECT, TYPE};
use crate::{ast, harden};

type Result<T> = std::result::Result<T, ExecutionError>;

/// What is said when the budget is spent; never shown, the judge has words of its own.
const SPENT: &str = "cost budget exceeded";

/// Everything callable.
pub fn context(budget: &Arc<Budget>) -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("size", size);
    context.add_function("replace", replace);
    context.add_function("join", join);
    context.add_function(OPTIONAL_SELECT, optional_select);
    context.add_function("type", |value: Value| -> Result<Value> { Ok(named(type_name(&value))) });
    context.add_function(TYPE, |name: Arc<String>| -> Result<Value> { Ok(named(&name)) });
    context.add_function(OPTIONAL_LIST, optional_list);
    context.add_function(harden::LIMIT, limit);
    let purse = Arc::clone(budget);
    context.add_function(
        harden::TICK,
        move |ftx: &FunctionContext<'_, '_>, go: bool, bulk: i64| {
            if purse.pay_turn(bulk.unsigned_abs()) { Ok(go) } else { Err(ftx.error(SPENT)) }
        },
    );
    let purse = Arc::clone(budget);
    context.add_function(
        harden::TICK_LIST,
        move |ftx: &FunctionContext<'_, '_>, go: bool, bulk: i64, name: Arc<String>| {
            let list = ftx.ptx.get_variable(name.as_str());
            let paid = purse.pay_turn(bulk.unsigned_abs())
                && list.is_none_or(|list| purse.pay_copy(list.as_ref()));
            if paid { Ok(go) } else { Err(ftx.error(SPENT)) }
        },
    );
    context
}

/// Whether a function of this name can be called.
pub fn exists(context: &Context<'_>, name: &str) -> bool {
    let probe: IdedExpr = ast::call(name, Vec::new());
    !matches!(context.resolve(&probe), Err(ExecutionError::UndeclaredReference(_)))
}

/// A type as a value; the blank keeps it apart from any text a rule would compare it with.
fn named(name: &str) -> Value {
    Value::String(Arc::new(format!("type {name}")))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        _ => "dyn",
    }
}

/// Counts characters where the library counts bytes.
fn size(ftx: &FunctionContext<'_, '_>, This(this): This<Value>) -> Result<i64> {
    let size = match this {
        Value::List(list) => list.len(),
        Value::Map(map) => map.map.len(),
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(ftx.error("no such overload")),
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

/// As the library's, but never makes more than may be made.
fn replace(
    ftx: &FunctionContext<'_, '_>,
    This(this): This<Arc<String>>,
    Arguments(args): Arguments,
) -> Result<Value> {
    let (from, to, times) = match args.as_slice() {
        [Value::String(from), Value::String(to)] => (from, to, usize::MAX),
        [Value::String(from), Value::String(to), Value::Int(times)] => {
            (from, to, usize::try_from(*times).unwrap_or(usize::MAX))
        }
        _ => return Err(ftx.error("no such overload")),
    };
    let found = this.matches(from.as_str()).count().min(times);
    if found.saturating_mul(to.len()).saturating_add(this.len()) > MAX_TEXT {
        return Err(too_long(ftx));
    }
    Ok(Value::String(Arc::new(this.replacen(from.as_str(), to, found))))
}

/// As the library's, but never makes more than may be made.
fn join(
    ftx: &FunctionContext<'_, '_>,
    This(this): This<Arc<Vec<Value>>>,
    Arguments(args): Arguments,
) -> Result<Value> {
    let between = match args.as_slice() {
        [] => "",
        [Value::String(text)] => text.as_str(),
        _ => return Err(ftx.error("no such overload")),
    };
    let mut out = String::new();
    for (place, item) in this.iter().enumerate() {
        let Value::String(item) = item else { return Err(ftx.error("no such overload")) };
        if out.len() + item.len() + between.len() > MAX_TEXT {
            return Err(too_long(ftx));
        }
        if place > 0 {
            out.push_str(between);
        }
        out.push_str(item);
    }
    Ok(Value::String(Arc::new(out)))
}

fn limit(ftx: &FunctionContext<'_, '_>, value: Value) -> Result<Value> {
    let long = match &value {
        Value::String(text) => text.len() > MAX_TEXT,
        Value::Bytes(bytes) => bytes.len() > MAX_TEXT,
        Value::List(list) => list.len() > MAX_TEXT,
        _ => false,
    };
    if long { Err(too_long(ftx)) } else { Ok(value) }
}

fn too_long(ftx: &FunctionContext<'_, '_>) -> ExecutionError {
    ftx.error(format!("the result is longer than {MAX_TEXT}"))
}

/// `operand.?field`, where the operand may be optional itself.
fn optional_select(operand: Value, field: Arc<String>) -> Result<Value> {
    let inner = match &operand {
        Value::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>() {
            Some(optional) => optional.value().cloned(),
            None => return Err(ExecutionError::NoSuchOverload),
        },
        Value::Map(_) => Some(operand),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let found = match inner {
        Some(Value::Map(map)) => map.map.get(&Key::String(field)).cloned(),
        _ => None,
    };
    Ok(optional(found))
}

/// An optional value as a list of one or none.
#[allow(clippy::needless_pass_by_value)] // the evaluator hands over values
fn optional_list(value: Value) -> Result<Value> {
    let Value::Opaque(opaque) = value else { return Err(ExecutionError::NoSuchOverload) };
    let optional = opaque.downcast_ref::<OptionalValue>().ok_or(ExecutionError::NoSuchOverload)?;
    Ok(Value::List(Arc::new(optional.value().cloned().into_iter().collect())))
}

/// An optional value.
pub fn optional(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}
