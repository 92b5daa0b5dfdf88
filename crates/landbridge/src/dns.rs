//! `landbridge dns`: the DNS server, called as dnsmasq is.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::anyhow;
use landbridge_dns::command::{self, Command};
use landbridge_dns::server::Error;

use crate::args::DnsArgs;
use crate::log::{self, LogLevel};

/// Codes of dnsmasq: what is wrong with the configuration, and with the network.
const BAD_CONFIGURATION: u8 = 1;
const NO_NETWORK: u8 = 2;

/// Serves, or checks the options.
pub fn run(args: &DnsArgs, level: Option<LogLevel>) -> anyhow::Result<ExitCode> {
    let words = args.words.iter().map(|word| word.to_str().ok_or(word));
    let words: Result<Vec<&str>, _> = words.collect();
    let words = words.map_err(|word| anyhow!("{} is no text", word.display()))?;
    let command = command::parse(words).map_err(|why| anyhow!("{why}"))?;
    log::init(level, LogLevel::Info);
    match command {
        Command::Test(config) => {
            let wrong = command::test(&config);
            let mut stderr = std::io::stderr();
            for warning in &wrong {
                writeln!(stderr, "landbridge dns: {warning}")?;
            }
            if !wrong.is_empty() {
                return Ok(ExitCode::from(BAD_CONFIGURATION));
            }
            writeln!(stderr, "landbridge dns: syntax check OK.")?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve(config) => match command::serve(config) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error @ Error::Bind(_)) => {
                writeln!(std::io::stderr(), "error: {error}")?;
                Ok(ExitCode::from(NO_NETWORK))
            }
            Err(error) => Err(error.into()),
        },
    }
}
