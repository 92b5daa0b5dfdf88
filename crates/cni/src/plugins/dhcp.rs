//! dhcp: addresses from a server on the network, by way of a daemon on the host.

use serde::Deserialize;

use super::static_ipam::BadAddresses;
use crate::config::Input;
use crate::json;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dhcp {
    /// Where the daemon listens.
    pub daemon_socket: String,
    /// What is asked of the server.
    pub request: Vec<DhcpRequest>,
    /// What the server is told.
    pub provide: Vec<DhcpProvide>,
    /// The priority of routes.
    pub priority: u32,
}

/// An option that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DhcpRequest {
    /// Its number or name.
    pub option: String,
    /// Whether those asked for by default are left out.
    pub skip_default: bool,
}

/// An option that is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DhcpProvide {
    /// Its number or name.
    pub option: String,
    /// Its value.
    pub value: String,
    /// The key of CNI_ARGS that holds its value.
    pub from_arg: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Section {
    daemon_socket_path: String,
    request: Vec<DhcpRequest>,
    provide: Vec<DhcpProvide>,
    priority: u32,
}

impl Dhcp {
    /// Reads the configuration.
    pub fn read(input: &Input) -> Result<Self, BadAddresses> {
        let section = input.ipam()?;
        if section.is_empty() {
            return Err(BadAddresses::Missing);
        }
        let section: Section = json::typed(&section).map_err(BadAddresses::Json)?;
        let Section { daemon_socket_path, request, provide, priority } = section;
        let daemon_socket = match daemon_socket_path {
            none if none.is_empty() => "/run/cni/dhcp.sock".to_owned(),
            path => path,
        };
        Ok(Self { daemon_socket, request, provide, priority })
    }
}
