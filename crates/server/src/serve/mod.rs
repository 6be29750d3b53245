//! From the listening socket to the front: accepting, the budget of connections, and stopping.

mod connection;
mod io;
#[cfg(test)]
mod tests;
mod transport;
mod watchdog;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::transport::Transport;
use crate::budget::Seat;
use crate::front::limits::{FREELY_SENT_CONNECTIONS_MAX, UNSENT_BYTES_MAX};
use crate::front::{Front, slow_down};

/// After a failed accept (no file descriptors left, say): long enough not to spin, short enough not
/// to be noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Accepts and serves until `stopping` turns true; then finishes what is in flight, within its
/// limit, and closes the handler.
pub(crate) async fn run(listener: TcpListener, front: Arc<Front>, stopping: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    accept(&listener, &front, &stopping, &mut connections).await;
    front.handler.stop();
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(front.limits.shutdown_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "requests still in flight are cut off");
        connections.shutdown().await;
    }
    front.handler.close().await;
}

async fn accept(
    listener: &TcpListener,
    front: &Arc<Front>,
    stopping: &watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
) {
    let rejections = Arc::new(Semaphore::new(front.limits.rejections_max));
    let mut stop = stopping.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            // An error means that the handle of the server was dropped.
            _ = stop.wait_for(|stopping| *stopping) => return,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok((stream, address)) => (Transport::plain(stream, address), address.ip()),
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let front = Arc::clone(front);
        if let Some(seat) = Seat::take(&front.budget, address) {
            if seat.connections() > FREELY_SENT_CONNECTIONS_MAX {
                stream.limit_unsent(UNSENT_BYTES_MAX);
            }
            let stopping = stopping.clone();
            connections.spawn(connection::serve(stream, seat, front, stopping));
        } else if let Ok(permit) = Arc::clone(&rejections).try_acquire_owned() {
            connections.spawn(async move {
                connection::reject(stream, &front, &slow_down()).await;
                drop(permit);
            });
        }
    }
}
