//! [`Sender`]: entries are posted to a target, several at a time when many wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

use super::queue::Queue;
use crate::http_client::{HttpClient, in_one_line};

const AGENT: &str = concat!("LiteIO/", env!("CARGO_PKG_VERSION"));

/// Entries of one request, and their bytes.
const BATCH_ENTRIES_MAX: usize = 100;
const BATCH_BYTES_MAX: usize = 1 << 20;
/// From the begin of a request to the head of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two attempts: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// An answer is read up to here, so that its connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The media type and the body for some entries.
pub(crate) type Frame = Box<dyn Fn(&[Bytes]) -> (&'static str, Bytes) + Send + Sync>;

/// A target, and how bodies for it are made.
pub(crate) struct Destination {
    /// Its name in the log.
    pub(crate) what: &'static str,
    pub(crate) url: String,
    /// Sent along with each request.
    pub(crate) headers: HeaderMap,
    /// Makes a body of some entries.
    pub(crate) body: Frame,
}

/// A target that takes entries by HTTP, and those that wait for it.
pub(crate) struct Sender {
    what: &'static str,
    /// For the log: without a path, which may be a secret.
    host: String,
    uri: Uri,
    headers: HeaderMap,
    body: Frame,
    client: HttpClient,
    queue: Queue,
}

impl Sender {
    /// # Errors
    /// One line that says what to change, without any secret.
    pub(crate) fn new(destination: Destination, client: HttpClient) -> Result<Sender, String> {
        let Destination { what, url, mut headers, body } = destination;
        let uri: Uri = url.parse().map_err(|_| format!("the URL of the {what} is not valid"))?;
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        Ok(Sender { what, host, uri, headers, body, client, queue: Queue::default() })
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Posts entries, until the queue is closed and empty.
    pub(crate) async fn run(self: Arc<Sender>) {
        loop {
            let lines = self.queue.take(BATCH_ENTRIES_MAX, BATCH_BYTES_MAX);
            if lines.is_empty() {
                if self.queue.is_closed() {
                    return;
                }
                self.queue.changed().await;
                continue;
            }
            if !self.give(&lines).await {
                return;
            }
            self.queue.done();
        }
    }

    /// Posts entries, however often that fails; `false` if the queue is closed before they are taken.
    async fn give(&self, lines: &[Bytes]) -> bool {
        let (content_type, body) = (self.body)(lines);
        let mut pause = PAUSE_MIN;
        loop {
            let was_closed = self.queue.is_closed();
            match self.post(content_type, body.clone()).await {
                Ok(()) => {
                    if self.queue.note_failing(false) {
                        tracing::info!(host = self.host, "the {} takes entries again", self.what);
                    }
                    return true;
                }
                Err(reason) => {
                    if self.queue.note_failing(true) {
                        tracing::error!(
                            host = self.host,
                            reason,
                            "the {} takes no entries: they wait",
                            self.what
                        );
                    }
                    if was_closed {
                        return false;
                    }
                }
            }
            self.pause(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Waits some time, less if the queue is closed meanwhile.
    async fn pause(&self, time: Duration) {
        let closed = async {
            while !self.queue.is_closed() {
                self.queue.changed().await;
            }
        };
        let _ = tokio::time::timeout(time, closed).await;
    }

    async fn post(&self, content_type: &'static str, body: Bytes) -> Result<(), String> {
        let request = Request::post(self.uri.clone()).body(Full::new(body));
        let mut request = request.map_err(|error| error.to_string())?;
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let answered = tokio::time::timeout(TIMEOUT, self.client.request(request)).await;
        let answered = answered.map_err(|_| format!("no answer within {} s", TIMEOUT.as_secs()))?;
        let answer = answered.map_err(|error| in_one_line(&error))?;
        let status = answer.status();
        // The head has decided.
        let rest = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let _ = tokio::time::timeout(PAUSE_MIN, rest).await;
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("it answered {status}")),
        }
    }
}
