//! A resource of Neutron: a table of attributes and its own rules. Everything else (bodies, defaults,
//! policy, filters, sorting, pages, tags, revisions, times, quotas) is the frame's.

use serde_json::Value;

use super::attribute::{Attribute, Given};
use super::check::Check;
use super::fault::Fault;
use super::who::Who;
use crate::caller::Caller;
use crate::config::Config;
use crate::object::Object;
use crate::state::{Kind, State, Tx};

/// A kind of object that the API serves.
pub struct Resource {
    /// Its table in the state.
    pub kind: &'static Kind,
    /// The name in a body: `security_group`.
    pub single: &'static str,
    /// The name in a list's body: `security_groups`.
    pub plural: &'static str,
    /// The name in a path: `security-groups`.
    pub path: &'static str,
    /// The attributes.
    pub attributes: &'static [Attribute],
    /// Type and message of the 404; `{}` stands for the id.
    pub not_found: (&'static str, &'static str),
    /// Attributes whose name is also the name of an index of the kind.
    pub indexed: &'static [&'static str],
    /// Which quota bounds how many a project has.
    pub quota: Option<&'static str>,
    /// What it has of what most resources have.
    pub standard: Standard,
    /// Who may create one (the object is what is to be created).
    pub create: Who,
    /// Who may update one.
    pub update: Who,
    /// Who may delete one.
    pub delete: Who,
    /// What else goes on at a create, an update, a delete, a read.
    pub rules: &'static dyn Rules,
}

/// Attributes that most resources have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standard {
    /// `description`, `revision_number`, `created_at`, `updated_at`.
    pub attributes: bool,
    /// `tags`, with their sub-resource and filters.
    pub tags: bool,
    /// The `revision_number` of a new one: Neutron counts what it does itself right after a create.
    pub revision: i64,
}

impl Standard {
    /// All of it.
    pub const FULL: Self = Self { attributes: true, tags: true, revision: 0 };
    /// Without tags.
    pub const UNTAGGED: Self = Self { attributes: true, tags: false, revision: 0 };
    /// None of it.
    pub const NONE: Self = Self { attributes: false, tags: false, revision: 0 };

    /// The same, beginning with this revision.
    #[must_use]
    pub const fn from(self, revision: i64) -> Self {
        Self { revision, ..self }
    }
}

/// The attributes of [`Standard::attributes`].
static STANDARD: [Attribute; 4] = [
    Attribute::open("description", Check::Text(255), Given::Text("")).key(),
    Attribute::shown("created_at").key(),
    Attribute::shown("updated_at").key(),
    Attribute::shown("revision_number").key(),
];

/// The attribute and the filters of [`Standard::tags`].
static TAGS: [Attribute; 4] = [
    Attribute::shown("tags").filter_any(),
    Attribute::shown("tags-any").filter_any().hidden(),
    Attribute::shown("not-tags").filter_any().hidden(),
    Attribute::shown("not-tags-any").filter_any().hidden(),
];

/// What a resource does beyond its table. All of it works on the call's transaction: whatever fails
/// leaves nothing behind.
pub trait Rules: Sync {
    /// Checks and completes an object that is about to be created: it has its id, its project,
    /// the attributes given and the defaults. Other objects may be made through `tx` too.
    fn create(&self, tx: &mut Tx<'_>, who: &Caller, object: Object) -> Result<Object, Fault> {
        let _ = (tx, who);
        Ok(object)
    }

    /// What the object is part of has to be there before anybody is asked whether it may be created:
    /// the owner of a network decides about its ports.
    fn parent(&self, state: &State, who: &Caller, object: &Object) -> Result<(), Fault> {
        let _ = (state, who, object);
        Ok(())
    }

    /// Checks what is to be created in one call, beside each other.
    fn bulk(&self, objects: &[Object]) -> Result<(), Fault> {
        let _ = objects;
        Ok(())
    }

    /// The object stands in the state; what can only be done now.
    fn created(&self, tx: &mut Tx<'_>, who: &Caller, object: &Object) -> Result<(), Fault> {
        let _ = (tx, who, object);
        Ok(())
    }

    /// Checks and completes an update: `before` with the attributes `given` in place is `object`.
    fn update(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        before: &Object,
        given: &Object,
        object: Object,
    ) -> Result<Object, Fault> {
        let _ = (tx, who, before, given);
        Ok(object)
    }

