//! [`Sender`]: entries are posted to a target, several at a time when many wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

use super::queue::Queue;
use liteio_wire::http_client::{HttpClient, in_one_line};

const AGENT: &str = concat!("LiteIO/", env!("CARGO_PKG_VERSION"));

/// Bytes of one request.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// From the begin of a request to the head of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two attempts: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// An answer is read up to here, so that its connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The media type and the body for some entries.
pub(super) type Frame = Box<dyn Fn(&[Bytes]) -> (&'static str, Bytes) + Send + Sync>;

/// A target, and how bodies for it are made.
pub struct Destination {
    /// Its name in the log.
    pub what: &'static str,
    /// The URL that entries are posted to.
    pub url: String,
    /// Sent along with each request.
    pub headers: HeaderMap,
    /// Makes a body of some entries.
    pub body: Frame,
    /// Entries of one request.
    pub(crate) entries_max: usize,
}

/// The fate of entries that were given to a target.
enum Given {
    Taken,
    /// The target will not take them, however often they are sent.
    Refused(StatusCode),
    /// The queue was closed before the target could take them.
    Abandoned,
}

/// Answers about the entries. All others are about the target, which may be another one soon.
const REFUSALS: [StatusCode; 4] = [
    StatusCode::BAD_REQUEST,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// A target that takes entries by HTTP, and those that wait for it.
pub struct Sender {
    what: &'static str,
    /// For the log: without a path, which may be a secret.
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
    /// One line that says what to change, without any secret.
    pub fn new(destination: Destination, client: HttpClient) -> Result<Sender, String> {
        let Destination { what, url, mut headers, body, entries_max } = destination;
        let uri: Uri = url.parse().map_err(|_| format!("the URL of the {what} is not valid"))?;
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        let queue = Queue::default();
        Ok(Sender { what, host, uri, headers, body, entries_max, client, queue })
    }

    /// The queue that it empties.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Posts entries, until the queue is closed and empty. Those of a batch that is refused are posted one by one: one of
    /// them, or their number, may be the reason. One that is refused alone is lost, or all behind it would wait for ever.
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

    /// Posts entries, however often that fails, until they are taken or refused, or the queue is closed.
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

    /// Waits some time, less if the queue is closed meanwhile.
    async fn pause(&self, time: Duration) {
        let closed = async {
            while !self.queue.is_closed() {
                self.queue.changed().await;
            }
        };
        let _ = tokio::time::timeout(time, closed).await;
    }

    /// Posts a body once: the status of the answer, or the reason why there is none.
    async fn post(&self, content_type: &'static str, body: Bytes) -> Result<StatusCode, String> {
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
        Ok(status)
    }
}
