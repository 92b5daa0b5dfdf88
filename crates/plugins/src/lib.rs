//! The CNI plugins over the kernel, in this process, and the running of those that are programs.
//!
//! ```text
//!   Runtime::add(network)          a whole configuration, as the reference library runs one
//!      │  for each plugin: own, or a program from CNI_PATH
//!      ▼
//!   run("macvlan", call)           one plugin:  link ─▶ addresses ─▶ setup
//!      │                                                  │
//!      ▼                                                  ▼
//!   landbridge_linux               ipam: the caller's (Ipams), ours (static, host-local), or a program
//!
//!   main_as("macvlan", env, stdin) the same as a program of that name would answer
//! ```
//!
//! Rules that hold for every plugin here:
//! - an ADD that fails leaves no link, address or record behind (the bridge itself stays: it is
//!   shared, and others may have begun to use it);
//! - a DEL of what is gone (namespace, link, record) succeeds;
//! - numbers of errors are those the reference plugins answer with, texts say at least as much.
//!
//! All of it blocks and may be called from many threads at once. The node's namespace is that of
//! the calling thread.
//!
//! ```no_run
//! use landbridge_cni::config::Network;
//! use landbridge_plugins::{Endpoint, NoIpams, Runtime};
//!
//! let config = br#"{"cniVersion": "1.0.0", "name": "internalapi", "type": "macvlan",
//!     "master": "enp6s0.20", "ipam": {"type": "host-local", "subnet": "172.17.0.0/24"}}"#;
//! let network = Network::parse(config)?;
//! let endpoint = Endpoint {
//!     container_id: "c1".into(),
//!     netns: Some("/run/netns/pod".into()),
//!     interface: "net1".into(),
//!     path: vec!["/opt/cni/bin".into()],
//!     ..Endpoint::default()
//! };
//! let runtime = Runtime::new(&NoIpams, "/var/lib/cni");
//! let result = runtime.add(&network, &endpoint)?;
//! runtime.del(&network, &endpoint)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`call`] | one call of one plugin, and who gives addresses |
//! | [`network`] | a whole network: own plugins, programs, the kept result |
//! | [`program`] | what a binary of a plugin's name prints and exits with |

mod bridge;
pub mod call;
mod failure;
mod foreign;
mod host_device;
mod host_local;
mod ipam;
mod loopback;
mod macvlan;
pub mod network;
mod nft;
mod pod;
mod process;
pub mod program;
mod setup;
mod static_ipam;
mod tuning;
mod verify;

use landbridge_cni::environment::Command;
use landbridge_cni::{CniError, CniResult, Code};

pub use self::call::{Call, Ipam, Ipams, NoIpams};
pub use self::network::{Endpoint, Runtime};
pub use self::program::{Output, main_as};

/// The plugins that this crate has itself.
pub const KINDS: [&str; 7] =
    ["bridge", "host-device", "host-local", "loopback", "macvlan", "static", "tuning"];

/// Whether this crate has the plugin itself.
pub fn has(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Runs one plugin of ours. ADD answers a result, all else nothing. VERSION is the program's
/// business ([`main_as`]): in process there is nothing to negotiate.
pub fn run(kind: &str, call: &Call, ipams: &dyn Ipams) -> Result<Option<CniResult>, CniError> {
    call.environment
        .command
        .allowed_in(call.input.version)
        .map_err(|error| failure::coded(&error, &call.input))?;
    if let Some(ipam) = ipam::ours(kind) {
        return ipam::dispatch(ipam, call);
    }
    let outcome = match kind {
        "macvlan" => macvlan::run(call, ipams),
        "bridge" => bridge::run(call, ipams),
        "host-device" => host_device::run(call, ipams),
        "tuning" => tuning::run(call),
        "loopback" => loopback::run(call),
        _ => Err(failure::internal(format!("this program has no plugin {kind:?}"))),
    };
    outcome.map_err(|error| failure::in_version(error, &call.input))
}

/// What a plugin without state of its own does for GC and STATUS: it asks whoever gives addresses.
fn ask_ipam(call: &Call, ipams: &dyn Ipams, ipam: &str) -> Result<Option<CniResult>, CniError> {
    match call.environment.command {
        _ if ipam.is_empty() => Ok(None),
        Command::Status => ipam::status(ipam, call, ipams).map(|()| None),
        Command::Gc => ipam::gc(ipam, call, ipams).map(|()| None),
        other => {
            Err(CniError::new(Code::INVALID_ENVIRONMENT, format!("unknown CNI_COMMAND: {other}")))
        }
    }
}
