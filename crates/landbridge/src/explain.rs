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
            writeln!(text, "{}: {}\n\n{}", rule.code, rule.title, wrapped(rule.explanation))?;
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Lines of at most so many columns, as a terminal has them. Line breaks that are there stay.
const COLUMNS: usize = 100;

fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim_end().lines() {
        let mut current = String::new();
        for word in line.split(' ') {
            if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > COLUMNS {
                lines.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_lines_are_cut_between_words() {
        let long = "word ".repeat(50);
        let lines: Vec<String> = wrapped(&long).lines().map(str::to_owned).collect();
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [99, 99, 49]);
        assert_eq!(wrapped("a\n\nb  c\n"), "a\n\nb  c");
    }
}
