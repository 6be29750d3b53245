//! Holds a store against a model.

use liteio_disk::{Disk, SimulatedDisk};
use liteio_store::{
    AnnotationQuery, Bucket, Cause, DeleteTarget, Durability, ETag, LegalHold, ListBuckets,
    ListEntry, ListQuery, ListUploadsQuery, ListVersionsQuery, Selection, Store, StoreError,
    UploadEntry, Usage, VersionChange, VersionEntry, VersionId,
};
use md5::{Digest as _, Md5};

use super::Check;
use super::disk::{blobs, bucket_name, object_key, open, read};
use super::model::{Model, ModelEvent, ModelObject, ModelUpload, ModelVersion};
use super::run::Run;
use super::workload::{BUCKETS, KEYS, TARGET};
use crate::harness::{head_object, range};

pub(super) fn check(store: &Store, model: &Model) -> Check {
    let page = store
        .list_buckets(&ListBuckets { max: 100, ..Default::default() })
        .map_err(|error| format!("buckets cannot be listed: {error}"))?;
    let found: Vec<(&str, u64)> =
        page.buckets.iter().map(|bucket| (bucket.name.as_str(), bucket.created_ms)).collect();
    let wanted: Vec<(&str, u64)> =
        model.buckets.iter().map(|(name, bucket)| (name.as_str(), bucket.created_ms)).collect();
    same("the buckets", &found, &wanted)?;
    for name in BUCKETS {
        let result = check_bucket(store, model, name);
        result.map_err(|what| format!("{name}: {what}"))?;
    }
    check_events(store, model)
}

fn check_events(store: &Store, model: &Model) -> Check {
    let waiting = store.queued_events(TARGET, None, usize::MAX).map_err(|it| it.to_string())?;
    let found: Result<Vec<ModelEvent>, StoreError> = waiting
        .into_iter()
        .map(|waiting| waiting.event.map(|it| (it.kind.name(), it.bucket, it.key)))
        .collect();
    same("the events", &found.map_err(|error| error.to_string())?, &model.events)?;
    let state = store.outbox_state().map_err(|error| error.to_string())?;
    let counted = state.queues.get(TARGET).map_or(0, |queue| queue.waiting);
    same("the number of events", &counted, &(model.events.len() as u64))
}

fn check_bucket(store: &Store, model: &Model, name: &str) -> Check {
    let bucket = store.bucket(&bucket_name(name));
    let Some(wanted) = model.buckets.get(name) else {
        return match bucket {
            Err(StoreError::NoSuchBucket { .. }) => Ok(()),
            other => Err(format!("it should not be there: {other:?}")),
        };
    };
    let bucket = bucket.map_err(|error| error.to_string())?;
    let query = ListQuery { max: 1000, ..ListQuery::default() };
    let page = store.list_objects(&bucket, &query).map_err(|error| error.to_string())?;
    let listed = page.entries.into_iter().map(|entry| match entry {
        ListEntry::Object(object) => (object.key, object.bytes, object.etag, object.modified_ms),
        ListEntry::Prefix(prefix) => (prefix, u64::MAX, ETag::Md5([0; 16]), 0),
    });
    let listed: Vec<_> = listed.collect();
    let fields = |(key, object): (&String, &ModelObject)| {
        (key.clone(), object.bytes.len() as u64, object.etag, object.modified_ms)
    };
    same("the objects", &listed, &wanted.objects.iter().map(fields).collect())?;

    for key in KEYS {
        let result = check_versions(store, &bucket, key, &wanted.versions(key));
        result.map_err(|what| format!("the versions of {key:?}: {what}"))?;
    }
    let versions = KEYS.iter().flat_map(|key| wanted.versions(key));
    let mut usage = Usage { objects: wanted.objects.len() as u64, ..Usage::default() };
    for version in versions {
        usage.versions += 1;
        match version {
            ModelVersion::Object(object) => usage.bytes += object.bytes.len() as u64,
            ModelVersion::Marker { .. } => usage.delete_markers += 1,
        }
    }
    let found = store.bucket_usage(&bucket).map_err(|error| error.to_string())?;
    same("the usage", &(found.usage, found.is_complete), &(usage, true))?;
    for key in KEYS {
        let result = check_object(store, &bucket, key, wanted.objects.get(key));
        result.map_err(|what| format!("{key:?}: {what}"))?;
    }
    check_uploads(store, model, &bucket)
}

/// A version as a listing tells of it.
pub(super) struct ListedVersion {
    pub(super) version_id: VersionId,
    is_marker: bool,
    is_latest: bool,
    modified_ms: u64,
}

