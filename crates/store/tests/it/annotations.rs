//! Annotations, as callers of the store see them.

use std::sync::Arc;

use bytes::Bytes;
use liteio_store::limits::{ANNOTATION_BYTES_MAX, ANNOTATIONS_MAX};
use liteio_store::{
    Annotate, Annotation, AnnotationChange, AnnotationDirective, AnnotationName, AnnotationQuery,
    BodyOptions, Cause, Clock, CopyOptions, DeleteTarget, Encryption, EncryptionKey, EtagCondition,
    KeyRing, LegalHold, ManualClock, NamedKey, NewAnnotation, NewBucket, NotificationRule,
    Notifications, ObjectId, ObjectLock, ObjectMetadata, ObjectVersion, PutOptions, ReadConditions,
    RenameOptions, Replication, ReplicationRule, Retention, RetentionMode, Store, StoreConfig,
    StoreError, VersionChange, VersionId, Versioning, WriteConditions,
};
use md5::{Digest as _, Md5};

use crate::harness::*;

fn put_change(name: &str, payload: &[u8]) -> AnnotationChange {
    AnnotationChange::Put(NewAnnotation {
        name: AnnotationName::new(name).expect("a name"),
        payload: Bytes::copy_from_slice(payload),
        md5: Md5::digest(payload).into(),
        checksum: None,
    })
}

fn delete_change(name: &str) -> AnnotationChange {
    AnnotationChange::Delete(AnnotationName::new(name).expect("a name"))
}

fn asked(change: AnnotationChange, bypasses_governance: bool) -> VersionChange {
    let conditions = ReadConditions::default();
    VersionChange::Annotate(Box::new(Annotate { change, conditions, bypasses_governance }))
}

fn change(
    store: &Store,
    object: &str,
    version: Option<VersionId>,
    change: VersionChange,
) -> Result<Option<Annotation>, StoreError> {
    let here = bucket(store, "bucket");
    let changed = store.annotate_object(&here, key(object), version, change, Cause::Unknown);
    changed.wait().map(|(_, annotation)| annotation)
}

fn annotate(store: &Store, object: &str, name: &str, payload: &[u8]) {
    let put = change(store, object, None, asked(put_change(name, payload), false));
    put.expect("put").expect("changed");
}

fn remove(store: &Store, object: &str, name: &str) -> Option<Annotation> {
    change(store, object, None, asked(delete_change(name), false)).expect("deleted")
}

fn payload(
    store: &Store,
    object: &str,
    version: Option<&VersionId>,
    name: &str,
) -> Result<Vec<u8>, StoreError> {
    let found = store.get_annotation(&bucket(store, "bucket"), &key(object), version, name)?;
    assert_eq!(found.annotation.bytes, found.payload.len() as u64);
    Ok(found.payload.to_vec())
}

fn names(store: &Store, object: &str, version: Option<&VersionId>) -> String {
    let query = AnnotationQuery { max: 1000, ..AnnotationQuery::default() };
    let page = store.list_annotations(&bucket(store, "bucket"), &key(object), version, &query);
    let page = page.expect("listed");
    assert!(!page.has_more);
    page.annotations.into_iter().map(|it| it.name).collect::<Vec<_>>().join(" ")
}

/// Nothing is damaged, and what belongs to no version is gone: so many annotations.
fn check(store: &Store, removed: u64) {
    assert_eq!(store.reclaim().expect("reclaimed").annotations, removed);
    blobs(store);
}

/// A store whose own thread does not reclaim before the test does.
fn quiet(config: StoreConfig) -> Store {
    let store = Store::open(config).expect("memory");
    create_bucket(&store, "bucket");
    store
}

