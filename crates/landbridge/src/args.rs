//! What can be typed, and the words `--help` teaches with.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::log::LogLevel;
use crate::version;

/// The network plane between OpenStack and Kubernetes, in one binary
///
/// `landbridge up` starts a Kubernetes-compatible API with Landbridge's kinds on this machine, and a lab:
/// virtual nodes with an agent each, real interfaces and real packets. Nothing else has to be
/// installed, and root is not needed. kubectl and every other Kubernetes client work against it.
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
  landbridge exec worker-0 -- ip a   look at a node of the lab, or pod/NAME
  landbridge check DIR               do these manifests fit together?
  landbridge plan DIR                who hands out which addresses
  landbridge dns --addn-hosts=FILE   answer DNS queries, with dnsmasq's options

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
    /// Start the API and the lab on this machine
    #[command(after_long_help = UP_HELP)]
    Up(UpArgs),
    /// Say whether it is running, where, and what is in it
    #[command(after_long_help = STATUS_HELP)]
    Status(StatusArgs),
    /// Stop it
    #[command(after_long_help = DOWN_HELP)]
    Down(DownArgs),
    /// Say whether manifests fit together, like a compiler
    #[command(after_long_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Print the address plan of manifests: who hands out what, what is taken, what is free
    #[command(after_long_help = PLAN_HELP)]
    Plan(PlanArgs),
    /// Explain a code that `check` prints
    #[command(after_long_help = "\
Examples:
  landbridge explain LB101
  landbridge explain              list all codes")]
    Explain(ExplainArgs),
    /// Run a command on a node or in a pod of the lab
    #[command(after_long_help = EXEC_HELP)]
    Exec(ExecArgs),
    /// Look after the lab: its shape, its nodes, their cables
    #[command(subcommand)]
    Lab(LabCommand),
    /// Run the agent of a node
    #[command(after_long_help = AGENT_HELP)]
    Agent(AgentArgs),
    /// Answer DNS queries, with dnsmasq's options and files
    #[command(after_long_help = DNS_HELP, disable_version_flag = true)]
    Dns(DnsArgs),
    /// Install or remove the CNI plugin of a node
    #[command(subcommand)]
    Cni(CniCommand),
    /// Stand for the containers of a pod (started by the agent)
    #[command(hide = true)]
    Responder(ResponderArgs),
    /// Run a command in a terminal of its own (started by the agent)
    #[command(hide = true)]
    Terminal(TerminalArgs),
    /// Run the controllers against any Kubernetes
    #[command(after_long_help = OPERATOR_HELP)]
    Operator(OperatorArgs),
    /// Print the custom resource definitions, as YAML
    #[command(after_long_help = "\
Examples:
  landbridge crds                                     look at them
  landbridge crds | kubectl apply --server-side -f -  install them in another cluster
  landbridge crds --all                               with those of MetalLB, nmstate, CNI and OpenStack

`landbridge up` installs all of them in the embedded API by itself. A cluster has the others from
their owners; installing ours over them would take fields away.")]
    Crds(CrdsArgs),
    /// Print the completion script of a shell
    #[command(after_long_help = "\
Examples:
  source <(landbridge completion bash)
  landbridge completion zsh > ~/.zfunc/_landbridge
  landbridge completion fish > ~/.config/fish/completions/landbridge.fish")]
    Completion(CompletionArgs),
}

