//! From the listening socket to the front: accepting, the budget of connections, and shutdown.

mod connection;
mod http2;
mod io;
mod quiet_waker;
mod spelling;
mod stop;
mod suite;
mod transport;
mod watchdog;

use std::future::poll_fn;
use std::io as std_io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

pub use self::stop::StopSignals;
use self::transport::Transport;
use crate::budget::{Resource, Seat};
use crate::front::limits::{FREELY_SENT_CONNECTIONS_MAX, UNSENT_BYTES_MAX};
use crate::front::{Front, slow_down};
use crate::origin::Entrance;
use crate::tls::ServerTls;

/// Pause after a failed accept, such as without free file descriptors: long enough to prevent a
/// busy loop, short enough to go unnoticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A listening socket.
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// The TLS configuration, if its connections are encrypted.
    pub tls: Option<Arc<ServerTls>>,
    /// The kind of requests that it accepts.
    pub entrance: Entrance,
}

/// Accepts and serves until `stopping` becomes true. Then finishes the requests in flight, within
/// their time limit and until `cut` is notified, and closes the handler.
pub async fn run(
    listeners: Vec<Listener>,
    front: Arc<Front>,
    stopping: watch::Receiver<bool>,
    cut: Arc<Notify>,
) {
    let mut connections = JoinSet::new();
    accept(&listeners, &front, &stopping, &mut connections).await;
    // Order of the shutdown: no new connections, then the answers in flight, then the handler,
    // which makes everything durable. It closes last, because the answers need it.
    front.handler.stop();
    drop(listeners);
    let drained = async { while connections.join_next().await.is_some() {} };
    let is_drained = tokio::select! {
        result = timeout(front.limits.shutdown_timeout, drained) => result.is_ok(),
        () = cut.notified() => false,
    };
    if !is_drained {
        // The tasks are aborted: their clients see a broken answer, never a false success.
        tracing::warn!(connections = connections.len(), "requests still in flight are cut off");
        connections.shutdown().await;
    }
    front.handler.close().await;
}

async fn accept(
    listeners: &[Listener],
    front: &Arc<Front>,
    stopping: &watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
) {
    let rejections = Arc::new(Semaphore::new(front.limits.rejections_max));
    let mut stop = stopping.clone();
    let mut turn = 0;
    loop {
        let accepted = tokio::select! {
            biased;
            // An error means that the handle of the server was dropped: stop, too.
            _ = stop.wait_for(|stopping| *stopping) => return,
            Some(_) = connections.join_next() => continue,
            // `biased`, so that ended connections are collected before new ones are accepted.
            accepted = next(listeners, &mut turn) => accepted,
        };
        let (stream, address, tls) = match accepted {
            Ok((stream, address, listener)) => {
                let stream = Transport::plain(stream, address, listener.entrance);
                (stream, address.ip(), listener.tls.clone())
            }
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let front = Arc::clone(front);
        let seat = match front.proxies.trust(address) {
            true => Seat::take_for_proxy(&front.budget, address),
            false => Seat::take(&front.budget, address),
        };
        if let Some(seat) = seat {
            // Above this number of connections the system's send buffers are limited.
            if seat.connections() > FREELY_SENT_CONNECTIONS_MAX {
                stream.limit_unsent(UNSENT_BYTES_MAX);
            }
            let stopping = stopping.clone();
            match tls {
                None => connections.spawn(connection::serve(stream, seat, front, stopping)),
                Some(tls) => {
                    let config = Arc::clone(&tls.serving);
                    connections
                        .spawn(connection::serve_encrypted(stream, seat, config, front, stopping))
                }
            };
        // No seat: answer 503 to a bounded number of clients at a time, and close the rest without
        // an answer.
        } else if let Ok(permit) = Arc::clone(&rejections).try_acquire_owned() {
            connections.spawn(async move {
                let error = slow_down(Resource::Connections);
                match tls {
                    None => connection::reject(stream, &front, &error).await,
                    Some(tls) => {
                        let config = Arc::clone(&tls.refusing);
                        connection::reject_encrypted(stream, config, &front, &error).await;
                    }
                }
                drop(permit);
            });
        }
    }
}

/// The next connection on any socket. The sockets take turns, so that a busy one does not starve
/// the others.
async fn next<'a>(
    listeners: &'a [Listener],
    turn: &mut usize,
) -> std_io::Result<(TcpStream, SocketAddr, &'a Listener)> {
    poll_fn(|context| {
        // Begin with the socket after the last one served.
        let (before, from) = listeners.split_at(*turn % listeners.len());
        for listener in from.iter().chain(before) {
            *turn += 1;
            if let Poll::Ready(accepted) = listener.socket.poll_accept(context) {
                let accepted = accepted.map(|(stream, address)| (stream, address, listener));
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}
