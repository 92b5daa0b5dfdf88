//! `landbridge crds`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;

/// Prints every custom resource definition, one YAML document each.
pub fn run() -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for crd in landbridge_api::crds() {
        // By way of JSON: exactly what the embedded API gets.
        let value = serde_json::to_value(crd).context("cannot read our own definitions")?;
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&value).context("cannot write YAML")?);
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
