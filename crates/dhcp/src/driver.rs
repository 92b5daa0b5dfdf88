//! Sockets and a clock around the two state machines.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use landbridge_linux::IfName;
use tokio::net::UdpSocket;
use tokio::time::Instant;

use crate::client::{Client, Input, Output};
use crate::message::{Kind, Message};
use crate::server::Server;
use crate::socket::{CLIENT_PORT, SERVER_PORT, open};

/// Larger datagrams are nobody's lease.
const LARGEST: usize = 1500;

/// Runs a client on a link of the calling thread's namespace until `stop` is done; the lease is
/// given back then. `change` gets every [`Output::Configure`] and [`Output::Deconfigure`].
pub async fn run_client(
    link: &IfName,
    mut client: Client,
    began: Instant,
    mut change: impl FnMut(Output),
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let socket = open(link, CLIENT_PORT)?;
    let mut buffer = [0; LARGEST];
    tokio::pin!(stop);
    loop {
        let input = tokio::select! {
            () = &mut stop => Input::Stop,
            () = tokio::time::sleep_until(began + client.wake()) => Input::Tick,
            received = socket.recv_from(&mut buffer) => match heard(link, received, &buffer).await {
                Some(message) => Input::Received(Box::new(message)),
                None => continue,
            },
        };
        let last = matches!(input, Input::Stop);
        for output in client.step(began.elapsed(), input) {
            match output {
                Output::Broadcast(message) => {
                    say(&socket, link, &message, Ipv4Addr::BROADCAST, SERVER_PORT).await;
                }
                Output::Unicast(server, message) => {
                    say(&socket, link, &message, server, SERVER_PORT).await;
                }
                change_of @ (Output::Configure(_) | Output::Deconfigure(_)) => change(change_of),
            }
        }
        if last {
            return Ok(());
        }
    }
}

/// Runs a server on a link of the calling thread's namespace until `stop` is done. The link has to
/// carry the server's own address.
pub async fn run_server(
    link: &IfName,
    mut server: Server,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let socket = open(link, SERVER_PORT)?;
    let began = Instant::now();
    let mut buffer = [0; LARGEST];
    tokio::pin!(stop);
    loop {
        let received = tokio::select! {
            () = &mut stop => return Ok(()),
            received = socket.recv_from(&mut buffer) => received,
        };
        let Some(message) = heard(link, received, &buffer).await else { continue };
        let Some(reply) = server.answer(began.elapsed(), &message) else { continue };
        // A client that has its address hears unicast; one that is getting it may not answer ARP yet.
        let has_address = !reply.client_address.is_unspecified() && reply.kind != Kind::Nak;
        let (to, port) = if !reply.relay.is_unspecified() {
            (reply.relay, SERVER_PORT)
        } else if has_address && !reply.broadcast {
            (reply.client_address, CLIENT_PORT)
        } else {
            (Ipv4Addr::BROADCAST, CLIENT_PORT)
        };
        say(&socket, link, &reply, to, port).await;
    }
}

/// The message in a datagram. What cannot be read is no reason to stop; a link that is down is one
/// to slow down.
async fn heard(
    link: &IfName,
    received: io::Result<(usize, std::net::SocketAddr)>,
    buffer: &[u8],
) -> Option<Message> {
    match received {
        Ok((length, from)) => match Message::decode(&buffer[..length.min(buffer.len())]) {
            Ok(message) => Some(message),
            Err(error) => {
                tracing::debug!(%link, %from, %error, "no DHCP message");
                None
            }
        },
        Err(error) => {
            tracing::debug!(%link, %error, "cannot receive");
            tokio::time::sleep(Duration::from_millis(200)).await;
            None
        }
    }
}

/// Sends; a message that does not go out is one that got lost, and is sent again in time.
async fn say(socket: &UdpSocket, link: &IfName, message: &Message, to: Ipv4Addr, port: u16) {
    let to = SocketAddrV4::new(to, port);
    if let Err(error) = socket.send_to(&message.encode(), to).await {
        tracing::debug!(%link, %to, %error, "cannot send");
    }
}