    /// Checks whether the object may go, and removes what goes with it.
    fn delete(&self, tx: &mut Tx<'_>, who: &Caller, object: &Object) -> Result<(), Fault> {
        let _ = (tx, who, object);
        Ok(())
    }

    /// Adds what is not stored but follows from other objects (`subnets` of a network).
    fn present(&self, state: &State, config: &Config, who: &Caller, object: &mut Object) {
        let _ = (state, config, who, object);
    }

    /// What is said of an object that the caller does not see; `None` for the resource's 404.
    fn unseen(&self, object: &Object) -> Option<Fault> {
        let _ = object;
        None
    }

    /// Changes what only the answer to an update says.
    fn updated(&self, object: &Object, shown: &mut Value) {
        let _ = (object, shown);
    }

    /// Adds what only the answer to a create says.
    fn answered(&self, object: &Object, shown: &mut Value) {
        let _ = (object, shown);
    }

    /// Whether the caller sees the object at all.
    fn visible(&self, state: &State, who: &Caller, object: &Object) -> bool {
        let _ = state;
        who.is_admin() || who.is_reader_of(object.project())
    }

    /// The 404 of an object that is there, but not for the caller; mostly the one of what is not there.
    fn hidden(&self, missing: Fault) -> Fault {
        missing
    }

    /// Told before a list is made: what every project has is made when it is first looked for.
    fn listing(&self, tx: &mut Tx<'_>, who: &Caller) -> Result<(), Fault> {
        let _ = (tx, who);
        Ok(())
    }

    /// `PUT /{path}/{id}/{action}`, and `GET` with a body of `Null`; `None` where there is no such
    /// action. The caller sees the object; who may do it is asked here.
    fn action(
        &self,
        tx: &mut Tx<'_>,
        who: &Caller,
        object: &Object,
        action: &str,
        body: &Value,
    ) -> Option<Result<Value, Fault>> {
        let _ = (tx, who, object, action, body);
        None
    }

    /// Whether a change of the attribute counts as a change of the object itself: what Neutron keeps in
    /// tables of its own (a subnet's routes) leaves the revision as it is.
    fn counts(&self, name: &str) -> bool {
        let _ = name;
        true
    }

    /// Whether a change of this attribute alone is counted only after the answer, which still shows the
    /// revision from before.
    fn counts_late(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// A filter of its own: whether the object is selected by the values, or `None` where the table
    /// says it.
    fn select(&self, state: &State, object: &Object, name: &str, values: &[&str]) -> Option<bool> {
        let _ = (state, object, name, values);
        None
    }
}

/// Rules of a resource that has none.
pub struct Plain;

impl Rules for Plain {}

impl Resource {
    /// All attributes of this cloud: the resource's own, and those that most have.
    pub fn table(&self, config: &Config) -> impl Iterator<Item = &'static Attribute> {
        let standard: &[Attribute] = if self.standard.attributes { &STANDARD } else { &[] };
        let tags: &[Attribute] = match (self.standard.tags, self.attribute("tags")) {
            (true, None) => &TAGS,
            (true, Some(_)) => &TAGS[1..],
            (false, _) => &[],
        };
        let on = |attribute: &&'static Attribute| {
            attribute.extension.is_none_or(|alias| config.network.extensions.contains(alias))
        };
        self.attributes.iter().chain(standard).chain(tags).filter(on)
    }

    /// The resource's own attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The 404 for an id.
    pub fn missing(&self, id: &str) -> Fault {
        Fault::not_found(self.not_found.0, self.not_found.1.replace("{}", id))
    }

    /// The object, if the caller sees it; otherwise the 404.
    pub fn seen(&self, state: &State, who: &Caller, id: &str) -> Result<Object, Fault> {
        let object = state.get(self.kind, id).ok_or_else(|| self.missing(id))?;
        if self.rules.visible(state, who, &object) {
            return Ok(object);
        }
        let missing = self.rules.unseen(&object).unwrap_or_else(|| self.missing(id));
        Err(self.rules.hidden(missing))
    }

    /// The object whoever asks; otherwise the 404.
    pub fn known(&self, state: &State, id: &str) -> Result<Object, Fault> {
        state.get(self.kind, id).ok_or_else(|| self.missing(id))
    }
}