/// Arguments of `dns`.
#[derive(Debug, Args)]
pub struct DnsArgs {
    /// dnsmasq's options, in the order they count, and those below
    #[arg(value_name = "DNSMASQ_OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

const DNS_HELP: &str = "\
Examples:
  landbridge dns --port 5353 --no-resolv --addn-hosts=my.hosts
  landbridge dns --conf-dir=/etc/dnsmasq.d --hostsdir=/etc/dnsmasq.d/hosts
  landbridge dns --listen-address=192.0.2.10 --bind-interfaces --server=8.8.8.8
  landbridge dns --conf-file=dnsmasq.conf --test     is it right? (exit code 1 if not)

Options are dnsmasq's, long or short, on the command line or in files; docs/dns-options.md says what each
does here. A change of a file is answered from within 100 ms, without a restart. A line that is wrong is
named once in the log, and the others count.

Ours, on the command line only:
  --workers N            threads for each address (default: one per processor)
  --recursion-for NETS   ask other servers only for these clients, such as 192.0.2.0/24,2001:db8::/64
  --rate-limit N         replies a second to each /24 or /56 that is not attached (default 2000; 0: no limit)
  --metrics ADDR:PORT    Prometheus' /metrics, and /healthz

Without --interface, --listen-address, --except-interface and --recursion-for only clients of networks that
this machine is in are answered. It stays in the foreground. Where it is root it becomes nobody (--user) once
its sockets are bound.

Signals:
  SIGHUP    read all files again, forget the answers of other servers
  SIGUSR1   log the metrics
  SIGTERM   end";

/// Arguments of `crds`.
#[derive(Debug, Args)]
pub struct CrdsArgs {
    /// Also those of the foreign kinds that the embedded API serves
    #[arg(long)]
    pub all: bool,
}

const UP_HELP: &str = "\
Examples:
  landbridge up                               foreground, state in .landbridge
  landbridge up --detach                      background; returns when it is ready
  landbridge up --detach --dir /tmp/lab       a second one, beside the first
  landbridge up --port 7443                   this port or none
  landbridge up --lab director                another lab; `landbridge lab shapes` lists them
  landbridge up --lab my-lab.yaml             your own (`landbridge lab shapes default` is one to start from)
  landbridge up --lab none                    no nodes: the API and the controllers
  landbridge up --ingress-domain apps.my.lab  hosts of Routes: NAME-NAMESPACE.apps.my.lab

Files in the state directory (for their owner only):
  kubeconfig       for kubectl: kubectl --kubeconfig .landbridge/kubeconfig get netconfigs
  store/           every object; survives restarts and kill -9
  pki/             certificate authority (10 years), server and admin certificates (1 year,
                   made again 30 days before their end)
  admin.sock       the same API on a Unix socket, without TLS, as administrator
  lab/             the lab: lab.json says what runs, nodes/NAME/agent.log what each agent has to say
  landbridge.log   log of a server in the background
  run.json         the running server: process, URL; gone when it stops
  port             the port used last: kept across restarts when it is free
  format, lock     mark the directory as ours, and keep a second server out

The API listens on 127.0.0.1:6443. When that port is taken and --port is not given, another one is
chosen, said and remembered.";

const EXEC_HELP: &str = "\
The command is one of this machine, run in the network of the node or pod. Images are not run in the
lab, so a pod has no programs of its own. The exit code is the command's; 125 when it could not be
started, 126 and 127 as a shell has them.

Examples:
  landbridge exec worker-0 -- ip a
  landbridge exec edpm-compute-0 -- ping -c 1 172.17.0.30
  landbridge exec pod/glance-0 -n openstack -- ip route
  landbridge exec pod/openstack/glance-0 -- ss -tlnp
  landbridge exec instance/amphora -- ip route
  landbridge exec router/octavia-link-router -- ip a";

const AGENT_HELP: &str = "\
On a Kubernetes node: makes NodeNetworkConfigurationPolicies true and reports them, and serves the CNI
plugin (`landbridge cni install`). Needs root. `landbridge up` starts one for each node of its lab.

On a host that is no Kubernetes node (--host): configures VLANs, addresses, routes and resolver from
the IPSet of that name as soon as it is Ready.

Examples:
  landbridge agent --kubeconfig /etc/landbridge/kubeconfig
  landbridge agent --kubeconfig admin.conf --node worker-0
  landbridge agent --kubeconfig host.conf --host edpm-compute-0 --trunk eth1";

const CHECK_HELP: &str = "\
Reads NetConfig, IPSet, Reservation, NetworkAttachmentDefinition, IPPool, NodeNetworkConfigurationPolicy,
IPAddressPool, L2Advertisement, OpenStackControlPlane and other OpenStack services, Service, DNSMasq,
DNSData and Neutron dumps (`openstack network list -f json`), and reports what does not fit: ranges
that overlap, VLANs and prefixes that disagree, VIPs outside of their pools, attachments without a
definition, misspelt fields. Other kinds are left alone. Nothing is changed, and nothing is asked of
any cluster.

Examples:
  landbridge check deploy/                        every .yaml, .yml and .json below deploy
  landbridge check netconfig.yaml nads/ pools/    together: contradictions are between files
  kubectl get netconfig,net-attach-def,ipaddresspools.metallb.io -A -o yaml | landbridge check -
  landbridge check --format sarif . > report.sarif
  landbridge explain LB101

Exit codes:
  0  nothing worse than a warning (with --strict: than a note)
  1  something does not fit
  2  something could not be read";

const PLAN_HELP: &str = "\
Examples:
  landbridge plan deploy/
  landbridge plan deploy/ -o yaml
  landbridge plan deploy/ -o json | jq '.segments[] | select(.name == \"internalapi\").ranges'";

const OPERATOR_HELP: &str = "\
`landbridge up` runs the controllers by itself; this is for another Kubernetes, after its custom
resource definitions were installed (`landbridge crds`). Several operators may run at once: every
address is taken by a compare-and-swap, so they get in nobody's way.

Examples:
  landbridge operator                             $KUBECONFIG, ~/.kube/config, or the pod's own account
  landbridge operator --kubeconfig admin.conf
  landbridge operator --context staging
  landbridge operator --control-planes            also OpenStackControlPlane, Glance, RabbitMq, ...

Control planes are left to the OpenStack operators unless --control-planes is given: two that write
the same Services would undo each other's work.";

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

