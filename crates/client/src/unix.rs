//! A client over the Unix socket of a server. Who it is, the socket says.

use std::path::{Path, PathBuf};

use http::{Request, Uri};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tower::service_fn;

/// A client over the Unix socket of a server. Sockets on paths cross network namespaces, so a node
/// whose network is broken still reaches its API.
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
