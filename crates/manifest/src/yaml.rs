//! YAML with places.
//!
//! The parser is granit-parser's event stream (what serde-saphyr stands on); the tree is built here, because
//! only here the place of every key and every value is wanted. Scalars mean what they mean to kubectl,
//! which is YAML 1.1 as go-yaml reads it: see [`scalar`].
//!
//! Aliases are copied in, on a budget. A document either becomes a whole tree or a [`Failure`];
//! what is wrong but readable (repeated keys) is noted beside the tree.

mod explain;
mod scalar;

use std::collections::{BTreeMap, HashMap};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};
use serde_json::{Map, Value};

use crate::{
    Entry, Limits, Node, Shape, Span, Style,
    failure::{Failure, Parsed, Piece},
    json::repeated,
    rules,
    source::{BOM, offset},
};

/// What was spent so far. One for a file, however many pieces it is read in: the sum is what hurts.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    nodes: usize,
    alias_nodes: usize,
}

impl Budget {
    /// Whether there is nothing left, so that reading on would only repeat the complaint.
    pub fn is_spent(&self, limits: &Limits) -> bool {
        self.nodes > limits.nodes || self.alias_nodes > limits.alias_nodes
    }
}

/// Reads all documents of a piece. Empty ones are left out.
pub(crate) fn stream(
    piece: Piece<'_>,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Parsed>, Failure> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: limits.depth.saturating_add(1),
        block_nesting_limit: limits.depth.saturating_add(1),
    };
    let mut builder = Builder::new(piece, limits, budget);
    let mut documents = Vec::new();
    let mut read = 0;
    for next in Parser::new_from_str_with_options(piece.text, options) {
        let (event, span) = next.map_err(|error| explain::syntax(piece, &error, read))?;
        read = span.end.byte_offset().unwrap_or(read);
        let span = builder.place(span);
        if matches!(event, Event::DocumentEnd) {
            documents.extend(builder.finish());
        } else {
            builder.event(event, span)?;
        }
    }
    Ok(documents)
}

/// A collection that is still open.
struct Open {
    span: Span,
    anchor: usize,
    flow: bool,
    /// Nodes in it so far, itself included.
    size: usize,
    inside: Inside,
}

enum Inside {
    Sequence { nodes: Vec<Node>, values: Vec<Value> },
    Mapping { entries: Vec<Entry>, map: Map<String, Value>, key: Option<Key>, merges: Vec<Built> },
}

struct Key {
    text: String,
    span: Span,
    merge: bool,
}

/// A finished value.
#[derive(Clone)]
struct Built {
    node: Node,
    value: Value,
    size: usize,
}

struct Builder<'a> {
    piece: Piece<'a>,
    /// Line of the file the piece starts on.
    line: u32,
    /// Whether there are byte order marks inside, of which the parser counts some as columns.
    marked: bool,
    limits: &'a Limits,
    open: Vec<Open>,
    root: Option<Built>,
    /// By the parser's number. An anchor whose value is still open is not in here.
    anchors: HashMap<usize, Built>,
    budget: &'a mut Budget,
    failures: Vec<Failure>,
    elided: Vec<Span>,
}

/// Repeated keys reported per document; each one costs a look through the mapping.
const REPEATED_REPORTED: usize = 100;

impl<'a> Builder<'a> {
    fn new(piece: Piece<'a>, limits: &'a Limits, budget: &'a mut Budget) -> Self {
        Builder {
            piece,
            line: piece.source.position(offset(piece.offset)).line,
            marked: piece.text.contains(BOM),
            limits,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            budget,
            failures: Vec::new(),
            elided: Vec::new(),
        }
    }

    /// The parser's span as one of the file. Line and column are the parser's, counted from where
    /// the piece starts: to look them up for every node would take as long as parsing.
    fn place(&self, span: granit_parser::Span) -> Span {
        let start = span.start.byte_offset().unwrap_or(0);
        let end = span.end.byte_offset().unwrap_or(start).max(start);
        if self.marked {
            return self.piece.span(start, end);
        }
        Span {
            start: offset(self.piece.offset + start),
            end: offset(self.piece.offset + end),
            line: self.line - 1 + offset(span.start.line().max(1)),
            column: offset(span.start.col() + 1),
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Failure> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.spend(1, span)?;
                if self.is_key_next() {
                    if anchor != 0 {
                        self.spend_alias(1, span)?;
                        let node = Node { span, value: Shape::Scalar(Style::Plain) };
                        let value = Value::String(text.to_string());
                        self.anchors.insert(anchor, Built { node, value, size: 1 });
                    }
                    self.key(text.into_owned(), matches!(style, ScalarStyle::Plain), span);
                    return Ok(());
                }
                if matches!(style, ScalarStyle::Plain) && matches!(&*text, "..." | "…") {
                    self.elided.push(span);
                    if matches!(self.open.last(), Some(Open { inside: Inside::Sequence { .. }, .. })) {
                        return Ok(());
                    }
                }
                let written = span.start != span.end || !matches!(style, ScalarStyle::Plain);
                let value = scalar::resolve(text, style, tag.as_deref(), written);
                let (style, span) = self.written(style, span);
                let node = Node { span, value: Shape::Scalar(style) };
                self.close(Built { node, value, size: 1 }, anchor)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.start(span, style, anchor, Inside::Sequence { nodes: Vec::new(), values: Vec::new() })
            }
            Event::MappingStart(style, anchor, _) => {
                let (entries, map, merges) = (Vec::new(), Map::new(), Vec::new());
                self.start(span, style, anchor, Inside::Mapping { entries, map, key: None, merges })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::UnresolvedAlias(name) => Err(Failure::new(rules::ALIAS, span, format!("there is no anchor `&{name}` before this alias"))
                .label("refers to nothing")
                .help("a value that starts with `*` has to be quoted; anchors do not reach from one document into the next")),
            _ => Ok(()),
        }
    }