/// All versions of a key, newest first.
pub(super) fn versions(
    store: &Store,
    bucket: &Bucket,
    key: &str,
) -> Result<Vec<ListedVersion>, StoreError> {
    let query =
        ListVersionsQuery { prefix: key.to_owned(), max: 1000, ..ListVersionsQuery::default() };
    let entries = store.list_versions(bucket, &query)?.entries.into_iter();
    let listed = entries.filter_map(|entry| match entry {
        VersionEntry::Version(listed) => Some((listed, false)),
        VersionEntry::DeleteMarker(listed) => Some((listed, true)),
        VersionEntry::Prefix(_) => None,
    });
    let listed = listed.filter(|(listed, _)| listed.key == key);
    Ok(listed
        .map(|(listed, is_marker)| ListedVersion {
            version_id: listed.version_id,
            is_marker,
            is_latest: listed.is_latest,
            modified_ms: listed.modified_ms,
        })
        .collect())
}

fn check_versions(store: &Store, bucket: &Bucket, key: &str, wanted: &[ModelVersion]) -> Check {
    let found = versions(store, bucket, key).map_err(|error| error.to_string())?;
    same("their number", &found.len(), &wanted.len())?;
    for (position, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let (is_marker, modified_ms) = match wanted {
            ModelVersion::Object(object) => (false, object.modified_ms),
            ModelVersion::Marker { modified_ms, .. } => (true, *modified_ms),
        };
        let fields =
            (found.version_id.is_null(), found.is_marker, found.is_latest, found.modified_ms);
        same("one", &fields, &(wanted.is_null(), is_marker, position == 0, modified_ms))?;
        let ModelVersion::Object(object) = wanted else { continue };
        let version = Some(found.version_id);
        let head = head_object(store, bucket, &object_key(key), version.as_ref());
        let head = head.map_err(|error| format!("one cannot be looked at: {error}"))?;
        same("its legal hold", &(head.lock.legal_hold == LegalHold::On), &object.is_held)?;
        check_annotations(store, bucket, (key, version.as_ref()), object)?;
        let bytes = read(store, bucket, &object_key(key), version, Selection::Whole);
        if bytes.map_err(|error| format!("one cannot be read: {error}"))?[..] != object.bytes[..] {
            return Err("the bytes of one are not those that were written".to_owned());
        }
    }
    Ok(())
}

fn check_annotations(
    store: &Store,
    bucket: &Bucket,
    (key, version): (&str, Option<&VersionId>),
    wanted: &ModelObject,
) -> Check {
    let key = object_key(key);
    let query = AnnotationQuery { max: 1000, ..AnnotationQuery::default() };
    let page = store.list_annotations(bucket, &key, version, &query);
    let page = page.map_err(|error| format!("annotations cannot be listed: {error}"))?;
    let listed: Vec<_> =
        page.annotations.iter().map(|it| (it.name.as_str(), it.bytes, it.etag)).collect();
    let expected = wanted.annotations.iter().map(|(name, payload)| {
        (*name, payload.len() as u64, ETag::Md5(Md5::digest(payload).into()))
    });
    same("the annotations", &listed, &expected.collect())?;
    for (name, payload) in &wanted.annotations {
        let found = store.get_annotation(bucket, &key, version, name);
        let found = found.map_err(|error| format!("annotation {name} cannot be read: {error}"))?;
        if found.payload[..] != payload[..] {
            return Err(format!("annotation {name} is not what was written"));
        }
    }
    Ok(())
}

fn check_object(store: &Store, bucket: &Bucket, key: &str, wanted: Option<&ModelObject>) -> Check {
    let key = object_key(key);
    let found = head_object(store, bucket, &key, None);
    let Some(wanted) = wanted else {
        return match found {
            Err(StoreError::NoSuchKey { .. }) => Ok(()),
            other => Err(format!("it should not be there: {other:?}")),
        };
    };
    let found = found.map_err(|error| format!("it cannot be looked at: {error}"))?;
    same("the size", &found.bytes, &(wanted.bytes.len() as u64))?;
    same("the entity tag", &found.etag, &wanted.etag)?;
    same("the time", &found.modified_ms, &wanted.modified_ms)?;
    same("the parts", &found.part_count, &wanted.part_count)?;
    same("the encryption", &found.encryption.is_some(), &wanted.is_encrypted)?;
    let label = [("label".to_owned(), wanted.label.clone())];
    same("the metadata", &found.metadata.user[..], &label[..])?;
    let bytes = read(store, bucket, &key, None, Selection::Whole);
    let bytes = bytes.map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes[..] != wanted.bytes[..] {
        return Err(format!("its {} bytes are not those that were written", bytes.len()));
    }
    let middle = bytes.len() as u64 / 3..bytes.len() as u64 * 2 / 3;
    if middle.is_empty() {
        return Ok(());
    }
    let part = read(store, bucket, &key, None, range(middle.clone()));
    let part = part.map_err(|error| format!("{middle:?} of it cannot be read: {error}"))?;
    match part[..] == wanted.bytes[middle.start as usize..middle.end as usize] {
        true => Ok(()),
        false => Err(format!("the range {middle:?} is not what was written")),
    }
}

