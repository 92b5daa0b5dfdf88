//! Ports of a pod, for a client outside: the older protocol of channels, two for each port.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream as Blocking};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;

use super::query::Query;
use super::socket::{Incoming, Outgoing};
use crate::pods::View;
use crate::pods::process::{Hostname, inside};

/// Ports of one request; channels are bytes, two for each port.
const PORTS: usize = 64;
const CONNECT: Duration = Duration::from_secs(5);

/// Reads the ports of a request.
pub fn ports(query: &Query) -> Result<Vec<u16>, String> {
    let mut ports = Vec::new();
    for text in query.all("ports").flat_map(|list| list.split(',')) {
        match text.parse() {
            Ok(port) if port > 0 => ports.push(port),
            _ => return Err(format!("{text:?} is no port")),
        }
    }
    match ports.len() {
        0 => Err("you must specify at least 1 port, as in ?ports=8080".to_owned()),
        1..=PORTS => Ok(ports),
        _ => Err(format!("at most {PORTS} ports at once")),
    }
}

/// Forwards until the client ends.
pub async fn serve(view: View, ports: Vec<u16>, mut incoming: Incoming, outgoing: Outgoing) {
    let mut writers: HashMap<u8, OwnedWriteHalf> = HashMap::new();
    let mut readers = JoinSet::new();
    for (index, port) in ports.iter().enumerate() {
        let Ok(data) = u8::try_from(index * 2) else { return };
        for channel in [data, data + 1] {
            // Each channel begins with the number of its port.
            if outgoing.send(channel, &port.to_le_bytes()).await.is_err() {
                return;
            }
        }
        match connect(view.clone(), *port).await {
            Ok(stream) => {
                let (read, write) = stream.into_split();
                writers.insert(data, write);
                readers.spawn(pump(read, data, outgoing.clone()));
            }
            Err(error) => {
                let name = view.pod.metadata.name.as_deref().unwrap_or_default();
                let text = format!("cannot connect to port {port} of pod {name}: {error}");
                if outgoing.send(data + 1, text.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }
    while let Some((channel, data)) = incoming.next().await {
        if let Some(writer) = writers.get_mut(&channel)
            && writer.write_all(&data).await.is_err()
        {
            writers.remove(&channel);
            let _ = outgoing.send(channel + 1, b"the pod has closed the connection").await;
        }
    }
}

async fn pump(mut from: OwnedReadHalf, channel: u8, to: Outgoing) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length) = from.read(&mut buffer).await
        && length > 0
        && to.send(channel, &buffer[..length]).await.is_ok()
    {}
}

/// Connects from inside the pod, as a program in it would.
async fn connect(view: View, port: u16) -> io::Result<TcpStream> {
    let connect = move || {
        inside(view.network.as_deref(), &Hostname::Node, &Vec::new(), || {
            let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
            Blocking::connect_timeout(&v4, CONNECT)
                .or_else(|error| Blocking::connect_timeout(&v6, CONNECT).map_err(|_| error))
        })
    };
    let stream = tokio::task::spawn_blocking(connect).await.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read() {
        assert_eq!(ports(&Query::parse("ports=80&ports=81,82")), Ok(vec![80, 81, 82]));
        for wrong in ["", "ports=", "ports=0", "ports=70000", "ports=x"] {
            assert!(ports(&Query::parse(wrong)).is_err(), "{wrong}");
        }
        let many: Vec<String> = (1..=65).map(|port| format!("ports={port}")).collect();
        assert!(ports(&Query::parse(&many.join("&"))).is_err());
    }
}
