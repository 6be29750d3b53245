//! [`Buffer`]: log lines that wait for their delivery. A request adds its line and goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_s3::bucket_logging::{KeyFormat, Logging};
use liteio_store::{Bucket, BucketId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::figures::{Counters, add};
use crate::limits::{LOG_BYTES_OF_BUCKET_MAX, LOG_BYTES_WAITING_MAX, LOG_OBJECT_BYTES};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The lines that wait.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    lines: Mutex<Lines>,
    /// Wakes the worker before its interval has passed.
    pub(super) is_due: Notify,
    pub(super) counters: Arc<Counters>,
}

/// One line.
#[derive(Debug)]
pub(super) struct Entry {
    /// Time of the request, in milliseconds since 1970.
    pub(super) at_ms: u64,
    pub(super) line: String,
}

#[derive(Debug, Default)]
struct Lines {
    of_buckets: BTreeMap<BucketId, OfBucket>,
    /// Bytes of all lines, also of the ones that are being delivered.
    bytes: usize,
}

#[derive(Debug, Default)]
struct OfBucket {
    batches: Vec<Batch>,
    /// Bytes of its lines, also of the ones that are being delivered.
    bytes: usize,
}

/// Lines that become one object.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) source: Arc<Bucket>,
    pub(super) rule: Arc<Logging>,
    /// The day of the requests, counted from 1970; only where keys have it.
    pub(super) day: Option<u64>,
    pub(super) text: String,
    pub(super) lines: u64,
}

impl Buffer {
    /// An empty buffer.
    pub(super) fn new(counters: Arc<Counters>) -> Buffer {
        Buffer { counters, ..Buffer::default() }
    }

    /// Adds a line, or counts it as lost. Never waits for a delivery.
    pub(super) fn push(&self, source: &Arc<Bucket>, rule: &Arc<Logging>, entry: Entry) {
        let Entry { at_ms, line } = entry;
        let mut lines = self.lines.lock();
        let of_bucket = lines.of_buckets.get(&source.id).map_or(0, |it| it.bytes);
        if lines.bytes + line.len() > LOG_BYTES_WAITING_MAX
            || of_bucket + line.len() > LOG_BYTES_OF_BUCKET_MAX
        {
            drop(lines);
            add(&self.counters.log_lines_lost, 1);
            return;
        }
        lines.bytes += line.len();
        let of_bucket = lines.of_buckets.entry(source.id).or_default();
        of_bucket.bytes += line.len();
        let is_due = of_bucket.bytes >= LOG_OBJECT_BYTES;
        let day = (rule.key_format == KeyFormat::ByEventTime).then_some(at_ms / DAY_MS);
        let is_same = |batch: &&mut Batch| {
            batch.day == day
                && batch.text.len() < LOG_OBJECT_BYTES
                && (Arc::ptr_eq(&batch.rule, rule) || batch.rule == *rule)
        };
        match of_bucket.batches.iter_mut().find(is_same) {
            Some(batch) => {
                batch.text.push_str(&line);
                batch.lines += 1;
            }
            None => of_bucket.batches.push(Batch {
                source: Arc::clone(source),
                rule: Arc::clone(rule),
                day,
                text: line,
                lines: 1,
            }),
        }
        drop(lines);
        if is_due {
            self.is_due.notify_one();
        }
    }

    /// Takes all batches. Each is given back or [done](Buffer::done).
    pub(super) fn take(&self) -> Vec<Batch> {
        let mut lines = self.lines.lock();
        let batches = lines.of_buckets.values_mut().map(|it| std::mem::take(&mut it.batches));
        batches.flatten().collect()
    }

    /// Returns a batch that could not be delivered now.
    pub(super) fn give_back(&self, batch: Batch) {
        let mut lines = self.lines.lock();
        let of_bucket = lines.of_buckets.entry(batch.source.id).or_default();
        of_bucket.batches.insert(0, batch);
    }

    /// Forgets a batch that is delivered or lost.
    pub(super) fn done(&self, batch: &Batch) {
        let mut lines = self.lines.lock();
        lines.bytes = lines.bytes.saturating_sub(batch.text.len());
        if let Some(of_bucket) = lines.of_buckets.get_mut(&batch.source.id) {
            of_bucket.bytes = of_bucket.bytes.saturating_sub(batch.text.len());
            if of_bucket.bytes == 0 {
                lines.of_buckets.remove(&batch.source.id);
            }
        }
    }

    /// Bytes that wait or are being delivered.
    pub(super) fn bytes(&self) -> u64 {
        self.lines.lock().bytes as u64
    }
}
