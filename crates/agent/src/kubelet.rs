//! What an API server asks of a node: logs, commands, attachment and ports of its pods.
//!
//! HTTP/1.1 on a Unix socket that only the API server can reach; it has decided already who may do
//! what. Commands and ports go over WebSockets with channels:
//!
//! | path | answers |
//! |---|---|
//! | `/healthz` | `ok` |
//! | `/pods` | a PodList of this node |
//! | `/containerLogs/NAMESPACE/POD/CONTAINER` | lines of the log |
//! | `/exec/NAMESPACE/POD/CONTAINER?command=…` | v5.channel.k8s.io, v4.channel.k8s.io |
//! | `/attach/NAMESPACE/POD/CONTAINER` | the same; shows what the log gets from now on |
//! | `/portForward/NAMESPACE/POD?ports=…` | v4.channel.k8s.io |

mod exec;
mod forward;
mod frames;
mod logs;
mod query;
mod socket;
mod terminal;

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming as Body};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use self::logs::{Follower, Wanted};
use self::query::Query;
use crate::pods::{Directory, View};

/// So many connections at once; further ones wait.
const CONNECTIONS: usize = 256;
const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command that runs [`in_terminal`](crate::responder::in_terminal) with its arguments.
    pub terminal: Vec<OsString>,
}

impl Settings {
    /// The usual, with `landbridge` at a path.
    pub fn new(landbridge: &Path) -> Self {
        Self { terminal: vec![landbridge.into(), "terminal".into(), "--".into()] }
    }
}

