//! `landbridge-attachments`: what attaching pods costs, beside the reference plugins, and how it grows.
//!
//! ```text
//! calls   ADD and DEL of macvlan with whereabouts here, with host-local there, in turn
//! pods    many pods with two attachments each on one node, through calls of Multus
//! lab     a Deployment of pods with two attachments, from create until all are Ready, and away again
//! ```
//!
//! The first two run in a network namespace of their own: an API, an agent as on any node, and a master.

// Figures for people: a rate or a quantile needs no 53rd bit.
#![allow(clippy::cast_precision_loss)]

mod calls;
mod lab;
mod node;
mod objects;
mod peers;
mod pods;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use tokio::process::Command;

/// Measures attachments made by a landbridge binary.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The landbridge binary.
    #[arg(long, value_name = "FILE")]
    server: PathBuf,
    /// The directory of the reference plugins macvlan and host-local, to measure beside.
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Calls of each kind.
    #[arg(long, default_value_t = 300)]
    calls: usize,
    /// Pods on one node.
    #[arg(long, default_value_t = 1000)]
    pods: usize,
    /// Calls at the same time.
    #[arg(long, default_value_t = 16)]
    together: usize,
    /// Pods of the Deployment in the lab; 0 leaves it out.
    #[arg(long, default_value_t = 300)]
    deployment: usize,
    /// This process is in its own namespaces already.
    #[arg(long, hide = true)]
    inside: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    arguments.server = arguments.server.canonicalize().context("no such --server")?;
    if arguments.inside {
        return on_one_node(&arguments).await;
    }
    if arguments.calls + arguments.pods > 0 {
        enter().await?;
    }
    if arguments.deployment > 0 {
        lab::run(&arguments).await?;
    }
    Ok(())
}

/// This program again, with the same words, in network and mount namespaces that end with it.
async fn enter() -> Result<()> {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--propagation", "private", "--map-root-user", "--"]);
    command.arg(std::env::current_exe()?).args(std::env::args_os().skip(1)).arg("--inside");
    let status = command.kill_on_drop(true).status().await;
    let status = status.context("cannot start unshare (package util-linux)")?;
    ensure!(status.success(), "the part in its own namespaces failed: {status}");
    Ok(())
}

async fn on_one_node(arguments: &Arguments) -> Result<()> {
    let node = node::Node::start(&arguments.server).await?;
    let done = async {
        calls::run(&node, arguments).await?;
        pods::run(&node, arguments).await
    };
    let done = done.await.with_context(|| node.last_words());
    node.stop().await?;
    done
}
