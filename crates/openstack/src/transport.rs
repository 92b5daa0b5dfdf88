//! One request over the wire, and nothing more: no token, no second try.

mod net;
mod tls;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};

pub use self::net::Net;

/// No answer is read beyond this.
pub const LARGEST_ANSWER: usize = 64 << 20;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// Something was sent, and no whole answer came.
    #[error("{0}")]
    Lost(String),
    /// An answer came that is not to be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Whoever carries requests.
pub trait Transport: Send + Sync {
    /// Carries one, and brings the answer.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>>;
}

impl<T: Transport + ?Sized> Transport for std::sync::Arc<T> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, Trouble>> {
        (**self).send(request)
    }
}