    /// Run the API alone: nothing acts on the objects, unless `landbridge operator` does; no lab
    #[arg(long)]
    pub no_controllers: bool,

    /// Give virtual addresses only to Services of this loadBalancerClass. Without it: only to those
    /// that have none
    #[arg(long, value_name = "CLASS")]
    pub lb_class: Option<String>,

    /// The lab: a shape by name (`landbridge lab shapes`), a file with one, or `none`
    #[arg(long, env = "LANDBRIDGE_LAB", default_value = "default", value_name = "SHAPE|FILE")]
    pub lab: String,

    /// Domain of Routes without a host: <name>-<namespace>.<domain>
    #[arg(
        long,
        env = "LANDBRIDGE_INGRESS_DOMAIN",
        default_value = "apps.lab.landbridge.test",
        value_name = "DOMAIN",
        value_parser = domain
    )]
    pub ingress_domain: String,

    /// Port on the loopback that leads to the lab's ingress. Without it: 8080, or any free one
    #[arg(long, value_name = "N")]
    pub ingress_port: Option<u16>,

    /// How nodes of the lab forward connections to Services
    #[arg(long, env = "LANDBRIDGE_SERVICES", value_enum, default_value_t, value_name = "HOW")]
    pub services: ServicePath,

    /// The OpenStack that control planes work with: `embedded` is one on the loopback, for which
    /// clouds.yaml is written into the state directory; `none`; or a cloud of the clouds.yaml that the
    /// openstack command finds. Without it: the embedded one
    #[arg(long, env = "LANDBRIDGE_CLOUD", value_name = "embedded|none|NAME")]
    pub cloud: Option<String>,

    /// Secret with the clouds.yaml of an OpenStack to work with instead; `--cloud` says which of its clouds
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = in_namespace)]
    pub cloud_secret: Option<(String, String)>,

    /// The background process of `up --detach`: progress goes to the parent as JSON lines
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached_child: bool,
}

/// How connections to Services are forwarded.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum ServicePath {
    /// By the kernel where the program nft is, else by the agents
    #[default]
    Auto,
    /// By the kernel, with nft
    Nft,
    /// By the agents
    Relay,
}

impl ServicePath {
    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Nft => "nft",
            Self::Relay => "relay",
        }
    }
}

