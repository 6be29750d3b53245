//! The transport below HTTP: a socket, with or without TLS.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::suite;
use crate::origin::{Entrance, Peer};
use crate::tls::HTTP_2;

/// Bytes of an answer that are sent from one buffer. `writev` takes the way of files through the kernel, and
/// `send` of the same bytes is 0.3 µs shorter; to gather them takes a tenth of that.
const GATHERED_BYTES_MAX: usize = 2 << 10;

/// One connection to a client.
pub(super) struct Transport {
    stream: Stream,
    address: SocketAddr,
    entrance: Entrance,
}

/// The kinds of transport. Only this file distinguishes them.
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// A connection without encryption.
    pub(super) fn plain(stream: TcpStream, address: SocketAddr, entrance: Entrance) -> Transport {
        // Answers are written as a whole, so Nagle's algorithm would only delay their last packet.
        // The call fails only if the connection is closed; then the first read fails, too.
        let _ = stream.set_nodelay(true);
        Transport { stream: Stream::Plain(stream), address, entrance }
    }

    /// The same connection after a TLS handshake.
    ///
    /// # Errors
    /// The reason of a failed handshake, with the connection. The client has been sent the alert.
    pub(super) async fn encrypt(
        self,
        config: Arc<ServerConfig>,
    ) -> Result<Transport, (io::Error, Transport)> {
        let Transport { stream: Stream::Plain(stream), address, entrance } = self else {
            return Ok(self);
        };
        match TlsAcceptor::from(config).accept(stream).into_fallible().await {
            Ok(stream) => {
                Ok(Transport { stream: Stream::Tls(Box::new(stream)), address, entrance })
            }
            Err((error, stream)) => {
                Err((error, Transport { stream: Stream::Plain(stream), address, entrance }))
            }
        }
    }

    fn socket(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Limits the bytes that the system accepts ahead of the client (`TCP_NOTSENT_LOWAT`), where it
    /// is supported. Without it the system buffers more.
    pub(super) fn limit_unsent(&self, bytes: u32) {
        #[cfg(target_os = "linux")]
        let _ = socket2::SockRef::from(self.socket()).set_tcp_notsent_lowat(bytes);
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
    }

    /// The address of the other end.
    pub(super) fn peer(&self) -> Peer {
        let tls = match &self.stream {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => suite::of(stream.get_ref().1),
        };
        let secure = matches!(self.stream, Stream::Tls(_));
        Peer { address: self.address, secure, tls }
    }

    /// The kind of socket that accepted the connection.
    pub(super) fn entrance(&self) -> Entrance {
        self.entrance
    }

    /// `true` if the handshake selected HTTP/2 (ALPN).
    pub(super) fn is_http2(&self) -> bool {
        match &self.stream {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(HTTP_2),
        }
    }

    /// Waits for bytes without allocating a buffer, and returns the first one. `None` at the end of
    /// the stream.
    pub(super) async fn first_byte(&self) -> Option<u8> {
        // Peek rather than poll for readiness, which may be spurious.
        let mut byte = [0];
        matches!(self.socket().peek(&mut byte).await, Ok(1..)).then_some(byte[0])
    }
}

/// Writes slices to a socket, with `send` where one buffer holds them.
fn poll_send(
    stream: Pin<&mut TcpStream>,
    context: &mut Context<'_>,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    if let [slice] = slices {
        return stream.poll_write(context, slice);
    }
    let mut gathered = [0; GATHERED_BYTES_MAX];
    let mut end = 0;
    for slice in slices {
        let Some(room) = gathered[end..].get_mut(..slice.len()) else {
            return stream.poll_write_vectored(context, slices);
        };
        room.copy_from_slice(slice);
        end += slice.len();
    }
    stream.poll_write(context, &gathered[..end])
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => poll_send(Pin::new(stream), context, slices),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
