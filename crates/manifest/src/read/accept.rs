//! From a parsed document to an object, several objects, or a problem.

use std::sync::Arc;

use serde_json::Value;

use super::{Context, Reader, Stranger};
use crate::{
    Document, Entry, Node, Path, Severity, Shape, Span, didyoumean,
    failure::{Failure, Parsed},
    markdown, rules,
};

impl Reader<'_> {
    /// Takes a document in.
    pub fn accept(&mut self, parsed: Parsed, context: Context<'_>) {
        let Parsed { root, value, failures, elided } = parsed;
        self.report_elided(&elided, context);
        let document = Document {
            source: Arc::clone(&self.source),
            root,
            value,
            origin: context.origin(),
            item: None,
            elided: !elided.is_empty(),
            inferred: false,
            called: None,
        };
        let (documents, fragments) = (self.documents.len(), self.fragments.len());
        self.judge(document, context);
        // A repeated key matters in an object, a little in a fragment, and in output not at all.
        for failure in failures {
            if matches!(context, Context::File) || self.documents.len() > documents {
                self.fail(failure);
            } else if self.fragments.len() > fragments {
                self.fail(failure.severity(Severity::Warning));
            }
        }
    }

    fn judge(&mut self, mut document: Document, context: Context<'_>) {
        match self.stranger(&document, context) {
            Some(Stranger::Useful(name)) => {
                document.called = Some(name);
                return self.documents.push(document);
            }
            Some(Stranger::Other(what)) => {
                let message = format!("left alone: this is {what}, not a Kubernetes manifest");
                let note = Failure::new(rules::OTHER_FILE, start_of(&document.root), message);
                let note = note.severity(Severity::Note).label("no apiVersion and kind");
                return self.fail(note.help("nothing to do"));
            }
            None => {}
        }
        if !document.value.is_object() {
            if !document.value.is_null() {
                self.not_an_object(&document, context);
            }
        } else if is_list(&document.value) {
            self.expand(document, context);
        } else {
            self.object(document, context);
        }
    }

    fn stranger(&self, document: &Document, context: Context<'_>) -> Option<Stranger> {
        let alone = matches!(context, Context::File) && document.item.is_none();
        let value = &document.value;
        let anonymous = value.get("apiVersion").is_none() && value.get("kind").is_none();
        (alone && anonymous).then(|| self.options.known?(value)).flatten()
    }

    fn not_an_object(&mut self, document: &Document, context: Context<'_>) {
        if let (Context::Block { before, line }, true) = (context, document.value.is_array()) {
            let failure = markdown::judge_value(&document.value, before, self.first_line(line));
            if let Some(failure) = failure {
                return self.fail(failure);
            }
        }
        let what = match &document.value {
            Value::String(_) => "a text".to_owned(),
            other => what(other),
        };
        let failure = Failure::new(rules::NOT_OBJECT, start_of(&document.root), format!("this document is {what}, not an object"))
            .label("expected `apiVersion:` here")
            .help(match &document.value {
                Value::Array(_) => "write the objects one after the other with `---` between them, or put them under `items:` of a `kind: List`",
                _ => "an object starts with `apiVersion:` and `kind:`; is a `:` missing?",
            });
        let failure = match context {
            Context::File => failure,
            Context::Block { .. } => failure.severity(Severity::Note),
        };
        self.fail(failure);
    }

    /// Makes documents of the items of a list.
    fn expand(&mut self, document: Document, context: Context<'_>) {
        let Document { source, root, mut value, origin, elided, .. } = document;
        let item_kind =
            value.get("kind").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("List"));
        let item_kind = item_kind.filter(|kind| !kind.is_empty()).map(str::to_owned);
        let api_version = value.get("apiVersion").cloned();
        let Node { span, value: Shape::Mapping(entries) } = root else { return };
        let items =
            entries.into_iter().rev().find(|entry| &*entry.key == "items").map(|entry| entry.node);
        let (nodes, values) = match (items, value.get_mut("items").map(Value::take)) {
            (Some(Node { value: Shape::Sequence(nodes), .. }), Some(Value::Array(values))) => {
                (nodes, values)
            }
            (None, _) => return,
            (Some(node), value) => {
                if value.is_some_and(|value| !value.is_null()) {
                    let failure = Failure::new(
                        rules::LIST,
                        node.span,
                        "the `items` of a list have to be a list",
                    )
                    .label("this is none");
                    self.fail(failure.related(span, "of this list"));
                }
                return;
            }
        };
        for (index, (root, mut value)) in nodes.into_iter().zip(values).enumerate() {
            let Value::Object(map) = &mut value else {
                let failure = Failure::new(
                    rules::LIST,
                    root.span,
                    format!("item {index} of the list is not an object"),
                );
                self.fail(failure.label("expected a mapping with `apiVersion:` and `kind:`"));
                continue;
            };
            // Servers leave out in the items what the list already says, and clients put it back.
            if let Some(kind) = &item_kind {
                map.entry("kind").or_insert_with(|| Value::String(kind.clone()));
                if let Some(api_version) = &api_version {
                    map.entry("apiVersion").or_insert_with(|| api_version.clone());
                }
            }
            let (source, origin) = (Arc::clone(&source), origin.clone());
            self.judge(
                Document {
                    source,
                    root,
                    value,
                    origin,
                    item: Some(index),
                    elided,
                    inferred: false,
                    called: None,
                },
                context,
            );
        }
    }

    fn object(&mut self, mut document: Document, context: Context<'_>) {
        let has = |field: &str| {
            document.value.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
        };
        match (has("apiVersion"), has("kind")) {
            (true, true) => self.keep(document),
            (false, true) => {
                let inferred = self.options.infer.and_then(|infer| infer(document.kind()));
                match inferred {
                    Some(api_version) if document.value.get("apiVersion").is_none() => {
                        let span = document
                            .root
                            .entry("kind")
                            .map_or(document.root.span, |entry| entry.node.span);
                        let failure = Failure::new(
                            rules::INFERRED,
                            span,
                            format!(
                                "no apiVersion: read as {api_version}, the one API with this kind"
                            ),
                        )
                        .severity(Severity::Warning)
                        .label("known from the kind")
                        .help(format!("add `apiVersion: {api_version}`"));
                        self.fail(failure);
                        if let Value::Object(map) = &mut document.value {
                            map.insert("apiVersion".to_owned(), Value::String(api_version));
                        }
                        document.inferred = true;
                        self.keep(document);
                    }
                    _ => self.lacking(document, &["apiVersion"], context),
                }
            }
            (true, false) => self.lacking(document, &["kind"], context),
            (false, false) => self.lacking(document, &["apiVersion", "kind"], context),
        }
    }

    /// Keeps an object; one whose name is no text is kept, too, but has none then.
    fn keep(&mut self, document: Document) {
        for field in ["name", "namespace"] {
            let value = document.value.get("metadata").and_then(|metadata| metadata.get(field));
            let Some(value) = value.filter(|value| !value.is_string() && !value.is_null()) else {
                continue;
            };
            let path = Path::default().key("metadata").key(field);
            let span = document.locate(&path).unwrap_or(document.root.span);
            let message = format!("`metadata.{field}` has to be a text");
            let failure = Failure::new(rules::NAME, span, message)
                .label(format!("YAML reads this as {}", what(value)))
                .help("put it in quotes");
            self.fail(failure);
        }
        self.documents.push(document);
    }

    /// Reports an object without apiVersion or kind, and keeps it as a fragment.
    fn lacking(&mut self, document: Document, fields: &[&str], context: Context<'_>) {
        let span = start_of(&document.root);
        let guess = self.options.guess.and_then(|guess| guess(&document.value));
        let missing = fields.join(" and ");
        if let (Context::Block { before, line }, 2) = (context, fields.len()) {
            let failure = markdown::judge_value(&document.value, before, self.first_line(line)).unwrap_or_else(|| {
                let looks = guess.as_ref().map_or(String::new(), |guess| format!("; looks like {guess}"));
                Failure::new(rules::FRAGMENT, span, format!("a fragment: no apiVersion and kind{looks}"))
                    .severity(Severity::Note)
                    .label("starts in the middle of an object")
                    .help("only its field names are looked at; put it into a whole object to have it checked")
            });
            let fragment = failure.code == rules::FRAGMENT;
            self.fail(failure);
            if fragment {
                self.fragments.push(document);
            }
            return;
        }
        let failure = if let Some((field, entry)) = written(&document, fields) {
            let reads = what(document.value.get(field).unwrap_or(&Value::Null));
            Failure::new(rules::NO_KIND, entry.node.span, format!("`{field}` has to be a text"))
                .label(format!("YAML reads this as {reads}"))
                .help("write the name, in quotes if YAML takes it for something else")
        } else {
            let verb = if fields.len() == 1 { "is" } else { "are" };
            let looks = guess.map(|guess| format!("looks like {guess}"));
            let help = match misspelt(&document, fields) {
                Some((field, key)) => format!("is `{key}` meant to be `{field}`?"),
                None => {
                    format!("add {missing}; if the file is no Kubernetes manifest, leave it out")
                }
            };
            Failure::new(rules::NO_KIND, span, format!("{missing} {verb} missing"))
                .label(looks.unwrap_or_else(|| "in this document".to_owned()))
                .help(help)
        };
        self.fail(failure);
        self.fragments.push(document);
    }

    /// The fence of a block.
    fn first_line(&self, line: u32) -> Span {
        let start = self.source.line_start(line).unwrap_or(0);
        self.source.span(start, start + self.source.line(line).len())
    }
}

