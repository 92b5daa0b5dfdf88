//! Every code a diagnostic can have: those of the text, those of the plan, and the one for inputs
//! that cannot be had.

use landbridge_manifest::rules::{RULES, Rule};

/// An input that could not be had, or holds nothing to check.
pub const UNREADABLE: &str = "LB800";

/// Every code there is, in order.
pub fn all() -> impl Iterator<Item = Rule> {
    let planned = landbridge_plan::codes::ALL.iter().map(|code| Rule {
        code: code.code,
        title: code.title,
        explanation: code.explanation,
    });
    let input = Rule {
        code: UNREADABLE,
        title: "an input cannot be read",
        explanation: "The path does not exist, may not be read, or holds no manifest. In a directory, files that end in \
            .yaml, .yml or .json are read, in directories below it, too; any other file can be named itself, and \
            - stands for standard input. What was not read is never called right.\n\n\
            Remedy: correct the path, or what should have written to it.",
    };
    planned.chain(std::iter::once(input)).chain(RULES.iter().copied())
}

/// The rule of a code, in any letter case.
pub fn find(code: &str) -> Option<Rule> {
    all().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// What to do about it, in general: the last part of the explanation.
pub fn remedy(code: &str) -> Option<String> {
    let (_, remedy) = find(code)?.explanation.split_once("Remedy: ")?;
    Some(remedy.trim_end().trim_end_matches('.').replace('\n', " "))
}
