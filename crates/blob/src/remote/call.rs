//! Calls of a bucket: from threads that wait, repeated while they may succeed.

use std::error::Error as _;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use object_store::Error;
use tokio::time::{Instant, sleep, timeout};

use crate::BlobError;

/// Longest text of an error of the service in a message.
const TOLD_BYTES_MAX: usize = 300;

/// Bounds of the time that a call takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Time from the first attempt, or from the last bytes that came, until a failure is told.
    pub(crate) total: Duration,
    /// Time of an attempt, until its answer begins.
    pub(crate) attempt: Duration,
    /// Time without a byte of an answer.
    pub(crate) stall: Duration,
    /// The pause before the second attempt. It doubles with each.
    pub(crate) pause: Duration,
    pub(crate) pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            // A client that gets 503 behind it repeats its request; many give up at a minute.
            total: Duration::from_secs(30),
            // A part of 8 MiB at 3.4 Mbit/s.
            attempt: Duration::from_secs(20),
            stall: Duration::from_secs(10),
            pause: Duration::from_millis(50),
            pause_max: Duration::from_secs(2),
        }
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is no such object, or upload.
    Missing,
    /// There is one already.
    Exists,
    /// The same call may succeed later.
    Transient(String),
    /// The service refuses the access.
    Denied(String),
    /// The service refuses the call for another reason.
    Refused(String),
}

impl Failure {
    /// The error for those who asked the blob store `shown`.
    pub(super) fn told(self, shown: &str, waited: Duration) -> BlobError {
        let reason = match self {
            Self::Missing => format!(
                "The blob store {shown} has lost an upload, or has no such bucket: repeat the request, and check its location."
            ),
            Self::Exists => {
                format!("The blob store {shown} has an object already that is to be made.")
            }
            Self::Transient(reason) => format!(
                "The blob store {shown} did not answer for {} s ({reason}): repeat the request later, and check the service and the network.",
                waited.as_secs()
            ),
            Self::Denied(reason) => format!(
                "The blob store {shown} refuses the credentials of this server ({reason}): give it ones that may get, put, delete and list its objects."
            ),
            Self::Refused(reason) => {
                format!(
                    "The blob store {shown} refuses a request ({reason}): check its location and its settings."
                )
            }
        };
        BlobError::Unavailable { reason }
    }
}

/// The kind of a failure. Errors of HTTP have their status only in their text.
pub(super) fn judge(error: Error) -> Failure {
    let text = one_line(&error);
    match error {
        Error::NotFound { .. } => Failure::Missing,
        // 409 is also the answer to the loser of two conditional requests.
        Error::AlreadyExists { .. } | Error::Precondition { .. } => Failure::Exists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Failure::Denied(text),
        Error::NotSupported { .. } | Error::NotImplemented { .. } | Error::InvalidPath { .. } => {
            Failure::Refused(text)
        }
        _ => match status(&text) {
            Some(408 | 429) | None => Failure::Transient(text),
            Some(status) if status >= 500 => Failure::Transient(text),
            Some(_) => Failure::Refused(text),
        },
    }
}

/// The status in the text of an error of HTTP.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("non-2xx status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The text of an error with those of its causes, in one line.
fn one_line(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            let _ = write!(text, ": {more}");
        }
        cause = error.source();
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() > TOLD_BYTES_MAX {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Pauses between attempts, and their end.
#[derive(Debug)]
pub(super) struct Attempts {
    patience: Patience,
    pause: Duration,
    since: Instant,
}

impl Attempts {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, pause: patience.pause, since: Instant::now() }
    }

    /// Begins anew, after progress.
    pub(super) fn progress(&mut self) {
        *self = Self::new(self.patience);
    }

    /// Pauses before the next attempt; `false` if there is none.
    pub(super) async fn pause(&mut self) -> bool {
        // Random, so that those who were refused together do not come back together.
        let random = RandomState::new().hash_one(()) % 512;
        let pause = self.pause.mul_f64(0.5 + random as f64 / 1024.0);
        if self.since.elapsed() + pause > self.patience.total {
            return false;
        }
        sleep(pause).await;
        self.pause = (self.pause * 2).min(self.patience.pause_max);
        true
    }
}

/// An attempt of a call whose answer comes in time.
pub(super) async fn attempt<T>(
    patience: Patience,
    call: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Failure> {
    match timeout(patience.attempt, call).await {
        Ok(answer) => answer.map_err(judge),
        Err(_) => Err(Failure::Transient(format!("no answer in {:?}", patience.attempt))),
    }
}

/// A call that is repeated while it may succeed. Each must be harmless a second time: its answer may have been
/// lost.
pub(super) async fn persist<T, F>(
    patience: Patience,
    mut call: impl FnMut() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = object_store::Result<T>>,
{
    let mut attempts = Attempts::new(patience);
    loop {
        match attempt(patience, call()).await {
            Err(Failure::Transient(reason)) => {
                if !attempts.pause().await {
                    return Err(Failure::Transient(reason));
                }
            }
            answer => return answer,
        }
    }
}

/// Waits for a future that needs no runtime of this thread, such as the handle of a task. A runtime would panic
/// where this thread is one of its own.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    struct Waiting(Thread);
    impl Wake for Waiting {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Waiting(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn only_what_may_succeed_later_is_repeated() {
        let status = |code: &str| {
            generic(&format!("Server returned non-2xx status code: {code} x: <a>\n</a>"))
        };
        for code in ["500", "503", "429", "408"] {
            assert!(matches!(judge(status(code)), Failure::Transient(_)), "{code}");
        }
        for code in ["400", "405", "411", "416"] {
            assert!(matches!(judge(status(code)), Failure::Refused(_)), "{code}");
        }
        assert!(matches!(judge(generic("connection reset")), Failure::Transient(_)));
        let denied = Error::PermissionDenied { path: String::new(), source: "no".into() };
        let told = judge(denied).told("s3://b", Duration::ZERO).to_string();
        assert!(told.contains("credentials") && told.contains("s3://b"), "{told}");
        let long = judge(generic(&"word\n".repeat(1000)));
        let told = long.told("s3://b", Duration::from_secs(20)).to_string();
        assert!(told.len() < 600 && !told.contains('\n') && told.contains("20 s"), "{told}");
    }

    #[test]
    fn a_thread_waits_for_another_one() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = thread::spawn(move || sender.send(7));
        assert_eq!(wait(receiver), Ok(7));
        other.join().expect("no panic").expect("received");
    }
}
