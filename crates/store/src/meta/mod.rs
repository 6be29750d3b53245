//! Records, and their places in the key space. Of blobs, only the ids are known here.

pub(crate) mod annotation;
pub(crate) mod answer;
pub(crate) mod backup_location;
pub(crate) mod backup_place;
pub(crate) mod body;
pub(crate) mod bucket;
pub(crate) mod claim;
pub(crate) mod content;
pub(crate) mod document;
pub(crate) mod event;
pub(crate) mod identity;
pub(crate) mod key;
pub(crate) mod lifecycle;
mod lock;
pub(crate) mod moving;
mod notification;
pub(crate) mod object;
pub(crate) mod queue;
mod quota;
pub(crate) mod record;
pub(crate) mod reference;
pub(crate) mod remote;
pub(crate) mod replication;
pub(crate) mod restore;
mod scrub;
pub(crate) mod server;
mod settings;
pub(crate) mod space;
pub(crate) mod standby;
pub(crate) mod table;
mod types;
pub(crate) mod upload;
pub(crate) mod usage;
pub(crate) mod vector;
pub(crate) mod vector_log;
pub(crate) mod vector_metadata;
mod within;

pub use annotation::{AnnotationName, AnnotationNameError};
pub use backup_place::{BackupPlace, BlobSource};
pub use bucket::Versioning;
pub use document::DocumentKind;
pub use event::{
    AnnotationFacts, Cause, Event, EventKind, EventObserver, MetadataFacts, OutboxState, Requester,
    RestoreFacts,
};
pub use lifecycle::{
    Due, Expiration, Lifecycle, LifecycleFilter, LifecycleRule, NoncurrentExpiration,
    NoncurrentTransition, Subject, Transition,
};
pub use lock::{
    DefaultRetention, EventHold, EventHoldChange, LegalHold, ObjectLock, Retention, RetentionMode,
    RetentionPeriod,
};
pub use notification::{NotificationRule, Notifications};
pub use queue::QueueState;
pub use quota::Quota;
pub use replication::{
    ChangeTimes, Replication, ReplicationRow, ReplicationRule, ReplicationStatus, ReplicationTask,
    Resync,
};
pub use restore::{Restore, RestoreRequest, RestoreState, RetrievalTier, is_archive_class};
pub use scrub::ScrubState;
pub use settings::Settings;
pub use table::{TableDocument, TableSettings, TableTags};
pub use types::{ContentHeaders, ObjectMetadata, Owner};
pub use usage::Usage;