/// A domain: labels of letters, digits and hyphens.
fn domain(text: &str) -> Result<String, String> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Name and namespace of a Route go before it.
    if text.len() <= 120 && text.split('.').all(label) {
        Ok(text.to_owned())
    } else {
        Err("a domain is labels of lower case letters, digits and '-', as in apps.example.org"
            .to_owned())
    }
}

/// `landbridge exec`
#[derive(Args)]
pub struct ExecArgs {
    #[command(flatten)]
    pub dir: DirArg,

    /// Namespace of the pod
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub namespace: String,

    /// A node, pod/NAME, pod/NAMESPACE/NAME, instance/NAME, router/NAME, or `switches`
    #[arg(value_name = "NODE|pod/NAME")]
    pub target: String,

    /// What to run there
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `landbridge lab`
#[derive(Subcommand)]
pub enum LabCommand {
    /// List the shapes a lab can have, or print one as a file to start from
    Shapes {
        /// Which one; all are listed without it
        name: Option<String>,
    },
    /// Switch a node off and on: it comes back with its NICs and nothing else
    Reboot {
        #[command(flatten)]
        dir: DirArg,
        /// Which node
        node: String,
    },
    /// Pull the cable of a NIC, or plug it in
    Link {
        #[command(flatten)]
        dir: DirArg,
        /// Which node
        node: String,
        /// Which NIC
        nic: String,
        /// What to do
        state: Cable,
    },
    /// The lab itself (started by `up`)
    #[command(hide = true)]
    Run {
        /// The directory of the lab
        #[arg(long)]
        dir: PathBuf,
        /// Name or file
        #[arg(long)]
        shape: String,
    },
}

/// What can be done to a cable.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cable {
    /// Plugged in
    Up,
    /// Pulled
    Down,
}

/// `landbridge agent`
#[derive(Args)]
pub struct AgentArgs {
    /// File that says how to reach the API
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of that file
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Name of this node (default: the host name)
    #[arg(long, value_name = "NAME", env = "NODE_NAME", conflicts_with = "host")]
    pub node: Option<String>,

    /// This is no Kubernetes node: configure it from the IPSet of this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Namespace of the IPSet of a host
    #[arg(long, default_value = "openstack", value_name = "NAME")]
    pub namespace: String,

    /// NIC that carries the VLANs of a host (default: the first without an address)
    #[arg(long, value_name = "NIC")]
    pub trunk: Option<String>,

    /// Name server of a host; may be given several times
    #[arg(long = "nameserver", value_name = "ADDRESS")]
    pub nameservers: Vec<IpAddr>,

    /// Where the agent keeps what it must not forget
    #[arg(long, default_value = "/var/lib/landbridge", value_name = "DIR")]
    pub state_dir: PathBuf,

    /// Where the agent listens for the CNI plugin
    #[arg(long, default_value = "/run/landbridge/cni.sock", value_name = "FILE")]
    pub cni_socket: PathBuf,

    /// Directory of this node in a lab; everything else is found there
    #[arg(long, hide = true)]
    pub lab: Option<PathBuf>,
}

/// `landbridge cni`
#[derive(Subcommand)]
pub enum CniCommand {
    /// Put the plugin and its configuration where the container runtime looks
    Install(CniArgs),
    /// Take them away again and put back what was there before
    Uninstall(CniArgs),
}

/// `landbridge cni install`
#[derive(Args)]
pub struct CniArgs {
    /// Where the runtime finds plugins
    #[arg(long, default_value = "/opt/cni/bin", value_name = "DIR")]
    pub bin_dir: PathBuf,

    /// Where the runtime finds configurations
    #[arg(long, default_value = "/etc/cni/net.d", value_name = "DIR")]
    pub conf_dir: PathBuf,

    /// How the plugin reaches the API when no agent answers
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Where the agent listens
    #[arg(long, default_value = "/run/landbridge/cni.sock", value_name = "FILE")]
    pub socket: PathBuf,
}

