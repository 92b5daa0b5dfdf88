//! What can be typed, and the words `--help` teaches with.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::log::LogLevel;
use crate::version;

/// The network plane between OpenStack and Kubernetes, in one binary
///
/// `landbridge up` starts a Kubernetes-compatible API with Landbridge's kinds on this machine:
/// nothing else has to be installed, and root is not needed. kubectl and every other Kubernetes
/// client work against it.
#[derive(Parser)]
#[command(
    name = "landbridge",
    version = version::LONG,
    propagate_version = true,
    max_term_width = 100,
    after_long_help = "\
Examples:
  landbridge up                      start here, in the foreground; Ctrl-C stops it
  landbridge up --detach             start in the background
  landbridge status                  is it running, where, and what is in it
  landbridge down                    stop it; everything is kept
  landbridge down --purge            stop it and forget everything

  export KUBECONFIG=$PWD/.landbridge/kubeconfig
  kubectl get netconfigs

Environment:
  LANDBRIDGE_DIR   state directory, when --dir is not given (default: .landbridge)
  RUST_LOG         what is logged, in more detail than --log-level can say"
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,

    /// How much is logged to stderr: warnings, or everything from info in the background
    #[arg(long, global = true, value_enum, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
}

/// Every command.
#[derive(Subcommand)]
pub enum Command {
    /// Start the API on this machine
    #[command(after_long_help = UP_HELP)]
    Up(UpArgs),
    /// Say whether it is running, where, and what is in it
    #[command(after_long_help = STATUS_HELP)]
    Status(StatusArgs),
    /// Stop it
    #[command(after_long_help = DOWN_HELP)]
    Down(DownArgs),
    /// Run the controllers against any Kubernetes
    #[command(after_long_help = OPERATOR_HELP)]
    Operator(OperatorArgs),
    /// Print the custom resource definitions, as YAML
    #[command(after_long_help = "\
Examples:
  landbridge crds                                     look at them
  landbridge crds | kubectl apply --server-side -f -  install them in another cluster

`landbridge up` installs them in the embedded API by itself.")]
    Crds,
    /// Print the completion script of a shell
    #[command(after_long_help = "\
Examples:
  source <(landbridge completion bash)
  landbridge completion zsh > ~/.zfunc/_landbridge
  landbridge completion fish > ~/.config/fish/completions/landbridge.fish")]
    Completion(CompletionArgs),
}

const UP_HELP: &str = "\
Examples:
  landbridge up                               foreground, state in .landbridge
  landbridge up --detach                      background; returns when it is ready
  landbridge up --detach --dir /tmp/lab       a second one, beside the first
  landbridge up --port 7443                   this port or none

Files in the state directory (for their owner only):
  kubeconfig       for kubectl: kubectl --kubeconfig .landbridge/kubeconfig get netconfigs
  store/           every object; survives restarts and kill -9
  pki/             certificate authority (10 years), server and admin certificates (1 year,
                   made again 30 days before their end)
  admin.sock       the same API on a Unix socket, without TLS, as administrator
  landbridge.log   log of a server in the background
  run.json         the running server: process, URL; gone when it stops
  port             the port used last: kept across restarts when it is free
  format, lock     mark the directory as ours, and keep a second server out

The API listens on 127.0.0.1:6443. When that port is taken and --port is not given, another one is
chosen, said and remembered.";

const OPERATOR_HELP: &str = "\
`landbridge up` runs the controllers by itself; this is for another Kubernetes, after its custom
resource definitions were installed (`landbridge crds`). Several operators may run at once: every
address is taken by a compare-and-swap, so they get in nobody's way.

Examples:
  landbridge operator                             $KUBECONFIG, ~/.kube/config, or the pod's own account
  landbridge operator --kubeconfig admin.conf
  landbridge operator --context staging";

const STATUS_HELP: &str = "\
Exit codes:
  0  running and ready
  1  running but not answering, or cannot tell
  3  stopped, or still starting

Examples:
  landbridge status
  landbridge status -o json | jq .revision
  until landbridge status >/dev/null; do sleep 0.1; done";

const DOWN_HELP: &str = "\
Stops the server politely and waits up to 10 seconds, then hard. Objects, certificates and the
kubeconfig are kept: `landbridge up` continues where this one stopped. Nothing to stop is no error.

Examples:
  landbridge down
  landbridge down --purge     also remove the state directory

--purge removes only files that Landbridge made, and refuses a directory without its mark.";

/// Where the state is.
#[derive(Args)]
pub struct DirArg {
    /// State directory
    #[arg(long, env = "LANDBRIDGE_DIR", default_value = ".landbridge", value_name = "DIR")]
    pub dir: PathBuf,
}

/// `landbridge up`
#[derive(Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub dir: DirArg,

    /// Run in the background; return as soon as the API is ready
    #[arg(long, short)]
    pub detach: bool,

    /// Port of the API; 0 takes any free one. Without it: the port used last, then 6443, then any
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Address the API listens on
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,

    /// Run the API alone: nothing acts on the objects, unless `landbridge operator` does
    #[arg(long)]
    pub no_controllers: bool,

    /// The background process of `up --detach`: progress goes to the parent as JSON lines
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached_child: bool,
}

/// `landbridge operator`
#[derive(Args)]
pub struct OperatorArgs {
    /// File that says how to reach the API
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of that file
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// `landbridge status`
#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub dir: DirArg,

    /// How to print it
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// How `status` prints.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Table,
    /// For programs
    Json,
    /// For both
    Yaml,
}

/// `landbridge down`
#[derive(Args)]
pub struct DownArgs {
    #[command(flatten)]
    pub dir: DirArg,

    /// Also remove the state directory: all objects, certificates and the kubeconfig
    #[arg(long)]
    pub purge: bool,
}

/// `landbridge completion`
#[derive(Args)]
pub struct CompletionArgs {
    /// Which shell
    pub shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
