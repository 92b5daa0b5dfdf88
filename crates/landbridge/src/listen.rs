//! Which port the API gets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context as _;
use tokio::net::TcpListener;

/// Port Kubernetes uses.
const USUAL_PORT: u16 = 6443;

/// A listening socket, and how to speak of it.
pub struct Listening {
    pub listener: TcpListener,
    pub port: u16,
    /// `https://127.0.0.1:6443`
    pub url: String,
    /// What the user should know about the choice.
    pub note: Option<String>,
}

/// Listens on the port asked for; without one on the port used last or the usual one, and when
/// that is taken, on any that is free.
pub async fn listen(
    bind: IpAddr,
    asked: Option<u16>,
    last: Option<u16>,
) -> anyhow::Result<Listening> {
    let wanted = asked.or(last).unwrap_or(USUAL_PORT);
    let first = TcpListener::bind(SocketAddr::new(bind, wanted)).await;
    let (listener, note) = match first {
        Ok(listener) => (listener, None),
        Err(error) if asked.is_none() && is_taken(&error) => {
            let listener = TcpListener::bind(SocketAddr::new(bind, 0))
                .await
                .with_context(|| format!("cannot listen on {bind}, port {wanted} or any other"))?;
            let note = format!("port {wanted} is taken by another program; using another one");
            (listener, Some(note))
        }
        Err(error) if is_taken(&error) => {
            return Err(error).with_context(|| {
                format!(
                    "port {wanted} on {bind} is taken; leave --port away to have a free one chosen, or see `ss -ltnp 'sport = :{wanted}'` for who has it"
                )
            });
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot listen on {}", SocketAddr::new(bind, wanted)));
        }
    };
    let port = listener.local_addr().context("cannot tell which port was chosen")?.port();
    let url = format!("https://{}", SocketAddr::new(reachable(bind), port));
    Ok(Listening { listener, port, url, note })
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// An address a client on this machine can call.
fn reachable(bind: IpAddr) -> IpAddr {
    match bind {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn the_last_port_is_taken_again_when_it_is_free() {
        let free = listen(HERE, Some(0), None).await.unwrap().port;
        let again = listen(HERE, None, Some(free)).await.unwrap();
        assert_eq!(again.port, free);
        assert!(again.note.is_none());
        assert_eq!(again.url, format!("https://127.0.0.1:{free}"));
    }

    #[tokio::test]
    async fn a_taken_port_is_avoided_unless_it_was_asked_for() {
        let taken = listen(HERE, Some(0), None).await.unwrap();
        let other = listen(HERE, None, Some(taken.port)).await.unwrap();
        assert_ne!(other.port, taken.port);
        assert!(other.note.unwrap().contains(&taken.port.to_string()));
        let refused = listen(HERE, Some(taken.port), None).await.err().unwrap();
        assert!(refused.to_string().contains("is taken"), "{refused:#}");
    }

    #[test]
    fn clients_call_an_address_that_exists() {
        assert_eq!(reachable("0.0.0.0".parse().unwrap()), HERE);
        assert_eq!(reachable("::".parse().unwrap()), IpAddr::V6(Ipv6Addr::LOCALHOST));
        let url = format!("https://{}", SocketAddr::new(reachable("::".parse().unwrap()), 1));
        assert_eq!(url, "https://[::1]:1");
    }
}
