//! DHCP servers on the lab's switches.

use std::collections::BTreeMap;

use ipnet::Ipv4Net;
use landbridge_dhcp::{Server, ServerSettings, run_server};
use landbridge_lab::supervise::{Services, SwitchSide};

/// One server for each switch whose shape asks for it.
pub struct Dhcp;

impl Services for Dhcp {
    fn start(&self, side: &SwitchSide<'_>) -> Result<(), String> {
        let Some(dhcp) = side.switch.dhcp else { return Ok(()) };
        let settings = ServerSettings {
            own: Ipv4Net::new(dhcp.server, dhcp.prefix_len).map_err(|error| error.to_string())?,
            first: dhcp.first,
            last: dhcp.last,
            router: dhcp.router,
            resolvers: Vec::new(),
            domain: None,
            mtu: u16::try_from(side.switch.mtu).ok().filter(|mtu| *mtu <= 1500),
            lease_seconds: dhcp.lease_seconds,
            routes: Vec::new(),
            reserved: BTreeMap::new(),
        };
        let (link, namespace) = (side.link.clone(), side.namespace.clone());
        let name = side.switch.name.clone();
        // A thread of its own: it lives in the switches' namespace and nowhere else.
        let serve = move || {
            let served = namespace.run(|| -> std::io::Result<()> {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(run_server(&link, Server::new(settings), std::future::pending()))
            });
            match served {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(switch = name, %error, "the DHCP server ended"),
                Err(error) => tracing::error!(switch = name, %error, "the DHCP server ended"),
            }
        };
        let thread = std::thread::Builder::new().name("dhcp".to_owned()).spawn(serve);
        thread.map(drop).map_err(|error| error.to_string())
    }
}
