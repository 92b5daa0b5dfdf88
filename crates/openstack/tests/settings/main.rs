//! clouds.yaml, secure.yaml, profiles, the environment and Secrets: what is found, what is meant, and what
//! is wrong with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod meant;
mod mistakes;
mod search;

use std::collections::BTreeMap;

use landbridge_openstack::config::files::Source;
use landbridge_openstack::config::{Environment, Mistake, Settings, Texts};

/// An environment of these variables.
pub fn environment(variables: &[(&str, &str)]) -> Environment {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Environment { variables: variables.iter().map(pair).collect(), directory: "/nowhere".into() }
}

/// What a clouds.yaml means, with these files beside it.
pub fn read(
    clouds: &str,
    variables: &[(&str, &str)],
    files: &[(&str, &str)],
) -> Result<Settings, Mistake> {
    let texts = Texts { clouds: Some(Source::new("clouds.yaml", clouds)), ..Texts::default() };
    settings(&texts, variables, files)
}

/// What these texts mean.
pub fn settings(
    texts: &Texts,
    variables: &[(&str, &str)],
    files: &[(&str, &str)],
) -> Result<Settings, Mistake> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let entry = texts.entry(&environment(variables), None)?;
    Settings::read(&entry, &mut |path| match files.get(path) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(Mistake::Unreadable {
            file: path.to_owned(),
            why: "there is no such file".to_owned(),
        }),
    })
}
