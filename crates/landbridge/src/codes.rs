//! Every code a diagnostic can have: those of the text, those of the plan, and those for inputs that
//! cannot be had and for options that cannot be taken.

use landbridge_manifest::rules::{RULES, Rule};

/// An input that could not be had, or holds nothing to check.
pub const UNREADABLE: &str = "LB800";

/// An option that no name server takes.
pub const BAD_OPTION: &str = "LB607";

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
    let option = Rule {
        code: BAD_OPTION,
        title: "an option of a DNSMasq is refused",
        explanation: "dnsmasq reads spec.options as its configuration file, and does not start if one line is\n\
            wrong; Landbridge's own server leaves the line out. The message says what is wrong with it.\n\n\
            Example: host-record with the address 10.0.0.300.\n\n\
            Remedy: write the values as dnsmasq's manual says.",
    };
    let mut all: Vec<Rule> = planned.chain([option, input]).chain(RULES.iter().copied()).collect();
    all.sort_by_key(|rule| rule.code);
    all.into_iter()
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
