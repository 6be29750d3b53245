//! A webhook of the audit log: entries are posted to it, several at a time when many wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};

use super::queue::Queue;
use crate::config::AuditWebhook;
use crate::http_client::{HttpClient, in_one_line};

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

/// A webhook and the entries that wait for it.
pub(super) struct Sender {
    /// For the log: without a path, which may be a secret.
    host: String,
    uri: Uri,
    authorization: Option<HeaderValue>,
    client: HttpClient,
    queue: Queue,
}

impl Sender {
    pub(super) fn new(webhook: &AuditWebhook, client: HttpClient) -> Result<Sender, String> {
        let uri: Uri =
            webhook.url.parse().map_err(|_| "the URL of the audit webhook is not valid")?;
        // As MinIO, which sends a token with its scheme as it is.
        let authorization = webhook.token.as_ref().map(|token| {
            let text = if token.contains(' ') { token.clone() } else { format!("Bearer {token}") };
            let mut value = HeaderValue::try_from(text)?;
            value.set_sensitive(true);
            Ok::<_, http::header::InvalidHeaderValue>(value)
        });
        let authorization = authorization.transpose();
        Ok(Sender {
            host: uri.authority().map(ToString::to_string).unwrap_or_default(),
            uri,
            authorization: authorization
                .map_err(|_| "the token of the audit webhook is not valid".to_owned())?,
            client,
            queue: Queue::default(),
        })
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Posts entries, until the queue is closed and empty.
    pub(super) async fn run(self: Arc<Sender>) {
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
        let content_type = match lines.len() {
            1 => "application/json",
            _ => "application/x-ndjson",
        };
        let body = Bytes::from(lines.concat());
        let mut pause = PAUSE_MIN;
        loop {
            let was_closed = self.queue.is_closed();
            match self.post(content_type, body.clone()).await {
                Ok(()) => {
                    if self.queue.note_failing(false) {
                        tracing::info!(host = self.host, "the audit webhook takes entries again");
                    }
                    return true;
                }
                Err(reason) => {
                    if self.queue.note_failing(true) {
                        tracing::error!(
                            host = self.host,
                            reason,
                            "the audit webhook takes no entries: they wait"
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
        let mut request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, content_type)
            .header(USER_AGENT, concat!("LiteIO/", env!("CARGO_PKG_VERSION")));
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
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
