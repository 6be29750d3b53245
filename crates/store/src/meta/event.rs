//! Events: what has become of an object, as it is told to somebody else. Records of the outbox.

use std::collections::BTreeMap;
use std::fmt;

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;
use crate::etag::ETag;

/// Makes the enum of events, and their names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// A kind of event, as
        /// [Amazon S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html)
        /// has it.
        // The order is part of the record format: add at the end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum EventKind {
            $($(#[$doc])* $kind,)*
        }

        impl EventKind {
            /// Its name, without `s3:`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The notifications of a bucket were set.
    Test = "TestEvent",
    /// PutObject.
    CreatedPut = "ObjectCreated:Put",
    /// An upload by a form.
    CreatedPost = "ObjectCreated:Post",
    /// CopyObject.
    CreatedCopy = "ObjectCreated:Copy",
    /// CompleteMultipartUpload.
    CreatedComplete = "ObjectCreated:CompleteMultipartUpload",
    /// A version was removed.
    RemovedDelete = "ObjectRemoved:Delete",
    /// A delete marker was added.
    RemovedMarker = "ObjectRemoved:DeleteMarkerCreated",
    /// A version was removed by a lifecycle rule.
    ExpiredDelete = "LifecycleExpiration:Delete",
    /// A delete marker was added by a lifecycle rule.
    ExpiredMarker = "LifecycleExpiration:DeleteMarkerCreated",
    /// Tags were put.
    TaggingPut = "ObjectTagging:Put",
    /// Tags were deleted.
    TaggingDelete = "ObjectTagging:Delete",
    /// An access control list was put.
    AclPut = "ObjectAcl:Put",
}

impl EventKind {
    /// `true` if a rule for `pattern` is about it.
    pub(super) fn matches(self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(family) => self.name().starts_with(family),
            None => self.name() == pattern,
        }
    }
}

/// Whoever is told every event of an object in this process, after the commit of the change and before its answer. What
/// it is told is nowhere else: a process that ends takes it along.
///
/// Events come in the order of their changes where one was answered before the next was asked for. Those of changes that
/// are under way at the same time may come in any order, and at the same time, also of one key. The queues of targets keep
/// the order of the commits.
pub trait EventObserver: fmt::Debug + Send + Sync {
    /// An event. The change waits for the end of the call.
    fn told(&self, event: &Event);
}

/// The sender of a request, as events tell of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requester {
    /// The id of the user; empty of an anonymous one.
    pub principal_id: String,
    /// The address that the request came from.
    pub source_address: String,
    /// The id of the request.
    pub request_id: String,
    /// The second id of the request.
    pub host_id: String,
}

/// The reason for a change, as events tell of it.
// The order is part of the record format: add at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// One that is not told.
    #[default]
    Unknown,
    /// A request.
    Request(Box<Requester>),
    /// A lifecycle rule.
    Lifecycle,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its kind.
    pub kind: EventKind,
    /// Its time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The name of the bucket.
    pub bucket: String,
    /// The id of the owner of the bucket.
    pub bucket_owner_id: String,
    /// The id of the rule that it is told by.
    pub rule: String,
    /// The reason for the change.
    pub cause: Cause,
    /// The key; empty of a test event.
    pub key: String,
    /// The version, in a bucket that has or had versioning, as clients name it.
    pub version: Option<String>,
    /// The size of the object, if one was made.
    pub bytes: Option<u64>,
    /// The entity tag of the version, if there still is one.
    pub etag: Option<ETag>,
}

impl Event {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "an event";
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }
}

/// The state of the outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxState {
    /// Greater than the number of every event so far.
    pub(crate) next: u64,
    /// The queues, by the names of their targets.
    pub queues: BTreeMap<String, QueueState>,
}

/// The state of the queue for one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// Events that wait.
    pub waiting: u64,
    /// Events that were lost, because so many waited.
    pub lost: u64,
}

impl OutboxState {
    /// Events that were lost, for all targets.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queues.values().map(|queue| queue.lost).sum()
    }

    pub(crate) fn read(from: &impl Read) -> Result<Option<Self>, StoreError> {
        from.get(space::OUTBOX_KEY)?.map(|bytes| Self::decode(&bytes)).transpose()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the outbox's record";
        record::split_version(bytes, 1)?;
        Sealed::open(space::OUTBOX_KEY, bytes, WHAT)?.decode(WHAT)
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), StoreError> {
        Ok(to.put(space::OUTBOX_KEY, &record::seal(1, space::OUTBOX_KEY, self, &[]))?)
    }
}
