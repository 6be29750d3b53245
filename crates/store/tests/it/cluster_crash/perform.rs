//! The calls of operations, and what they answer in the words of the model.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use liteio_store::{
    AboutObject, Agreed, BodyOptions, Bucket, Cause, CompletePart, CopyOptions, DeleteOutcome,
    DeleteTarget, DocumentKind, ETagText, EtagCondition, Expiration, GetOptions, IdentityEntry,
    Lifecycle, LifecycleFilter, LifecycleRule, ListEntry, ListQuery, ListUploadsQuery,
    ListVersionsQuery, ListedObject, NewBucket, NotificationRule, Notifications, ObjectId,
    ObjectMetadata, ObjectVersion, PutOptions, ReadError, Retention, RetentionMode, StagedBody,
    Store, StoreError, UploadEntry, UploadOptions, VersionChange, VersionEntry, Versioning,
    WriteConditions,
};

use super::history::{FoundVersion, Outcome};
use super::op::{
    Answer, BUCKETS, Condition, KEYS, LOCKABLE, Op, OpId, Seen, TARGET, body, in_order,
};
use super::server::{Held, Machine, Names, Reading, Users};
use crate::harness::{key, name, now, number, owner};

type Found = Answer<FoundVersion>;

/// Does an operation.
pub(super) fn perform(
    machine: &Machine,
    held: &mut Held,
    id: OpId,
    op: &Op,
    names: &Names,
) -> Outcome {
    let call = AssertUnwindSafe(|| call(machine, held, id, op, names));
    match catch_unwind(call) {
        Err(_) => Outcome::Broken("it has panicked".to_owned()),
        Ok(Ok(answer)) => Outcome::Answered(answer),
        Ok(Err(error)) => match kind(&error) {
            Kind::Refusal(kind) => Outcome::Answered(Answer::Refused(kind)),
            Kind::Failure { is_certain } => {
                Outcome::Failed { error: error.to_string(), is_certain }
            }
            Kind::Broken => Outcome::Broken(format!("{error:?}")),
        },
    }
}

