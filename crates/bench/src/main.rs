//! `landbridge-bench`: parses, measures, prints.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Parser;
use landbridge_bench::measure::{self, Plan};
use landbridge_bench::process::Processes;
use landbridge_bench::report::{self, Style};
use serde_json::json;

/// Measures a Kubernetes API: rates, latencies, delivery to watchers, CPU and memory.
///
/// Creates a CRD of the group bench.landbridge.dev and two namespaces, and removes them at the end.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The server to measure.
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Numbers of clients to measure with, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64")]
    clients: Vec<usize>,
    /// Numbers of watchers to deliver to, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "1,100")]
    watchers: Vec<usize>,
    /// How long each figure is taken.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// How many objects there are to read, update and list.
    #[arg(long, default_value_t = 1000)]
    objects: usize,
    /// A process of the server, for its CPU time and memory; may be given several times.
    #[arg(long = "server-pid", value_name = "PID")]
    server: Vec<u32>,
    /// A second server to measure in the same run and to compare with.
    #[arg(long, value_name = "FILE")]
    peer_kubeconfig: Option<PathBuf>,
    /// A process of the second server; may be given several times.
    #[arg(long = "peer-pid", value_name = "PID", requires = "peer_kubeconfig")]
    peer: Vec<u32>,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown.
    #[arg(long)]
    markdown: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let plan = Plan {
        clients: arguments.clients,
        watchers: arguments.watchers,
        length: Duration::from_secs(arguments.seconds),
        objects: arguments.objects,
    };
    let run = format!("{:x}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs());

    let server = Processes(arguments.server);
    let ours = measure::measure(&arguments.kubeconfig, &server, &plan, &run).await?;
    let peer = match &arguments.peer_kubeconfig {
        Some(kubeconfig) => {
            eprintln!("the same against the peer");
            Some(measure::measure(kubeconfig, &Processes(arguments.peer), &plan, &run).await?)
        }
        None => None,
    };
    for row in ours.load.iter().chain(peer.iter().flat_map(|peer| &peer.load)) {
        if let Some(error) = &row.first_error {
            eprintln!(
                "{} with {} clients: {} failed, first: {error}",
                row.operation.name(),
                row.clients,
                row.errors
            );
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&json!({"this": ours, "peer": peer}))?);
    } else {
        let style = if arguments.markdown { Style::Markdown } else { Style::Plain };
        print!("{}", report::render(&ours, peer.as_ref(), &plan, style));
    }
    Ok(())
}
