//! What this kernel can do, found out by trying it in a namespace that is thrown away.
//!
//! Neither `/proc/config.gz` nor the list of modules tells: a kind may be built in, loadable or
//! forbidden. The answer holds until the machine boots again, so it is kept.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::error::Result;
use crate::handle::Handle;
use crate::link::{
    Bond, Bridge, LinkIndex, LinkKind, Macvlan, MacvlanMode, NewLink, Vlan, VlanProtocol, Vxlan,
};
use crate::name::IfName;
use crate::namespace::Namespace;

/// Something a kernel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Feature {
    Veth,
    Bridge,
    /// Bridges that keep VLANs apart.
    BridgeVlanFiltering,
    Vlan,
    Macvlan,
    Dummy,
    Bond,
    Vxlan,
    Vrf,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 9] = [
        Self::Veth,
        Self::Bridge,
        Self::BridgeVlanFiltering,
        Self::Vlan,
        Self::Macvlan,
        Self::Dummy,
        Self::Bond,
        Self::Vxlan,
        Self::Vrf,
    ];

    fn kind(self) -> LinkKind {
        match self {
            Self::Veth => LinkKind::Veth,
            Self::Bridge => LinkKind::Bridge(Bridge::default()),
            Self::BridgeVlanFiltering => {
                LinkKind::Bridge(Bridge { vlan_filtering: Some(true), ..Bridge::default() })
            }
            Self::Vlan => LinkKind::Vlan(Vlan { id: 20, protocol: VlanProtocol::Customer }),
            Self::Macvlan => LinkKind::Macvlan(Macvlan { mode: MacvlanMode::Bridge }),
            Self::Dummy => LinkKind::Dummy,
            Self::Bond => LinkKind::Bond(Bond::default()),
            Self::Vxlan => LinkKind::Vxlan(Vxlan { id: 20, port: Some(4789), ..Vxlan::default() }),
            Self::Vrf => LinkKind::Vrf { table: 20 },
        }
    }
}

/// What this kernel can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// For each feature nothing, or why it is missing.
    missing: BTreeMap<Feature, Option<String>>,
}

static KEPT: OnceLock<Capabilities> = OnceLock::new();

impl Capabilities {
    /// Tries every feature once per process. Needs the right to make a namespace.
    pub fn probe() -> Result<&'static Self> {
        if let Some(kept) = KEPT.get() {
            return Ok(kept);
        }
        let found = Self::try_all()?;
        Ok(KEPT.get_or_init(|| found))
    }

    fn try_all() -> Result<Self> {
        let handle = Handle::in_namespace(&Namespace::unnamed()?)?;
        // VLANs and macvlans stand on something; a kernel has at least one of these.
        let mut parent = None;
        let mut missing = BTreeMap::new();
        for (number, feature) in Feature::ALL.into_iter().enumerate() {
            let outcome = attempt(&handle, number, feature, parent);
            if let (Ok(index), Feature::Veth | Feature::Bridge | Feature::Dummy) =
                (&outcome, feature)
            {
                parent = parent.or(Some(*index));
            }
            missing.insert(feature, outcome.err());
        }
        Ok(Self { missing })
    }

    /// Whether the kernel has it.
    pub fn has(&self, feature: Feature) -> bool {
        self.why_not(feature).is_none()
    }

    /// Why the kernel lacks it, in words; nothing where it does not.
    pub fn why_not(&self, feature: Feature) -> Option<&str> {
        self.missing.get(&feature)?.as_deref()
    }
}

/// Makes a link with the feature and looks whether it has it.
fn attempt(
    handle: &Handle,
    number: usize,
    feature: Feature,
    parent: Option<LinkIndex>,
) -> std::result::Result<LinkIndex, String> {
    let name = IfName::new(&format!("probe{number}")).map_err(|error| error.to_string())?;
    let mut wanted = NewLink::new(name, feature.kind());
    if matches!(feature, Feature::Vlan | Feature::Macvlan) {
        wanted.parent = parent;
    }
    let made = handle.create_link(&wanted).map_err(|error| error.to_string())?;
    match &made.kind {
        // A kernel without it makes the bridge and ignores the wish.
        LinkKind::Bridge(bridge)
            if feature == Feature::BridgeVlanFiltering && bridge.vlan_filtering != Some(true) =>
        {
            Err("this kernel's bridge has no VLAN filtering: CONFIG_BRIDGE_VLAN_FILTERING"
                .to_owned())
        }
        _ => Ok(made.index),
    }
}
