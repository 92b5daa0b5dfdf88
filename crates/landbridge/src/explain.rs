//! `landbridge explain CODE`: what a diagnostic means and what to do.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use landbridge_manifest::rules::{RULES, Rule};

use crate::args::ExplainArgs;
use crate::check::print;
use crate::manifests::UNREADABLE;

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
        explanation: "The path does not exist, may not be read, or holds no manifest. In a directory, files that end \
            in .yaml, .yml or .json are read, in directories below it, too; any other file can be named itself, \
            and - stands for standard input.",
    };
    planned.chain(std::iter::once(input)).chain(RULES.iter().copied())
}

/// One page, or the list of all.
pub fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    match &args.code {
        None => {
            for rule in all() {
                writeln!(text, "{:6}  {}", rule.code, rule.title)?;
            }
        }
        Some(code) => {
            let Some(rule) = all().find(|rule| rule.code.eq_ignore_ascii_case(code)) else {
                bail!("there is no code {code}; `landbridge explain` lists all of them");
            };
            writeln!(text, "{}: {}\n\n{}", rule.code, rule.title, rule.explanation.trim_end())?;
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
