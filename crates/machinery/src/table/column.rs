//! Headings.

use serde_json::{Value, json};

/// One column of `kubectl get`.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// OpenAPI format; `name` marks the column that names the object.
    pub format: String,
    /// For `kubectl explain`-like readers.
    pub description: String,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
}

impl Column {
    /// A text column that is always shown.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: "string".to_owned(),
            format: String::new(),
            description: description.to_owned(),
            priority: 0,
        }
    }

    /// The column that names the object. kubectl finds it by its format.
    pub fn name() -> Self {
        let description = "Name of the object, unique among the objects of its kind in one \
                           namespace (or in the cluster). Chosen at creation and fixed from then on.";
        Self { format: "name".to_owned(), ..Self::new("Name", description) }
    }

    /// The column that says how long ago the object was made.
    pub fn age() -> Self {
        Self::new("Age", "Time since the server created the object.")
    }

    /// The same column with another type, for example `integer`.
    #[must_use]
    pub fn with_kind(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.kind);
        self
    }

    /// The same column, shown only with `-o wide`.
    #[must_use]
    pub fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// The entry of `columnDefinitions`.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}
