//! `landbridge explain CODE`: what a diagnostic means and what to do.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use landbridge::codes;

use crate::args::ExplainArgs;
use crate::check::print;

/// One page, or the list of all.
pub fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    match &args.code {
        None => {
            for rule in codes::all() {
                writeln!(text, "{:6}  {}", rule.code, rule.title)?;
            }
        }
        Some(code) => {
            let Some(rule) = codes::find(code) else {
                bail!("there is no code {code}; `landbridge explain` lists all of them");
            };
            writeln!(text, "{}: {}\n\n{}", rule.code, rule.title, rule.explanation.trim_end())?;
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