/// A value in a word or two.
fn what(value: &Value) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(_) => "an empty text".to_owned(),
        other => other.to_string(),
    }
}

/// The first of some fields that is there after all, but is no text.
fn written<'a>(document: &'a Document, fields: &[&'a str]) -> Option<(&'a str, &'a Entry)> {
    fields.iter().find_map(|field| Some((*field, document.root.entry(field)?)))
}

/// The first of some fields that is there in another spelling, and that spelling.
fn misspelt<'a>(document: &'a Document, fields: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let Shape::Mapping(entries) = &document.root.value else { return None };
    fields.iter().find_map(|field| {
        let near = |entry: &&Entry| didyoumean(&entry.key, [*field]).is_some();
        Some((*field, &*entries.iter().take(1000).find(near)?.key))
    })
}

/// Where a document starts: its first key, since a span of the whole says nothing.
fn start_of(root: &Node) -> Span {
    match &root.value {
        Shape::Mapping(entries) => entries.first().map_or(root.span, |entry| entry.key_span),
        Shape::Sequence(items) => items.first().map_or(root.span, start_of),
        Shape::Scalar(_) => root.span,
    }
}

/// As clients see it: the kind says so and there are items.
fn is_list(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    kind == "List" || (kind.ends_with("List") && value.get("items").is_some_and(Value::is_array))
}
