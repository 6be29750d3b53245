//! Waiting for a future on a thread that may block.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, unconstrained};

/// Runs a future to its end on this thread, with the timers and sockets of the runtime.
///
/// `Handle::block_on` would do the same, but panics on the threads of another runtime, where it would merely
/// be slow to wait.
pub(crate) fn wait<F: Future>(runtime: &Handle, future: F) -> F::Output {
    // A worker of another runtime lets others do its tasks meanwhile.
    let is_worker =
        Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    match is_worker {
        true => block_in_place(|| park_until(runtime, future)),
        false => park_until(runtime, future),
    }
}

fn park_until<F: Future>(runtime: &Handle, future: F) -> F::Output {
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

/// A future that uses the timers and sockets of a runtime, also if a task of another one polls it.
pub(crate) struct Within<F> {
    runtime: Handle,
    future: Pin<Box<F>>,
}

impl<F: Future> Within<F> {
    pub(crate) fn new(runtime: Handle, future: F) -> Self {
        Self { runtime, future: Box::pin(future) }
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let _within = this.runtime.enter();
        this.future.as_mut().poll(context)
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
