//! Streaming the bytes of an object to the client.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use liteio_store::{ObjectReader, StoreError};
use parking_lot::Mutex;
use s3s::dto::StreamingBlob;
use s3s::stream::{ByteStream, RemainingLength};
use s3s::{Body, S3Result, StdError};
use tokio::task::JoinHandle;

use super::error;
use crate::state::{App, NextPiece, Piece};

/// A body that streams the pieces of a reader.
///
/// The first piece is read before the answer begins, so that a damaged object is an error with a
/// status. Pieces in memory are read on the thread of the connection, others on a blocking thread.
pub(super) async fn body(app: &Arc<App>, reader: ObjectReader) -> S3Result<StreamingBlob> {
    let (reader, first) = match app.next_piece(reader).map_err(error::from_store)? {
        NextPiece::Read(piece) => piece,
        NextPiece::Reading(piece) => piece.await.map_err(error::from_store)?,
    };
    if reader.remaining() == 0 {
        return Ok(StreamingBlob::from(Body::from(first.unwrap_or_default())));
    }
    let bytes = first.as_ref().map_or(0, Bytes::len) as u64 + reader.remaining();
    Ok(StreamingBlob::new(Pieces {
        app: Arc::clone(app),
        first,
        bytes,
        state: Mutex::new(State::Idle(reader)),
    }))
}

/// The pieces of an object.
struct Pieces {
    app: Arc<App>,
    first: Option<Bytes>,
    /// The rest of the body.
    bytes: u64,
    /// Never locked: the mutex only makes it `Sync`, as s3s wants it.
    state: Mutex<State>,
}

enum State {
    Idle(ObjectReader),
    Reading(JoinHandle<Result<Piece, StoreError>>),
    Ended,
}

impl Pieces {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StdError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let state = self.state.get_mut();
        loop {
            match std::mem::replace(state, State::Ended) {
                State::Ended => return Poll::Ready(None),
                State::Idle(reader) => match self.app.next_piece(reader) {
                    Ok(NextPiece::Read((reader, piece))) => {
                        if piece.is_some() {
                            *state = State::Idle(reader);
                        }
                        return Poll::Ready(piece.map(Ok));
                    }
                    Ok(NextPiece::Reading(piece)) => {
                        *state = State::Reading(tokio::spawn(piece));
                    }
                    Err(error) => return Poll::Ready(Some(Err(Box::new(error)))),
                },
                State::Reading(mut task) => {
                    let Poll::Ready(result) = Pin::new(&mut task).poll(context) else {
                        *state = State::Reading(task);
                        return Poll::Pending;
                    };
                    let (reader, piece) = match result {
                        Ok(Ok(read)) => read,
                        Ok(Err(error)) => {
                            return Poll::Ready(Some(Err(Box::new(error::from_store(error)))));
                        }
                        Err(_) => return Poll::Ready(Some(Err(Box::new(StoreError::Closed)))),
                    };
                    if piece.is_some() {
                        *state = State::Idle(reader);
                    }
                    return Poll::Ready(piece.map(Ok));
                }
            }
        }
    }
}

impl Stream for Pieces {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(self.poll_piece(context));
        if let Some(Ok(piece)) = &piece {
            self.bytes = self.bytes.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece)
    }
}

impl ByteStream for Pieces {
    fn remaining_length(&self) -> RemainingLength {
        usize::try_from(self.bytes)
            .map_or_else(|_| RemainingLength::unknown(), RemainingLength::new_exact)
    }
}
