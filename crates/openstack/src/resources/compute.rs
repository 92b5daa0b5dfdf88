//! Servers of Nova, with what they are made of.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{FixedIp, or_default, request, resource};

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub tenant_id: String,
    /// ACTIVE, BUILD, ERROR, …
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    /// By name of the network.
    #[serde(default, deserialize_with = "or_default")]
    pub addresses: BTreeMap<String, Vec<InstanceAddress>>,
    #[serde(default, rename = "OS-EXT-AZ:availability_zone")]
    pub availability_zone: Option<String>,
    #[serde(default, rename = "OS-EXT-SRV-ATTR:host")]
    pub host: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub created: Option<String>,
}

/// An address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceAddress {
    pub addr: IpAddr,
    pub version: u8,
    #[serde(default, rename = "OS-EXT-IPS:type")]
    pub type_: Option<String>,
    #[serde(default, rename = "OS-EXT-IPS-MAC:mac_addr")]
    pub mac: Option<String>,
}

/// How a new server is plugged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerNic {
    /// Through this port.
    Port(String),
    /// Through a port that Nova makes on this network.
    Uuid(String),
}

request!(
    /// What a new server is to be.
    NewServer {
        name: String,
        flavor_ref("flavorRef"): String,
        image_ref("imageRef"): String,
        networks: Vec<ServerNic>,
        availability_zone: String,
        key_name: String,
        metadata: BTreeMap<String, String>,
        /// Base64.
        user_data: String,
        config_drive: bool,
        security_groups: Vec<Reference>,
    }
);

/// Something that is called by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub name: String,
}

request!(
    /// What is to be different about a server.
    ServerChange {
        name: String,
    }
);

// Nova's filter on names is a pattern that matches anywhere; what was found is compared.
resource!(Server (NewServer, ServerChange) = Compute "/servers" "servers" "server",
    list "/servers/detail", name name, revision uncounted,
    trace ["name" name = |it| Some(it.name.clone())]);

/// A port of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub port_id: String,
    pub net_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub mac_addr: String,
    #[serde(default, deserialize_with = "or_default")]
    pub port_state: String,
    #[serde(default, deserialize_with = "or_default")]
    pub fixed_ips: Vec<FixedIp>,
}

/// How large a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flavor {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// MiB.
    #[serde(default, deserialize_with = "or_default")]
    pub ram: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub vcpus: u32,
    /// GiB.
    #[serde(default, deserialize_with = "or_default")]
    pub disk: u64,
    #[serde(default, rename = "os-flavor-access:is_public")]
    pub is_public: Option<bool>,
}

request!(
    /// What a new flavor is to be.
    NewFlavor {
        name: String,
        id: String,
        ram: u64,
        vcpus: u32,
        disk: u64,
        is_public("os-flavor-access:is_public"): bool,
    }
);

request!(
    /// Nothing may be different.
    Nothing {}
);

resource!(Flavor (NewFlavor, Nothing) = Compute "/flavors" "flavors" "flavor",
    list "/flavors/detail", name name, revision uncounted,
    trace ["" name = |it| Some(it.name.clone())]);

/// A public key for logging in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keypair {
    /// Keys are called by their name.
    #[serde(rename = "name")]
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub fingerprint: String,
    #[serde(default, deserialize_with = "or_default")]
    pub public_key: String,
}

request!(
    /// What a new key is to be.
    NewKeypair {
        name: String,
        public_key: String,
    }
);

resource!(Keypair (NewKeypair, Nothing) = Compute "/os-keypairs" "keypairs" "keypair",
    name id, revision uncounted,
    trace ["" name = |it| Some(it.id.clone())]);

/// What a server starts from. Glance, alone of all, does not wrap its objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Image {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub visibility: String,
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub disk_format: Option<String>,
    #[serde(default)]
    pub container_format: Option<String>,
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
}

request!(
    /// What a new image is to be.
    NewImage {
        name: String,
        disk_format: String,
        container_format: String,
        visibility: String,
        tags: Vec<String>,
    }
);

request!(
    /// Images change by JSON patches, which nobody here makes.
    ImageChange {}
);

resource!(Image (NewImage, ImageChange) = Image "/images" "images" "",
    name name, revision uncounted,
    trace ["name" name = |it| Some(it.name.clone())]);

request!(
    /// What is to be different about a project's quota of Nova; -1 is no limit.
    ComputeQuotaChange {
        cores: i64,
        ram: i64,
        instances: i64,
        server_groups: i64,
        server_group_members: i64,
        key_pairs: i64,
    }
);
