//! The transport below HTTP: a socket now, with or without TLS later.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::origin::Peer;

/// One connection to a client.
pub(super) struct Transport {
    stream: Stream,
    address: SocketAddr,
}

/// The kinds of transport. Only this file distinguishes them.
enum Stream {
    Plain(TcpStream),
}

impl Transport {
    /// A connection without encryption.
    pub(super) fn plain(stream: TcpStream, address: SocketAddr) -> Transport {
        // Answers are written whole, so Nagle's algorithm would only delay their last packet. If the
        // connection is closed already, the first read fails.
        let _ = stream.set_nodelay(true);
        Transport { stream: Stream::Plain(stream), address }
    }

    /// Limits the bytes that the system takes ahead of the client, where it can. If it refuses, it takes more.
    pub(super) fn limit_unsent(&self, bytes: u32) {
        match &self.stream {
            #[cfg(target_os = "linux")]
            Stream::Plain(stream) => {
                let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(bytes);
            }
            #[cfg(not(target_os = "linux"))]
            Stream::Plain(_) => {
                let _ = bytes;
            }
        }
    }

    /// The other end.
    pub(super) fn peer(&self) -> Peer {
        let secure = match self.stream {
            Stream::Plain(_) => false,
        };
        Peer { address: self.address, secure }
    }

    /// Waits for the first bytes without a buffer for them. False at the end of the stream.
    pub(super) async fn has_bytes(&self) -> bool {
        match &self.stream {
            // Peeks at a byte, because readiness may be spurious.
            Stream::Plain(stream) => matches!(stream.peek(&mut [0]).await, Ok(1..)),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
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
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
