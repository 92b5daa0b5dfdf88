//! `kube::Client`s that reach a server without TLS: in this process, or over a Unix socket.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use http::{Request, Uri};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tower::service_fn;

use crate::identity::Identity;
use crate::server::ApiServer;

impl ApiServer {
    /// A client inside this process: no socket, no encryption, the same handler.
    pub fn client(&self, identity: Identity) -> kube::Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let (server, identity) = (server.clone(), identity.clone());
            async move { Ok::<_, Infallible>(server.handle(request, Some(&identity)).await) }
        });
        kube::Client::new(service, "default")
    }
}

/// A client over the Unix socket of a server. Who it is, the socket says.
pub fn unix(path: &Path) -> kube::Client {
    let path: PathBuf = path.to_owned();
    let connector = service_fn(move |_: Uri| {
        let path = path.clone();
        Box::pin(async move { UnixStream::connect(path).await.map(TokioIo::new) })
    });
    let http = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = service_fn(move |mut request: Request<kube::client::Body>| {
        let http = http.clone();
        let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
        let absolute =
            Uri::builder().scheme("http").authority("localhost").path_and_query(path).build();
        async move {
            *request.uri_mut() = absolute.map_err(|e| std::io::Error::other(e.to_string()))?;
            http.request(request).await.map_err(std::io::Error::other)
        }
    });
    kube::Client::new(service, "default")
}
