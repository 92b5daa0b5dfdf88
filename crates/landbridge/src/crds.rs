//! `landbridge crds`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::args::CrdsArgs;

/// Prints custom resource definitions, one YAML document each.
pub fn run(args: &CrdsArgs) -> anyhow::Result<ExitCode> {
    let crds = if args.all { landbridge_api::all_crds() } else { landbridge_api::crds() };
    let mut text = String::new();
    for crd in crds {
        // By way of JSON: exactly what the embedded API gets.
        let value = serde_json::to_value(crd).context("cannot read our own definitions")?;
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&value).context("cannot write YAML")?);
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
