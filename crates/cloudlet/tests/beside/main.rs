//! The cloudlet beside a real Keystone 30 and Neutron 29.
//!
//! The stories of tests/cloud/calls are told to a server call by call; what it answers is stripped of ids, times and
//! what else differs each time, and compared with what the real pair answered (tests/cloud/recorded). The cloudlet is
//! held to the recording in every run. Where a real pair runs (`scripts/test-cloud` starts one and names it by
//! `KEYSTONE_URL` and `NEUTRON_URL`) the recording is held to it as well; with `LANDBRIDGE_RECORD=1` it is written anew.
//! `LANDBRIDGE_STORY=ports` tells only that story.
//!
//! What the cloudlet does otherwise on purpose stands, with the reason, in tests/cloud/differences.yaml.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod compare;
mod normal;
mod ours;
mod real;
mod server;

use crate::calls::{Story, home, stories};
use crate::compare::{Differences, Report};
use crate::normal::Plain;

fn recording(story: &Story) -> Vec<Plain> {
    let file = home().join("recorded").join(format!("{}.json", story.name));
    let text = std::fs::read_to_string(&file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The stories that this run tells.
fn told() -> impl Iterator<Item = Story> {
    let only = std::env::var("LANDBRIDGE_STORY").ok().filter(|name| !name.is_empty());
    stories().into_iter().filter(move |story| only.as_ref().is_none_or(|only| *only == story.name))
}

#[test]
fn the_cloudlet_answers_as_the_real_pair_did() {
    let differences = Differences::read();
    let mut ours = ours::Ours::new();
    let mut report = Report::default();
    for story in told() {
        let answers = server::play(&mut ours, &story);
        report.compare(&story, &recording(&story), &answers, Some(&differences));
    }
    // A list of reasons that nobody needs any more would hide the next mistake.
    if std::env::var_os("LANDBRIDGE_STORY").is_none() {
        report.stale(&differences);
    }
    report.finish("the recording", "the cloudlet");
}

#[test]
fn the_table_is_as_large_as_promised() {
    let calls: usize = stories().iter().map(|story| story.calls.len()).sum();
    assert!(calls >= 1000, "{calls} calls are left");
}

#[test]
fn the_real_pair_answers_as_recorded() {
    let Some(mut real) = real::Real::from_environment() else {
        println!(
            "skipped: no KEYSTONE_URL and NEUTRON_URL: no real pair to compare the recording with"
        );
        return;
    };
    let anew = std::env::var_os("LANDBRIDGE_RECORD").is_some();
    let mut report = Report::default();
    for story in told() {
        let answers = server::play(&mut real, &story);
        if anew {
            let text = serde_json::to_string_pretty(&answers).unwrap();
            let file = home().join("recorded").join(format!("{}.json", story.name));
            std::fs::write(file, text + "\n").unwrap();
        }
        report.compare(&story, &recording(&story), &answers, None);
    }
    report.finish("the recording", "the real pair");
}
