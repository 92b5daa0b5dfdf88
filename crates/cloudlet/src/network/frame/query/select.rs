//! Filters: which objects of a list are asked for.

use serde_json::Value;

use crate::config::Config;
use crate::network::attribute::{Attribute, Select};
use crate::network::check::{self, Check};
use crate::network::fault::Fault;
use crate::network::python;
use crate::network::resource::Resource;
use crate::object::Object;
use crate::request::Request;
use crate::state::State;

/// Parameters of a list that are no filters.
const OTHERS: [&str; 6] = ["fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse"];

/// The filters of a call: an object has to pass all of them.
pub struct Filters<'a> {
    filters: Vec<Filter<'a>>,
}

struct Filter<'a> {
    name: &'a str,
    attribute: &'static Attribute,
    /// The values, one of which the attribute has to have, as converted by the attribute's check.
    values: Vec<&'a str>,
    wanted: Vec<Value>,
}

impl<'a> Filters<'a> {
    /// The filters of a call; names the attributes that are none.
    pub fn read(
        config: &Config,
        resource: &'static Resource,
        request: &'a Request,
    ) -> Result<Self, Fault> {
        let mut filters: Vec<Filter<'a>> = Vec::new();
        let mut unknown: Vec<&str> = Vec::new();
        for (name, _) in &request.query {
            if OTHERS.contains(&name.as_str()) || filters.iter().any(|f| f.name == name) {
                continue;
            }
            let column = if name == "tenant_id" { "project_id" } else { name.as_str() };
            let selects = |a: &&Attribute| a.name == column && a.select != Select::Never;
            let Some(attribute) = resource.table(config).find(selects) else {
                if !unknown.contains(&name.as_str()) {
                    unknown.push(name);
                }
                continue;
            };
            // An empty value is one too (extension empty-string-filtering).
            let values: Vec<&str> = request.query_all(name).collect();
            let wanted = values.iter().map(|value| convert(attribute, value));
            let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
            filters.push(Filter { name, attribute, values, wanted });
        }
        if !unknown.is_empty() {
            let shown = python::repr(&unknown.into());
            return Err(Fault::request(format!("{shown} is invalid attribute for filtering")));
        }
        Ok(Self { filters })
    }

    /// The ids to look at: those an index has for one of the filters, or all.
    pub fn candidates(&self, state: &State, resource: &'static Resource) -> Vec<String> {
        if let Some(filter) = self.filters.iter().find(|filter| filter.attribute.name == "id") {
            return filter.values.iter().map(|id| (*id).to_owned()).collect();
        }
        // Nothing is indexed by an empty value.
        let indexed = |filter: &&Filter<'_>| {
            resource.indexed.contains(&filter.attribute.name) && !filter.values.contains(&"")
        };
        let Some(filter) = self.filters.iter().find(indexed) else {
            return state.ids(resource.kind).collect();
        };
        let mut ids: Vec<String> = Vec::new();
        for value in &filter.values {
            ids.extend(state.find_ids(resource.kind, filter.attribute.name, value));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether the object as it is stored can still pass: a look before more is computed of it.
    pub fn may_hold(&self, object: &Object) -> bool {
        let plain = |filter: &&Filter<'_>| {
            filter.attribute.select == Select::Equal
                && ["id", "name", "network_id", "project_id"].contains(&filter.attribute.name)
        };
        self.filters.iter().filter(plain).all(|filter| filter.holds(object))
    }

    /// Whether the object passes.
    pub fn hold(&self, state: &State, resource: &'static Resource, object: &Object) -> bool {
        self.filters.iter().all(|filter| {
            resource
                .rules
                .select(state, object, filter.name, &filter.values)
                .unwrap_or_else(|| filter.holds(object))
        })
    }
}

impl Filter<'_> {
    fn holds(&self, object: &Object) -> bool {
        match self.name {
            "tags" => self.tags().all(|tag| object.texts("tags").any(|held| held == tag)),
            "tags-any" => self.tags().any(|tag| object.texts("tags").any(|held| held == tag)),
            "not-tags" => !self.tags().all(|tag| object.texts("tags").any(|held| held == tag)),
            "not-tags-any" => !self.tags().any(|tag| object.texts("tags").any(|held| held == tag)),
            _ => match self.attribute.select {
                Select::Any => self.any(object),
                _ => {
                    self.wanted.iter().any(|wanted| equal(object.get(self.attribute.name), wanted))
                }
            },
        }
    }

    fn tags(&self) -> impl Iterator<Item = &str> {
        self.values.iter().flat_map(|value| value.split(','))
    }

    /// Whether items of the list have the values. `member=value` pairs of one member are alternatives,
    /// different members have all to be met, by one item or another.
    fn any(&self, object: &Object) -> bool {
        let items = object.list(self.attribute.name);
        let members: Vec<(&str, &str)> =
            self.values.iter().filter_map(|value| value.split_once('=')).collect();
        if members.is_empty() {
            return self.wanted.iter().any(|wanted| items.iter().any(|item| equal(item, wanted)));
        }
        members.iter().all(|(member, _)| {
            let mut alternatives = members.iter().filter(|(other, _)| other == member);
            alternatives.any(|(_, value)| {
                items.iter().any(|item| item.get(*member).and_then(Value::as_str) == Some(*value))
            })
        })
    }
}

/// The value in the attribute's type, as the converters would make it.
fn convert(attribute: &Attribute, value: &str) -> Result<Value, Fault> {
    let text = Value::from(value);
    match attribute.check {
        Check::Flag | Check::FlagOrNull => match check::flag(&text) {
            Ok(flag) => Ok(flag),
            Err(check::Wrong::Fault(fault)) => Err(fault),
            Err(check::Wrong::Reason(reason)) => Err(Fault::input(reason)),
        },
        Check::NonNegative | Check::OneOfNumbers(_) => Ok(check::integer(&text)?.into()),
        Check::Cidr | Check::CidrOrNull | Check::Mac => {
            Ok(attribute.check.run(&text).unwrap_or(text))
        }
        _ => Ok(text),
    }
}

fn equal(held: &Value, wanted: &Value) -> bool {
    held == wanted || (!held.is_null() && python::str(held) == python::str(wanted))
}
