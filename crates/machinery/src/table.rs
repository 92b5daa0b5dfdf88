//! Tables: what `kubectl get` shows of an object.
//!
//! | module | idea |
//! |---|---|
//! | [`column`] | headings |
//! | [`jsonpath`] | the path dialect of kubectl and of CRDs |
//! | [`age`] | durations for people |
//! | `cell` | the value of a path as a cell |

pub mod age;
mod cell;
pub mod column;
pub mod jsonpath;

use jiff::Timestamp;
use serde_json::Value;

pub use age::{age, human_duration, since};
pub use column::Column;
pub use jsonpath::JsonPath;

use crate::object;

/// How the row of an object is made.
#[derive(Clone)]
pub enum Columns {
    /// Declared in a CRD: NAME, one JSONPath per column, and AGE when none is declared.
    Declared(Vec<(Column, JsonPath)>),
    /// Computed, as the built-in kinds do: the headings, and a function that fills the cells.
    Computed(Vec<Column>, fn(&Value, jiff::Timestamp) -> Vec<Value>),
}

impl Columns {
    /// `columnDefinitions` of a Table.
    pub fn definitions(&self) -> Vec<Value> {
        match self {
            Self::Computed(columns, _) => columns.iter().map(Column::definition).collect(),
            Self::Declared(declared) => {
                let mut definitions = vec![Column::name().definition()];
                if declared.is_empty() {
                    definitions.push(Column::age().with_kind("date").definition());
                }
                definitions.extend(declared.iter().map(declared_definition));
                definitions
            }
        }
    }

    /// `cells` of the row of an object, one for each definition.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Computed(_, fill) => fill(object, now),
            Self::Declared(declared) => {
                let mut cells = vec![object::name(object).into()];
                if declared.is_empty() {
                    cells.push(age(object, now).into());
                }
                cells.extend(
                    declared
                        .iter()
                        .map(|(column, path)| cell::of(&column.kind, &path.find(object), now)),
                );
                cells
            }
        }
    }
}

fn declared_definition((column, path): &(Column, JsonPath)) -> Value {
    if !column.description.is_empty() {
        return column.definition();
    }
    let description = format!("Custom resource definition column (in JSONPath format): {path}");
    Column { description, ..column.clone() }.definition()
}
