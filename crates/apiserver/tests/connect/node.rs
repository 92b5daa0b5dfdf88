//! A node that answers as an agent would.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What reached the node.
#[derive(Clone, Debug)]
pub struct Seen {
    pub line: String,
    pub headers: HeaderMap,
}

pub struct Node {
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Lines of the log that is being followed.
    pub log: mpsc::UnboundedSender<String>,
    /// How many connections that were taken over have ended.
    pub ended: watch::Receiver<usize>,
}

struct Shared {
    seen: Arc<Mutex<Vec<Seen>>>,
    log: Mutex<Option<mpsc::UnboundedReceiver<String>>>,
    ended: watch::Sender<usize>,
}

impl Node {
    pub fn start(socket: &Path) -> Self {
        let listener = tokio::net::UnixListener::bind(socket).expect("socket");
        let (log, lines) = mpsc::unbounded_channel();
        let (ended_sender, ended) = watch::channel(0);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared {
            seen: Arc::clone(&seen),
            log: Mutex::new(Some(lines)),
            ended: ended_sender,
        });
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("connection");
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| {
                    let answer = shared.answer(request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades();
                tokio::spawn(async move {
                    let _ = serving.await; // the server hangs up when it likes
                });
            }
        });
        Self { seen, log, ended }
    }

    /// The last request that came.
    pub fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().expect("a request").clone()
    }

    pub fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Waits until so many taken-over connections have ended.
    pub async fn ended(&self, count: usize) {
        let mut ended = self.ended.clone();
        ended.wait_for(|ended| *ended >= count).await.expect("node");
    }
}

fn whole(code: StatusCode, text: &str) -> Answer {
    let body = Full::new(Bytes::from(text.to_owned())).boxed_unsync();
    Response::builder().status(code).header("content-type", "text/plain").body(body).unwrap()
}

impl Shared {
    fn answer(self: &Arc<Self>, mut request: Request<Incoming>) -> Answer {
        let line = format!("{} {}", request.method(), request.uri());
        self.seen.lock().unwrap().push(Seen { line, headers: request.headers().clone() });
        let path = request.uri().path().to_owned();
        if path.starts_with("/containerLogs/") {
            return self.log(&path);
        }
        if request.headers().get("upgrade").is_none_or(|value| value != "websocket") {
            return whole(StatusCode::BAD_REQUEST, "only WebSocket is spoken here");
        }
        let shared = Arc::clone(self);
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            echo(TokioIo::new(upgrade.await.expect("upgrade"))).await;
            shared.ended.send_modify(|ended| *ended += 1);
        });
        Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-accept", "accepted")
            .header("sec-websocket-protocol", "v5.channel.k8s.io")
            .body(Full::default().boxed_unsync())
            .unwrap()
    }

    fn log(&self, path: &str) -> Answer {
        if path.ends_with("/huge") {
            let mut answer = whole(StatusCode::OK, "");
            answer.headers_mut().insert("x-huge", "x".repeat(1_000_000).parse().unwrap());
            return answer;
        }
        if path.ends_with("/waiting") {
            let why = "container \"waiting\" in pod \"p\" is waiting to start";
            return whole(StatusCode::BAD_REQUEST, why);
        }
        if path.ends_with("/mute") {
            return whole(StatusCode::INTERNAL_SERVER_ERROR, "");
        }
        if path.ends_with("/formal") {
            return whole(StatusCode::NOT_FOUND, r#"{"kind":"Status","message":"no such log"}"#);
        }
        let lines = self.log.lock().unwrap().take();
        let lines = futures::stream::unfold(lines, async |lines| {
            let mut lines = lines?;
            let line = lines.recv().await?;
            Some((line, Some(lines)))
        });
        let frames = lines.map(|line| Ok(Frame::data(Bytes::from(line))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }
}

/// Sends back what it gets, until it gets `bye` or nothing any more.
async fn echo(mut io: TokioIo<hyper::upgrade::Upgraded>) {
    let mut buffer = [0; 1024];
    loop {
        let Ok(read @ 1..) = io.read(&mut buffer).await else { return };
        if io.write_all(&buffer[..read]).await.is_err() || buffer[..read].ends_with(b"bye") {
            let _ = io.shutdown().await; // it may be gone already
            return;
        }
    }
}

/// The directory of sockets, one per node.
#[derive(Debug)]
pub struct Sockets(pub PathBuf);

impl landbridge_apiserver::Nodes for Sockets {
    fn socket(&self, node: &str) -> Option<PathBuf> {
        (node != "stranger").then(|| self.0.join(format!("{node}.sock")))
    }
}
