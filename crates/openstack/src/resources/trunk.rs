//! Trunks: several networks through one port.

use serde::{Deserialize, Serialize};

use super::{or_default, request, resource, tagged};

/// One trunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trunk {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub project_id: String,
    pub port_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub sub_ports: Vec<SubPort>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub admin_state_up: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revision_number: Option<u64>,
}

/// A port that goes through the trunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubPort {
    pub port_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segmentation_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segmentation_id: Option<u32>,
}

/// A port that is to leave the trunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubPortName {
    pub port_id: String,
}

request!(
    /// What a new trunk is to be.
    NewTrunk {
        port_id: String,
        name: String,
        description: String,
        project_id: String,
        admin_state_up: bool,
        sub_ports: Vec<SubPort>,
    }
);

request!(
    /// What is to be different about a trunk.
    TrunkChange {
        name: String,
        description: String,
        admin_state_up: bool,
    }
);

resource!(Trunk (NewTrunk, TrunkChange) = Network "/trunks" "trunks" "trunk",
    name name, revision counted,
    trace ["port_id" port_id = |it| Some(it.port_id.clone())]);

tagged!(Trunk);
