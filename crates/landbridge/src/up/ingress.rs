//! The way from this machine into the lab's ingress: a port on the loopback, and behind it the sockets
//! of the nodes' agents.
//!
//! What is asked for is seen by the ingress itself: it takes requests with a Host header, with a whole
//! URL (as browsers send them to a proxy), CONNECT, and TLS by name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use landbridge_agent::responder::authority::{Authority, Pair};
use landbridge_apiserver::pki::{Pki, write_private};
use landbridge_lab::spec::{Kind, Shape};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::connect::ShortPath;

const USUAL_PORT: u16 = 8080;
/// What agents call their socket, their certificate and its key.
pub const SOCKET: &str = "ingress.sock";
pub const CERTIFICATE: &str = "ingress.crt";
pub const KEY: &str = "ingress.key";
/// The authority of pods: agents sign with its key, and the ingress trusts its certificate.
pub const PODS: &str = "service-ca.crt";
pub const PODS_KEY: &str = "service-ca.key";

/// Listens on the loopback: on the port asked for, else on the usual one, else on any.
pub async fn listen(asked: Option<u16>) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let here = IpAddr::from(Ipv4Addr::LOCALHOST);
    let wanted = SocketAddr::new(here, asked.unwrap_or(USUAL_PORT));
    let listener = match TcpListener::bind(wanted).await {
        Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            TcpListener::bind(SocketAddr::new(here, 0)).await
        }
        other => other,
    };
    let listener = listener.with_context(|| {
        format!("cannot listen on {wanted} for the lab's ingress; give another --ingress-port")
    })?;
    let address = listener.local_addr().context("cannot tell which port was chosen")?;
    Ok((listener, address))
}

/// Gives every node the certificate of the ingress, signed by the lab's own authority.
pub fn certify(pki: &Pki, lab: &Path, shape: &Shape, domain: &str) -> anyhow::Result<()> {
    let names = [format!("*.{domain}"), domain.to_owned(), format!("*.{domain}.localhost")];
    let pair = pki
        .issue_server("landbridge-ingress", &names, jiff::Timestamp::now())
        .context("cannot make the certificate of the ingress")?;
    for node in shape.nodes.iter().filter(|node| node.kind == Kind::Kubernetes) {
        let directory = lab.join("nodes").join(&node.name);
        write_private(&directory.join(CERTIFICATE), pair.certificate.as_bytes())?;
        write_private(&directory.join(KEY), pair.key.as_bytes())?;
    }
    Ok(())
}

/// Gives every node the authority of pods. It stays the same from one start to the next, so that whoever was
/// told to trust it still does.
pub fn certify_pods(pki: &Path, lab: &Path, shape: &Shape) -> anyhow::Result<()> {
    let read = |file: &str| std::fs::read_to_string(pki.join(file)).ok();
    let stored = read(PODS).zip(read(PODS_KEY));
    let stored = stored.filter(|(_, key)| Authority::of_key(key).is_ok());
    let pair = if let Some((certificate, key)) = stored {
        Pair { certificate, key }
    } else {
        let pair = Authority::create(jiff::Timestamp::now())
            .context("cannot make the authority of pods")?;
        write_private(&pki.join(PODS_KEY), pair.key.as_bytes())?;
        write_private(&pki.join(PODS), pair.certificate.as_bytes())?;
        pair
    };
    for node in shape.nodes.iter().filter(|node| node.kind == Kind::Kubernetes) {
        let directory = lab.join("nodes").join(&node.name);
        write_private(&directory.join(PODS), pair.certificate.as_bytes())?;
        write_private(&directory.join(PODS_KEY), pair.key.as_bytes())?;
    }
    Ok(())
}

/// Where the ingresses of a lab listen.
pub fn sockets(lab: &Path, shape: &Shape) -> Vec<PathBuf> {
    let nodes = shape.nodes.iter().filter(|node| node.kind == Kind::Kubernetes);
    nodes.map(|node| lab.join("nodes").join(&node.name).join(SOCKET)).collect()
}

/// Hands connections to the first node that takes them, until `stop` is done.
pub async fn run(listener: TcpListener, sockets: Vec<PathBuf>, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let mut clients = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stop => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { clients.spawn(relay(stream, sockets.clone())); }
                Err(error) => {
                    tracing::warn!(%error, "the loopback port of the ingress cannot accept; trying again");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn relay(mut client: TcpStream, sockets: Vec<PathBuf>) {
    let _ = client.set_nodelay(true);
    for socket in &sockets {
        let Ok(short) = ShortPath::new(socket) else { continue };
        if let Ok(mut node) = UnixStream::connect(&short.path).await {
            // How it ends, both ends see.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut node).await;
            return;
        }
    }
    tracing::debug!("no node of the lab takes requests for its ingress");
}