/// Makes the socket, for its owner alone, in the place of one that an earlier agent has left.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until `stop` is done.
pub async fn run(
    listener: UnixListener,
    pods: Directory,
    settings: Settings,
    stop: impl Future<Output = ()>,
) {
    let server = Arc::new(Server { pods, terminal: Arc::new(settings.terminal) });
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accept = async {
            let room = Arc::clone(&room).acquire_owned().await.ok();
            (listener.accept().await, room)
        };
        let (accepted, room) = tokio::select! {
            () = &mut stop => return,
            accepted = accept => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let server = Arc::clone(&server);
                connections.spawn(async move {
                    serve(server, stream).await;
                    drop(room);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the kubelet's socket takes no connection");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(server: Arc<Server>, stream: UnixStream) {
    // Sessions of upgraded connections end with the connection's task.
    let (sessions, mut begun) = mpsc::channel(1);
    let service = service_fn(move |request| {
        let (server, sessions) = (Arc::clone(&server), sessions.clone());
        async move { Ok::<_, Infallible>(server.answer(request, &sessions)) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the kubelet's socket broke");
    }
    if let Some(session) = begun.recv().await {
        session.await;
    }
}

type Session = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

struct Server {
    pods: Directory,
    terminal: Arc<Vec<OsString>>,
}

/// A request that cannot be served, and why.
struct Refusal(StatusCode, String);

impl Server {
    fn answer(&self, request: Request<Body>, sessions: &mpsc::Sender<Session>) -> Answer {
        let path = request.uri().path().to_owned();
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let parts: Vec<String> = path.split('/').skip(1).map(query::decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let answer = match parts.as_slice() {
            ["healthz"] => Ok(plain("ok")),
            ["pods"] => Ok(self.list()),
            ["containerLogs", namespace, pod, container] => {
                self.logs(namespace, pod, container, &query)
            }
            ["exec", namespace, pod, container] => {
                self.exec(request, sessions, (namespace, pod, container), &query)
            }
            ["attach", namespace, pod, container] => {
                self.attach(request, sessions, (namespace, pod, container))
            }
            ["portForward", namespace, pod] => {
                self.forward(request, sessions, (namespace, pod), &query)
            }
            _ => Err(Refusal(StatusCode::NOT_FOUND, format!("nothing is served at {path}"))),
        };
        answer.unwrap_or_else(refused)
    }

    fn list(&self) -> Answer {
        let items: Vec<_> = self.pods.all().iter().map(|view| json!(*view.pod)).collect();
        let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items});
        let mut answer = plain(list.to_string());
        answer.headers_mut().insert(CONTENT_TYPE, JSON);
        answer
    }

    fn pod(&self, namespace: &str, name: &str) -> Result<View, Refusal> {
        let why = || format!("pod {namespace}/{name} is not on this node");
        self.pods.get(namespace, name).ok_or_else(|| Refusal(StatusCode::NOT_FOUND, why()))
    }

    fn container(&self, (namespace, pod, container): (&str, &str, &str)) -> Result<View, Refusal> {
        let view = self.pod(namespace, pod)?;
        if view.containers().any(|known| known == container) {
            return Ok(view);
        }
        let why = format!("container {container} is not valid for pod {pod}");
        Err(Refusal(StatusCode::BAD_REQUEST, why))
    }

    fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        query: &Query,
    ) -> Result<Answer, Refusal> {
        let bad = |why: String| Refusal(StatusCode::BAD_REQUEST, why);
        let view = match self.pod(namespace, pod)? {
            // What is said of its options by one that is tried.
            view if view.has_init(container) => View { restarts: 0, ..view },
            _ => self.container((namespace, pod, container))?,
        };
        let wanted = Wanted::of(query, Timestamp::now()).map_err(bad)?;
        let start =
            if wanted.previous { view.restarts.checked_sub(1) } else { Some(view.restarts) };
        let opened = start.and_then(|start| Follower::open(&view.files.log(container, start)).ok());
        let Some((follower, lines)) = opened else {
            return Err(bad(if wanted.previous {
                format!("previous terminated container {container:?} in pod {pod:?} not found")
            } else {
                format!(
                    "container {container:?} in pod {pod:?} is waiting to start: ContainerCreating"
                )
            }));
        };
        let goes_on = self.still(&view).filter(|_| !wanted.previous);
        let (sender, receiver) = mpsc::channel(4);
        let goes_on = move || goes_on.as_ref().is_some_and(|still| still());
        tokio::spawn(logs::send(follower, lines, wanted, goes_on, sender));
        let stream = futures::stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        });
        let body = StreamBody::new(stream.map(|bytes| Ok(Frame::data(bytes))));
        Ok(Response::new(BodyExt::boxed(body)))
    }

    /// Tells whether the process of a pod is still the one that is seen now.
    fn still(&self, view: &View) -> Option<impl Fn() -> bool + Send + use<>> {
        let pid = view.pid?;
        let pods = self.pods.clone();
        let meta = &view.pod.metadata;
        let (namespace, name) = (meta.namespace.clone()?, meta.name.clone()?);
        Some(move || pods.get(&namespace, &name).is_some_and(|view| view.pid == Some(pid)))
    }

    fn exec(
        &self,
        request: Request<Body>,
        sessions: &mpsc::Sender<Session>,
        of: (&str, &str, &str),
        query: &Query,
    ) -> Result<Answer, Refusal> {
        let view = sandboxed(self.container(of)?)?;
        let asked =
            exec::Request::of(query).map_err(|why| Refusal(StatusCode::BAD_REQUEST, why))?;
        let protocol = choose(request.headers(), &[V5, V4])?;
        let (container, terminal) = (of.2.to_owned(), Arc::clone(&self.terminal));
        upgrade(request, sessions, protocol, move |incoming, outgoing| {
            Box::pin(exec::serve(view, container, asked, terminal, incoming, outgoing))
        })
    }

    fn attach(
        &self,
        request: Request<Body>,
        sessions: &mpsc::Sender<Session>,
        of: (&str, &str, &str),
    ) -> Result<Answer, Refusal> {
        let view = sandboxed(self.container(of)?)?;
        let protocol = choose(request.headers(), &[V5, V4])?;
        let log = view.files.log(of.2, view.restarts);
        let Ok((follower, _)) = Follower::open(&log) else {
            let why = format!("container {:?} has not started", of.2);
            return Err(Refusal(StatusCode::BAD_REQUEST, why));
        };
        let still = self.still(&view);
        upgrade(request, sessions, protocol, move |incoming, outgoing| {
            Box::pin(attached(follower, still, incoming, outgoing))
        })
    }

    fn forward(
        &self,
        request: Request<Body>,
        sessions: &mpsc::Sender<Session>,
        (namespace, pod): (&str, &str),
        query: &Query,
    ) -> Result<Answer, Refusal> {
        let view = sandboxed(self.pod(namespace, pod)?)?;
        let protocol = choose(request.headers(), &[V4])?;
        let ports = forward::ports(query).map_err(|why| Refusal(StatusCode::BAD_REQUEST, why))?;
        upgrade(request, sessions, protocol, move |incoming, outgoing| {
            Box::pin(forward::serve(view, ports, incoming, outgoing))
        })
    }
}

/// Shows what a log gets from now on, to the end of its process or of the client.
async fn attached(
    follower: Follower,
    still: Option<impl Fn() -> bool + Send + 'static>,
    mut incoming: socket::Incoming,
    outgoing: socket::Outgoing,
) {
    let (sender, mut lines) = mpsc::channel(4);
    let wanted = Wanted { follow: true, ..Wanted::default() };
    let goes_on = move || still.as_ref().is_some_and(|still| still());
    let reading = logs::send(follower, Vec::new(), wanted, goes_on, sender);
    let showing = async {
        while let Some(text) = lines.recv().await {
            if outgoing.send(exec::STDOUT, &text).await.is_err() {
                return;
            }
        }
        let status = json!({"metadata": {}, "status": "Success"}).to_string();
        let _ = outgoing.send(exec::ERROR, status.as_bytes()).await;
    };
    let listening = async { while incoming.next().await.is_some() {} };
    tokio::select! {
        _ = futures::future::join(reading, showing) => {}
        () = listening => return,
    }
    incoming.end().await;
}

fn sandboxed(view: View) -> Result<View, Refusal> {
    if view.ready {
        return Ok(view);
    }
    let name = view.pod.metadata.name.as_deref().unwrap_or_default();
    Err(Refusal(StatusCode::BAD_REQUEST, format!("pod {name} has no sandbox yet, or not any more")))
}

/// Chooses the protocol, or says what a client should do instead.
fn choose(headers: &HeaderMap, known: &[&'static str]) -> Result<&'static str, Refusal> {
    let bad = |why: String| Refusal(StatusCode::BAD_REQUEST, why);
    let text = |name: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.collect::<Vec<_>>().join(",")
    };
    let upgrade = text("upgrade").to_ascii_lowercase();
    if upgrade.starts_with("spdy") {
        return Err(bad(if known.contains(&V5) {
            "this client asks for SPDY, which is not served; use kubectl 1.31 or newer, or set \
             KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true for kubectl 1.29 and 1.30"
                .to_owned()
        } else {
            NO_TUNNEL.to_owned()
        }));
    }
    if upgrade != "websocket" {
        return Err(bad("this needs a WebSocket: send Upgrade: websocket".to_owned()));
    }
    let offered = text("sec-websocket-protocol");
    let offered: Vec<&str> = offered.split(',').map(str::trim).collect();
    let chosen = known.iter().find(|known| offered.contains(known));
    chosen.copied().ok_or_else(|| {
        if offered.iter().any(|offer| offer.contains("portforward")) {
            return bad(NO_TUNNEL.to_owned());
        }
        bad(format!(
            "none of the offered subprotocols {offered:?} is served; offer one of {known:?}"
        ))
    })
}

const NO_TUNNEL: &str = "kubectl port-forward speaks SPDY inside a WebSocket, which is not served; \
    clients that use the subprotocol v4.channel.k8s.io with ?ports= are (the Python client does), or \
    reach the pod from a node: landbridge exec NODE -- curl ADDRESS:PORT";

/// Answers 101 and begins a session on the connection.
fn upgrade(
    mut request: Request<Body>,
    sessions: &mpsc::Sender<Session>,
    protocol: &'static str,
    begin: impl FnOnce(socket::Incoming, socket::Outgoing) -> Session + Send + 'static,
) -> Result<Answer, Refusal> {
    let key = request.headers().get("sec-websocket-key").and_then(|key| key.to_str().ok());
    let Some(accept) = key.map(frames::accept) else {
        let why = "the WebSocket request has no Sec-WebSocket-Key".to_owned();
        return Err(Refusal(StatusCode::BAD_REQUEST, why));
    };
    let upgraded = hyper::upgrade::on(&mut request);
    let session: Session = Box::pin(async move {
        match upgraded.await {
            Ok(upgraded) => {
                let (incoming, outgoing) = socket::open(upgraded);
                begin(incoming, outgoing).await;
            }
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    if sessions.try_send(session).is_err() {
        let why = "one connection can become only one session".to_owned();
        return Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, why));
    }
    let answer = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(UPGRADE, "websocket")
        .header(CONNECTION, "Upgrade")
        .header("sec-websocket-accept", accept)
        .header("sec-websocket-protocol", protocol)
        .body(Full::new(Bytes::new()).boxed());
    answer.map_err(|error| Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

const JSON: http::HeaderValue = http::HeaderValue::from_static("application/json");

fn plain(text: impl Into<Bytes>) -> Answer {
    Response::new(Full::new(text.into()).boxed())
}

/// A refusal as clients of Kubernetes read it.
fn refused(Refusal(code, message): Refusal) -> Answer {
    let reason = match code {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::BAD_REQUEST => "BadRequest",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": message, "reason": reason, "code": code.as_u16(),
    });
    let mut answer = plain(status.to_string());
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}
