//! Streams the bytes of an object to the client.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use liteio_store::{ObjectReader, StoreError};
use s3s::S3Result;
use tokio::task::JoinHandle;

use super::error;
use liteio_access::state::{App, Piece};
use liteio_wire::front::limits::ANSWER_FREE_BYTES;
use liteio_wire::front::{Allowance, PieceRoom, Room};
use liteio_wire::reply::{BoxError, ReplyBody};

/// A body that streams the pieces of a reader.
///
/// The first piece is read before the response starts, so that a damaged object is an error with a
/// status and not a broken transfer. Pieces in memory are read on the connection's thread, others
/// on a blocking thread.
pub(super) async fn body(
    app: &Arc<App>,
    mut reader: ObjectReader,
    allowance: &Allowance,
) -> S3Result<ReplyBody> {
    let is_short = reader.remaining() <= ANSWER_FREE_BYTES;
    let rooms = (!is_short).then(|| allowance.pieces());
    let room = rooms.as_ref().and_then(|rooms| rooms.take(reader.remaining()));
    reader.limit_pieces(room.as_ref().and_then(Room::bytes_max));
    let first = match reader.try_next().map_err(error::from_store)? {
        Some(piece) => piece,
        None => {
            let (rest, piece) = app.read_piece(reader).await.map_err(error::from_store)?;
            reader = rest;
            piece
        }
    };
    let first = first.unwrap_or_default();
    let bytes = first.len() as u64 + reader.remaining();
    let first = match room {
        Some(room) => room.hold(first),
        None if reader.remaining() == 0 => return Ok(ReplyBody::from(first)),
        None => first,
    };
    let (app, first) = (Arc::clone(app), Some(first));
    Ok(ReplyBody::stream(Pieces {
        app,
        first,
        bytes,
        rooms,
        room: None,
        state: State::Idle(reader),
    }))
}

/// The pieces of an object, read one at a time as the client takes them.
struct Pieces {
    app: Arc<App>,
    first: Option<Bytes>,
    /// Bytes of the body that are still to come.
    bytes: u64,
    /// `None` for a short body, which fits into the memory that every response may use.
    rooms: Option<PieceRoom>,
    /// The reserved memory for the piece being read.
    room: Option<Room>,
    state: State,
}

enum State {
    Idle(ObjectReader),
    Reading(JoinHandle<Result<Piece, StoreError>>),
    Ended,
}

impl Pieces {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if let (State::Idle(reader), Some(rooms)) = (&mut self.state, &self.rooms)
            && reader.remaining() > 0
        {
            // Back-pressure: memory for the piece is reserved before it is read.
            let room = ready!(rooms.poll(reader.remaining(), context));
            reader.limit_pieces(room.bytes_max());
            self.room = Some(room);
        }
        let piece = ready!(self.poll_read(context));
        let room = self.room.take();
        Poll::Ready(piece.map(|piece| {
            piece.map(|piece| match room {
                Some(room) => room.hold(piece),
                None => piece,
            })
        }))
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        let state = &mut self.state;
        loop {
            match std::mem::replace(state, State::Ended) {
                State::Ended => return Poll::Ready(None),
                State::Idle(mut reader) => match reader.try_next() {
                    Ok(Some(piece)) => {
                        if piece.is_some() {
                            *state = State::Idle(reader);
                        }
                        return Poll::Ready(piece.map(Ok));
                    }
                    Ok(None) => {
                        *state = State::Reading(tokio::spawn(self.app.read_piece(reader)));
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

impl Drop for Pieces {
    /// The client has disconnected. A read that still waits for a thread is cancelled, because its
    /// reserved memory is released with this body.
    fn drop(&mut self) {
        if let State::Reading(task) = &self.state {
            task.abort();
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let piece = ready!(self.poll_piece(context));
        if let Some(Ok(piece)) = &piece {
            self.bytes = self.bytes.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}
