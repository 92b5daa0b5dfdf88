//! Puts the commit into the binary: `landbridge --version` says what exactly is running.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Only files that exist: cargo builds again every time when one it watches does not.
    if let Some(dir) = git(&["rev-parse", "--absolute-git-dir"]) {
        for name in ["HEAD", "index", "refs", "packed-refs"] {
            let path = Path::new(&dir).join(name);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let commit = git(&["rev-parse", "--short", "HEAD"]).map_or_else(
        || "unknown commit".to_owned(),
        |commit| match git(&["status", "--porcelain", "--untracked-files=no"]) {
            Some(changes) if !changes.is_empty() => format!("{commit}-dirty"),
            _ => commit,
        },
    );
    println!("cargo::rustc-env=LANDBRIDGE_COMMIT={commit}");
}

/// What git says; `None` without git, outside a repository, or before the first commit.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
