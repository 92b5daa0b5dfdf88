//! One frame for what Keystone keeps: projects, users, roles, services, endpoints, regions, …

use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use crate::network::python;
use crate::object::Object;
use crate::request::{Request, encode};
use crate::state::{Kind, State, Tx};

/// The longest name, description and the like.
const LONGEST: usize = 1024;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// Text with something in it.
    Name,
    /// Any text.
    Text,
    /// Text or `null`.
    TextOrNull,
    /// A truth.
    Flag,
    /// A list of texts.
    Texts,
    /// A dictionary.
    Map,
}

/// A field of an entity.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// What it holds.
    pub is: Is,
    /// Whether a create must name it.
    pub required: bool,
    /// What it is where a create does not name it; `None` leaves it out.
    pub default: Option<fn() -> Value>,
    /// Whether an update may name it.
    pub mutable: bool,
}

impl Field {
    /// A field that must be given.
    pub const fn required(name: &'static str, is: Is) -> Self {
        Self { name, is, required: true, default: None, mutable: true }
    }

    /// A field with a default.
    pub const fn default(name: &'static str, is: Is, default: fn() -> Value) -> Self {
        Self { name, is, required: false, default: Some(default), mutable: true }
    }

    /// A field that is there when it is given.
    pub const fn optional(name: &'static str, is: Is) -> Self {
        Self { name, is, required: false, default: None, mutable: true }
    }

    /// The same, never changed.
    #[must_use]
    pub const fn fixed(self) -> Self {
        Self { mutable: false, ..self }
    }
}

