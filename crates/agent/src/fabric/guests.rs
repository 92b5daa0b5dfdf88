//! What runs in an instance: a DHCP client on each interface that has one to ask, addresses that it is told
//! otherwise, and two listeners so that probes find somebody.
//!
//! An instance is its owner's: what they change in it stays. Only what the cloud gave is taken away again.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use landbridge_dhcp::ServerSettings;
use landbridge_fabric::{HostRoute, Instance, Port};
use landbridge_linux::route::Family;
use landbridge_linux::{Handle, IfName, Link, LinkIndex, Namespace};
use landbridge_nodestate::dhcp::{Dhcp as _, Request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::routers::{addresses, routes};
use crate::dhcp::Clients;

/// Where an amphora listens: a shell, and its agent.
const SHELL: u16 = 22;
const AGENT: u16 = 9443;
/// Who says nothing more for so long is hung up on.
const IDLE: Duration = Duration::from_secs(5);
/// So many may talk to one listener at once.
const AT_ONCE: usize = 16;
/// The metric of the first interface's routes; each further one comes after.
const METRIC: u32 = 100;

/// An instance at work.
pub struct Guest {
    namespace: Namespace,
    clients: Clients,
    /// The link of each client, and what it was told when it was started.
    leases: BTreeMap<IfName, (LinkIndex, ServerSettings)>,
    listeners: Vec<JoinHandle<()>>,
}

impl Guest {
    /// Begins to listen. The calling thread must be in a runtime.
    pub fn start(namespace: &Namespace, instance: &Instance) -> anyhow::Result<Self> {
        let mut guest = Self {
            namespace: namespace.clone(),
            clients: Clients::new(),
            leases: BTreeMap::new(),
            listeners: Vec::new(),
        };
        for port in [SHELL, AGENT] {
            let listener = namespace.visit(|| listen(port))??;
            let greeting: Arc<str> = greeting(port, instance).into();
            let runtime = tokio::runtime::Handle::current();
            guest.listeners.push(runtime.spawn(serve(listener, greeting)));
        }
        Ok(guest)
    }

    /// Whether it works in this namespace and all of it lives.
    pub fn is_in(&self, namespace: &Namespace) -> bool {
        let same =
            matches!((self.namespace.identity(), namespace.identity()), (Ok(a), Ok(b)) if a == b);
        same && self.listeners.iter().all(|listener| !listener.is_finished())
    }

    /// Has an interface as the port says. `told` is what DHCP tells it.
    pub fn configure(
        &mut self,
        net: &Handle,
        link: &Link,
        port: &Port,
        told: Option<&ServerSettings>,
    ) -> anyhow::Result<()> {
        let metric = METRIC + number(&link.name);
        let leased = port.leased().map(|(fixed, _)| fixed.address);
        let others = || port.fixed.iter().filter(|fixed| Some(fixed.address) != leased);
        let wanted: Vec<IpNet> = others().map(|fixed| fixed.address).collect();
        addresses(net, link.index, &wanted)?;
        let mut ways: Vec<HostRoute> = Vec::new();
        for fixed in others() {
            let everywhere = Family::of(&fixed.address).everywhere();
            let default =
                fixed.gateway.map(|nexthop| HostRoute { destination: everywhere, nexthop });
            ways.extend(fixed.routes.iter().copied().chain(default));
        }
        routes(net, &ways, Some(link.index), Some(metric))?;
        self.lease(link, metric, told)
    }

    /// Runs a client, or none. One that would be told something else asks again, and so does one whose link is another of
    /// that name.
    fn lease(
        &mut self,
        link: &Link,
        metric: u32,
        told: Option<&ServerSettings>,
    ) -> anyhow::Result<()> {
        let wanted = told.map(|told| (link.index, told.clone()));
        let known = self.leases.get(&link.name);
        if known == wanted.as_ref() {
            return Ok(());
        }
        if known.is_some() {
            self.stop(&link.name);
        }
        let Some(wanted) = wanted else { return Ok(()) };
        let mut request = Request::new(link.name.clone(), Family::Ipv4);
        request.metric = Some(metric);
        // Its sockets belong where the thread is that starts it.
        let started = self.namespace.run(|| self.clients.start(&request))?;
        started.map_err(anyhow::Error::msg)?;
        self.leases.insert(link.name.clone(), wanted);
        Ok(())
    }

    fn stop(&mut self, link: &IfName) {
        self.leases.remove(link);
        if let Err(error) = self.clients.stop(link, Family::Ipv4) {
            tracing::debug!(%error, %link, "a client of DHCP does not stop");
        }
    }

    /// Ends clients of interfaces that are not there any more.
    pub fn keep_only(&mut self, links: &[IfName]) {
        let gone: Vec<IfName> =
            self.leases.keys().filter(|link| !links.contains(link)).cloned().collect();
        for link in gone {
            self.stop(&link);
        }
    }

    /// Ends everything in it, so that its namespace can go.
    pub fn end(mut self) {
        self.keep_only(&[]);
    }

    /// Leaves everything in it as it is: the agent ends, the instance does not.
    pub fn leave(mut self) {
        self.leases.clear();
        // Dropped clients would give their leases back.
        std::mem::forget(std::mem::take(&mut self.clients));
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        for listener in &self.listeners {
            listener.abort();
        }
    }
}

/// The number in an interface's name: `eth1` is 1.
fn number(link: &IfName) -> u32 {
    let digits = link.as_str().trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse::<u32>().unwrap_or_default().min(1000)
}

/// What an interface of an instance is called: eth0 and on, in the order of its ports where that is free.
pub fn free_name(there: &[Link], place: usize) -> anyhow::Result<IfName> {
    let is_free = |number: &usize| {
        let name = format!("eth{number}");
        !there.iter().any(|link| link.name.as_str() == name)
    };
    let number = std::iter::once(place).chain(0..=there.len()).find(is_free).unwrap_or(place);
    Ok(IfName::new(&format!("eth{number}"))?)
}

fn greeting(port: u16, instance: &Instance) -> String {
    let who = format!("{} {}", instance.name, instance.id);
    if port == SHELL {
        let name: String =
            who.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).take(200).collect();
        return format!("SSH-2.0-Landbridge {name}\r\n");
    }
    let body = format!("{who}\n");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn listen(port: u16) -> io::Result<tokio::net::TcpListener> {
    // Both families; the socket stays in the namespace it was opened in.
    let listener = TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

async fn serve(listener: tokio::net::TcpListener, greeting: Arc<str>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let greeting = Arc::clone(&greeting);
                tokio::spawn(async move {
                    let talk = async {
                        stream.write_all(greeting.as_bytes()).await?;
                        stream.shutdown().await?;
                        let mut ignored = [0; 512];
                        while stream.read(&mut ignored).await? > 0 {}
                        Ok::<_, io::Error>(())
                    };
                    let _ = tokio::time::timeout(IDLE, talk).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "an instance takes no connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_numbered() {
        assert_eq!(number(&IfName::new("eth12").unwrap()), 12);
        assert_eq!(number(&IfName::new("lo").unwrap()), 0);
        assert_eq!(free_name(&[], 1).unwrap().as_str(), "eth1");
    }

    #[test]
    fn a_greeting_is_one_line_whatever_the_name() {
        let instance = Instance { id: "i".into(), name: "a\r\nb".into(), ports: Vec::new() };
        assert_eq!(greeting(22, &instance), "SSH-2.0-Landbridge a__b_i\r\n");
        assert!(greeting(9443, &instance).contains("content-length: 7\r\n"));
    }
}
