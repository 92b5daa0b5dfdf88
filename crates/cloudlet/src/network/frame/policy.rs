//! Who may do what: Neutron's default policy, and the words in which it says no.

use serde_json::Value;

use crate::caller::Caller;
use crate::config::Config;
use crate::network::attribute::Attribute;
use crate::network::fault::Fault;
use crate::network::resource::Resource;
use crate::network::who::Who;
use crate::object::Object;
use crate::state::State;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Whether the caller may do this to the object; `given` are the attributes it names (for a create,
/// the object itself: what equals its default counts as not named).
pub fn allowed(
    state: &State,
    config: &Config,
    who: &Caller,
    resource: &'static Resource,
    action: Action,
    object: &Object,
    given: &Object,
) -> Result<(), Fault> {
    if action == Action::Create && !who.is_admin() {
        resource.rules.parent(state, who, object)?;
    }
    let rule = format!("rule:{}_{}", action.word(), resource.single);
    let needed = match action {
        Action::Create => resource.create,
        Action::Update => resource.update,
        Action::Delete => resource.delete,
    };
    let mut may = needed.includes(state, who, object);
    let mut shown = rule.clone();
    if action != Action::Delete {
        for attribute in resource.table(config) {
            let Some(value) = named(attribute, action, given) else { continue };
            let needed = if action == Action::Create { attribute.set } else { attribute.change };
            if needed.is_open() && attribute.parts.is_empty() {
                continue;
            }
            may &= needed.includes(state, who, object);
            let mut part_rule = format!("{rule}:{}", attribute.name);
            let parts = parts(attribute, value);
            if !parts.is_empty() {
                may &= parts.iter().all(|(_, needed)| needed.includes(state, who, object));
                let listed: Vec<_> =
                    parts.iter().map(|(part, _)| format!("{part_rule}:{part}")).collect();
                part_rule = format!("({part_rule} and ({}))", listed.join(" and "));
            }
            shown = format!("({shown} and {part_rule})");
        }
    }
    if may {
        return Ok(());
    }
    // Whoever may not even know of the object is told that there is none.
    if action != Action::Create && !resource.rules.visible(state, who, object) {
        return Err(Fault::gone());
    }
    Err(Fault::policy(shown))
}

/// The value of the attribute, if the call names it.
fn named<'a>(attribute: &Attribute, action: Action, given: &'a Object) -> Option<&'a Value> {
    let value = given.0.get(attribute.name)?;
    let default = (action == Action::Create).then(|| attribute.given.value()).flatten();
    (default.as_ref() != Some(value)).then_some(value)
}

/// The members that the value names and that have a policy, in the order in which they come.
fn parts(attribute: &Attribute, value: &Value) -> Vec<(&'static str, Who)> {
    let maps: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    };
    let named = |map: &Value| {
        let of = |(part, _): &&(&'static str, Who)| map.get(*part).is_some();
        attribute.parts.iter().filter(of).copied().collect::<Vec<_>>()
    };
    maps.into_iter().flat_map(named).collect()
}
