//! Waiting for a future on a thread that may block.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::runtime::Handle;
use tokio::task::unconstrained;

/// Runs a future to its end on this thread, with the timers and sockets of the runtime.
///
/// `Handle::block_on` would do the same, but panics on the threads of another runtime, where it would merely
/// be slow to wait.
pub(crate) fn wait<F: Future>(runtime: &Handle, future: F) -> F::Output {
    let _within = runtime.enter();
    // Without a limit of steps: a task of another runtime, whose limit it would be, gets no new one here.
    let mut future = pin!(unconstrained(future));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