fn check_uploads(store: &Store, model: &Model, bucket: &Bucket) -> Check {
    let query = ListUploadsQuery { max: 1000, ..ListUploadsQuery::default() };
    let page = store.list_uploads(bucket, &query).map_err(|error| error.to_string())?;
    let wanted: Vec<&ModelUpload> = model.open_uploads(bucket.name.as_str()).collect();
    same("the number of uploads", &page.entries.len(), &wanted.len())?;
    for (entry, wanted) in page.entries.into_iter().zip(wanted) {
        let UploadEntry::Upload(found) = entry else {
            return Err(format!("{entry:?} among the uploads"));
        };
        let fields = (found.key.as_str(), found.initiated_ms, wanted.id.unwrap_or(found.id));
        same("an upload", &fields, &(wanted.key.as_str(), wanted.initiated_ms, found.id))?;
        let page = store.list_parts(bucket, &found.key, &found.id, None, 1000);
        let page = page.map_err(|error| format!("parts cannot be listed: {error}"))?;
        let parts: Vec<_> = page
            .parts
            .iter()
            .map(|part| (part.number.get(), part.bytes, part.etag, part.modified_ms))
            .collect();
        let wanted: Vec<_> = wanted
            .parts
            .iter()
            .map(|(number, part)| {
                let etag = ETag::Md5(Md5::digest(&part.bytes).into());
                (*number, part.bytes.len() as u64, etag, part.modified_ms)
            })
            .collect();
        same("the parts of an upload", &parts, &wanted)?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, wanted: &T) -> Check {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}, wanted {wanted:?}"))
}

/// Opens what is left and holds it against the model.
pub(super) fn check_restart(left: &SimulatedDisk, run: &Run, empties: bool) -> Check {
    let store = open(left, run.machine.durability, &run.clock)
        .map_err(|error| format!("the store does not open: {error}"))?;
    let left_over = left.list("tmp").map_err(|error| error.to_string())?;
    if !left_over.is_empty() {
        return Err(format!("after the restart temporary files are left: {left_over:?}"));
    }
    // A power cut without syncs loses the newest writes; so does a failed sync.
    let may_lose = run.machine.may_lose_the_newest()
        || (run.machine.durability == Durability::Os && run.disk.health().is_poisoned());
    let older = run.unsynced.iter().rev().filter(|_| may_lose);
    let allowed: Vec<&Model> =
        [&run.acknowledged].into_iter().chain(&run.in_flight).chain(older).collect();
    let mut failures = Vec::new();
    let found = allowed.iter().find(|model| match check(&store, model) {
        Ok(()) => true,
        Err(what) => {
            failures.push(what);
            false
        }
    });
    let Some(model) = found else {
        return Err(format!("after the restart no state that may be there: {failures:#?}"));
    };
    check_settled(&store).map_err(|what| format!("after the restart: {what}"))?;
    check(&store, model).map_err(|what| format!("after sweep and reclaim: {what}"))?;
    if empties {
        empty(&store).map_err(|error| format!("cannot be emptied: {error}"))?;
        // The space of segments is given back later, at the end at the latest.
        store.close();
        let blobs = blobs(left);
        if blobs > 0 && store.log_end().is_none() {
            return Err(format!("{blobs} blobs are left of an empty store"));
        }
    }
    Ok(())
}

/// Nothing is damaged, and nothing is left over, once the store has tidied up.
pub(super) fn check_settled(store: &Store) -> Check {
    store.sweep().map_err(|error| format!("sweep: {error}"))?;
    store.reclaim().map_err(|error| format!("reclaim: {error}"))?;
    let report = store.verify(&mut |_| {}).map_err(|error| format!("verify: {error}"))?;
    // Behind a log that was cut off nothing is swept before the next start.
    if report.damaged.is_empty() && (report.orphans == 0 || store.log_end().is_some()) {
        return Ok(());
    }
    Err(format!("verify found {} orphans, damage {:?}", report.orphans, report.damaged))
}

/// Deletes everything there is.
fn empty(store: &Store) -> Result<(), StoreError> {
    for name in BUCKETS {
        let Ok(bucket) = store.bucket(&bucket_name(name)) else { continue };
        for key in KEYS {
            for found in versions(store, &bucket, key)? {
                let (key, version) = (object_key(key), Some(found.version_id));
                if bucket.object_lock && !found.is_marker {
                    let change = VersionChange::LegalHold(false);
                    let changed =
                        store.change_object(&bucket, key.clone(), version, change, Cause::Unknown);
                    changed.wait()?;
                }
                store.delete_object(&bucket, DeleteTarget::new(key, version)).wait()?;
            }
        }
        let query = ListUploadsQuery { max: 1000, ..ListUploadsQuery::default() };
        for entry in store.list_uploads(&bucket, &query)?.entries {
            if let UploadEntry::Upload(upload) = entry {
                store.abort_upload(&bucket, &upload.key, &upload.id).wait()?;
            }
        }
        store.delete_bucket(&bucket).wait()?;
    }
    store.reclaim().map(drop)
}
