//! The audit log: one entry per request except health checks, to a file and to webhooks.
//!
//! ```text
//!  a request ends ──► entry, a line of JSON ──► queue of each target ──► its thread or task ──► file, webhook
//!                                               full: lost, counted
//! ```
//! A request never waits for a target. Entries that a target does not accept stay in its queue and
//! are retried, until the queue is full.

mod entry;
mod file;
mod rotation;
pub mod settings;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use self::file::FileWriter;
use crate::audit::settings::{AuditPosts, AuditSettings, AuditWebhook};
use crate::delivery::{Destination, Follower, Queue, Sender, authorization};
use crate::trace::Entry;
use liteio_wire::front::{Finished, Observer};
use liteio_wire::http_client::http_client;

/// Time to deliver the queued entries when the server stops.
const END: Duration = Duration::from_secs(5);

/// Entries per post of a webhook that accepts batches.
const BATCH_ENTRIES_MAX: usize = 100;

/// The audit log of a server.
pub struct Audit {
    file: Option<FileWriter>,
    webhooks: Vec<Arc<Sender>>,
    acts_as_minio: bool,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Audit {
    /// Opens the targets; `None` if there are none. An entry of a server that acts as MinIO names users without account and path.
    ///
    /// # Errors
    /// One line with advice, without any secret.
    pub fn open(
        settings: &AuditSettings,
        acts_as_minio: bool,
        ca_file: Option<&Path>,
    ) -> Result<Option<Arc<Audit>>, String> {
        let open = |path| FileWriter::open(path, settings.rotation);
        let file = settings.file.as_deref().map(open).transpose()?;
        let mut webhooks = Vec::new();
        if !settings.webhooks.is_empty() {
            let client = http_client(ca_file)?;
            for webhook in &settings.webhooks {
                webhooks.push(Arc::new(Sender::new(destination(webhook)?, client.clone())?));
            }
        }
        if file.is_none() && webhooks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Audit { file, webhooks, acts_as_minio, tasks: Mutex::default() })))
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        let of_webhooks = self.webhooks.iter().map(|sender| sender.queue());
        self.file.iter().map(FileWriter::queue).chain(of_webhooks)
    }
}

#[async_trait::async_trait]
impl Follower for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn start(&self) {
        let tasks = self.webhooks.iter().map(|sender| tokio::spawn(Arc::clone(sender).run()));
        self.tasks.lock().extend(tasks);
    }

    fn reopen(&self) {
        if let Some(file) = &self.file {
            file.reopen();
        }
    }

    async fn close(&self) {
        self.queues().for_each(Queue::close);
        let tasks: Vec<_> = self.tasks.lock().drain(..).collect();
        let all = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        let _ = tokio::time::timeout(END, all).await;
        if let Some(file) = &self.file {
            file.ended(END).await;
        }
        let waiting: u64 = self.queues().map(Queue::waiting).sum();
        if waiting > 0 {
            tracing::error!(
                waiting,
                "entries of the audit log are lost: their target did not take them"
            );
        }
    }

    fn state(&self) -> Value {
        json!({
            "waiting": self.queues().map(Queue::waiting).sum::<u64>(),
            "lost": self.lost(),
            "failing_targets": self.queues().filter(|queue| queue.is_failing()).count(),
        })
    }

    fn lost(&self) -> u64 {
        self.queues().map(Queue::lost).sum()
    }

    fn loss(&self) -> Option<String> {
        let told =
            "entries of the audit log were lost since the start: a target does not take them";
        let lost = self.lost();
        (lost > 0).then(|| format!("{lost} {told}"))
    }
}

fn destination(webhook: &AuditWebhook) -> Result<Destination, String> {
    let mut headers = HeaderMap::new();
    if let Some(token) = &webhook.token {
        let value = authorization(token);
        let value = value.map_err(|_| "the token of the audit webhook is not valid")?;
        headers.insert(AUTHORIZATION, value);
    }
    let (what, url) = ("audit webhook", webhook.url.clone());
    let entries_max = match webhook.posts {
        AuditPosts::Single => 1,
        AuditPosts::Batches => BATCH_ENTRIES_MAX,
    };
    Ok(Destination { what, url, headers, body: Box::new(lines), entries_max })
}

/// Formats one entry as MinIO posts it; several as JSON lines.
fn lines(entries: &[Bytes]) -> (&'static str, Bytes) {
    let content_type = match entries.len() {
        1 => "application/json",
        _ => "application/x-ndjson",
    };
    (content_type, Bytes::from(entries.concat()))
}

impl Observer for Audit {
    fn wants_heads(&self) -> bool {
        true
    }

    fn finished(&self, finished: &Finished<'_>) {
        let Some(heads) = finished.heads else { return };
        // Monitoring polls the health every few seconds.
        if finished.origin.found.is_health() {
            return;
        }
        let line = Bytes::from(entry::line(&Entry::new(finished, heads), self.acts_as_minio));
        self.queues().for_each(|queue| queue.push(&line));
    }
}