#[test]
fn annotations_are_put_replaced_listed_and_deleted_without_the_object() {
    on_every_backend(|store| {
        let before = put(store, "a", b"body");
        let long = bytes(1, ANNOTATION_BYTES_MAX);
        for (name, text) in [("b", &b"1"[..]), ("a", b"text"), ("a.x", &long), ("a", b"other")] {
            annotate(store, "a", name, text);
        }
        assert_eq!(names(store, "a", None), "a a.x b");
        assert_eq!(payload(store, "a", None, "a").expect("there"), b"other");
        assert!(payload(store, "a", None, "a.x").expect("there") == long);
        let missing = payload(store, "a", None, "c");
        assert!(matches!(missing, Err(StoreError::NoSuchAnnotation)), "{missing:?}");
        let here = bucket(store, "bucket");
        let after = head_object(store, &here, &key("a"), None).expect("there");
        let unchanged = ObjectVersion { has_annotations: true, ..before };
        assert_eq!(after, unchanged, "its tag and its time, too");

        let page = |prefix: &str, after: Option<&str>, max| {
            let after = after.map(str::to_owned);
            let query = AnnotationQuery { prefix: prefix.to_owned(), after, max };
            let page = store.list_annotations(&here, &key("a"), None, &query).expect("listed");
            let names: Vec<String> = page.annotations.into_iter().map(|it| it.name).collect();
            (names.join(" "), page.has_more)
        };
        assert_eq!(page("", None, 2), ("a a.x".to_owned(), true));
        assert_eq!(page("", Some("a.x"), 2), ("b".to_owned(), false));
        assert_eq!(page("a", None, 9), ("a a.x".to_owned(), false));
        assert_eq!(page("a", Some("a"), 9), ("a.x".to_owned(), false));
        assert_eq!(page("a", Some("b"), 9), (String::new(), false));
        assert_eq!(page("x", None, 9), (String::new(), false));

        assert_eq!(remove(store, "a", "a").expect("it was there").bytes, 5);
        assert_eq!(remove(store, "a", "a"), None);
        assert_eq!(names(store, "a", None), "a.x b");
        blobs(store);
    });
}

#[test]
fn annotations_are_of_one_version_and_go_with_it() {
    let store = quiet(config(1));
    let here = bucket(&store, "bucket");
    put(&store, "a", b"1");
    annotate(&store, "a", "n", b"of the first");
    // Overwritten in place.
    put(&store, "a", b"2");
    assert_eq!(names(&store, "a", None), "");
    annotate(&store, "a", "n", b"of null");
    store.set_versioning(&here, Versioning::Enabled).wait().expect("set");
    let second = put(&store, "a", b"3").version_id;
    assert_eq!(names(&store, "a", None), "", "a new version has none");
    annotate(&store, "a", "n", b"of the second");
    delete(&store, "a");
    let hidden = payload(&store, "a", None, "n");
    assert!(matches!(hidden, Err(StoreError::NoSuchKey { .. })), "{hidden:?}");
    for (version, text) in [(VersionId::Null, &b"of null"[..]), (second, b"of the second")] {
        assert_eq!(payload(&store, "a", Some(&version), "n").expect("kept"), text);
    }
    // Of a version that is not the current one.
    let later = asked(put_change("m", b"later"), false);
    change(&store, "a", Some(VersionId::Null), later).expect("put").expect("changed");
    assert_eq!(names(&store, "a", Some(&VersionId::Null)), "m n");
    let gone = DeleteTarget::new(key("a"), Some(VersionId::Null));
    store.delete_object(&here, gone).wait().expect("deleted");
    assert_eq!(payload(&store, "a", Some(&second), "n").expect("kept"), b"of the second");
    store.reset_bucket(&name("bucket"), Vec::new()).expect("reset");
    store.reclaim().expect("reclaimed");
    blobs(&store);
}

#[test]
fn copies_have_annotations_of_their_own_and_renamed_and_grown_objects_keep_theirs() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        put(store, "a", b"body");
        annotate(store, "a", "n", b"text");
        annotate(store, "a", "m", b"more");
        let source = || ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        let copy = |to: &str, options: CopyOptions| {
            store.copy_object(source(), &here, key(to), options).wait().expect("copied");
        };
        copy("b", CopyOptions::default());
        let annotations = AnnotationDirective::Exclude;
        copy("c", CopyOptions { annotations, ..CopyOptions::default() });
        assert_eq!(names(store, "c", None), "");
        // Onto itself, as clients do to change metadata.
        let metadata = Some(ObjectMetadata::default());
        copy("a", CopyOptions { metadata, ..CopyOptions::default() });
        annotate(store, "a", "n", b"changed");
        delete(store, "a");
        store.reclaim().expect("reclaimed");
        blobs(store);
        assert_eq!(names(store, "b", None), "m n");
        assert_eq!(payload(store, "b", None, "n").expect("its own"), b"text");
        let renamed = store.rename_object(&here, key("b"), key("d"), RenameOptions::default());
        renamed.wait().expect("renamed");
        let more = stage(store, b" and more").expect("staged");
        let appended = store.append_object(&here, key("d"), 4, more, PutOptions::default());
        appended.wait().expect("appended");
        assert_eq!(get(store, "d"), b"body and more");
        assert_eq!(payload(store, "d", None, "n").expect("kept"), b"text");
        check(store, 0);
        // The last one takes the rest with it.
        for name in ["n", "m"] {
            remove(store, "d", name).expect("was there");
        }
        assert!(!head_object(store, &here, &key("d"), None).expect("there").has_annotations);
        delete(store, "d");
        check(store, 0);
    });
}