/// A kind of thing that Keystone keeps.
pub struct Entity {
    /// Its table.
    pub kind: &'static Kind,
    /// The name in a body.
    pub single: &'static str,
    /// The name in a path and in a list's body.
    pub plural: &'static str,
    /// The fields.
    pub fields: &'static [Field],
    /// What no answer shows.
    pub hidden: &'static [&'static str],
    /// Checks and completes a new one.
    pub create: fn(&mut Tx<'_>, Object) -> Result<Object, Refusal>,
    /// Checks and completes a changed one: before, after.
    pub update: fn(&mut Tx<'_>, &Object, Object) -> Result<Object, Refusal>,
    /// Checks whether it may go, and removes what goes with it.
    pub delete: fn(&mut Tx<'_>, &Object) -> Result<(), Refusal>,
}

impl Entity {
    /// The object, or the 404.
    pub fn get(&self, state: &State, id: &str) -> Result<Object, Refusal> {
        state.get(self.kind, id).ok_or_else(|| Refusal::missing(self.single, id))
    }

    /// Creates what the body asks for.
    pub fn create(&self, tx: &mut Tx<'_>, request: &Request) -> Result<Object, Refusal> {
        let given = self.body(request)?;
        let mut object = Object::new();
        for field in self.fields {
            match given.get(field.name) {
                Some(value) => object.set(field.name, value.clone()),
                None if field.required => {
                    return Err(Refusal::bad(format!(
                        "Invalid input for field/attribute {}. Value: {}. '{}' is a required property",
                        self.single,
                        python::repr(&Value::Object(given.clone())),
                        field.name
                    )));
                }
                None => {
                    if let Some(default) = field.default {
                        object.set(field.name, default());
                    }
                }
            }
        }
        object.set("id", given.get("id").cloned().unwrap_or_else(|| tx.chance.hex_id().into()));
        self.insert(tx, object)
    }

    /// Writes a new object.
    pub fn insert(&self, tx: &mut Tx<'_>, object: Object) -> Result<Object, Refusal> {
        let object = (self.create)(tx, object)?;
        tx.put(self.kind, object.clone());
        Ok(object)
    }

    /// Changes what the body asks for.
    pub fn update(&self, tx: &mut Tx<'_>, id: &str, request: &Request) -> Result<Object, Refusal> {
        let before = self.get(tx, id)?;
        let given = self.body(request)?;
        let mut object = before.clone();
        for field in self.fields {
            let Some(value) = given.get(field.name) else { continue };
            if !field.mutable && before.get(field.name) != value {
                return Err(Refusal::bad(format!("Cannot change {} ID", field.name)));
            }
            object.set(field.name, value.clone());
        }
        let object = (self.update)(tx, &before, object)?;
        tx.put(self.kind, object.clone());
        Ok(object)
    }

    /// Deletes one.
    pub fn delete(&self, tx: &mut Tx<'_>, id: &str) -> Result<(), Refusal> {
        let object = self.get(tx, id)?;
        (self.delete)(tx, &object)?;
        tx.delete(self.kind, id);
        Ok(())
    }

    /// Those that the query asks for: every parameter that is a field has to be equal.
    pub fn list(&self, state: &State, request: &Request) -> Vec<Object> {
        let fits = |object: &Object| {
            request.query.iter().all(|(name, wanted)| {
                let field = self.fields.iter().any(|field| field.name == name) || name == "id";
                !field || as_text(object.get(name)).eq_ignore_ascii_case(wanted)
            })
        };
        state.all(self.kind).filter(fits).collect()
    }

    /// The object as it is shown.
    pub fn show(&self, request: &Request, mut object: Object) -> Value {
        for name in self.hidden {
            object.remove(name);
        }
        let link = format!("{}/v3/{}/{}", request.base, self.plural, object.id());
        object.set("links", json!({ "self": link }));
        object.into()
    }

    /// A list as it is shown.
    pub fn show_all(&self, request: &Request, objects: Vec<Object>) -> Value {
        let shown: Vec<Value> =
            objects.into_iter().map(|object| self.show(request, object)).collect();
        collection(request, self.plural, &shown.into())
    }

    /// The members of the body, each of which is what its field holds.
    fn body(&self, request: &Request) -> Result<Map<String, Value>, Refusal> {
        let body: Value = serde_json::from_slice(&request.body)
            .map_err(|_| Refusal::expecting("valid JSON", "request body"))?;
        let Some(given) = body.get(self.single).and_then(Value::as_object) else {
            return Err(Refusal::expecting(self.single, "request body"));
        };
        for field in self.fields {
            if let Some(value) = given.get(field.name) {
                check(field, value)?;
            }
        }
        Ok(given.clone())
    }
}

fn check(field: &Field, value: &Value) -> Result<(), Refusal> {
    let wrong = |reason: String| {
        Refusal::bad(format!(
            "Invalid input for field/attribute {}. Value: {}. {reason}",
            field.name,
            python::str(value)
        ))
    };
    let shown = python::repr(value);
    let text = |empty: bool| match value.as_str() {
        None => Err(wrong(format!("{shown} is not of type 'string'"))),
        Some("") if !empty => Err(wrong("'' should be non-empty".to_owned())),
        Some(text) if text.chars().count() > LONGEST => {
            Err(wrong(format!("the text is longer than {LONGEST} characters")))
        }
        Some(_) => Ok(()),
    };
    match field.is {
        Is::Name => text(false),
        Is::TextOrNull if value.is_null() => Ok(()),
        Is::Text | Is::TextOrNull => text(true),
        Is::Flag if value.is_boolean() => Ok(()),
        Is::Flag => Err(wrong(format!("{shown} is not of type 'boolean'"))),
        Is::Texts if value.as_array().is_some_and(|a| a.iter().all(Value::is_string)) => Ok(()),
        Is::Texts => Err(wrong(format!("{shown} is not of type 'array'"))),
        Is::Map if value.is_object() => Ok(()),
        Is::Map => Err(wrong(format!("{shown} is not of type 'object'"))),
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The URL of the call itself.
pub fn own_link(request: &Request) -> String {
    let pair = |(name, value): &(String, String)| {
        if value.is_empty() { encode(name) } else { format!("{}={}", encode(name), encode(value)) }
    };
    let query: Vec<String> = request.query.iter().map(pair).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{}/{}{query}", request.base, request.path.join("/"))
}

/// A list's body.
pub fn collection(request: &Request, name: &str, items: &Value) -> Value {
    let link = own_link(request);
    json!({ name: items, "links": {"self": link, "next": null, "previous": null} })
}
