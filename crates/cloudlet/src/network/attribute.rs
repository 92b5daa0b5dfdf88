//! One attribute of a resource: what may be given, by whom, and what a list can be asked for.

use serde_json::Value;

use super::check::Check;
use super::who::Who;

/// What an attribute is when a create does not name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It must be named.
    Required,
    /// It stays away; the resource's rules find a value.
    Unset,
    /// `null`
    Null,
    /// This text.
    Text(&'static str),
    /// This truth.
    Flag(bool),
    /// This number.
    Number(i64),
    /// `[]`
    List,
    /// `{}`
    Map,
}

impl Given {
    /// The value; `None` where there is none to give.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Required | Self::Unset => None,
            Self::Null => Some(Value::Null),
            Self::Text(text) => Some(text.into()),
            Self::Flag(flag) => Some(flag.into()),
            Self::Number(number) => Some(number.into()),
            Self::List => Some(Value::Array(Vec::new())),
            Self::Map => Some(Value::Object(serde_json::Map::new())),
        }
    }
}

/// How a query parameter of this name selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// It does not: such a filter is refused (extension filter-validation).
    Never,
    /// The value as text is one of those given.
    Equal,
    /// One of the list's items is one of those given, or an object with such a member
    /// (`fixed_ips=ip_address=10.0.0.5`).
    Any,
}

/// A row of a resource's table.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The name in bodies and queries.
    pub name: &'static str,
    /// What a value has to be, and what it is turned into.
    pub check: Check,
    /// Whether a create may name it.
    pub post: bool,
    /// Whether an update may.
    pub put: bool,
    /// What it is where a create does not name it.
    pub given: Given,
    /// Who may name it in a create, beyond the right to create at all.
    pub set: Who,
    /// Who may name it in an update.
    pub change: Who,
    /// Who sees it.
    pub see: Who,
    /// Whether it is shown at all (`false` for what is only ever sent).
    pub visible: bool,
    /// How it selects.
    pub select: Select,
    /// Whether a list can be sorted by it.
    pub sort: bool,
    /// Members of the value that have a policy of their own (`create_port:fixed_ips:ip_address`), and
    /// who may name them.
    pub parts: &'static [(&'static str, Who)],
    /// The extension that brings it, where it can be switched off.
    pub extension: Option<&'static str>,
}

impl Attribute {
    /// An attribute that only the service itself sets.
    pub const fn shown(name: &'static str) -> Self {
        Self {
            name,
            check: Check::Any,
            post: false,
            put: false,
            given: Given::Unset,
            set: Who::Anybody,
            change: Who::Anybody,
            see: Who::Anybody,
            visible: true,
            select: Select::Never,
            sort: false,
            parts: &[],
            extension: None,
        }
    }

    /// An attribute for create and update.
    pub const fn open(name: &'static str, check: Check, given: Given) -> Self {
        Self { check, post: true, put: true, given, ..Self::shown(name) }
    }

    /// An attribute for create only.
    pub const fn once(name: &'static str, check: Check, given: Given) -> Self {
        Self { check, post: true, given, ..Self::shown(name) }
    }

    /// The same, for update only.
    #[must_use]
    pub const fn later(self) -> Self {
        Self { post: false, put: true, ..self }
    }

    /// The same, and lists can be filtered by it.
    #[must_use]
    pub const fn filter(self) -> Self {
        Self { select: Select::Equal, ..self }
    }

    /// The same, and lists can be filtered by the items of its list.
    #[must_use]
    pub const fn filter_any(self) -> Self {
        Self { select: Select::Any, ..self }
    }

    /// The same, and lists can be filtered and sorted by it.
    #[must_use]
    pub const fn key(self) -> Self {
        Self { select: Select::Equal, sort: true, ..self }
    }

    /// The same; only these may set it, at create and at update.
    #[must_use]
    pub const fn only(self, who: Who) -> Self {
        Self { set: who, change: who, ..self }
    }

    /// The same; only these may set it at create.
    #[must_use]
    pub const fn set_by(self, who: Who) -> Self {
        Self { set: who, ..self }
    }

    /// The same; only these may change it.
    #[must_use]
    pub const fn changed_by(self, who: Who) -> Self {
        Self { change: who, ..self }
    }

    /// The same; only these see it.
    #[must_use]
    pub const fn seen_by(self, who: Who) -> Self {
        Self { see: who, ..self }
    }

    /// The same; these of its members are only for these people.
    #[must_use]
    pub const fn parts(self, parts: &'static [(&'static str, Who)]) -> Self {
        Self { parts, ..self }
    }

    /// The same, where the extension is on.
    #[must_use]
    pub const fn with(self, extension: &'static str) -> Self {
        Self { extension: Some(extension), ..self }
    }

    /// The same, never shown.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self { visible: false, ..self }
    }
}