#[test]
fn a_long_set_is_copied_and_removed_in_steps() {
    over_a_database(|store| {
        let here = bucket(store, "bucket");
        put(store, "a", b"body");
        for number in 0..300 {
            annotate(store, "a", &format!("n{number:03}"), format!("text {number}").as_bytes());
        }
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        let copied = store.copy_object(source, &here, key("b"), CopyOptions::default());
        copied.wait().expect("copied");
        delete(store, "a");
        store.reclaim().expect("reclaimed");
        blobs(store);
        assert_eq!(names(store, "b", None).split(' ').count(), 300);
        assert_eq!(payload(store, "b", None, "n299").expect("there"), b"text 299");
    });
}

#[test]
fn a_copy_whose_caller_saw_no_annotation_loses_none() {
    over_a_database(|store| {
        let here = bucket(store, "bucket");
        put(store, "a", b"body");
        let copied = || {
            let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
            let annotations = AnnotationDirective::SawNone;
            let options = CopyOptions { annotations, ..CopyOptions::default() };
            store.copy_object(source, &here, key("a"), options).wait()
        };
        copied().expect("copied onto itself");
        annotate(store, "a", "n", b"text");
        let refused = copied();
        assert!(
            matches!(refused, Err(StoreError::ConditionalRequestConflict)),
            "it came after the caller's look: {refused:?}"
        );
        assert_eq!(payload(store, "a", None, "n").expect("kept"), b"text");
        remove(store, "a", "n").expect("was there");
        copied().expect("none again");
    });
}

#[test]
fn a_tombstone_is_no_annotation_of_a_copy() {
    let store = quiet(config(1));
    let here = bucket(&store, "bucket");
    store.set_versioning(&here, Versioning::Enabled).wait().expect("set");
    let target = "arn:aws:s3:::copies".to_owned();
    let rule = ReplicationRule { is_enabled: true, target, ..ReplicationRule::default() };
    let replication = Replication { rules: vec![rule], document: b"document".to_vec() };
    store.set_replication(&here, Some(replication), Vec::new()).wait().expect("set");
    put(&store, "a", b"body");
    annotate(&store, "a", "n", b"text");
    remove(&store, "a", "n").expect("was there");
    assert!(head_object(&store, &here, &key("a"), None).expect("there").has_annotations);
    let key_of_client = EncryptionKey::new([9; 32]);
    let encryption = Some(Encryption::Customer(key_of_client));
    for annotations in [AnnotationDirective::Copy, AnnotationDirective::SawNone] {
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        let options =
            CopyOptions { encryption: encryption.clone(), annotations, ..CopyOptions::default() };
        store.copy_object(source, &here, key("b"), options).wait().expect("copied");
    }
    check(&store, 0);
}

#[test]
fn nothing_is_left_of_a_copy_that_fails() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let store = quiet(StoreConfig { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..config(1) });
    let here = bucket(&store, "bucket");
    put(&store, "a", b"body");
    annotate(&store, "a", "n", b"text");
    put(&store, "taken", b"there");
    let copied = |to: &str, options: CopyOptions| {
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        store.copy_object(source, &here, key(to), options).wait()
    };
    let conditions =
        WriteConditions { if_none_match: Some(EtagCondition::Any), ..WriteConditions::default() };
    let refused = copied("taken", CopyOptions { conditions, ..CopyOptions::default() });
    assert!(matches!(refused, Err(StoreError::PreconditionFailed { .. })), "{refused:?}");
    // Only the transaction decides that the bucket has no locks.
    let lock = ObjectLock { legal_hold: LegalHold::On, ..ObjectLock::default() };
    let refused = copied("b", CopyOptions { lock, ..CopyOptions::default() });
    assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    store.reclaim().expect("reclaimed");
    // No set waits for the time that no copy reaches.
    clock.advance_ms(48 * 60 * 60 * 1000);
    check(&store, 0);
}

