//! The targets of replication: buckets of other servers, by the ARN that rules name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_store::{Bucket, BucketId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

/// A target of replication.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteTarget {
    /// The ARN.
    pub arn: String,
    /// The URL of the service.
    pub url: String,
    /// The bucket there.
    pub bucket: String,
    /// Access key of the user who writes there.
    pub access_key: String,
    /// Secret key of that user.
    pub secret_key: String,
    /// The region; `None` to learn it from the first answer.
    pub region: Option<String>,
    /// The kind of the service; `None` to learn it from the first answer.
    pub kind: Option<RemoteKind>,
    /// The buckets that may be copied to it.
    pub sources: RemoteSources,
}

/// The kind of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// LiteIO: copies keep version id, times and entity tag.
    Liteio,
    /// MinIO: the same.
    Minio,
    /// Any other S3: copies get new version ids.
    S3,
}

/// The buckets that may be copied to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteSources {
    /// Buckets with these names; all if it is empty.
    Named(Vec<String>),
    /// One bucket. Another one that gets its name later may not use the credentials of the target.
    One {
        /// Name.
        name: String,
        /// Number.
        id: BucketId,
    },
}

impl RemoteKind {
    /// The kind with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<RemoteKind> {
        match name {
            "liteio" => Some(RemoteKind::Liteio),
            "minio" => Some(RemoteKind::Minio),
            "s3" => Some(RemoteKind::S3),
            _ => None,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RemoteKind::Liteio => "liteio",
            RemoteKind::Minio => "minio",
            RemoteKind::S3 => "s3",
        }
    }
}

impl RemoteTarget {
    /// `true` if it was added at run time.
    fn is_made(&self) -> bool {
        matches!(self.sources, RemoteSources::One { .. })
    }

    /// `true` if this bucket may be copied to it.
    #[must_use]
    pub fn is_open_to(&self, bucket: &Bucket) -> bool {
        match &self.sources {
            RemoteSources::Named(names) => {
                names.is_empty() || names.iter().any(|name| name == bucket.name.as_str())
            }
            RemoteSources::One { id, .. } => *id == bucket.id,
        }
    }
}

// Secrets are never shown.
impl fmt::Debug for RemoteTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteTarget")
            .field("arn", &self.arn)
            .field("url", &self.url)
            .field("bucket", &self.bucket)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// Counters and state of a target since the start of the server.
#[derive(Debug, Default)]
pub struct RemoteFigures {
    /// Versions, markers, deletions and changes that it has.
    pub copied: AtomicU64,
    /// Bytes of the copied versions.
    pub bytes: AtomicU64,
    /// Attempts that failed.
    pub failed: AtomicU64,
    /// `true` while it does not take what it gets.
    pub is_failing: AtomicBool,
    /// Time of the failure that began this, in milliseconds since 1970.
    pub failing_since_ms: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl RemoteFigures {
    /// The last failure in one line, until the next success.
    pub fn last_error(&self) -> Option<String> {
        self.last_error.lock().clone()
    }

    /// Notes a failure.
    pub fn note_failure(&self, line: &str) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock() = Some(line.chars().take(ERROR_CHARACTERS_MAX).collect());
    }

    /// Notes a success.
    pub fn note_copy(&self, bytes: u64) {
        self.copied.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.is_failing.load(Ordering::Relaxed) {
            *self.last_error.lock() = None;
        }
    }
}

/// Longest kept failure: it comes from another server.
const ERROR_CHARACTERS_MAX: usize = 512;

/// All targets.
#[derive(Debug)]
pub struct RemoteTargets {
    by_arn: RwLock<BTreeMap<String, Known>>,
    changes: watch::Sender<u64>,
}

/// A target with its figures, which outlive a change of its credentials.
type Known = (Arc<RemoteTarget>, Arc<RemoteFigures>);

impl RemoteTargets {
    /// These targets.
    #[must_use]
    pub fn new(targets: Vec<RemoteTarget>) -> RemoteTargets {
        let known = |target: RemoteTarget| (target.arn.clone(), (Arc::new(target), Arc::default()));
        RemoteTargets {
            by_arn: RwLock::new(targets.into_iter().map(known).collect()),
            changes: watch::Sender::new(0),
        }
    }

    /// The target with this ARN.
    #[must_use]
    pub fn get(&self, arn: &str) -> Option<Arc<RemoteTarget>> {
        self.by_arn.read().get(arn).map(|(target, _)| Arc::clone(target))
    }

    /// All targets with their figures, in the order of their ARNs.
    #[must_use]
    pub fn all(&self) -> Vec<(Arc<RemoteTarget>, Arc<RemoteFigures>)> {
        self.by_arn.read().values().cloned().collect()
    }

    /// Adds a target, in place of the one with its ARN.
    pub fn set(&self, target: RemoteTarget) {
        let mut by_arn = self.by_arn.write();
        let figures = by_arn.get(&target.arn).map(|(_, figures)| Arc::clone(figures));
        by_arn.insert(target.arn.clone(), (Arc::new(target), figures.unwrap_or_default()));
        drop(by_arn);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Replaces the targets that are for one bucket. Others with the same ARN stay.
    pub fn replace_made(&self, made: Vec<RemoteTarget>) {
        let gone: Vec<String> = {
            let by_arn = self.by_arn.read();
            let is_gone = |target: &RemoteTarget| {
                target.is_made() && !made.iter().any(|other| other.arn == target.arn)
            };
            let gone = by_arn.values().filter(|(target, _)| is_gone(target));
            gone.map(|(target, _)| target.arn.clone()).collect()
        };
        for arn in gone {
            self.remove(&arn);
        }
        for target in made {
            match self.get(&target.arn) {
                Some(known) if !known.is_made() || *known == target => {}
                _ => self.set(target),
            }
        }
    }

    /// Removes a target. `false` if there is none.
    pub fn remove(&self, arn: &str) -> bool {
        let is_removed = self.by_arn.write().remove(arn).is_some();
        self.changes.send_modify(|count| *count += 1);
        is_removed
    }

    /// Tells of changes of the list.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
