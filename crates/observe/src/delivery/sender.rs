//! [`Sender`]: posts queued entries to a target, several at once if many are queued.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

use super::queue::Queue;
use liteio_wire::http_client::{HttpClient, in_one_line};

const AGENT: &str = concat!("LiteIO/", env!("CARGO_PKG_VERSION"));

/// Limit of bytes in one request.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Timeout from the start of a request to the head of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between two attempts: the first one, and the longest one of the backoff.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Response bytes that are read, so that the connection can be reused.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Makes the media type and body for some entries.
pub(super) type Frame = Box<dyn Fn(&[Bytes]) -> (&'static str, Bytes) + Send + Sync>;

/// A target, and the format of its bodies.
pub struct Destination {
    /// Its name in the log.
    pub what: &'static str,
    /// The URL that entries are posted to.
    pub url: String,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Formats entries as a body.
    pub body: Frame,
    /// Limit of entries in one request.
    pub(crate) entries_max: usize,
}

/// The outcome of delivering entries.
enum Given {
    Taken,
    /// The target rejects the entries, and would reject them again.
    Refused(StatusCode),
    /// The queue was closed before the target accepted the entries.
    Abandoned,
}

/// Statuses that reject the entries themselves. All other errors concern the state of the target,
/// which may change, so they are retried.
const REFUSALS: [StatusCode; 4] = [
    StatusCode::BAD_REQUEST,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// An HTTP target, and its queue.
pub struct Sender {
    what: &'static str,
    /// The host for the log. The path is left out, because it may be a secret.
    host: String,
    uri: Uri,
    headers: HeaderMap,
    body: Frame,
    entries_max: usize,
    client: HttpClient,
    queue: Queue,
}

impl Sender {
    /// # Errors
    /// One line with advice, without any secret.
    pub fn new(destination: Destination, client: HttpClient) -> Result<Sender, String> {
        let Destination { what, url, mut headers, body, entries_max } = destination;
        let uri: Uri = url.parse().map_err(|_| format!("the URL of the {what} is not valid"))?;
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        let queue = Queue::default();
        Ok(Sender { what, host, uri, headers, body, entries_max, client, queue })
    }

    /// The queue that feeds this sender.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Posts entries until the queue is closed and empty. If a batch is rejected, its entries are
    /// posted one by one, because a single entry or the batch size may be the reason. An entry that
    /// is rejected alone is dropped: otherwise it would block all entries behind it.
    pub async fn run(self: Arc<Sender>) {
        let mut singly = 0;
        loop {
            let entries_max = if singly > 0 { 1 } else { self.entries_max };
            let lines = self.queue.take(entries_max, BATCH_BYTES_MAX);
            if lines.is_empty() {
                if self.queue.is_closed() {
                    return;
                }
                self.queue.changed().await;
                continue;
            }
            match self.give(&lines).await {
                Given::Taken => self.queue.done(),
                Given::Refused(_) if lines.len() > 1 => {
                    self.queue.put_back(&lines);
                    singly = lines.len();
                    continue;
                }
                Given::Refused(status) => {
                    if self.queue.note_failing(true) {
                        let what = self.what;
                        tracing::error!(host = self.host, %status, "the {what} refuses entries: they are lost");
                    }
                    self.queue.lose();
                }
                Given::Abandoned => return,
            }
            singly = singly.saturating_sub(1);
        }
    }

    /// Posts entries, with retries, until they are accepted or rejected, or the queue is closed.
    async fn give(&self, lines: &[Bytes]) -> Given {
        let (content_type, body) = (self.body)(lines);
        let mut pause = PAUSE_MIN;
        loop {
            let was_closed = self.queue.is_closed();
            let reason = match self.post(content_type, body.clone()).await {
                Ok(status) if status.is_success() => {
                    if self.queue.note_failing(false) {
                        tracing::info!(host = self.host, "the {} takes entries again", self.what);
                    }
                    return Given::Taken;
                }
                Ok(status) if REFUSALS.contains(&status) => return Given::Refused(status),
                Ok(status) => format!("it answered {status}"),
                Err(reason) => reason,
            };
            if self.queue.note_failing(true) {
                let what = self.what;
                tracing::error!(host = self.host, reason, "the {what} takes no entries: they wait");
            }
            if was_closed {
                return Given::Abandoned;
            }
            self.pause(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Waits, at most until the queue is closed.
    async fn pause(&self, time: Duration) {
        let closed = async {
            while !self.queue.is_closed() {
                self.queue.changed().await;
            }
        };
        let _ = tokio::time::timeout(time, closed).await;
    }

    /// Posts a body once. Returns the response status, or the reason why there is no response.
    async fn post(&self, content_type: &'static str, body: Bytes) -> Result<StatusCode, String> {
        let request = Request::post(self.uri.clone()).body(Full::new(body));
        let mut request = request.map_err(|error| error.to_string())?;
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let answered = tokio::time::timeout(TIMEOUT, self.client.request(request)).await;
        let answered = answered.map_err(|_| format!("no answer within {} s", TIMEOUT.as_secs()))?;
        let answer = answered.map_err(|error| in_one_line(&error))?;
        let status = answer.status();
        // The head decides about success; the body is read only to reuse the connection.
        let rest = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let _ = tokio::time::timeout(PAUSE_MIN, rest).await;
        Ok(status)
    }
}
