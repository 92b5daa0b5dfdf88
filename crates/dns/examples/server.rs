//! The server in a program of its own, as small as it can be: for measuring it, and to show how it is
//! embedded. `landbridge dns` is the one to use.

use std::process::ExitCode;

use landbridge_dns::command::{self, Command};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let served = match command::parse(words.iter().map(String::as_str)) {
        Ok(Command::Serve(config)) => command::serve(config).map_err(|error| error.to_string()),
        Ok(Command::Test(config)) => match command::test(&config).first() {
            Some(warning) => Err(warning.to_string()),
            None => Ok(()),
        },
        Err(why) => Err(why),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
