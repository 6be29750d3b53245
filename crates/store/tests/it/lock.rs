//! Object lock: locked versions stay, on every path that removes one.

use std::sync::Arc;

use liteio_store::{
    Cause, CopyOptions, DefaultRetention, DeleteTarget, DocumentKind, EventHold, EventHoldChange,
    ManualClock, NewBucket, ObjectId, ObjectLock, ObjectVersion, PutOptions, Retention,
    RetentionMode, RetentionPeriod, Store, StoreConfig, StoreError, UploadOptions, VersionChange,
    VersionId, Versioning,
};

use crate::harness::*;

const NOW_MS: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 86_400_000;

/// A store with a bucket whose versions may be locked, and its clock.
fn open() -> (Store, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let store = Store::open(StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) });
    let store = store.expect("memory");
    let new = NewBucket::new(name("bucket"), owner(), "us-east-1".to_owned());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    (store, clock)
}

fn retained(mode: RetentionMode, days: u64) -> ObjectLock {
    let until_ms = NOW_MS + days * DAY_MS;
    ObjectLock { retention: Some(Retention { mode, until_ms }), ..ObjectLock::default() }
}

fn put_locked(store: &Store, object: &str, lock: ObjectLock) -> ObjectVersion {
    try_put(store, object, b"body", PutOptions { lock, ..PutOptions::default() }).expect("put")
}

fn delete_version(store: &Store, version: VersionId, bypass: bool) -> Result<(), StoreError> {
    let target =
        DeleteTarget { bypasses_governance: bypass, ..DeleteTarget::new(key("a"), Some(version)) };
    store.delete_object(&bucket(store, "bucket"), target).wait().map(drop)
}

fn change(
    store: &Store,
    version: Option<VersionId>,
    change: VersionChange,
) -> Result<ObjectVersion, StoreError> {
    store.change_object(&bucket(store, "bucket"), key("a"), version, change, Cause::Unknown).wait()
}

#[test]
fn a_locked_version_stays_until_its_retention_ends() {
    for (mode, may_bypass) in
        [(RetentionMode::Governance, true), (RetentionMode::Compliance, false)]
    {
        let (store, clock) = open();
        let version = put_locked(&store, "a", retained(mode, 1)).version_id;
        let refused = delete_version(&store, version, false);
        assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
        // A delete marker hides it, and removes nothing.
        delete(&store, "a");
        put(&store, "a", b"newer");
        let refused = delete_version(&store, version, false);
        assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
        assert_eq!(delete_version(&store, version, true).is_ok(), may_bypass);
        clock.set_ms(NOW_MS + DAY_MS);
        delete_version(&store, version, false).expect("it has ended");
    }
}

fn held(mode: RetentionMode, days: u32) -> ObjectLock {
    let retention = Some(Retention { mode, until_ms: 0 });
    let event_hold = EventHold::On(RetentionPeriod::Days(days));
    ObjectLock { retention, event_hold, ..ObjectLock::default() }
}

fn event_hold(mode: RetentionMode, days: Option<u32>, bypasses_governance: bool) -> VersionChange {
    let duration = days.map(RetentionPeriod::Days);
    let change = EventHoldChange { mode, duration, until_ms: None };
    VersionChange::EventHold { change, bypasses_governance }
}

#[test]
fn a_held_version_stays_until_its_duration_behind_the_release_has_passed() {
    for (mode, may_bypass) in
        [(RetentionMode::Governance, true), (RetentionMode::Compliance, false)]
    {
        let (store, clock) = open();
        let object = put_locked(&store, "a", held(mode, 3));
        let (version, written_ms) = (object.version_id, NOW_MS + 3 * DAY_MS);
        assert_eq!(object.lock.retention, Some(Retention { mode, until_ms: written_ms }));
        put(&store, "a", b"newer");
        // Years later it is held as on the first day.
        clock.set_ms(NOW_MS + 5_000 * DAY_MS);
        let refused = delete_version(&store, version, false);
        assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
        if !may_bypass {
            let refused = delete_version(&store, version, true);
            assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
            let ended = VersionChange::Retention { retention: None, bypasses_governance: true };
            let refused = change(&store, Some(version), ended);
            assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
        }
        let released = change(&store, Some(version), event_hold(mode, None, false));
        let lock = released.expect("released").lock;
        let until_ms = NOW_MS + 5_003 * DAY_MS;
        assert_eq!(lock.retention, Some(Retention { mode, until_ms }));
        assert_eq!(lock.event_hold, EventHold::Off);
        clock.set_ms(until_ms - 1);
        let refused = delete_version(&store, version, false);
        assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
        clock.set_ms(until_ms);
        delete_version(&store, version, false).expect("it has ended");
        // Who may bypass a governance retention needs no release.
        if may_bypass {
            let version = put_locked(&store, "a", held(mode, 3)).version_id;
            delete_version(&store, version, true).expect("bypassed");
        }
    }
}