    /// Whether the next node is a key of the innermost mapping.
    fn is_key_next(&self) -> bool {
        matches!(self.open.last(), Some(Open { inside: Inside::Mapping { key: None, .. }, .. }))
    }

    /// Block scalars end after their line break; people see them end with their last character.
    fn written(&self, style: ScalarStyle, mut span: Span) -> (Style, Span) {
        let style = match style {
            ScalarStyle::Plain => return (Style::Plain, span),
            ScalarStyle::SingleQuoted => return (Style::SingleQuoted, span),
            ScalarStyle::DoubleQuoted => return (Style::DoubleQuoted, span),
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let range = span.start as usize - self.piece.offset..span.end as usize - self.piece.offset;
        let text = self.piece.text.get(range).unwrap_or_default();
        span.end = span.start + offset(text.trim_end().len());
        (style, span)
    }

    fn start(
        &mut self,
        span: Span,
        style: StructureStyle,
        anchor: usize,
        inside: Inside,
    ) -> Result<(), Failure> {
        self.spend(1, span)?;
        if self.is_key_next() {
            return Err(self.no_key(span));
        }
        if self.open.len() >= self.limits.depth {
            return Err(Failure::new(
                rules::LIMIT,
                span,
                format!("nested deeper than {} levels", self.limits.depth),
            )
            .label("one level too many"));
        }
        let flow = matches!(style, StructureStyle::Flow);
        let span = match &inside {
            Inside::Sequence { .. } if !flow => self.started_at_dash(span),
            _ => span,
        };
        self.open.push(Open { span, anchor, flow, size: 1, inside });
        Ok(())
    }

    /// The parser starts a list that is not indented behind its first dash; people see it start at
    /// the dash. Between a key and its list there are only comments, anchors and tags, so the
    /// first line that begins with a dash is it.
    fn started_at_dash(&self, span: Span) -> Span {
        let Some(Open { inside: Inside::Mapping { key: Some(key), .. }, .. }) = self.open.last()
        else {
            return span;
        };
        let from = (key.span.end as usize).saturating_sub(self.piece.offset);
        let to = (span.start as usize).saturating_sub(self.piece.offset);
        let between = self.piece.text.get(from..to).unwrap_or_default();
        let mut at = from;
        for line in between.split_inclusive(['\n', '\r']) {
            let text = line.trim_start_matches([' ', '\t']);
            if at > from && text.starts_with('-') {
                let dash = at + line.len() - text.len();
                return Span { end: span.end, ..self.piece.span(dash, dash) };
            }
            at += line.len();
        }
        span
    }

    fn no_key(&self, span: Span) -> Failure {
        let at = span.start as usize - self.piece.offset;
        let rest = self.piece.text.get(at.saturating_sub(1)..).unwrap_or_default();
        let failure = Failure::new(rules::KEY, span, "a key has to be a text")
            .label("this is a mapping or a list");
        if rest.starts_with("{{") {
            failure.help(explain::TEMPLATE)
        } else {
            failure.help("quote it, or is a value missing its key?")
        }
    }

    fn key(&mut self, text: String, plain: bool, span: Span) {
        let merge = plain && text == "<<";
        if let Some(Open { inside: Inside::Mapping { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(Key { text, span, merge });
        }
    }

    fn end(&mut self, span: Span) -> Result<(), Failure> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let Open { span: mut whole, anchor, flow, size, inside } = open;
        // A block collection ends with its last value; the parser notices only at the next token.
        let last = match &inside {
            _ if flow => span.end,
            Inside::Sequence { nodes, .. } => nodes.last().map_or(whole.end, |node| node.span.end),
            Inside::Mapping { entries, .. } => entries
                .last()
                .map_or(whole.end, |entry| entry.node.span.end.max(entry.key_span.end)),
        };
        whole.end = last.max(whole.start);
        let built = match inside {
            Inside::Sequence { nodes, values } => Built {
                node: Node { span: whole, value: Shape::Sequence(nodes) },
                value: Value::Array(values),
                size,
            },
            Inside::Mapping { mut entries, mut map, merges, .. } => {
                for merge in merges {
                    merge_into(&mut entries, &mut map, merge.node, merge.value)?;
                }
                Built {
                    node: Node { span: whole, value: Shape::Mapping(entries) },
                    value: Value::Object(map),
                    size,
                }
            }
        };
        self.close(built, anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Failure> {
        let Some(built) = self.anchors.get(&anchor).cloned() else {
            return Err(Failure::new(
                rules::ALIAS,
                span,
                "this alias stands inside the value it refers to",
            )
            .label("would go on for ever"));
        };
        self.spend_alias(built.size, span)?;
        self.spend(built.size, span)?;
        if self.is_key_next() {
            return match built.value {
                Value::String(text) => {
                    self.key(text, false, span);
                    Ok(())
                }
                _ => Err(self.no_key(span)),
            };
        }
        let node = Node { span, value: built.node.value };
        self.close(Built { node, value: built.value, size: built.size }, 0)
    }

    /// Puts a finished value where it belongs.
    fn close(&mut self, built: Built, anchor: usize) -> Result<(), Failure> {
        if anchor != 0 {
            self.spend_alias(built.size, built.node.span)?;
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(built);
            return Ok(());
        };
        open.size += built.size;
        match &mut open.inside {
            Inside::Sequence { nodes, values } => {
                nodes.push(built.node);
                values.push(built.value);
            }
            Inside::Mapping { entries, map, key, merges } => {
                let Some(key) = key.take() else { return Ok(()) };
                if key.merge {
                    merges.push(built);
                    return Ok(());
                }
                if map.contains_key(&key.text) && self.failures.len() < REPEATED_REPORTED {
                    self.failures.extend(repeated(entries, &key.text, key.span));
                }
                entries.push(Entry {
                    key: key.text.as_str().into(),
                    key_span: key.span,
                    node: built.node,
                });
                map.insert(key.text, built.value);
            }
        }
        Ok(())
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Result<(), Failure> {
        self.budget.nodes = self.budget.nodes.saturating_add(nodes);
        if self.budget.nodes <= self.limits.nodes {
            return Ok(());
        }
        Err(Failure::new(
            rules::LIMIT,
            span,
            format!("more than {} values in one file", self.limits.nodes),
        )
        .help("split the file"))
    }

    fn spend_alias(&mut self, nodes: usize, span: Span) -> Result<(), Failure> {
        self.budget.alias_nodes = self.budget.alias_nodes.saturating_add(nodes);
        if self.budget.alias_nodes <= self.limits.alias_nodes {
            return Ok(());
        }
        Err(Failure::new(
            rules::LIMIT,
            span,
            format!("anchors and aliases repeat more than {} values", self.limits.alias_nodes),
        )
        .label("the budget is used up here")
        .help("write the values out instead of repeating them by alias"))
    }

    /// The document that has just ended, unless it is empty.
    fn finish(&mut self) -> Option<Parsed> {
        self.open.clear();
        self.anchors.clear();
        let failures = std::mem::take(&mut self.failures);
        let elided = std::mem::take(&mut self.elided);
        let Built { node: root, value, .. } = self.root.take()?;
        (!value.is_null() || !elided.is_empty()).then_some(Parsed { root, value, failures, elided })
    }
}

/// Copies what `<<` names; keys that are written out win, then the first that was merged.
fn merge_into(
    entries: &mut Vec<Entry>,
    map: &mut Map<String, Value>,
    node: Node,
    value: Value,
) -> Result<(), Failure> {
    match (node.value, value) {
        (Shape::Mapping(from), Value::Object(values)) => {
            // Collected by key, so that of repeated ones the last counts, as in the value.
            let from: BTreeMap<Box<str>, Entry> =
                from.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
            for (key, entry) in from {
                let Some(value) = values.get(&*key) else { continue };
                if !map.contains_key(&*key) {
                    entries.push(entry);
                    map.insert(key.into(), value.clone());
                }
            }
            Ok(())
        }
        (Shape::Sequence(nodes), Value::Array(values))
            if nodes.iter().all(|node| matches!(node.value, Shape::Mapping(_))) =>
        {
            let mut pairs = nodes.into_iter().zip(values);
            pairs.try_for_each(|(node, value)| merge_into(entries, map, node, value))
        }
        _ => Err(Failure::new(
            rules::ALIAS,
            node.span,
            "`<<` merges a mapping or a list of mappings",
        )
        .label("this is neither")),
    }
}
