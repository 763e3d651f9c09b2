//! A body that goes out in pieces, each when the client has taken most of those before: hyper alone would take all of
//! it at once, and nobody would know how far a client is.

use crate::clients::Client;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// The rest of a body.
pub(crate) struct Pieces {
    rest: Bytes,
    /// Whose answer it is, to note that it is taken when this is dropped.
    client: Option<Client>,
}

impl Pieces {
    pub(crate) fn new(rest: Bytes) -> Pieces {
        Pieces { rest, client: None }
    }

    /// For this client.
    pub(crate) fn of(mut self, client: Client) -> Pieces {
        self.client = Some(client);
        self
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            client.asks();
        }
    }
}
