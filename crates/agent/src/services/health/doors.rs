//! The sockets at which Services are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::{Check, Door};

/// Tells a balancer how much it may send here.
const WEIGHT: HeaderName = HeaderName::from_static("x-load-balancing-endpoint-weight");
/// A connection may stay so long.
const LONGEST: Duration = Duration::from_mins(1);
/// So many at once; more wait.
const AT_ONCE: usize = 64;

/// What is known of a Service, and whether this node forwards at all.
type Known = (Check, bool);

struct Open {
    tell: watch::Sender<Known>,
    task: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// See the [module](self).
#[derive(Default)]
pub struct Doors {
    open: BTreeMap<Door, Open>,
    /// What was complained about, so that it is once.
    told: BTreeSet<Door>,
}

impl Doors {
    /// Makes these the doors; one that cannot be opened is tried again with the next call.
    pub fn apply(&mut self, wanted: BTreeMap<Door, Check>, works: bool) {
        self.open.retain(|door, _| wanted.contains_key(door));
        self.told.retain(|door| wanted.contains_key(door));
        for (door, check) in wanted {
            if let Some(open) = self.open.get(&door) {
                open.tell.send_replace((check, works));
                continue;
            }
            match listen(door) {
                Ok(listener) => {
                    let (tell, known) = watch::channel((check, works));
                    let task = tokio::spawn(serve(listener, known));
                    self.open.insert(door, Open { tell, task });
                    self.told.remove(&door);
                }
                Err(error) => {
                    if self.told.insert(door) {
                        let Check { namespace, name, .. } = check;
                        tracing::warn!(
                            "healthCheckNodePort {} of Service {namespace}/{name} is not answered: {error}",
                            door.port
                        );
                    }
                }
            }
        }
    }
}

/// A socket for each family: a Service of one family is not there in the other.
fn listen(door: Door) -> io::Result<TcpListener> {
    let (domain, any) = if door.ipv4 {
        (Domain::IPV4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, door.port)))
    } else {
        (Domain::IPV6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, door.port)))
    };
    let socket = Socket::new(domain, Type::STREAM, None)?;
    if !door.ipv4 {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&any.into())?;
    socket.listen(64)?;
    TcpListener::from_std(socket.into())
}

async fn serve(listener: TcpListener, known: watch::Receiver<Known>) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if clients.len() < AT_ONCE => match accepted {
                Ok((stream, _)) => {
                    clients.spawn(tokio::time::timeout(LONGEST, connection(stream, known.clone())));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept who asks for health; trying again");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = clients.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, known: watch::Receiver<Known>) {
    let service = service_fn(move |_: Request<Incoming>| {
        let response = response(&known.borrow());
        async move { Ok::<_, Infallible>(response) }
    });
    // How it ends, the client sees.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn response((check, works): &Known) -> Response<Full<Bytes>> {
    let (status, body) = check.answer(*works);
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(WEIGHT, HeaderValue::from(check.local));
    response
}
