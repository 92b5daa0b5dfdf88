//! A wire to a real server that loses some answers: what was asked is carried out, and nobody is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use landbridge_openstack::config::Settings;
use landbridge_openstack::{Client, Machine, Net, Session, Transport, Trouble};

/// Loses the answer to the first of every two writes to anything but Keystone's tokens.
struct Lossy {
    net: Net,
    writes: AtomicUsize,
    lost: Arc<AtomicUsize>,
}

impl Transport for Lossy {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>> {
        Box::pin(async move {
            let is_login = request.uri().path().ends_with("/auth/tokens");
            let is_write = request.method() != Method::GET && !is_login;
            let answer = self.net.send(request).await?;
            if is_write && self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return Err(Trouble::Lost("cut".to_owned()));
            }
            Ok(answer)
        })
    }
}

/// A client over such a wire, and how many answers were lost.
pub fn client(settings: Settings) -> (Client, Arc<AtomicUsize>) {
    let lost = Arc::new(AtomicUsize::new(0));
    let net = Net::new(&settings.trust, settings.patience).unwrap();
    let lossy = Lossy { net, writes: AtomicUsize::new(0), lost: lost.clone() };
    (Client::new(Session::new(settings, lossy, Machine)), lost)
}
