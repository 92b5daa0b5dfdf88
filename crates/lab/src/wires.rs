//! What is asked of the supervisor, over sockets on paths.
//!
//! A node asks through a socket in its own directory, so it can only ask for itself; the operator asks
//! through the supervisor's. One line of JSON each way. The sockets are the owner's alone (0600, in
//! directories that are, too).

mod below;
mod client;
mod protocol;
mod server;
mod vlans;

use std::path::PathBuf;

use landbridge_linux::{Handle, IfName};

pub use self::client::{AskError, link, reboot, status};
pub(crate) use self::protocol::{Answer, NodeRequest, OperatorRequest, VlanRequest};
pub(crate) use self::server::{Asked, From, Question, serve};

/// The socket in a node's directory.
pub const NODE_SOCKET: &str = "wires.sock";
/// The operator's socket in the lab's directory.
pub const SUPERVISOR_SOCKET: &str = "supervisor.sock";

/// A VLAN of another link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlanLink {
    pub name: IfName,
    /// A NIC, or a bridge or bond that leads to one.
    pub base: IfName,
    pub id: u16,
    /// Nothing is the base's.
    pub mtu: Option<u32>,
}

/// Makes VLANs for one node of a lab whose kernel has no 8021q.
#[derive(Clone, Debug)]
pub struct LabWires {
    /// The socket in the node's directory.
    pub socket: PathBuf,
}

/// Why there is no such link.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error(transparent)]
    Network(#[from] landbridge_linux::Error),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("cannot make VLAN link {name}: {reason}")]
    Impossible { name: IfName, reason: String },
}

impl LabWires {
    /// Makes the link in the handle's namespace, which must be the node's: switched off, without
    /// addresses, with the base's MAC as a VLAN of the kernel would have it.
    pub fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        let impossible = |reason| WireError::Impossible { name: vlan.name.clone(), reason };
        let links = net.links()?;
        let base = links.iter().find(|link| link.name == vlan.base);
        let base = base.ok_or_else(|| impossible(format!("there is no link {}", vlan.base)))?;
        if let Some(mtu) = vlan.mtu.filter(|mtu| *mtu > base.mtu) {
            let reason = format!("MTU {mtu} is more than that of {}, {}", base.name, base.mtu);
            return Err(impossible(reason));
        }
        let candidates = below::candidates(&links, base).map_err(impossible)?;
        let request = NodeRequest::Vlan(VlanRequest {
            candidates,
            base: vlan.base.clone(),
            id: vlan.id,
            name: vlan.name.clone(),
            mtu: vlan.mtu.or(Some(base.mtu)),
            mac: base.mac,
        });
        client::ask(&self.socket, &request)?;
        Ok(())
    }
}

/// What the alias of a link says that stands for a VLAN.
pub(crate) fn alias(base: &IfName, id: u16) -> String {
    format!("{ALIAS}base={base} id={id}")
}

/// How such an alias begins.
const ALIAS: &str = "landbridge:vlan ";
