//! Requests without an end, which listen to events: their number, and the signal that ends them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Most requests that listen at a time: each has a queue of its own, which every change fills.
const LISTENERS_MAX: usize = 256;

/// The listening requests of one server or space.
#[derive(Debug)]
pub struct Listeners {
    seats: Arc<Semaphore>,
    is_over: watch::Sender<bool>,
}

/// The place of one listening request.
#[derive(Debug)]
pub struct Seat {
    _permit: OwnedSemaphorePermit,
    is_over: watch::Receiver<bool>,
}

impl Default for Listeners {
    fn default() -> Listeners {
        Listeners {
            seats: Arc::new(Semaphore::new(LISTENERS_MAX)),
            is_over: watch::Sender::new(false),
        }
    }
}

impl Listeners {
    /// A place for one more request; `None` if there are too many.
    pub fn join(&self) -> Option<Seat> {
        let permit = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        Some(Seat { _permit: permit, is_over: self.is_over.subscribe() })
    }

    /// Ends all of them, and those that join later: a stopping server waits for answers in flight, and these
    /// would not end by themselves.
    pub fn end(&self) {
        self.is_over.send_replace(true);
    }
}

impl Seat {
    /// Waits for the end of the server or space.
    pub async fn over(&mut self) {
        // A dropped sender is the end, too.
        let _ = self.is_over.wait_for(|is_over| *is_over).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_place_is_free_again_and_all_end_together() {
        let listeners = Listeners::default();
        let mut seats: Vec<Seat> = (0..LISTENERS_MAX).filter_map(|_| listeners.join()).collect();
        assert!(listeners.join().is_none());
        seats.truncate(1);
        let mut later = listeners.join().expect("a place is free");
        assert!(seats[0].over().now_or_never().is_none());
        listeners.end();
        assert!(seats[0].over().now_or_never().is_some() && later.over().now_or_never().is_some());
        assert!(listeners.join().expect("a place").over().now_or_never().is_some());
    }
}
