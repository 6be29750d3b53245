//! Events: changes of objects, as observers and targets are told of them. Records of the outbox.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::queue::QueueState;
use super::record::{self, Sealed};
use crate::error::StoreError;
use crate::etag::ETag;

/// Makes the enum of events, and their names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// A kind of event, as [Amazon
        /// S3](https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html)
        /// has it.
        // The order is part of the record format: add at the end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum EventKind {
            $($(#[$doc])* $kind,)*
        }

        impl EventKind {
            /// All kinds.
            pub const ALL: &[EventKind] = &[$(Self::$kind,)*];

            /// Name of the kind, without `s3:`.
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
    /// A restore was requested.
    RestorePost = "ObjectRestore:Post",
    /// A restore has completed.
    RestoreCompleted = "ObjectRestore:Completed",
    /// A restored copy has expired.
    RestoreDelete = "ObjectRestore:Delete",
    /// A retention was put, or an event hold set or released.
    RetentionPut = "ObjectRetention:Put",
    /// An annotation was put.
    AnnotationPut = "ObjectAnnotation:Put",
    /// An annotation was deleted.
    AnnotationDelete = "ObjectAnnotation:Delete",
}

impl EventKind {
    /// `true` if a rule for `pattern` applies to the kind.
    pub(super) fn matches(self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(family) => self.name().starts_with(family),
            None => self.name() == pattern,
        }
    }
}

/// Observer of every event in this process. It is told after the commit of a change and before its
/// answer. The store keeps nothing for it: if the process ends, untold events are lost.
///
/// Events arrive in the order of their changes if one change was answered before the next was
/// requested. Events of concurrent changes may arrive in any order and at the same time, also for
/// one key. The queues of targets keep the order of the commits.
pub trait EventObserver: fmt::Debug + Send + Sync {
    /// Tells of an event, which all observers share. The change waits for the end of the call.
    fn told(&self, event: &Arc<Event>);
}

/// Sender of a request, as events name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requester {
    /// Id of the user; empty for an anonymous one.
    pub principal_id: String,
    /// Address from which the request came.
    pub source_address: String,
    /// Id of the request.
    pub request_id: String,
    /// Second id of the request.
    pub host_id: String,
    /// `User-Agent` of the request. Observers see it, queues keep it in [`Event::metadata`]'s version of the record.
    #[serde(skip)]
    pub user_agent: String,
}

/// Reason for a change, as events name it.
// The order is part of the record format: add at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A reason that is not told.
    #[default]
    Unknown,
    /// A request.
    Request(Box<Requester>),
    /// The service itself: a lifecycle rule, or the end of a restore.
    Lifecycle,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Kind of the event.
    pub kind: EventKind,
    /// Time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// Name of the bucket.
    pub bucket: String,
    /// Id of the owner of the bucket.
    pub bucket_owner_id: String,
    /// Id of the rule that selected the event.
    pub rule: String,
    /// Reason for the change.
    pub cause: Cause,
    /// Key of the object; empty in a test event.
    pub key: String,
    /// Version as clients name it, in a bucket that has or had versioning.
    pub version: Option<String>,
    /// Size of the object, if one was made.
    pub bytes: Option<u64>,
    /// Entity tag of the version, if it still exists.
    pub etag: Option<ETag>,
    /// Facts of a restore, in its own version of the record.
    #[serde(skip)]
    pub restore: Option<RestoreFacts>,
    /// The annotation that was put or deleted, in its own version of the record.
    #[serde(skip)]
    pub annotation: Option<AnnotationFacts>,
    /// Metadata of the version; empty unless it is an object that still exists. Observers see it, queues keep it, in its own
    /// version of the record, only where [`StoreConfig::events_keep_details`](crate::StoreConfig::events_keep_details) says so.
    #[serde(skip)]
    pub metadata: Option<Box<MetadataFacts>>,
}

/// Metadata of a version, for the event of its change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataFacts {
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// Storage class; `None` for `STANDARD`.
    pub storage_class: Option<String>,
    /// User metadata: lower-case names without `x-amz-meta-`, values as sent.
    pub user: Vec<(String, String)>,
}

/// Facts of an annotation, for the event of its change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnotationFacts {
    /// The name.
    pub name: String,
    /// The size of the payload.
    pub bytes: u64,
    /// The entity tag.
    pub etag: ETag,
}

/// Facts of a restore that has completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreFacts {
    /// Time at which the restored copy expires, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Storage class of the object.
    pub class: String,
}

impl Event {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        if let Some(metadata) = &self.metadata {
            let agent = match &self.cause {
                Cause::Request(requester) => &*requester.user_agent,
                Cause::Unknown | Cause::Lifecycle => "",
            };
            let fields = (self, &self.restore, &self.annotation, agent, metadata);
            return record::seal(4, place, &fields, &[]);
        }
        match (&self.restore, &self.annotation) {
            (None, None) => record::seal(1, place, self, &[]),
            (Some(restore), _) => record::seal(2, place, &(self, restore), &[]),
            (None, Some(annotation)) => record::seal(3, place, &(self, annotation), &[]),
        }
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "an event";
        let (version, _) = record::split_version(bytes, 4)?;
        let sealed = Sealed::open(place, bytes, WHAT)?;
        match version {
            1 => sealed.decode(WHAT),
            3 => {
                let (event, annotation) = sealed.decode(WHAT)?;
                Ok(Self { annotation: Some(annotation), ..event })
            }
            4 => {
                let (mut event, restore, annotation, agent, metadata) =
                    sealed.decode::<(Self, _, _, String, _)>(WHAT)?;
                if let Cause::Request(requester) = &mut event.cause {
                    requester.user_agent = agent;
                }
                Ok(Self { restore, annotation, metadata: Some(metadata), ..event })
            }
            _ => {
                let (event, restore) = sealed.decode(WHAT)?;
                Ok(Self { restore: Some(restore), ..event })
            }
        }
    }
}

/// State of the outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// Queues, by the name of their target.
    pub queues: BTreeMap<String, QueueState>,
}

impl OutboxState {
    /// Number of events that were lost, for all targets together.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queues.values().map(|queue| queue.lost).sum()
    }
}
