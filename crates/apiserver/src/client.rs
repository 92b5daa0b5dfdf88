//! `kube::Client`s that reach this server inside the process.

use std::convert::Infallible;

use http::Request;
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