#[test]
fn a_version_has_a_thousand_and_conditions_are_on_the_object() {
    let store = quiet(StoreConfig { runs_twice: false, ..config(1) });
    let object = put(&store, "a", b"body");
    for number in 0..ANNOTATIONS_MAX {
        annotate(&store, "a", &format!("n{number}"), b"x");
    }
    let full = change(&store, "a", None, asked(put_change("one-more", b"x"), false));
    assert!(matches!(full, Err(StoreError::TooManyAnnotations)), "{full:?}");
    annotate(&store, "a", "n7", b"another");
    remove(&store, "a", "n8").expect("was there");
    annotate(&store, "a", "one-more", b"x");
    for text in [vec![], vec![b'x'; ANNOTATION_BYTES_MAX + 1]] {
        let refused = change(&store, "a", None, asked(put_change("n7", &text), false));
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    }
    for (tag, is_met) in [(object.etag.to_string(), true), ("0".repeat(32), false)] {
        for asked in [put_change("n9", b"y"), delete_change("n9")] {
            let if_match = EtagCondition::parse(&format!("\"{tag}\""));
            let conditions = ReadConditions { if_match, ..ReadConditions::default() };
            let asked = Annotate { change: asked, conditions, bypasses_governance: false };
            match change(&store, "a", None, VersionChange::Annotate(Box::new(asked))) {
                Ok(changed) => assert!(is_met && changed.is_some()),
                Err(StoreError::PreconditionFailed { .. }) => assert!(!is_met),
                Err(error) => panic!("{error}"),
            }
        }
    }
    check(&store, 0);
}

#[test]
fn annotations_are_encrypted_as_their_object_is() {
    let secret = |byte| EncryptionKey::new([byte; 32]);
    let named = NamedKey { name: "named".to_owned(), versions: vec![secret(2)] };
    let keys = Arc::new(KeyRing::new(vec![secret(1)], vec![named]));
    let store = quiet(StoreConfig { keys, ..config(1) });
    let here = bucket(&store, "bucket");
    let named =
        || Encryption::Named { key: Some("named".to_owned()), context: None, bucket_key: false };
    let put_sealed = |object: &str, encryption: &Encryption| {
        let sealing = Some(store.seal_object(encryption).expect("a key"));
        let options = BodyOptions { sealing, ..Default::default() };
        let mut body = store.begin_body(options).expect("begun");
        body.write(b"body").expect("written");
        let body = body.finish().expect("staged");
        store.put_object(&here, key(object), body, PutOptions::default()).wait().expect("put");
    };
    let text = bytes(3, 600_000);
    put(&store, "plain", b"body");
    put_sealed("master", &Encryption::Master);
    put_sealed("named", &named());
    for object in ["plain", "master", "named"] {
        annotate(&store, object, "n", &text);
        assert!(payload(&store, object, None, "n").expect("readable") == text, "{object}");
    }
    let tag = |object| {
        store.get_annotation(&here, &key(object), None, "n").expect("there").annotation.etag
    };
    assert_eq!(tag("master"), tag("plain"));
    assert_ne!(tag("named"), tag("plain"), "it would tell a guess of the text");
    // A copy has the key of its own encryption.
    for from in ["plain", "master", "named"] {
        for (to, encryption) in [("1", None), ("2", Some(Encryption::Master)), ("3", Some(named()))]
        {
            let source = ObjectId { bucket: Arc::clone(&here), key: key(from), version: None };
            let options = CopyOptions { encryption, ..CopyOptions::default() };
            store.copy_object(source, &here, key(to), options).wait().expect("copied");
            assert!(payload(&store, to, None, "n").expect("readable") == text, "{from} to {to}");
        }
    }
    let renamed = store.rename_object(&here, key("named"), key("new"), RenameOptions::default());
    renamed.wait().expect("renamed");
    assert!(payload(&store, "new", None, "n").expect("readable") == text);

    put_sealed("customer", &Encryption::Customer(secret(9)));
    let refused = change(&store, "customer", None, asked(put_change("n", b"x"), false));
    assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    let source = ObjectId { bucket: Arc::clone(&here), key: key("plain"), version: None };
    let encryption = Some(Encryption::Customer(secret(9)));
    let options = CopyOptions { encryption, ..CopyOptions::default() };
    let refused = store.copy_object(source, &here, key("4"), options).wait();
    assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    store.reclaim().expect("reclaimed");
    blobs(&store);
}

