//! The rules of a whole schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::Context;
use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::schema::{MAX_DEPTH, NodeRef, Schema};

use crate::budget::Budget;
use crate::rule::{self, Place, Rule};
use crate::{functions, stack};

/// The part of a schema's tree that has rules.
#[derive(Default)]
pub struct Tree {
    pub rules: Vec<Rule>,
    pub properties: BTreeMap<String, Self>,
    pub items: Option<Box<Self>>,
    pub additional: Option<Box<Self>>,
}

impl Tree {
    /// Whether a rule nests too deep for an ordinary stack.
    pub fn is_deep(&self) -> bool {
        let inner = self.properties.values().chain(self.items.as_deref());
        self.rules.iter().any(|rule| rule.deep)
            || inner.chain(self.additional.as_deref()).any(Self::is_deep)
    }

    fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.properties.is_empty()
            && self.items.is_none()
            && self.additional.is_none()
    }
}

/// Compiles, on a stack that is large enough.
pub fn run(schema: &Schema, path: &FieldPath) -> Result<Option<Tree>, Vec<FieldError>> {
    if !has_rules(schema.root(), 0) {
        return Ok(None);
    }
    let failed =
        |why: &str| vec![FieldError::invalid(path, "", format!("compilation failed: {why}"))];
    let compiled = stack::run(|| {
        let context = functions::context(&Arc::new(Budget::new()));
        let mut compiler = Compiler { context: &context, errors: Vec::new() };
        let tree = compiler.node(schema.root(), path, None, true, 0);
        if compiler.errors.is_empty() { Ok(Some(tree)) } else { Err(compiler.errors) }
    });
    match compiled {
        Ok(Some(result)) => result,
        Ok(None) => Err(failed("the compiler gave up")),
        Err(error) => Err(failed(&error.to_string())),
    }
}

fn has_rules(node: NodeRef<'_>, depth: usize) -> bool {
    depth <= MAX_DEPTH
        && (!node.validations().is_empty()
            || node.items().is_some_and(|items| has_rules(items, depth + 1))
            || node.additional().is_some_and(|values| has_rules(values, depth + 1))
            || node.properties().any(|(_, property)| has_rules(property, depth + 1)))
}

struct Compiler<'c> {
    context: &'c Context<'c>,
    errors: Vec<FieldError>,
}

impl Compiler<'_> {
    fn node(
        &mut self,
        node: NodeRef<'_>,
        path: &FieldPath,
        uncorrelatable: Option<&FieldPath>,
        root: bool,
        depth: usize,
    ) -> Tree {
        let mut tree = Tree::default();
        if depth > MAX_DEPTH {
            return tree;
        }
        let place = Place { node, root, uncorrelatable, context: self.context };
        for (index, raw) in node.validations().iter().enumerate() {
            let path = path.child("x-kubernetes-validations").index(index);
            match rule::compile(raw, &place, &path) {
                Ok(rule) => tree.rules.push(rule),
                Err(errors) => self.errors.extend(errors),
            }
        }
        for (name, property) in node.properties() {
            let path = path.child("properties").key(name);
            let below = self.node(property, &path, uncorrelatable, false, depth + 1);
            if !below.is_empty() {
                tree.properties.insert(name.to_owned(), below);
            }
        }
        if let Some(items) = node.items() {
            let below = path.child("items");
            // Only elements with keys can be found again.
            let lost = (node.list_type() != Some("map")).then_some(path);
            let below = self.node(items, &below, uncorrelatable.or(lost), false, depth + 1);
            tree.items = (!below.is_empty()).then(|| Box::new(below));
        }
        if let Some(values) = node.additional() {
            let below = path.child("additionalProperties");
            let below = self.node(values, &below, uncorrelatable, false, depth + 1);
            tree.additional = (!below.is_empty()).then(|| Box::new(below));
        }
        tree
    }
}