#[test]
fn a_held_version_null_is_not_replaced_and_a_hold_can_be_set_later() {
    let (store, clock) = open();
    let version = put(&store, "a", b"body").version_id;
    let none = change(&store, None, event_hold(RetentionMode::Compliance, None, false));
    assert!(matches!(none, Err(StoreError::InvalidRequest { .. })), "{none:?}");
    let set = event_hold(RetentionMode::Compliance, Some(1), false);
    let changed = change(&store, Some(version), set).expect("held");
    assert_eq!(changed.lock.event_hold, EventHold::On(RetentionPeriod::Days(1)));
    clock.set_ms(NOW_MS + 9 * DAY_MS);
    let (targets, bucket) =
        ([DeleteTarget::new(key("a"), Some(version))], bucket(&store, "bucket"));
    let outcomes = store.delete_objects(&bucket, targets.to_vec()).wait().expect("answers");
    assert!(matches!(outcomes[0], Err(StoreError::ObjectLocked)), "{outcomes:?}");
    assert_eq!(get(&store, "a"), b"body");
}

#[test]
fn a_bucket_holds_its_new_versions_by_default() {
    let (store, clock) = open();
    let mode = RetentionMode::Compliance;
    let (days, hold) = (RetentionPeriod::Days, EventHold::On);
    for (period, ends) in [(None, 2), (Some(days(5)), 5), (Some(days(1)), 2)] {
        let default = DefaultRetention { mode, period, event_hold: Some(days(2)) };
        store.set_object_lock(&bucket(&store, "bucket"), Some(default)).wait().expect("set");
        let read = bucket(&store, "bucket").settings.default_retention;
        assert_eq!(read, Some(default));
        let until_ms = store.now_ms() + ends * DAY_MS;
        let expected = ObjectLock {
            retention: Some(Retention { mode, until_ms }),
            event_hold: hold(days(2)),
            ..ObjectLock::default()
        };
        assert_eq!(put(&store, "a", b"body").lock, expected);
        let upload =
            store.create_upload(&bucket(&store, "bucket"), key("parts"), UploadOptions::default());
        let upload = upload.wait().expect("begun");
        put_part(&store, "parts", &upload.id, 1, b"0123456789").expect("a part");
        assert_eq!(complete(&store, "parts", &upload.id, &[1]).expect("complete").lock, expected);
        // A lock of its own stands in the place of all of it.
        let own = retained(RetentionMode::Governance, 1);
        assert_eq!(put_locked(&store, "a", own).lock, own);
    }
    // The duration of an upload's hold counts from its completion.
    let options = UploadOptions { lock: held(mode, 3), ..UploadOptions::default() };
    let upload = store.create_upload(&bucket(&store, "bucket"), key("late"), options);
    let upload = upload.wait().expect("begun");
    put_part(&store, "late", &upload.id, 1, b"0123456789").expect("a part");
    clock.set_ms(NOW_MS + 50 * DAY_MS);
    let lock = complete(&store, "late", &upload.id, &[1]).expect("complete").lock;
    let until_ms = NOW_MS + 53 * DAY_MS;
    assert_eq!(lock.retention, Some(Retention { mode, until_ms }));
    assert_eq!(lock.event_hold, hold(days(3)));
}

#[test]
fn a_legal_hold_has_no_end_and_nobody_bypasses_it() {
    let (store, clock) = open();
    let version = put(&store, "a", b"body").version_id;
    change(&store, Some(version), VersionChange::LegalHold(true)).expect("held");
    clock.set_ms(NOW_MS + 100_000 * DAY_MS);
    for bypass in [false, true] {
        let refused = delete_version(&store, version, bypass);
        assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
    }
    change(&store, None, VersionChange::LegalHold(false)).expect("released");
    delete_version(&store, version, false).expect("free");
}

#[test]
fn one_locked_version_among_many_keeps_the_others_from_nothing() {
    let (store, _) = open();
    let locked = put_locked(&store, "a", retained(RetentionMode::Compliance, 1)).version_id;
    let free = put(&store, "a", b"newer").version_id;
    let targets = [locked, free].map(|it| DeleteTarget::new(key("a"), Some(it)));
    let outcomes = store.delete_objects(&bucket(&store, "bucket"), targets.to_vec()).wait();
    let outcomes = outcomes.expect("answers");
    assert!(matches!(outcomes[0], Err(StoreError::ObjectLocked)), "{outcomes:?}");
    assert!(outcomes[1].is_ok(), "{outcomes:?}");
    assert_eq!(get(&store, "a"), b"body");
    let bucket = bucket(&store, "bucket");
    let refused = store.delete_bucket(&bucket).wait();
    assert!(matches!(refused, Err(StoreError::BucketNotEmpty { .. })), "{refused:?}");
    let suspended = store.set_versioning(&bucket, Versioning::Suspended).wait();
    assert!(matches!(suspended, Err(StoreError::InvalidBucketState { .. })), "{suspended:?}");
}

