//! `landbridge plan`: the address plan of a set of manifests.

use std::mem::ManuallyDrop;
use std::process::ExitCode;

use anyhow::Context as _;
use landbridge::manifests::{Inputs, examine};
use landbridge_manifest::Severity;
use landbridge_manifest::render::{self, Human};

use crate::args::{Output, PlanArgs};
use crate::check::print;
use crate::progress::is_colourful;

/// Some of it could not be read.
const UNREAD: u8 = 2;

/// Reads, puts together, prints. Problems go to stderr, so that the plan can be piped.
pub fn run(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let inputs = Inputs::gather(&args.manifests.paths);
    // The process ends soon: taking the trees apart would only take time.
    let found = ManuallyDrop::new(examine(&inputs, &args.manifests.options()));
    let text = match args.output {
        Output::Table => found.plan.to_string(),
        Output::Json => serde_json::to_string_pretty(&found.plan).context("cannot print")? + "\n",
        Output::Yaml => serde_saphyr::to_string(&found.plan).context("cannot print")?,
    };
    print(&text)?;
    if found.unread {
        let mut text = String::new();
        let problems: Vec<_> =
            found.diagnostics.iter().filter(|d| d.code.starts_with("LB8")).cloned().collect();
        let human = Human { color: is_colourful(&std::io::stderr()), ..Human::default() };
        render::human(&mut text, &problems, &found.sources, &found.summary, human)?;
        eprint!("{text}");
        return Ok(ExitCode::from(UNREAD));
    }
    let errors = found.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    match errors {
        0 => {}
        1 => eprintln!("1 contradiction in this plan; `landbridge check` says which"),
        more => eprintln!("{more} contradictions in this plan; `landbridge check` says which"),
    }
    Ok(ExitCode::SUCCESS)
}