#[test]
fn what_is_locked_is_neither_replaced_nor_deleted() {
    let store = Store::open(config(1)).expect("memory");
    let new = NewBucket::new(name("bucket"), owner(), "us-east-1".to_owned());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    for (mode, is_bypassed) in
        [(RetentionMode::Governance, true), (RetentionMode::Compliance, false)]
    {
        let retention = Some(Retention { mode, until_ms: 1_700_001_000_000 });
        let lock = ObjectLock { retention, ..ObjectLock::default() };
        try_put(&store, "a", b"body", PutOptions { lock, ..PutOptions::default() }).expect("put");
        // A new one takes nothing away.
        annotate(&store, "a", "n", b"text");
        for it in [put_change("n", b"other"), delete_change("n")] {
            let refused = change(&store, "a", None, asked(it.clone(), false));
            assert!(matches!(refused, Err(StoreError::ObjectLocked)), "{refused:?}");
            let bypassed = change(&store, "a", None, asked(it, true));
            assert_eq!(bypassed.is_ok(), is_bypassed, "{mode:?}");
        }
    }
    check(&store, 0);
}

#[test]
fn events_tell_the_annotation() {
    over_a_database(|store| {
        let rule = NotificationRule {
            target: "target".to_owned(),
            events: vec!["ObjectAnnotation:*".to_owned()],
            ..NotificationRule::default()
        };
        let all = Notifications { rules: vec![rule], document: Vec::new() };
        let set = store.set_notifications(&bucket(store, "bucket"), Some(all), Cause::Unknown);
        set.wait().expect("set");
        put(store, "a", b"body");
        annotate(store, "a", "n", b"text");
        // The second time there is nothing to delete, and nothing to tell.
        remove(store, "a", "n").expect("was there");
        assert_eq!(remove(store, "a", "n"), None);
        let events = store.queued_events("target", None, 10).expect("a queue");
        let told: Vec<String> = events
            .into_iter()
            .map(|waiting| waiting.event.expect("whole"))
            .filter_map(|event| {
                let annotation = event.annotation?;
                Some(format!("{} {} {}", event.kind.name(), annotation.name, annotation.bytes))
            })
            .collect();
        assert_eq!(told, ["ObjectAnnotation:Put n 4", "ObjectAnnotation:Delete n 4"]);
    });
}

#[test]
fn a_later_change_of_another_store_wins_and_an_older_one_changes_nothing() {
    let store = quiet(config(1));
    put(&store, "a", b"body");
    let now_ms = 1_700_000_000_000;
    let from_another = |it: AnnotationChange, at_ms: u64| {
        let replicated = VersionChange::Replicated { at_ms, change: Box::new(asked(it, true)) };
        change(&store, "a", None, replicated).expect("done")
    };
    annotate(&store, "a", "n", b"here");
    assert_eq!(from_another(put_change("n", b"older"), now_ms - 1), None);
    assert_eq!(from_another(delete_change("n"), now_ms - 1), None);
    assert_eq!(payload(&store, "a", None, "n").expect("kept"), b"here");
    let put = from_another(put_change("n", b"newer"), now_ms + 5).expect("changed");
    assert_eq!(put.modified_ms, now_ms + 5);
    assert_eq!(payload(&store, "a", None, "n").expect("there"), b"newer");
    // A change here is later, also by a clock that is behind.
    annotate(&store, "a", "n", b"last");
    assert_eq!(from_another(put_change("n", b"late"), now_ms + 6), None);
    assert_eq!(payload(&store, "a", None, "n").expect("kept"), b"last");
    check(&store, 0);
}
