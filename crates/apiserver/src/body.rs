//! Bodies in both directions: read with a bound, answered whole or as a stream.

use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::Stream;
use http::HeaderMap;
use http_body::Frame;
use http_body_util::BodyExt;
use landbridge_machinery::status::{ApiError, ApiResult};

/// Largest request body, as upstream.
pub const REQUEST_LIMIT: usize = 3 * 1024 * 1024;

/// Answers shorter than this are not worth compressing (upstream's figure).
const GZIP_FROM: usize = 128 * 1024;

/// Body of an answer.
pub enum Body {
    /// Known as a whole.
    Whole(Option<Bytes>),
    /// A watch: each item is flushed as it comes.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// A body known as a whole.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// A body that grows.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(stream))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(context)
                .map(|item| item.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                http_body::SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Stream(_) => http_body::SizeHint::default(),
        }
    }
}

/// Reads a request body, refusing more than [`REQUEST_LIMIT`].
pub async fn read<B>(mut body: B) -> ApiResult<Bytes>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|e| ApiError::bad_request(format!("reading the request body: {e}")))?;
        if let Some(data) = frame.data_ref() {
            if whole.len() + data.len() > REQUEST_LIMIT {
                return Err(ApiError::too_large(REQUEST_LIMIT));
            }
            whole.extend_from_slice(data);
        }
    }
    Ok(whole.freeze())
}

/// Compresses an answer when the client allows it and it is large enough to matter.
pub fn maybe_gzip(bytes: Bytes, request_headers: &HeaderMap) -> (Bytes, bool) {
    let allowed = request_headers
        .get_all(http::header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|coding| coding.trim().split(';').next() == Some("gzip"));
    if !allowed || bytes.len() < GZIP_FROM {
        return (bytes, false);
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
        Ok(compressed) => (compressed.into(), true),
        Err(_) => (bytes, false), // memory writers do not fail; plain is always right
    }
}
