//! Rules about one scalar, or about how many there are.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::Judge;
use crate::field::{FieldError, FieldPath, Problem};
use crate::schema::node::{Node, Type};
use crate::schema::number;
use crate::schema::trail::Trail;

impl Judge<'_> {
    /// `detail` without the `spec.x in body` all these messages start with.
    pub(super) fn broken(&mut self, trail: &Trail<'_>, value: impl Into<Value>, detail: &str) {
        let path = trail.path();
        let detail = format!("{} in body {detail}", path.as_str());
        self.errors.push(FieldError::invalid(&path, value, detail));
    }

    /// `enum`.
    pub(super) fn allowed(&mut self, node: &Node, value: &Value, trail: &Trail<'_>) {
        let Some(allowed) = &node.rules.allowed else { return };
        // Where `null` is the same as nothing there is nothing to compare.
        if (value.is_null() && node.null_is_absent)
            || allowed.iter().any(|a| number::same(a, value))
        {
            return;
        }
        let names: Vec<String> = allowed
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.errors.push(FieldError::not_supported(&trail.path(), value.clone(), &names));
    }

    pub(super) fn text(&mut self, node: &Node, text: &str, trail: &Trail<'_>) {
        let rules = &node.rules;
        // Counting characters is only needed when the bytes alone do not settle it.
        if let Some(most) = rules.max_length
            && len(text.len()) > most
            && len(text.chars().count()) > most
        {
            let detail = format!("may not be more than {most} bytes");
            self.errors.push(FieldError::new(Problem::TooLong, &trail.path(), text, detail));
        }
        if let Some(least) = rules.min_length
            && len(text.chars().count()) < least
        {
            self.broken(trail, text, &format!("should be at least {least} chars long"));
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            let pattern = rules.pattern_text.as_deref().unwrap_or_default();
            self.broken(trail, text, &format!("should match '{pattern}'"));
        }
        if let Some(format) = rules.format
            && !format.fits_text(text)
        {
            let path = trail.path();
            let format = format.name();
            let detail = format!("{} in body must be of type {format}: {text:?}", path.as_str());
            self.errors.push(FieldError::new(Problem::TypeInvalid, &path, text, detail));
        }
    }

    pub(super) fn number(&mut self, node: &Node, value: &Number, trail: &Trail<'_>) {
        let rules = &node.rules;
        let shown = Value::Number(value.clone());
        if let Some(format) = rules.format
            && !format.fits_number(value)
        {
            let kind = node.kind.map_or("number", Type::name);
            let detail = format!(
                "Checked value must be of type {kind} with format {} in {}",
                format.name(),
                trail.path().as_str()
            );
            // Upstream does not know the path here.
            self.errors.push(FieldError::invalid(&FieldPath::root(), "", detail));
        }
        if let Some(least) = &rules.minimum {
            let order = number::compare(value, least);
            if order == Some(Ordering::Less) && !rules.exclusive_minimum {
                let detail = format!("should be greater than or equal to {least}");
                self.broken(trail, shown.clone(), &detail);
            } else if order != Some(Ordering::Greater) && rules.exclusive_minimum {
                self.broken(trail, shown.clone(), &format!("should be greater than {least}"));
            }
        }
        if let Some(most) = &rules.maximum {
            let order = number::compare(value, most);
            if order == Some(Ordering::Greater) && !rules.exclusive_maximum {
                self.broken(
                    trail,
                    shown.clone(),
                    &format!("should be less than or equal to {most}"),
                );
            } else if order != Some(Ordering::Less) && rules.exclusive_maximum {
                self.broken(trail, shown.clone(), &format!("should be less than {most}"));
            }
        }
        if let Some(factor) = &rules.multiple_of
            && !number::is_multiple(value, factor)
        {
            self.broken(trail, shown, &format!("should be a multiple of {factor}"));
        }
    }

    pub(super) fn property_count(
        &mut self,
        node: &Node,
        map: &Map<String, Value>,
        trail: &Trail<'_>,
    ) {
        let count = len(map.len());
        if let Some(least) = node.rules.min_properties
            && count < least
        {
            self.broken(trail, least, &format!("should have at least {least} properties"));
        }
        if let Some(most) = node.rules.max_properties
            && count > most
        {
            self.too_many(trail, count, most);
        }
    }

    pub(super) fn item_count(&mut self, node: &Node, list: &[Value], trail: &Trail<'_>) {
        let count = len(list.len());
        if let Some(least) = node.rules.min_items
            && count < least
        {
            self.broken(trail, count, &format!("should have at least {least} items"));
        }
        if let Some(most) = node.rules.max_items
            && count > most
        {
            self.too_many(trail, count, most);
        }
    }

    fn too_many(&mut self, trail: &Trail<'_>, count: u64, most: u64) {
        let detail = format!("must have at most {most} items");
        self.errors.push(FieldError::new(Problem::TooMany, &trail.path(), count, detail));
    }
}

fn len(len: usize) -> u64 {
    len as u64
}
