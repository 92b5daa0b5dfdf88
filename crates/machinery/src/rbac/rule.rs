//! One rule of a role.

use std::fmt;

use serde_json::{Map, Value};

use super::Attributes;

const ALL: &str = "*";

/// Verbs on resources, or on paths outside of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `verbs`.
    pub verbs: Vec<String>,
    /// `apiGroups`.
    pub groups: Vec<String>,
    /// `resources`, with subresources as `pods/status` or `*/scale`.
    pub resources: Vec<String>,
    /// `resourceNames`; empty means every name.
    pub names: Vec<String>,
    /// `nonResourceURLs`.
    pub urls: Vec<String>,
}

impl Rule {
    /// Reads a rule of a Role or ClusterRole.
    pub fn from_value(value: &Value) -> Self {
        let list = |field: &str| {
            let items = value[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// The rules of a role.
    pub fn of_role(role: &Value) -> Vec<Self> {
        role["rules"].as_array().into_iter().flatten().map(Self::from_value).collect()
    }

    /// The rule as roles and reviews carry it: without empty lists.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        for (field, list) in self.fields() {
            if !list.is_empty() {
                object.insert(field.to_owned(), list.clone().into());
            }
        }
        Value::Object(object)
    }

    fn fields(&self) -> [(&'static str, &Vec<String>); 5] {
        [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ]
    }

    /// Whether the rule allows this.
    pub fn allows(&self, wanted: &Attributes<'_>) -> bool {
        if !self.allows_verb(wanted.verb) {
            return false;
        }
        match wanted.path {
            Some(path) => self.urls.iter().any(|url| url_matches(url, path)),
            None => {
                self.allows_group(wanted.group)
                    && self.allows_resource(wanted.resource, wanted.subresource)
                    && self.allows_name(wanted.name)
            }
        }
    }

    pub(super) fn allows_verb(&self, verb: &str) -> bool {
        has(&self.verbs, verb)
    }

    pub(super) fn allows_group(&self, group: &str) -> bool {
        has(&self.groups, group)
    }

    pub(super) fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|entry| match entry.split_once('/') {
            _ if entry == ALL => true,
            None => subresource.is_empty() && entry == resource,
            Some((of, sub)) => {
                !subresource.is_empty() && sub == subresource && (of == ALL || of == resource)
            }
        })
    }

    pub(super) fn allows_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|entry| entry == name)
    }

    pub(super) fn allows_url(&self, url: &str) -> bool {
        self.urls.iter().any(|entry| url_matches(entry, url))
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == ALL || entry == wanted)
}

/// A trailing `*` stands for any end.
fn url_matches(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.strip_suffix('*').is_some_and(|start| path.starts_with(start))
}

/// As upstream prints a rule in its refusals: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("ResourceNames", &self.names),
            ("NonResourceURLs", &self.urls),
            ("Verbs", &self.verbs),
        ];
        let parts: Vec<String> = named
            .into_iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| {
                let quoted: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
                format!("{name}:[{}]", quoted.join(" "))
            })
            .collect();
        write!(f, "{{{}}}", parts.join(", "))
    }
}
