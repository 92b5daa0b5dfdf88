//! `landbridge-failover`: how long a virtual address does not answer when its node fails.
//!
//! A lab of its own; a prober on a compute node asks the pods behind the address every 10 ms; the node that
//! announces it, and has some of these pods, is killed, frozen, cut off, partitioned or restarted, round by
//! round. Measured is the time from the fault to the twentieth good answer in a row. It is wrong when that
//! takes a second, or when two seconds after healing two nodes answer for the address.

mod faults;
mod objects;
mod probe;
mod prober;
mod rounds;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::faults::Fault;

/// Measures how long a virtual address does not answer when its node fails.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a lab and play rounds
    Run(RunArguments),
    /// Ask for an address again and again, and print who answers; for the namespace of a client
    Probe(ProbeArguments),
}

#[derive(clap::Args)]
struct RunArguments {
    /// The landbridge binary
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// Rounds of each fault
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// So many milliseconds after the fault all has to be well
    #[arg(long, default_value_t = 1000)]
    limit: u64,
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    faults: Vec<Fault>,
    /// What counts as an answer
    #[arg(long, value_enum, default_value_t = Kind::Http)]
    kind: Kind,
    /// A lab that runs already, by its state directory, instead of one of its own
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How many addresses are announced besides the one that is probed
    #[arg(long, default_value_t = 9)]
    more: u16,
}

/// What counts as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A reply to an ARP request
    Arp,
    /// The answer of a pod to a request to the address
    Http,
}

#[derive(clap::Args)]
struct ProbeArguments {
    /// What counts as an answer
    #[arg(long, value_enum, default_value_t = Kind::Arp)]
    kind: Kind,
    /// On which interface (ARP)
    #[arg(long)]
    interface: String,
    /// Which address
    #[arg(long)]
    address: Ipv4Addr,
    /// The first of 32 addresses to ask from (ARP)
    #[arg(long, default_value = "172.27.255.1")]
    from: Ipv4Addr,
    /// How often, in milliseconds
    #[arg(long, default_value_t = 10)]
    every: u64,
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("landbridge-failover: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = match Arguments::parse().command {
        Command::Run(arguments) => runtime.block_on(rounds::run(&arguments)),
        Command::Probe(arguments) => runtime.block_on(probe::run(&arguments)).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("landbridge-failover: {error:#}");
            ExitCode::FAILURE
        }
    }
}
