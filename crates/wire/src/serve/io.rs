//! The byte stream of one connection, between the socket and hyper or h2.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::spelling::Heads;
use super::transport::Transport;
use crate::connection::ConnectionState;
use bytes::{Buf as _, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of a status line that are inspected: `HTTP/1.1 400`.
const STATUS_BYTES: usize = 12;

/// A transport that records its reads and writes in the state of the connection.
///
/// hyper answers a head that it cannot parse by itself, without ids and without a body. While no
/// request is at work, hyper writes nothing else, so such an answer is intercepted here, and
/// `connection` writes a proper one instead.
pub(crate) struct ConnectionIo {
    stream: TokioIo<Transport>,
    state: Arc<ConnectionState>,
    /// Bytes that an earlier hyper connection read and did not use.
    unused: Bytes,
    rejected: Option<u16>,
    heads: Heads,
}

impl ConnectionIo {
    pub(super) fn new(stream: Transport, state: Arc<ConnectionState>) -> ConnectionIo {
        ConnectionIo {
            stream: TokioIo::new(stream),
            state,
            unused: Bytes::new(),
            rejected: None,
            heads: Heads::default(),
        }
    }

    /// Puts back bytes that were read and not used.
    pub(super) fn unread(&mut self, bytes: Bytes) {
        self.unused = bytes;
    }

    /// Gives back what an idle connection does not need.
    pub(super) fn release(&mut self) {
        self.heads.release();
    }

    pub(crate) fn has_unused(&self) -> bool {
        !self.unused.is_empty()
    }

    pub(super) fn stream(&self) -> &Transport {
        self.stream.inner()
    }

    pub(crate) fn into_stream(self) -> Transport {
        self.stream.into_inner()
    }

    /// The status of hyper's own answer, if it wrote one.
    pub(super) fn rejected(&self) -> Option<u16> {
        self.rejected
    }

    /// Intercepts hyper's own answer. `true` if `bytes` belong to it.
    fn catch(&mut self, bytes: &[u8]) -> bool {
        if self.state.is_in_request() {
            return false;
        }
        if self.rejected.is_none() {
            let line = bytes.get(..STATUS_BYTES).and_then(|line| std::str::from_utf8(line).ok());
            let status = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
            self.rejected = Some(status.unwrap_or(400));
        }
        true
    }
}

impl Read for ConnectionIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.has_unused() {
            let bytes = self.unused.len().min(cursor.remaining());
            cursor.put_slice(&self.unused[..bytes]);
            self.unused.advance(bytes);
        } else {
            ready!(Pin::new(&mut self.stream).poll_read(context, cursor))?;
        }
        // The end of the stream counts as bytes, too: harmless, because the connection is over.
        self.state.bytes_read();
        Poll::Ready(Ok(()))
    }
}

impl Write for ConnectionIo {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Some((first, others)) = slices.split_first() else { return Poll::Ready(Ok(0)) };
        // Reports success, so that hyper believes its answer is sent and closes.
        if self.catch(first) {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let ConnectionIo { stream, state, heads, .. } = &mut *self;
        let stream = Pin::new(stream);
        let spelled = heads.spelled(first, state);
        let polled = if spelled.is_empty() {
            stream.poll_write_vectored(context, slices)
        } else {
            // A short answer is no more than its head and one piece of its body.
            let next = match &first[spelled.len()..] {
                [] => others.first().map_or(&[][..], |slice| slice),
                behind => behind,
            };
            stream.poll_write_vectored(context, &[spelled, next].map(IoSlice::new))
        };
        if let Poll::Ready(Ok(bytes)) = polled {
            heads.advance(bytes);
        }
        note_write(state, &polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A TLS stream accepts bytes before the socket does, so only a flush shows that the client
        // takes them.
        if Pin::new(&mut self.stream).poll_flush(context)?.is_pending() {
            self.state.write_blocked();
            return Poll::Pending;
        }
        self.state.write_unblocked();
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Records the outcome of a write in the state of its connection.
fn note_write(state: &ConnectionState, polled: &Poll<io::Result<usize>>) {
    match polled {
        Poll::Pending => state.write_blocked(),
        Poll::Ready(written) => state.bytes_written(*written.as_ref().unwrap_or(&0)),
    }
}

/// A transport for HTTP/2 that records its writes in the state of the connection.
pub(crate) struct StreamsIo {
    stream: Transport,
    state: Arc<ConnectionState>,
}

impl StreamsIo {
    pub(super) fn new(stream: Transport, state: Arc<ConnectionState>) -> StreamsIo {
        StreamsIo { stream, state }
    }
}

impl AsyncRead for StreamsIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for StreamsIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        note_write(&self.state, &polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        note_write(&self.state, &polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        match polled {
            Poll::Pending => self.state.write_blocked(),
            Poll::Ready(_) => self.state.write_unblocked(),
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
