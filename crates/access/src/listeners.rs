//! Requests without an end, which listen to events: their number, and the signal that ends them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Most requests that listen at a time: each has a queue of its own, which every change fills.
const LISTENERS_MAX: usize = 256;
/// Most of them for one account, which must not keep the others from listening.
const LISTENERS_OF_ACCOUNT_MAX: usize = LISTENERS_MAX / 4;

/// The listening requests of one server or space.
#[derive(Debug)]
pub struct Listeners {
    taken: Arc<Mutex<Taken>>,
    is_over: watch::Sender<bool>,
}

/// The places that are taken.
#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_account: HashMap<String, usize>,
}

/// The place of one listening request.
#[derive(Debug)]
pub struct Seat {
    taken: Arc<Mutex<Taken>>,
    account: String,
    is_over: watch::Receiver<bool>,
}

impl Default for Listeners {
    fn default() -> Listeners {
        Listeners { taken: Arc::default(), is_over: watch::Sender::new(false) }
    }
}

impl Listeners {
    /// A place for one more request of an account, by its canonical id, empty for anonymous senders; `None` if there are
    /// too many of the account, or of all.
    pub fn join(&self, account: &str) -> Option<Seat> {
        self.taken.lock().take(account).then(|| Seat {
            taken: Arc::clone(&self.taken),
            account: account.to_owned(),
            is_over: self.is_over.subscribe(),
        })
    }

    /// Ends all of them, and those that join later: a stopping server waits for answers in flight, and these
    /// would not end by themselves.
    pub fn end(&self) {
        self.is_over.send_replace(true);
    }
}

impl Taken {
    /// `true` if a place was free, which is taken now.
    fn take(&mut self, account: &str) -> bool {
        let of_account = self.by_account.get(account).copied().unwrap_or_default();
        let is_free = self.all < LISTENERS_MAX && of_account < LISTENERS_OF_ACCOUNT_MAX;
        if is_free {
            self.all += 1;
            self.by_account.insert(account.to_owned(), of_account + 1);
        }
        is_free
    }

    fn give_back(&mut self, account: &str) {
        self.all -= 1;
        match self.by_account.get_mut(account) {
            Some(places) if *places > 1 => *places -= 1,
            _ => drop(self.by_account.remove(account)),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.taken.lock().give_back(&self.account);
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
        let of_all = |_| ["a", "b", "c", "d"].map(|account| listeners.join(account));
        let mut seats: Vec<Seat> =
            (0..LISTENERS_OF_ACCOUNT_MAX).flat_map(of_all).flatten().collect();
        assert_eq!(seats.len(), LISTENERS_MAX);
        assert!(listeners.join("e").is_none());
        seats.truncate(1);
        let mut later = listeners.join("e").expect("a place is free");
        assert!(seats[0].over().now_or_never().is_none());
        listeners.end();
        assert!(seats[0].over().now_or_never().is_some() && later.over().now_or_never().is_some());
        assert!(listeners.join("e").expect("a place").over().now_or_never().is_some());
        drop((seats, later));
        assert!(listeners.taken.lock().by_account.is_empty(), "accounts are not kept");
    }

    #[test]
    fn one_account_leaves_places_to_others() {
        let listeners = Listeners::default();
        let mut seats: Vec<_> = (0..LISTENERS_MAX).map_while(|_| listeners.join("a")).collect();
        assert_eq!(seats.len(), LISTENERS_OF_ACCOUNT_MAX);
        assert!(listeners.join("b").is_some());
        seats.pop();
        assert!(listeners.join("a").is_some());
    }
}
