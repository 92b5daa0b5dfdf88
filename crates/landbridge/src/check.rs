//! `landbridge check`: do these manifests fit together?

use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use landbridge::codes;
use landbridge::manifests::{Inputs, examine};
use landbridge_manifest::Severity;
use landbridge_manifest::render::{self, About, Human};
use landbridge_manifest::rules::Rule;

use crate::args::{CheckArgs, CheckFormat};
use crate::progress::is_colourful;
use crate::version;

/// Something does not fit.
const ERRORS: u8 = 1;
/// Something could not be read, so nobody knows.
const UNREAD: u8 = 2;

/// Reads, judges, prints.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let inputs = Inputs::gather(&args.manifests.paths);
    // The process ends soon: taking the trees apart would only take time.
    let found = ManuallyDrop::new(examine(&inputs, &args.manifests.options()));
    let mut text = String::new();
    match args.format {
        CheckFormat::Human => {
            let color = is_colourful(&std::io::stdout());
            let human = Human { color, ..Human::default() };
            render::human(&mut text, &found.diagnostics, &found.sources, &found.summary, human)?;
            if let Some(worst) = found.diagnostics.iter().min_by_key(|found| found.severity) {
                writeln!(text, "`landbridge explain {}` says more about a code", worst.code)?;
            }
        }
        CheckFormat::Json => {
            render::json(&mut text, &found.diagnostics, &found.sources, &found.summary)?;
        }
        CheckFormat::Sarif => {
            let rules: Vec<Rule> = codes::all().collect();
            let about = About {
                name: "landbridge",
                version: version::SHORT,
                rules: &rules,
                help_base: None,
            };
            render::sarif(&mut text, &found.diagnostics, &found.sources, about)?;
        }
    }
    print(&text)?;
    let worst = found.diagnostics.iter().map(|found| found.severity);
    let bad = |severity: Severity| {
        severity == Severity::Error || args.strict && severity == Severity::Warning
    };
    Ok(if found.unread {
        ExitCode::from(UNREAD)
    } else if worst.into_iter().any(bad) {
        ExitCode::from(ERRORS)
    } else {
        ExitCode::SUCCESS
    })
}

/// Writes to stdout; a reader that has seen enough, like `head`, is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
