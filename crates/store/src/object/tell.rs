//! Events of objects: the outbox entry for a change of a version.

use std::sync::Arc;

use liteio_kv::Transaction;

use super::Annotation;
use crate::error::StoreError;
use crate::meta::bucket::BucketState;
use crate::meta::event::{AnnotationFacts, Cause, Event, EventKind, MetadataFacts};
use crate::meta::object::ObjectRecord;
use crate::meta::{Notifications, RestoreFacts, Versioning, document};
use crate::name::ObjectKey;
use crate::outbox;
use crate::process::{Bucket, TellObservers, WakeSender};
use crate::store::Shared;

/// Guards that, after the commit, wake the senders of the targets that rules name, and call the
/// observers of all events.
pub(crate) type Told = (Vec<WakeSender>, Option<TellObservers>);

/// Queues the event of a change of `record` for each target that a rule of the bucket names, and
/// keeps it for the observers of the store. The guard must live until the commit.
pub(super) fn tell(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: (&Bucket, &BucketState),
    version: (&ObjectKey, &ObjectRecord),
    event: (EventKind, &Cause),
) -> Result<Told, StoreError> {
    tell_with(write, shared, place, version, event, None)
}

/// [`tell`] for a change of an annotation.
pub(super) fn tell_with(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, &BucketState),
    (key, record): (&ObjectKey, &ObjectRecord),
    (kind, cause): (EventKind, &Cause),
    annotation: Option<&Annotation>,
) -> Result<Told, StoreError> {
    let kept: Option<Notifications>;
    let notified = match state.settings_stamp == bucket.settings_stamp {
        true => bucket.settings.notifications.as_deref(),
        // The settings were changed since the request began: read the current ones in the
        // transaction.
        false => {
            let document = document::read(write, bucket.id, document::NOTIFICATION)?;
            kept = document.as_deref().map(document::decode_setting).transpose()?;
            kept.as_ref()
        }
    };
    let rules = notified.map(|notified| notified.rules_for(kind, key.as_str()));
    let rules = rules.unwrap_or_default();
    let observers = shared.observers.now(shared.config.event_observer.as_ref());
    if rules.is_empty() && observers.is_empty() {
        return Ok(Told::default());
    }
    let is_object = !record.is_delete_marker;
    let is_there = !matches!(kind, EventKind::RemovedDelete | EventKind::ExpiredDelete);
    let has_versions = state.versioning != Versioning::Never;
    let mut event = Event {
        kind,
        time_ms: shared.config.clock.now_ms(),
        bucket: bucket.name.as_str().to_owned(),
        bucket_owner_id: bucket.owner.id.clone(),
        rule: String::new(),
        cause: cause.clone(),
        key: key.as_str().to_owned(),
        version: has_versions.then(|| record.version_id().to_string()),
        bytes: (is_object && is_there).then_some(record.bytes),
        etag: is_there.then_some(record.etag),
        restore: restore_facts(kind, record)?,
        annotation: annotation.map(|it| AnnotationFacts {
            name: it.name.clone(),
            bytes: it.bytes,
            etag: it.etag,
        }),
        metadata: None,
    };
    let metadata = || if is_object && is_there { metadata_facts(record) } else { Box::default() };
    if shared.config.events_keep_details {
        event.metadata = Some(metadata());
    }
    let mut wakes = Vec::with_capacity(rules.len());
    for rule in rules {
        event.rule.clone_from(&rule.id);
        wakes.push(outbox::note(write, shared, &rule.target, &event)?);
    }
    let told = (!observers.is_empty()).then(|| {
        event.metadata.get_or_insert_with(metadata);
        TellObservers::new(observers, event)
    });
    Ok((wakes, told))
}

fn metadata_facts(record: &ObjectRecord) -> Box<MetadataFacts> {
    let metadata = &record.metadata;
    Box::new(MetadataFacts {
        content_type: metadata.headers.content_type.clone(),
        storage_class: metadata.storage_class.clone(),
        user: metadata.user.clone(),
    })
}

/// Facts of a restore, for the event of its completion.
fn restore_facts(
    kind: EventKind,
    record: &ObjectRecord,
) -> Result<Option<RestoreFacts>, StoreError> {
    if kind != EventKind::RestoreCompleted {
        return Ok(None);
    }
    let expires_ms = record.extensions.restore()?.and_then(|restore| restore.expires_ms);
    let class = record.metadata.storage_class.clone().unwrap_or_default();
    Ok(expires_ms.map(|expires_ms| RestoreFacts { expires_ms, class }))
}
