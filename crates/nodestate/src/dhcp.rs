//! DHCP, as far as a desired state speaks of it; the client itself is somebody else's.

use landbridge_linux::IfName;
use landbridge_linux::route::Family;
use serde::{Deserialize, Serialize};

/// What is asked of a DHCP client on one interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub link: IfName,
    pub family: Family,
    /// Whether the server's resolvers are used.
    pub dns: bool,
    /// Whether the server's default route is used.
    pub gateway: bool,
    /// Whether the server's other routes are used.
    pub routes: bool,
    /// The table routes go to; nothing is the main one.
    pub table: Option<u32>,
    /// The metric of routes.
    pub metric: Option<u32>,
    /// `dhcp-client-id`: `ll` is the link's address, otherwise octets in hexadecimal.
    pub client_id: Option<String>,
}

impl Request {
    /// Everything the server offers is used.
    pub fn new(link: IfName, family: Family) -> Self {
        Self {
            link,
            family,
            dns: true,
            gateway: true,
            routes: true,
            table: None,
            metric: None,
            client_id: None,
        }
    }
}

/// Runs DHCP clients. They work in the background: nobody waits for a lease.
pub trait Dhcp: Send + Sync {
    /// Starts a client, or gives a running one other options.
    fn start(&self, request: &Request) -> Result<(), String>;
    /// Stops a client; the addresses and routes it set go with it.
    fn stop(&self, link: &IfName, family: Family) -> Result<(), String>;
    /// What runs.
    fn running(&self) -> Vec<Request>;
}

/// For nodes without a DHCP client: asking for one is an error that says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDhcp;

impl Dhcp for NoDhcp {
    fn start(&self, request: &Request) -> Result<(), String> {
        Err(format!(
            "{} wants {} by DHCP, but no DHCP client runs here",
            request.link, request.family
        ))
    }

    fn stop(&self, _: &IfName, _: Family) -> Result<(), String> {
        Ok(())
    }

    fn running(&self) -> Vec<Request> {
        Vec::new()
    }
}
