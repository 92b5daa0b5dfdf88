//! This test binary stands for `landbridge`: it starts itself as the processes of pods.
//!
//! Both tests do nothing when they are run as tests.

use std::ffi::OsString;

use landbridge_agent::responder::{ResponderConfig, in_terminal, run};

/// The command of a responder; the path of its settings comes last.
pub fn responder_command() -> Vec<OsString> {
    this("processes::responder")
}

/// The command that gives a terminal to what follows.
pub fn terminal_command() -> Vec<OsString> {
    let mut command = this("processes::terminal");
    command.push("--".into());
    command
}

fn this(test: &str) -> Vec<OsString> {
    let own = std::env::current_exe().unwrap();
    let words = [own.into_os_string(), "--exact".into(), "--nocapture".into(), test.into()];
    words.into()
}

#[test]
fn responder() {
    let last = std::env::args_os().next_back().unwrap();
    if last.to_string_lossy().ends_with("responder.json") {
        run(ResponderConfig::read(last.as_ref()).unwrap()).unwrap();
    }
}

#[test]
fn terminal() {
    let command: Vec<OsString> =
        std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    assert!(command.is_empty(), "{}", in_terminal(&command));
}
