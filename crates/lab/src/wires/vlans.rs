//! VLANs of a lab's node, as `nodestate` asks for them.

use landbridge_linux::Handle;
use landbridge_linux::link::VlanProtocol;
use landbridge_linux::probe::{Capabilities, Feature};
use landbridge_nodestate::wires::{self, Kernel, Wires};

use super::{LabWires, VlanLink};

impl Wires for LabWires {
    /// By the kernel where it can; otherwise a wire of its own into the lab's switch.
    fn make_vlan(&self, net: &Handle, vlan: &wires::VlanLink) -> Result<(), wires::WireError> {
        if Capabilities::probe().is_ok_and(|kernel| kernel.why_not(Feature::Vlan).is_none()) {
            return Kernel.make_vlan(net, vlan);
        }
        if vlan.protocol != VlanProtocol::Customer {
            return Err(wires::WireError::Refused(
                "this kernel has no 8021q, and the lab's switches stand in for 802.1Q only".into(),
            ));
        }
        // The base may be about to grow; until then it is the limit, as for the kernel.
        let room = net.expect_link(&vlan.base)?.mtu;
        let asked = VlanLink {
            name: vlan.name.clone(),
            base: vlan.base.clone(),
            id: vlan.id,
            mtu: vlan.mtu.map(|mtu| mtu.min(room)),
        };
        self.make_vlan(net, &asked).map_err(|error| wires::WireError::Refused(error.to_string()))
    }
}
