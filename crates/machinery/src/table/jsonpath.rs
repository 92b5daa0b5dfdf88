//! The JSONPath dialect of kubectl, as CRDs use it for columns and field paths.
//!
//! ```text
//! path    = [ "{" ] [ "$" | "@" ] { step } [ "}" ]
//! step    = "." NAME | ".*" | ".." | "[" choice { "," choice } "]" | "[?(" filter ")]"
//! choice  = "*" | INTEGER | [ INTEGER ] ":" [ INTEGER ] | "'" KEY "'"
//! filter  = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand ]
//! operand = "@" { step } | STRING | NUMBER | "true" | "false"
//! ```
//!
//! A backslash in a NAME or KEY protects the next character, so that
//! `.metadata.annotations.example\.com/owner` reaches a key with dots.
//!
//! Where upstream gives up on a whole path with an error (an index out of bounds, an element
//! without the field a filter asks for, values that cannot be compared) such an element is merely
//! no result here: one odd element does not blank a column. And a quoted key is always one key,
//! while upstream splits `['a.b']` at the dot.

mod eval;
mod filter;
mod parse;

use std::fmt;

use serde_json::Value;

/// A parsed path of the kubectl dialect. `Display` gives the text it was parsed from.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    source: String,
    steps: Vec<Step>,
}

impl JsonPath {
    /// Reads a path; the error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let steps = parse::parse(text)?;
        Ok(Self { source: text.to_owned(), steps })
    }

    /// Everything the path leads to, in document order.
    pub fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        eval::walk(&self.steps, root)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// One step of a path: from every value reached so far to others.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`, `['name']`: the entry of a map.
    Field(String),
    /// `.*`, `[*]`: all entries of a map or elements of a list.
    Wildcard,
    /// `[1]`, `[-1]`: one element; negative numbers count from the end.
    Index(i64),
    /// `[1:3]`: some elements; either bound may be missing or negative.
    Slice(Option<i64>, Option<i64>),
    /// `[0,2]`, `['a','b']`: the results of several steps, one after the other.
    Union(Vec<Step>),
    /// `[?(…)]`: the elements of a list that satisfy a condition.
    Filter(Filter),
    /// `..`: the value itself and everything below it that has elements or entries.
    Recursive,
}

/// The condition of a filter: both sides start at the element in question.
#[derive(Clone, Debug, PartialEq)]
enum Filter {
    /// The path leads somewhere.
    Exists(Operand),
    /// Both sides are one value each, and compare like this.
    Compare(Operand, Comparison, Operand),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    /// A path from the element.
    Path(Vec<Step>),
    /// A text, number or boolean.
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
