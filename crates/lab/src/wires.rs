//! What is asked of the supervisor, over sockets on paths.
//!
//! A node asks through a socket in its own directory, so it can only ask for itself; the operator asks
//! through the supervisor's. One line of JSON each way. The sockets are the owner's alone (0600, in
//! directories that are, too).

mod below;
mod client;
mod protocol;
mod server;

use std::path::PathBuf;

use landbridge_linux::Handle;
use landbridge_linux::link::VlanProtocol;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_nodestate::wires::{Kernel, SegmentLink, VlanLink, WireError, Wires};

pub use self::client::{AskError, link, reboot, status};
pub(crate) use self::protocol::{
    Answer, NodeRequest, OperatorRequest, SegmentRequest, VlanRequest,
};
pub(crate) use self::server::{Asked, From, Question, serve};

/// The socket in a node's directory.
pub const NODE_SOCKET: &str = "wires.sock";
/// The operator's socket in the lab's directory.
pub const SUPERVISOR_SOCKET: &str = "supervisor.sock";

/// Makes segments for one node of a lab, and VLANs where the kernel has no 8021q.
#[derive(Clone, Debug)]
pub struct LabWires {
    /// The socket in the node's directory.
    pub socket: PathBuf,
}

impl Wires for LabWires {
    /// By the kernel where it can; otherwise a wire of its own into the lab's switch, with the base's MAC
    /// as a VLAN of the kernel would have it. The namespace must be the node's. The base may be a bridge
    /// or bond that leads to a NIC.
    fn make_vlan(&self, net: &Handle, vlan: &VlanLink) -> Result<(), WireError> {
        if Capabilities::probe().is_ok_and(|kernel| kernel.why_not(Feature::Vlan).is_none()) {
            return Kernel.make_vlan(net, vlan);
        }
        let impossible = |reason: String| {
            WireError::Refused(format!("cannot make VLAN link {}: {reason}", vlan.name))
        };
        if vlan.protocol != VlanProtocol::Customer {
            let reason =
                "this kernel has no 8021q, and the lab's switches stand in for 802.1Q only";
            return Err(impossible(reason.to_owned()));
        }
        let links = net.links()?;
        let base = links.iter().find(|link| link.name == vlan.base);
        let base = base.ok_or_else(|| impossible(format!("there is no link {}", vlan.base)))?;
        let candidates = below::candidates(&links, base).map_err(impossible)?;
        let request = NodeRequest::Vlan(VlanRequest {
            candidates,
            base: vlan.base.clone(),
            id: vlan.id,
            name: vlan.name.clone(),
            // The base may be about to grow; until then it is the limit, as for the kernel.
            mtu: Some(vlan.mtu.map_or(base.mtu, |mtu| mtu.min(base.mtu))),
            mac: base.mac,
        });
        client::ask(&self.socket, &request)
            .map_err(|error| WireError::Refused(error.to_string()))?;
        Ok(())
    }

    fn make_segment(&self, _net: &Handle, segment: &SegmentLink) -> Result<(), WireError> {
        let request = NodeRequest::Segment(SegmentRequest {
            segment: segment.segment.clone(),
            name: segment.name.clone(),
            mtu: segment.mtu,
            alias: segment.alias.clone(),
        });
        client::ask(&self.socket, &request)
            .map_err(|error| WireError::Refused(error.to_string()))?;
        Ok(())
    }
}