/// `landbridge responder`
#[derive(Args)]
pub struct ResponderArgs {
    /// Whom to stand for, as JSON
    pub config: PathBuf,
}

/// `landbridge terminal`
#[derive(Args)]
pub struct TerminalArgs {
    /// What to run
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

/// Manifests, and what is not in them.
#[derive(Args)]
pub struct ManifestArgs {
    /// Files, directories, or - for standard input
    #[arg(required = true, value_name = "DIR|FILE")]
    pub paths: Vec<PathBuf>,

    /// Namespace of objects that name none (default: the only one that others name)
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Option<String>,

    /// These manifests are all there is: report also what is missing altogether
    #[arg(long)]
    pub complete: bool,
}

impl ManifestArgs {
    /// As the plan wants it.
    pub fn options(&self) -> landbridge_plan::Options {
        landbridge_plan::Options { namespace: self.namespace.clone(), complete: self.complete }
    }
}

/// `landbridge check`
#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub manifests: ManifestArgs,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub format: CheckFormat,

    /// Warnings count as errors
    #[arg(long)]
    pub strict: bool,
}

/// How `check` prints.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// With excerpts, for people
    Human,
    /// For programs
    Json,
    /// For code review tools (SARIF 2.1.0)
    Sarif,
}

/// `landbridge plan`
#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub manifests: ManifestArgs,

    /// How to print it
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// `landbridge explain`
#[derive(Args)]
pub struct ExplainArgs {
    /// For example LB101; without it, all codes are listed
    pub code: Option<String>,
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

    /// Give virtual addresses only to Services of this loadBalancerClass. Without it: only to those
    /// that have none
    #[arg(long, value_name = "CLASS")]
    pub lb_class: Option<String>,

    /// Act on control planes and their services, too: only where the OpenStack operators do not run
    #[arg(long, env = "LANDBRIDGE_CONTROL_PLANES")]
    pub control_planes: bool,

    /// Leave DNSMasq and DNSData alone: where the infra-operator acts on them
    #[arg(long, env = "LANDBRIDGE_NO_DNS")]
    pub no_dns: bool,

    /// Name of Landbridge's image, without registry, path and tag: a DNSMasq with this image runs
    /// `landbridge dns`, any other runs dnsmasq
    #[arg(long, value_name = "NAME", default_value = "landbridge", env = "LANDBRIDGE_DNS_IMAGE")]
    pub dns_image: String,

    /// Secret with a clouds.yaml: the OpenStack in which the networks and endpoints of control planes
    /// are made
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = in_namespace)]
    #[arg(requires = "control_planes", env = "LANDBRIDGE_CLOUD_SECRET")]
    pub cloud_secret: Option<(String, String)>,

    /// Which cloud of that Secret; without a Secret: of the clouds.yaml that the openstack command finds
    #[arg(long, value_name = "NAME", requires = "control_planes", env = "LANDBRIDGE_CLOUD")]
    pub cloud: Option<String>,
}

/// Namespace and name.
fn in_namespace(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name))
            if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
        {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("say NAMESPACE/NAME, for example openstack/cloud".to_owned()),
    }
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

/// How `status` and `plan` print.
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

    #[test]
    fn a_cloud_is_for_control_planes_and_a_secret_has_a_namespace() {
        let read = |words: &[&str]| {
            let words = ["landbridge", "operator"].iter().chain(words);
            Cli::command().try_get_matches_from(words).map(drop).map_err(|error| error.to_string())
        };
        let secret = ["--control-planes", "--cloud-secret", "openstack/cloud", "--cloud", "prod"];
        assert_eq!(read(&secret), Ok(()));
        for wrong in ["cloud", "/cloud", "openstack/", "a/b/c"] {
            let told = read(&["--control-planes", "--cloud-secret", wrong]).unwrap_err();
            assert!(told.contains("say NAMESPACE/NAME"), "{told}");
        }
        let told = read(&["--cloud", "prod"]).unwrap_err();
        assert!(told.contains("--control-planes"), "{told}");
    }
}