#[test]
fn versions_without_a_retention_get_the_default_of_the_bucket() {
    let (store, _) = open();
    let period = RetentionPeriod::Days(2);
    let default = DefaultRetention {
        mode: RetentionMode::Governance,
        period: Some(period),
        event_hold: None,
    };
    store.set_object_lock(&bucket(&store, "bucket"), Some(default)).wait().expect("set");
    let expected = retained(RetentionMode::Governance, 2);
    assert_eq!(put(&store, "a", b"body").lock, expected);
    let own = retained(RetentionMode::Compliance, 1);
    assert_eq!(put_locked(&store, "a", own).lock, own);
    let bucket = bucket(&store, "bucket");
    let source = ObjectId { bucket: Arc::clone(&bucket), key: key("a"), version: None };
    let copied = store.copy_object(source, &bucket, key("copy"), CopyOptions::default()).wait();
    assert_eq!(copied.expect("copied").object.lock, expected, "not that of the source");
    for lock in [ObjectLock::default(), own] {
        let options = UploadOptions { lock, ..UploadOptions::default() };
        let upload = store.create_upload(&bucket, key("parts"), options).wait().expect("begun");
        put_part(&store, "parts", &upload.id, 1, b"0123456789").expect("a part");
        let object = complete(&store, "parts", &upload.id, &[1]).expect("complete");
        assert_eq!(object.lock, if lock.is_none() { expected } else { lock });
    }
    store.set_object_lock(&bucket, None).wait().expect("set");
    assert!(put(&store, "a", b"body").lock.is_none());
}

#[test]
fn a_bucket_without_object_lock_takes_no_lock() {
    on_every_backend(|store| {
        let locked =
            PutOptions { lock: retained(RetentionMode::Governance, 1), ..PutOptions::default() };
        let refused = try_put(store, "a", b"body", locked.clone());
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
        put(store, "a", b"body");
        for lock in [
            VersionChange::LegalHold(true),
            VersionChange::Retention { retention: None, bypasses_governance: true },
        ] {
            let refused = change(store, None, lock);
            assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
        }
        let unversioned = store.set_object_lock(&bucket(store, "bucket"), None).wait();
        assert!(
            matches!(unversioned, Err(StoreError::InvalidBucketState { .. })),
            "{unversioned:?}"
        );
        store.set_versioning(&bucket(store, "bucket"), Versioning::Enabled).wait().expect("set");
        store.set_object_lock(&bucket(store, "bucket"), None).wait().expect("set");
        try_put(store, "a", b"body", locked).expect("locked");
    });
}

#[test]
fn tags_are_replaced_and_the_rest_stays() {
    on_every_backend(|store| {
        store.set_versioning(&bucket(store, "bucket"), Versioning::Enabled).wait().expect("set");
        let first = put(store, "a", b"first");
        let second = put(store, "a", &[2; 1000]);
        for before in [&first, &second] {
            let tags = vec![("k".to_owned(), before.etag.to_string())];
            let changed = change(store, Some(before.version_id), VersionChange::Tags(tags.clone()));
            let mut expected = before.clone();
            expected.metadata.tags = tags;
            expected.is_latest = before.version_id == second.version_id;
            assert_eq!(changed.expect("tagged"), expected);
            let found =
                head_object(store, &bucket(store, "bucket"), &key("a"), Some(&before.version_id));
            assert_eq!(found.expect("there"), expected);
        }
        assert_eq!(get(store, "a"), [2; 1000]);
        delete(store, "a");
        let hidden = change(store, None, VersionChange::Tags(Vec::new()));
        assert!(matches!(hidden, Err(StoreError::NoSuchKey { .. })), "{hidden:?}");
    });
}

#[test]
fn a_bucket_has_all_its_settings_of_one_moment() {
    on_every_backend(|store| {
        let new = NewBucket::new(name("tagged"), owner(), "us-east-1".to_owned());
        let documents = vec![(DocumentKind::Tagging, b"tags".to_vec())];
        store.create_bucket(NewBucket { documents, ..new }).wait().expect("new");
        let tagged = bucket(store, "tagged");
        assert_eq!(tagged.settings.document(DocumentKind::Tagging), Some(&b"tags"[..]));
        assert_eq!(tagged.settings.document(DocumentKind::Cors), None);
        store.put_document(&tagged, DocumentKind::Cors, b"cors".to_vec()).wait().expect("put");
        store.delete_document(&tagged, DocumentKind::Tagging).wait().expect("deleted");
        let changed = bucket(store, "tagged");
        assert_eq!(changed.settings.document(DocumentKind::Tagging), None);
        assert_eq!(changed.settings.document(DocumentKind::Cors), Some(&b"cors"[..]));
        assert_eq!(tagged.settings.document(DocumentKind::Cors), None, "of its moment");
    });
}
