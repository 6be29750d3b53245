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

#[cfg(test)]
mod tests {
    use liteio_store::{NewBucket, Owner, Store, StoreConfig};

    use super::*;

    fn source(store: &Store, name: &str) -> Arc<Bucket> {
        let checked = name.to_owned().try_into().expect("a name");
        let new = NewBucket::new(checked, Owner::default(), "us-east-1".to_owned());
        store.create_bucket(new).wait().expect("created");
        liteio_access::bucket_for_rules(store, name).expect("there")
    }

    fn rule(key_format: KeyFormat) -> Arc<Logging> {
        let (target, prefix) = ("logs".to_owned(), String::new());
        Arc::new(Logging { target, prefix, key_format, grants: Vec::new() })
    }

    fn lost(buffer: &Buffer) -> u64 {
        buffer.counters.figures().log_lines_lost
    }

    fn push(buffer: &Buffer, source: &Arc<Bucket>, rule: &Arc<Logging>, at_ms: u64, bytes: usize) {
        buffer.push(source, rule, Entry { at_ms, line: "x".repeat(bytes) });
    }

    #[test]
    fn lines_beyond_the_limits_are_lost_and_counted_also_while_others_are_delivered() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let buffer = Buffer::new(Arc::default());
        let rule = rule(KeyFormat::Simple);
        let busy = source(&store, "busy");
        let line = LOG_OBJECT_BYTES / 2;
        for _ in 0..LOG_BYTES_OF_BUCKET_MAX / line {
            push(&buffer, &busy, &rule, 0, line);
        }
        assert_eq!(lost(&buffer), 0);
        push(&buffer, &busy, &rule, 0, 1);
        assert_eq!(lost(&buffer), 1, "of one bucket");
        // Taken lines count until they are delivered.
        let mut taken = buffer.take();
        push(&buffer, &busy, &rule, 0, 1);
        assert_eq!((lost(&buffer), buffer.take().len()), (2, 0));
        let batch = taken.pop().expect("a batch");
        buffer.done(&batch);
        push(&buffer, &busy, &rule, 0, 1);
        assert_eq!(lost(&buffer), 2);
        for batch in taken {
            buffer.give_back(batch);
        }
        for number in 0..LOG_BYTES_WAITING_MAX / LOG_BYTES_OF_BUCKET_MAX {
            let other = source(&store, &format!("other-{number}"));
            for _ in 0..LOG_BYTES_OF_BUCKET_MAX / line {
                push(&buffer, &other, &rule, 0, line);
            }
        }
        assert!(lost(&buffer) > 2, "of all buckets");
        assert!(buffer.bytes() <= LOG_BYTES_WAITING_MAX as u64);
        buffer.take().iter().for_each(|batch| buffer.done(batch));
        assert_eq!(buffer.bytes(), 0);
    }

    #[test]
    fn batches_have_one_bucket_one_rule_and_one_day_where_keys_have_it() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let buffer = Buffer::new(Arc::default());
        let (first, second) = (source(&store, "first"), source(&store, "second"));
        let (simple, by_day) = (rule(KeyFormat::Simple), rule(KeyFormat::ByEventTime));
        for at_ms in [0, DAY_MS] {
            push(&buffer, &first, &simple, at_ms, 1);
            push(&buffer, &second, &by_day, at_ms, 1);
        }
        // The same rule, read anew after another setting has changed.
        push(&buffer, &first, &rule(KeyFormat::Simple), 0, 1);
        let batches = buffer.take();
        let mut found: Vec<_> =
            batches.iter().map(|it| (it.source.name.as_str(), it.day, it.lines)).collect();
        found.sort_unstable();
        let expected = [("first", None, 3), ("second", Some(0), 1), ("second", Some(1), 1)];
        assert_eq!(found, expected);
    }
}
