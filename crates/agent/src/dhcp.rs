//! DHCP clients of this node: leases become addresses, routes and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use landbridge_dhcp::{Client, Lease, Output, run_client};
use landbridge_linux::route::{Family, Protocol};
use landbridge_linux::sysctl::{Conf, Sysctl};
use landbridge_linux::{Address, Handle, IfName, Route, Sysctls};
use landbridge_nodestate::dhcp::{Dhcp, Request};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long giving a lease back may take.
const RETURN: Duration = Duration::from_secs(2);

/// The clients that run, one per link.
#[derive(Default)]
pub struct Clients {
    running: Mutex<HashMap<IfName, Running>>,
}

struct Running {
    request: Request,
    stop: oneshot::Sender<()>,
    ended: std::sync::mpsc::Receiver<()>,
}

impl Clients {
    /// None runs yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, HashMap<IfName, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dhcp for Clients {
    fn start(&self, request: &Request) -> Result<(), String> {
        if request.family == Family::Ipv6 {
            return Err(format!(
                "{}: DHCP for IPv6 is not built; use autoconf or a static address",
                request.link
            ));
        }
        let same = self.clients().get(&request.link).is_some_and(|known| known.request == *request);
        if same {
            return Ok(());
        }
        self.stop(&request.link, request.family)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (end, ended) = std::sync::mpsc::channel();
        let asked = request.clone();
        // A thread of its own, in the namespace of whoever asks: its sockets belong there.
        let spawned = std::thread::Builder::new().name("dhcp".to_owned()).spawn(move || {
            if let Err(error) = serve(&asked, stopped) {
                tracing::error!(link = %asked.link, %error, "DHCP ended");
            }
            let _ = end.send(());
        });
        spawned.map_err(|error| format!("cannot start a DHCP client: {error}"))?;
        self.clients()
            .insert(request.link.clone(), Running { request: request.clone(), stop, ended });
        Ok(())
    }

    fn stop(&self, link: &IfName, family: Family) -> Result<(), String> {
        if family == Family::Ipv6 {
            return Ok(());
        }
        let Some(known) = self.clients().remove(link) else { return Ok(()) };
        let _ = known.stop.send(());
        // What it set goes with it; whoever asked wants to see that.
        let _ = known.ended.recv_timeout(RETURN);
        Ok(())
    }

    fn running(&self) -> Vec<Request> {
        self.clients().values().map(|known| known.request.clone()).collect()
    }
}

fn serve(request: &Request, stopped: oneshot::Receiver<()>) -> Result<(), String> {
    let told = |error: landbridge_linux::Error| error.to_string();
    let net = Arc::new(Handle::open().map_err(told)?);
    let link = net.expect_link(&request.link).map_err(told)?;
    let mac = link.mac.ok_or_else(|| format!("{} has no Ethernet address", request.link))?;
    // Answers come from an address this link has no route to yet.
    let filter = Sysctl::rp_filter(Conf::Link(&request.link));
    Sysctls::of(net.namespace()).ensure(&filter, 0).map_err(told)?;
    let seed = u32::from_be_bytes([mac.0[2], mac.0[3], mac.0[4], mac.0[5]]);
    let mut client = Client::new(mac.0, seed, Duration::ZERO);
    if let Some(id) = request.client_id.as_deref().filter(|id| *id != "ll").and_then(octets) {
        client = client.with_client_id(id);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let change = |output: Output| {
        let done = match &output {
            Output::Configure(lease) => configure(&net, request, lease),
            Output::Deconfigure(lease) => deconfigure(&net, request, lease),
            Output::Broadcast(_) | Output::Unicast(..) => Ok(()),
        };
        match (done, output) {
            (Ok(()), Output::Configure(lease)) => {
                tracing::info!(link = %request.link, address = %lease.address, "leased");
            }
            (Err(error), _) => tracing::error!(link = %request.link, %error, "a lease is not set"),
            _ => {}
        }
    };
    let until = async {
        // An error means nobody is there to stop it any more, so it stops.
        let _ = stopped.await;
    };
    let served = run_client(&request.link, client, Instant::now(), change, until);
    runtime.block_on(served).map_err(|error| error.to_string())
}

fn octets(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: String = hexadecimal.chars().filter(|c| *c != ':').collect();
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn configure(net: &Handle, request: &Request, lease: &Lease) -> landbridge_linux::Result<()> {
    let link = net.index(&request.link)?;
    let mut address = Address::new(link, lease.address.into());
    address.valid_seconds = Some(lease.seconds);
    address.preferred_seconds = Some(lease.seconds);
    net.replace_address(&address)?;
    for route in routes(net, request, lease)? {
        net.ensure_route(&route)?;
    }
    Ok(())
}

fn deconfigure(net: &Handle, request: &Request, lease: &Lease) -> landbridge_linux::Result<()> {
    for route in routes(net, request, lease)? {
        net.delete_route(&route)?;
    }
    let link = net.index(&request.link)?;
    net.delete_address(&Address::new(link, lease.address.into()))?;
    Ok(())
}

/// The routes of a lease that are wanted.
fn routes(net: &Handle, request: &Request, lease: &Lease) -> landbridge_linux::Result<Vec<Route>> {
    let link = net.index(&request.link)?;
    let wanted = lease
        .routes
        .iter()
        .filter(|route| if route.to.prefix_len() == 0 { request.gateway } else { request.routes });
    let made = wanted.map(|route| {
        let mut made = match route.via {
            Some(via) => Route::via(route.to.into(), via.into()).on(link),
            None => Route::dev(route.to.into(), link),
        };
        made.protocol = Protocol::DHCP;
        made.metric = request.metric;
        if let Some(table) = request.table {
            made.table = table;
        }
        made
    });
    Ok(made.collect())
}
