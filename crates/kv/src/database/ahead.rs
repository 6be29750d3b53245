//! [`Ahead`]: rows that are fetched for a request before it asks for them.
//!
//! A request begins with a question to the database anyway: whether what this process remembers still
//! holds. The rows that it will read come with the answer. They are of a moment after the request
//! began, so a read that uses them sees everything that was acknowledged before the request; and an
//! update that uses them compares their versions when it commits, as those of all other rows.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{Moment, Row};

/// Time for which the rows are used: far below the time for which content that they name is kept after its
/// deletion.
const USED_FOR: Duration = Duration::from_secs(10);

thread_local! {
    /// The rows of the request that this thread answers.
    static OF_REQUEST: RefCell<Option<Ahead>> = const { RefCell::new(None) };
}

/// Rows of one moment. Clones are the same rows.
#[derive(Clone)]
pub struct Ahead(Arc<Fetched>);

struct Fetched {
    moment: Moment,
    rows: Vec<(Vec<u8>, Option<Row>)>,
    at: Instant,
}

impl Ahead {
    pub(crate) fn new(moment: Moment, rows: Vec<(Vec<u8>, Option<Row>)>) -> Self {
        Self(Arc::new(Fetched { moment, rows, at: Instant::now() }))
    }

    /// The moment of the rows.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.0.moment
    }

    pub(crate) fn rows(&self) -> &[(Vec<u8>, Option<Row>)] {
        &self.0.rows
    }

    /// The future, with these rows for what it reads and updates while it is polled. What it leaves to other
    /// threads fetches for itself.
    pub fn around<F: Future + Unpin>(self, future: F) -> Around<F> {
        Around { ahead: Some(self), future }
    }

    /// The rows of the request that this thread answers, for a read.
    pub(crate) fn of_request() -> Option<Self> {
        OF_REQUEST.with_borrow(|it| it.clone()).filter(|it| it.0.at.elapsed() < USED_FOR)
    }

    /// The same for the last time: reads after an update see what it has written.
    pub(crate) fn take() -> Option<Self> {
        OF_REQUEST.take().filter(|it| it.0.at.elapsed() < USED_FOR)
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ahead").field("moment", &self.0.moment).finish_non_exhaustive()
    }
}

/// The future of [`Ahead::around`].
#[derive(Debug)]
pub struct Around<F> {
    ahead: Option<Ahead>,
    future: F,
}

/// Puts the rows of another request back when it is dropped, and keeps what is left of this one's.
struct Turn<'a> {
    ahead: &'a mut Option<Ahead>,
    others: Option<Ahead>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.ahead = OF_REQUEST.replace(self.others.take());
    }
}

impl<F: Future + Unpin> Future for Around<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { ahead, future } = self.get_mut();
        let others = OF_REQUEST.replace(ahead.take());
        let _turn = Turn { ahead, others };
        Pin::new(future).poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead() -> Ahead {
        Ahead::new(Moment { now_ms: 1, epochs: [0; 2] }, Vec::new())
    }

    #[test]
    fn rows_are_there_while_their_future_is_polled_and_until_an_update() {
        let mut polls = 0;
        let mut future = ahead().around(std::future::poll_fn(|_| {
            polls += 1;
            match polls {
                1 => assert!(Ahead::of_request().is_some()),
                2 => assert!(Ahead::take().is_some()),
                _ => {
                    assert!(Ahead::of_request().is_none());
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        }));
        let mut context = Context::from_waker(std::task::Waker::noop());
        for is_ready in [false, false, true] {
            assert_eq!(Pin::new(&mut future).poll(&mut context).is_ready(), is_ready);
            assert!(Ahead::of_request().is_none());
        }
    }

    #[test]
    fn rows_of_an_old_request_are_not_used() {
        let mut old = ahead();
        let fetched = Arc::get_mut(&mut old.0).expect("one handle");
        let Some(at) = fetched.at.checked_sub(USED_FOR) else { return };
        fetched.at = at;
        OF_REQUEST.replace(Some(old));
        assert!(Ahead::of_request().is_none());
        assert!(Ahead::take().is_none());
    }
}
