//! What two servers answered to the same story, side by side.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use crate::calls::{Story, home};
use crate::normal::Plain;

/// What the cloudlet does otherwise on purpose.
pub struct Differences {
    list: Vec<Difference>,
    met: RefCell<BTreeSet<usize>>,
}

/// One of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// The story; every one when it is not said.
    #[serde(default)]
    story: Option<String>,
    /// The call; every one of the story when it is not said.
    #[serde(default)]
    call: Option<String>,
    /// Where in the answer, `body.network.status`, `*` for any step; the whole answer when it is not said.
    #[serde(default)]
    at: Option<String>,
    /// Why.
    why: String,
}

impl Differences {
    /// The list in tests/cloud.
    pub fn read() -> Self {
        let file = home().join("differences.yaml");
        let text = std::fs::read_to_string(&file).expect("tests/cloud/differences.yaml is there");
        let list: Vec<Difference> = serde_saphyr::from_str(&text).expect("a list of differences");
        assert!(
            list.iter().all(|difference| difference.why.len() > 10),
            "every difference has a reason"
        );
        Self { list, met: RefCell::default() }
    }

    /// Whether this is a known one.
    fn known(&self, story: &str, call: &str, at: &str) -> bool {
        let covers = |difference: &Difference| {
            difference.story.as_ref().is_none_or(|name| name == story)
                && difference.call.as_ref().is_none_or(|name| name == call)
                && difference.at.as_ref().is_none_or(|path| is_below(at, path))
        };
        let mut known = false;
        for (number, _) in self.list.iter().enumerate().filter(|(_, difference)| covers(difference))
        {
            self.met.borrow_mut().insert(number);
            known = true;
        }
        known
    }
}

/// Whether the path is the other or below it; `*` stands for any step.
fn is_below(path: &str, other: &str) -> bool {
    let mut steps = path.split('/');
    other.split('.').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || wanted == step))
}

/// What was found.
#[derive(Default)]
pub struct Report {
    calls: usize,
    differing: usize,
    text: String,
}

impl Report {
    /// Compares the answers to one story.
    pub fn compare(
        &mut self,
        story: &Story,
        left: &[Plain],
        right: &[Plain],
        known: Option<&Differences>,
    ) {
        let lines: Vec<&str> = left.iter().map(|answer| answer.call.as_str()).collect();
        let calls: Vec<&str> = story.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(
            lines, calls,
            "the recording of {} is of another table: record it anew",
            story.name
        );
        for (left, right) in left.iter().zip(right) {
            self.calls += 1;
            let (l, r) = (whole(left), whole(right));
            let mut found = Vec::new();
            walk("", &l, &r, &mut found);
            found.retain(|(at, ..)| {
                !known.is_some_and(|known| known.known(&story.name, &left.call, at))
            });
            if found.is_empty() {
                continue;
            }
            self.differing += 1;
            writeln!(self.text, "{}: {} ({})", story.name, left.call, left.line).unwrap();
            for (at, left, right) in found {
                writeln!(self.text, "    {at}\n      {left}\n      {right}").unwrap();
            }
        }
    }

    /// Notes the differences that were listed and did not occur.
    pub fn stale(&mut self, differences: &Differences) {
        for (number, difference) in differences.list.iter().enumerate() {
            if !differences.met.borrow().contains(&number) {
                self.differing += 1;
                writeln!(self.text, "listed in differences.yaml, but not met: {difference:?}")
                    .unwrap();
            }
        }
    }

    /// Fails when anything differs.
    pub fn finish(self, left: &str, right: &str) {
        println!("{} calls compared", self.calls);
        assert!(
            self.differing == 0,
            "{} of {} calls differ; {left} first, then {right}:\n{}",
            self.differing,
            self.calls,
            self.text
        );
    }
}

fn whole(answer: &Plain) -> Value {
    serde_json::json!({"status": answer.status, "headers": answer.headers, "body": answer.body})
}

/// The places where two values differ, with both values in short.
fn walk(at: &str, left: &Value, right: &Value, found: &mut Vec<(String, String, String)>) {
    let step = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
    match (left, right) {
        (Value::Object(l), Value::Object(r)) => {
            let keys: BTreeSet<&String> = l.keys().chain(r.keys()).collect();
            for key in keys {
                let absent = Value::from("(absent)");
                walk(
                    &step(key),
                    l.get(key).unwrap_or(&absent),
                    r.get(key).unwrap_or(&absent),
                    found,
                );
            }
        }
        (Value::Array(l), Value::Array(r)) if l.len() == r.len() => {
            for (number, (l, r)) in l.iter().zip(r).enumerate() {
                walk(&step(&number.to_string()), l, r, found);
            }
        }
        _ if left == right => {}
        _ => {
            let short = |value: &Value| value.to_string().chars().take(600).collect::<String>();
            found.push((at.to_owned(), short(left), short(right)));
        }
    }
}