enum Kind {
    Refusal(&'static str),
    Failure { is_certain: bool },
    Broken,
}

fn kind(error: &StoreError) -> Kind {
    Kind::Refusal(match error {
        StoreError::BucketAlreadyOwnedByYou { .. } => "BucketAlreadyOwnedByYou",
        StoreError::NoSuchBucket { .. } => "NoSuchBucket",
        StoreError::BucketNotEmpty { .. } => "BucketNotEmpty",
        StoreError::NoSuchKey { .. } => "NoSuchKey",
        StoreError::NoSuchVersion { .. } => "NoSuchVersion",
        StoreError::IsDeleteMarker { .. } => "IsDeleteMarker",
        StoreError::PreconditionFailed { .. } => "PreconditionFailed",
        StoreError::ObjectLocked => "ObjectLocked",
        StoreError::NoSuchUpload { .. } => "NoSuchUpload",
        StoreError::InvalidPart { .. } => "InvalidPart",
        StoreError::InvalidRequest { .. } => "InvalidRequest",
        StoreError::InvalidBucketState { .. } => "InvalidBucketState",
        StoreError::ChangedMeanwhile => "ChangedMeanwhile",
        StoreError::Busy | StoreError::Suspended { .. } => {
            return Kind::Failure { is_certain: true };
        }
        StoreError::Io(_) | StoreError::Unsettled { .. } | StoreError::Closed => {
            return Kind::Failure { is_certain: false };
        }
        // The bytes of one that is replaced again and again.
        StoreError::ConditionalRequestConflict => return Kind::Failure { is_certain: true },
        _ => return Kind::Broken,
    })
}

fn from_read(error: ReadError) -> StoreError {
    error.into()
}

fn version_of(object: &ObjectVersion) -> Seen<FoundVersion> {
    Seen {
        version: FoundVersion { id: object.version_id, modified_ms: Some(object.modified_ms) },
        key: object.key.as_str().to_owned(),
        is_marker: false,
        is_latest: object.is_latest,
        bytes: object.bytes,
        etag: object.etag.to_string(),
    }
}

fn listed(listed: ListedObject, is_marker: bool) -> Seen<FoundVersion> {
    Seen {
        version: FoundVersion { id: listed.version_id, modified_ms: Some(listed.modified_ms) },
        key: listed.key,
        is_marker,
        is_latest: listed.is_latest,
        bytes: listed.bytes,
        etag: if is_marker { String::new() } else { listed.etag.to_string() },
    }
}

fn deleted(outcome: &DeleteOutcome) -> Found {
    Answer::Deleted {
        existed: outcome.existed,
        is_marker: outcome.delete_marker,
        version: outcome.version_id.map(|id| FoundVersion { id, modified_ms: None }),
    }
}

fn stage(store: &Store, id: OpId, bytes: usize) -> Result<StagedBody, StoreError> {
    let mut writer = store.begin_body(BodyOptions::default())?;
    for piece in body(id, bytes).chunks(200) {
        writer.write(piece)?;
    }
    writer.finish()
}

fn bucket_of(store: &Store, bucket: usize) -> Result<Arc<Bucket>, StoreError> {
    store.bucket(&name(BUCKETS[bucket]))
}

fn metadata(id: OpId) -> ObjectMetadata {
    let label = ("operation".to_owned(), id.to_string());
    ObjectMetadata { user: vec![label], ..ObjectMetadata::default() }
}

fn put_options(id: OpId, conditions: WriteConditions) -> PutOptions {
    PutOptions { metadata: metadata(id), owner: owner(), conditions, ..PutOptions::default() }
}

fn conditions(condition: &Condition) -> WriteConditions {
    let none = WriteConditions::default();
    match condition {
        Condition::None => none,
        Condition::IsNew => WriteConditions { if_none_match: Some(EtagCondition::Any), ..none },
        Condition::Is(etag) => {
            let matches = EtagCondition::Matches(vec![ETagText::strong(etag)]);
            WriteConditions { if_match: Some(matches), ..none }
        }
    }
}

fn call(
    machine: &Machine,
    held: &mut Held,
    id: OpId,
    op: &Op,
    names: &Names,
) -> Result<Found, StoreError> {
    if matches!(op, Op::Open) {
        held.store = Some(Store::open_in_steps(machine.config.clone())?);
        return Ok(Answer::Done);
    }
    let store = held.store.clone().ok_or(StoreError::Closed)?;
    match op {
        Op::Beat => return store.beat().map(|()| Answer::Done),
        Op::Tidy => return store.tidy().map(|_| Answer::Done),
        Op::Lifecycle => return store.run_lifecycle().map(|_| Answer::Done),
        Op::Verify { leaves_orphans } => return verify(machine, &store, *leaves_orphans),
        Op::CountLost => return count_lost(machine, &store),
        Op::ReadOn => return read_on(machine, held),
        Op::DropStaged => {
            held.staged.clear();
            return Ok(Answer::Done);
        }
        _ => {}
    }
    // As every request begins, with the rows that it will read first.
    let about = op.object().map(|((bucket, key), writes)| AboutObject {
        bucket: BUCKETS[bucket],
        key: KEYS[key],
        writes,
    });
    let agreed = now(store.agree(about))?.expect("over a database");
    let Agreed { users: epoch, ahead } = agreed;
    now(ahead
        .around(poll_fn(|_| Poll::Ready(request(machine, held, &store, (id, op), names, epoch)))))
}

fn request(
    machine: &Machine,
    held: &mut Held,
    store: &Store,
    (id, op): (OpId, &Op),
    names: &Names,
    epoch: u64,
) -> Result<Found, StoreError> {
    match op {
        Op::Users | Op::ChangeUser { .. } => users(machine, held, store, (id, op), epoch),
        Op::Stage { bytes } => {
            let body = stage(store, id, *bytes)?;
            held.staged.push((id, body));
            Ok(Answer::Done)
        }
        Op::PutStaged { place, staged, .. } => {
            let at = held.staged.iter().position(|(of, _)| of == staged).expect("it is there");
            let (_, body) = held.staged.remove(at);
            let bucket = bucket_of(store, place.0)?;
            let options = put_options(id, WriteConditions::default());
            let put = store.put_object(&bucket, key(KEYS[place.1]), body, options);
            put.wait().map(|object| Answer::Object(version_of(&object)))
        }
        Op::OpenReader { place } => {
            let bucket = bucket_of(store, place.0)?;
            let opened = store.get_object(&bucket, &key(KEYS[place.1]), &GetOptions::default());
            let mut opened = opened.map_err(from_read)?;
            opened.reader.limit_pieces(Some(100));
            let seen = version_of(&opened.found.object);
            // What it must bring is told by its entity tag, in the end.
            held.reader =
                Some(Reading { reader: opened.reader, rest: Vec::new(), seen: seen.clone() });
            Ok(Answer::Object(seen))
        }
        Op::Events => {
            let events = store.queued_events(TARGET, None, 1000)?;
            let mut by_key: BTreeMap<String, Vec<(&'static str, Option<String>)>> = BTreeMap::new();
            held.events.clear();
            for queued in events {
                let event = queued.event?;
                let place = format!("{}/{}", event.bucket, event.key);
                let told = (event.kind.name(), event.etag.map(|etag| etag.to_string()));
                held.events.push((queued.number, place.clone(), told.clone()));
                by_key.entry(place).or_default().push(told);
            }
            let by_key = by_key.into_iter().map(|(key, events)| (key, in_order(events)));
            Ok(Answer::Events(by_key.collect()))
        }
        Op::Forget { count } => {
            let taken: Vec<_> = held.events.iter().take(*count).cloned().collect();
            if let Some(facts) = machine.shared.world.state().history.facts(id) {
                facts.forgets.clone_from(&taken);
            }
            let numbers = taken.iter().map(|(number, ..)| *number).collect();
            store.forget_events(TARGET, numbers).wait()?;
            // After a failure they are told again.
            held.events.drain(..taken.len());
            Ok(Answer::Done)
        }
        Op::CreateUpload { place } => {
            let bucket = bucket_of(store, place.0)?;
            let options = UploadOptions {
                metadata: metadata(id),
                owner: owner(),
                ..UploadOptions::default()
            };
            let upload = store.create_upload(&bucket, key(KEYS[place.1]), options).wait()?;
            machine.uploads.lock().push((id, upload.id));
            Ok(Answer::Done)
        }
        Op::Uploads { bucket } => {
            let bucket = bucket_of(store, *bucket)?;
            let query = ListUploadsQuery { max: 1000, ..ListUploadsQuery::default() };
            let known = machine.uploads.lock().clone();
            let mut uploads = Vec::new();
            for entry in store.list_uploads(&bucket, &query)?.entries {
                let UploadEntry::Upload(upload) = entry else { continue };
                let by = upload.metadata.user.iter().find_map(|(_, id)| id.parse().ok());
                let by = by.unwrap_or(known.len() as OpId + 1_000_000);
                uploads.push((upload.key.as_str().to_owned(), by));
            }
            uploads.sort();
            Ok(Answer::Uploads(uploads))
        }
        op => write(machine, store, id, op, names),
    }
}

fn write(
    machine: &Machine,
    store: &Store,
    id: OpId,
    op: &Op,
    names: &Names,
) -> Result<Found, StoreError> {
    match op {
        Op::CreateBucket { bucket } => {
            let new = NewBucket::new(name(BUCKETS[*bucket]), owner(), "us-east-1".to_owned());
            let object_lock = *bucket == LOCKABLE;
            store.create_bucket(NewBucket { object_lock, ..new }).wait().map(|()| Answer::Done)
        }
        Op::DeleteBucket { bucket } => {
            store.delete_bucket(&bucket_of(store, *bucket)?).wait().map(|()| Answer::Done)
        }
        Op::SetVersioning { bucket, is_enabled } => {
            let versioning = match is_enabled {
                true => Versioning::Enabled,
                false => Versioning::Suspended,
            };
            let set = store.set_versioning(&bucket_of(store, *bucket)?, versioning);
            set.wait().map(|()| Answer::Done)
        }
        Op::SetTold { bucket, is_told } => {
            let events = ["ObjectCreated:*", "ObjectRemoved:*"].map(str::to_owned).to_vec();
            let rule = NotificationRule {
                id: "all".to_owned(),
                target: TARGET.to_owned(),
                events,
                ..NotificationRule::default()
            };
            let notifications =
                is_told.then(|| Notifications { rules: vec![rule], document: Vec::new() });
            let bucket = bucket_of(store, *bucket)?;
            let set = store.set_notifications(&bucket, notifications, Cause::Unknown);
            set.wait().map(|()| Answer::Done)
        }
        Op::SetDocument { bucket } => {
            let document = id.to_string().into_bytes();
            let bucket = bucket_of(store, *bucket)?;
            let put = store.put_document(&bucket, DocumentKind::Tagging, document);
            put.wait().map(|()| Answer::Done)
        }
        Op::SetLifecycle { bucket } => {
            let filter = LifecycleFilter { prefix: "d".to_owned(), ..LifecycleFilter::default() };
            let rule = LifecycleRule {
                id: "a day".to_owned(),
                is_enabled: true,
                filter,
                expiration: Some(Expiration::Days(1)),
                ..LifecycleRule::default()
            };
            let lifecycle = Lifecycle { rules: vec![rule], document: Vec::new() };
            let set = store.set_lifecycle(&bucket_of(store, *bucket)?, Some(lifecycle));
            set.wait().map(|()| Answer::Done)
        }
        Op::Put { place, bytes, condition } => {
            let bucket = bucket_of(store, place.0)?;
            let body = stage(store, id, *bytes)?;
            let options = put_options(id, conditions(condition));
            let put = store.put_object(&bucket, key(KEYS[place.1]), body, options);
            put.wait().map(|object| Answer::Object(version_of(&object)))
        }
        Op::Copy { from, to } => {
            let source = bucket_of(store, from.0)?;
            let bucket = bucket_of(store, to.0)?;
            let source = ObjectId { bucket: source, key: key(KEYS[from.1]), version: None };
            let options = CopyOptions {
                metadata: Some(metadata(id)),
                owner: owner(),
                ..CopyOptions::default()
            };
            let copied = store.copy_object(source, &bucket, key(KEYS[to.1]), options).wait()?;
            Ok(Answer::Object(version_of(&copied.object)))
        }
        Op::Delete { place } => {
            let bucket = bucket_of(store, place.0)?;
            let target = DeleteTarget::new(key(KEYS[place.1]), None);
            store.delete_object(&bucket, target).wait().map(|outcome| deleted(&outcome))
        }
        Op::DeleteAll { bucket } => {
            let targets = KEYS.map(|it| DeleteTarget::new(key(it), None)).to_vec();
            let outcomes = store.delete_objects(&bucket_of(store, *bucket)?, targets).wait()?;
            let outcomes = outcomes.into_iter().map(|it| it.map(|outcome| deleted(&outcome)));
            outcomes.collect::<Result<_, _>>().map(Answer::DeletedAll)
        }
        Op::DeleteVersion { place, .. } => {
            let bucket = bucket_of(store, place.0)?;
            let target = DeleteTarget::new(key(KEYS[place.1]), names.version);
            let outcome = store.delete_object(&bucket, target).wait()?;
            match outcome.existed {
                true => Ok(deleted(&outcome)),
                // A success, of a version that is not there.
                false => Ok(Answer::Refused("NoSuchVersion")),
            }
        }
        Op::Retain { place, until_ms } => {
            let retention =
                Some(Retention { mode: RetentionMode::Compliance, until_ms: *until_ms });
            let change = VersionChange::Retention { retention, bypasses_governance: false };
            change_object(store, *place, change)
        }
        Op::Hold { place, is_held } => {
            change_object(store, *place, VersionChange::LegalHold(*is_held))
        }
        Op::PutPart { place: (bucket, place), number: part, bytes, .. } => {
            let bucket = bucket_of(store, *bucket)?;
            let upload = names.upload.expect("it was answered");
            let body = stage(store, id, *bytes)?;
            let put =
                store.put_part(&bucket, &key(KEYS[*place]), &upload, number(*part), body, None);
            put.wait().map(|_| Answer::Done)
        }
        Op::Complete { place: (bucket, place), numbers, .. } => {
            let bucket = bucket_of(store, *bucket)?;
            let upload = names.upload.expect("it was answered");
            let part = |it: &u16| CompletePart { number: number(*it), etag: None, checksum: None };
            let parts = numbers.iter().map(part).collect();
            let done = store.complete_upload(
                &bucket,
                &key(KEYS[*place]),
                &upload,
                parts,
                Default::default(),
            );
            done.wait().map(|object| Answer::Object(version_of(&object)))
        }
        Op::Abort { place: (bucket, place), .. } => {
            let bucket = bucket_of(store, *bucket)?;
            let upload = names.upload.expect("it was answered");
            store.abort_upload(&bucket, &key(KEYS[*place]), &upload).wait().map(|()| Answer::Done)
        }
        op => read(machine, store, op, names),
    }
}

fn change_object(
    store: &Store,
    place: super::op::Place,
    change: VersionChange,
) -> Result<Found, StoreError> {
    let bucket = bucket_of(store, place.0)?;
    let changed = store.change_object(&bucket, key(KEYS[place.1]), None, change, Cause::Unknown);
    changed.wait().map(|object| Answer::Object(version_of(&object)))
}

fn read(machine: &Machine, store: &Store, op: &Op, names: &Names) -> Result<Found, StoreError> {
    match op {
        Op::Get { place } | Op::GetVersion { place, .. } => {
            let bucket = bucket_of(store, place.0)?;
            let options = GetOptions { version: names.version, ..GetOptions::default() };
            let opened = store.get_object(&bucket, &key(KEYS[place.1]), &options);
            let mut opened = opened.map_err(from_read)?;
            let seen = version_of(&opened.found.object);
            let mut bytes = Vec::new();
            while let Some(piece) = opened.reader.next()? {
                bytes.extend_from_slice(&piece);
            }
            check_body(machine, &seen, &bytes)?;
            Ok(Answer::Object(seen))
        }
        Op::List { bucket, prefix, is_grouped } => {
            let query = ListQuery {
                prefix: (*prefix).to_owned(),
                delimiter: is_grouped.then(|| "/".to_owned()),
                max: 1000,
                ..ListQuery::default()
            };
            let page = store.list_objects(&*bucket_of(store, *bucket)?, &query)?;
            let entry = |entry| match entry {
                ListEntry::Object(object) => (object.key.clone(), Some(listed(object, false))),
                ListEntry::Prefix(prefix) => (prefix, None),
            };
            Ok(Answer::Listed(page.entries.into_iter().map(entry).collect()))
        }
        Op::Versions { bucket } => {
            let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
            let page = store.list_versions(&*bucket_of(store, *bucket)?, &query)?;
            let entry = |entry| match entry {
                VersionEntry::Version(object) => Some(listed(object, false)),
                VersionEntry::DeleteMarker(object) => Some(listed(object, true)),
                VersionEntry::Prefix(_) => None,
            };
            Ok(Answer::Versions(page.entries.into_iter().filter_map(entry).collect()))
        }
        Op::Usage { bucket } => {
            let usage = store.bucket_usage(&*bucket_of(store, *bucket)?)?;
            let counts = usage.usage;
            match usage.is_complete {
                true => Ok(Answer::Usage([
                    counts.objects,
                    counts.versions,
                    counts.delete_markers,
                    counts.bytes,
                ])),
                // That of a bucket that was deleted meanwhile.
                false => Ok(Answer::Refused("NoSuchBucket")),
            }
        }
        Op::Settings { bucket } => {
            let bucket = bucket_of(store, *bucket)?;
            let document = bucket.settings.document(DocumentKind::Tagging);
            let document = document.and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
            Ok(Answer::Settings {
                versioning: match bucket.versioning {
                    Versioning::Never => "Never",
                    Versioning::Enabled => "Enabled",
                    Versioning::Suspended => "Suspended",
                },
                document,
                is_told: bucket.settings.notifications.is_some(),
                has_lifecycle: bucket.settings.lifecycle.is_some(),
            })
        }
        op => unreachable!("{op:?}"),
    }
}

/// The bytes of a body are those that its entity tag says.
fn check_body(
    machine: &Machine,
    seen: &Seen<FoundVersion>,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let wanted = machine.shared.world.state().history.body_of(&seen.etag);
    match wanted.as_deref() == Some(bytes) && bytes.len() as u64 == seen.bytes {
        true => Ok(()),
        false => Err(StoreError::Internal { what: format!("other bytes than {seen:?}") }),
    }
}

/// Reads a piece of what is open. Its bytes are compared at the end.
fn read_on(machine: &Machine, held: &mut Held) -> Result<Found, StoreError> {
    let Some(reading) = &mut held.reader else { return Ok(Answer::Done) };
    match reading.reader.next() {
        Ok(Some(piece)) => {
            reading.rest.extend_from_slice(&piece);
            Ok(Answer::Done)
        }
        Ok(None) => {
            let Reading { rest, seen, .. } = held.reader.take().expect("see above");
            check_body(machine, &seen, &rest).map(|()| Answer::Done)
        }
        Err(error) => {
            // A client begins anew.
            held.reader = None;
            Err(error)
        }
    }
}

/// The users as the server remembers them: it reads them anew if the epoch says so.
fn users(
    machine: &Machine,
    held: &mut Held,
    store: &Store,
    (id, op): (OpId, &Op),
    epoch: u64,
) -> Result<Found, StoreError> {
    if held.users.as_ref().is_none_or(|users| users.epoch != Some(epoch)) {
        let found = store.identities()?;
        let user = |entry: &IdentityEntry| {
            let value = entry.value.as_ref()?;
            Some((*entry.key.first()?, std::str::from_utf8(value).ok()?.parse().ok()?))
        };
        let users = found.entries.iter().filter_map(user).collect();
        held.users = Some(Users { epoch: found.epoch, stamp: found.stamp, users });
    }
    let remembered = held.users.as_ref().expect("it was read");
    let Op::ChangeUser { user, if_unchanged } = op else {
        return Ok(Answer::Users(remembered.users.clone()));
    };
    if let Some(facts) = machine.shared.world.state().history.facts(id) {
        facts.users_stamp = Some(remembered.stamp);
    }
    let entry = IdentityEntry { key: vec![*user], value: Some(id.to_string().into_bytes()) };
    let stamp = if_unchanged.then_some(remembered.stamp);
    store.change_identities(vec![entry], stamp).wait().map(|_| Answer::Done)
}

/// Looks whether everything that is left is whole, and nothing is left over.
fn verify(machine: &Machine, store: &Store, leaves_orphans: bool) -> Result<Found, StoreError> {
    let report = store.verify(&mut |_| {})?;
    if !report.damaged.is_empty() {
        return Err(StoreError::Internal { what: format!("{:?}", report.damaged) });
    }
    let left = (report.orphans, store.deletions_waiting(1)?, machine.blobs.count() as u64);
    match left {
        (orphans, 0, blobs) if (orphans == 0 || leaves_orphans) && blobs == report.blobs => {
            Ok(Answer::Done)
        }
        left => Err(StoreError::Suspended { reason: format!("left over: {left:?}, {report:?}") }),
    }
}

/// Looks whether the server has noticed the commits that it has lost.
fn count_lost(machine: &Machine, store: &Store) -> Result<Found, StoreError> {
    let noticed = store.stats().kv.commits_lost;
    let lost = machine.shared.world.state().slots[machine.slot].lost;
    match noticed == lost {
        true => Ok(Answer::Done),
        false => {
            let what = format!("it has lost {lost} commits, and has noticed {noticed}");
            Err(StoreError::Internal { what })
        }
    }
}
