//! Events: every change is told once, in order, and only if it has happened.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use liteio_disk::SimulatedDisk;
use liteio_store::{
    Cause, CopyOptions, DeleteTarget, EtagCondition, Event, EventHoldChange, EventObserver,
    Expiration, Lifecycle, LifecycleRule, ManualClock, NotificationRule, Notifications, ObjectId,
    PutOptions, Requester, Retention, RetentionMode, RetentionPeriod, Store, StoreConfig,
    UploadOptions, VersionChange, Versioning, WriteConditions,
};

use crate::harness::*;

const TARGET: &str = "target";

fn rule(events: &[&str], prefix: &str) -> NotificationRule {
    NotificationRule {
        id: format!("rule of {prefix:?}"),
        target: TARGET.to_owned(),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        prefix: prefix.to_owned(),
        suffix: String::new(),
    }
}

fn notify(store: &Store, rules: Vec<NotificationRule>) {
    let notifications = Notifications { rules, document: b"document".to_vec() };
    let set =
        store.set_notifications(&bucket(store, "bucket"), Some(notifications), Cause::Unknown);
    set.wait().expect("set");
}

fn everything(store: &Store) {
    let families = [
        "ObjectCreated:*",
        "ObjectRemoved:*",
        "ObjectTagging:*",
        "ObjectAcl:Put",
        "ObjectRetention:Put",
        "LifecycleExpiration:*",
    ];
    notify(store, vec![rule(&families, "")]);
}

fn waiting(store: &Store) -> Vec<Event> {
    let events = store.queued_events(TARGET, None, 1000).expect("a queue");
    events.into_iter().map(|waiting| waiting.event.expect("whole")).collect()
}

/// The events as `name key`, which are taken.
fn take(store: &Store) -> Vec<String> {
    let told =
        waiting(store).into_iter().map(|event| format!("{} {}", event.kind.name(), event.key));
    let told = told.collect();
    let numbers = store.queued_events(TARGET, None, 1000).expect("a queue");
    let numbers: Vec<u64> = numbers.iter().map(|event| event.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    store.forget_events(TARGET, numbers).wait().expect("forgotten");
    assert!(waiting(store).is_empty());
    told
}

fn delete(store: &Store, object: &str) {
    let target = DeleteTarget::new(key(object), None);
    store.delete_object(&bucket(store, "bucket"), target).wait().expect("deleted");
}

#[test]
fn every_change_is_told_once_and_in_order() {
    on_every_backend(|store| {
        put(store, "before", b"1");
        everything(store);
        assert_eq!(take(store), ["TestEvent "]);
        put(store, "a", b"1");
        let form = PutOptions { is_form: true, ..PutOptions::default() };
        try_put(store, "form", b"1", form).expect("put");
        let here = bucket(store, "bucket");
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        store.copy_object(source, &here, key("b"), CopyOptions::default()).wait().expect("copied");
        let upload = store.create_upload(&here, key("c"), UploadOptions::default());
        let id = upload.wait().expect("begun").id;
        put_part(store, "c", &id, 1, b"12345678").expect("a part");
        complete(store, "c", &id, &[1]).expect("completed");
        complete(store, "c", &id, &[1]).expect("answered again");
        let tags = VersionChange::Tags(vec![("k".to_owned(), "v".to_owned())]);
        let acl = |seen_acl| VersionChange::Acl {
            acl: Some(b"acl".to_vec()),
            seen_owner_id: String::new(),
            seen_acl,
        };
        // The last of them changes nothing.
        for change in [tags, VersionChange::NoTags, acl(None), acl(Some(b"acl".to_vec()))] {
            let changed = store.change_object(&here, key("a"), None, change, Cause::Unknown);
            changed.wait().expect("changed");
        }
        delete(store, "a");
        let several = ["b", "missing", "c"].map(|it| DeleteTarget::new(key(it), None));
        store.delete_objects(&here, several.to_vec()).wait().expect("deleted");
        let expected = [
            "ObjectCreated:Put a",
            "ObjectCreated:Post form",
            "ObjectCreated:Copy b",
            "ObjectCreated:CompleteMultipartUpload c",
            "ObjectTagging:Put a",
            "ObjectTagging:Delete a",
            "ObjectAcl:Put a",
            "ObjectRemoved:Delete a",
            "ObjectRemoved:Delete b",
            "ObjectRemoved:Delete c",
        ];
        assert_eq!(take(store), expected);
    });
}

#[test]
fn versions_and_delete_markers_are_told_with_their_ids() {
    on_every_backend(|store| {
        everything(store);
        let here = bucket(store, "bucket");
        store.set_versioning(&here, Versioning::Enabled).wait().expect("enabled");
        take(store);
        let first = put(store, "a", b"123");
        delete(store, "a");
        let version = Some(first.version_id);
        let removed = store.delete_object(&here, DeleteTarget::new(key("a"), version));
        removed.wait().expect("removed");
        let told = waiting(store);
        let [created, marked, removed] = &told[..] else { panic!("{told:?}") };
        let id = Some(first.version_id.to_string());
        assert_eq!((&created.version, created.bytes), (&id, Some(3)));
        assert_eq!(created.etag, Some(first.etag));
        assert_eq!(created.rule, "rule of \"\"");
        assert_eq!((&*created.bucket, &*created.bucket_owner_id), ("bucket", "owner"));
        assert_eq!(marked.kind.name(), "ObjectRemoved:DeleteMarkerCreated");
        assert!(marked.version.is_some() && marked.version != id, "{marked:?}");
        assert_eq!((&removed.version, removed.bytes, removed.etag), (&id, None, None));
    });
}

#[test]
fn what_did_not_happen_or_nobody_asked_for_is_not_told() {
    on_every_backend(|store| {
        notify(store, vec![rule(&["ObjectCreated:Put"], "in/")]);
        take(store);
        put(store, "out/a", b"1");
        let never = WriteConditions {
            if_none_match: Some(EtagCondition::Any),
            ..WriteConditions::default()
        };
        put(store, "in/a", b"1");
        let refused = PutOptions { conditions: never, ..PutOptions::default() };
        try_put(store, "in/a", b"2", refused).expect_err("there is one");
        delete(store, "in/a");
        delete(store, "in/missing");
        assert_eq!(take(store), ["ObjectCreated:Put in/a"]);
        let none = store.set_notifications(&bucket(store, "bucket"), None, Cause::Unknown);
        none.wait().expect("taken away");
        put(store, "in/b", b"1");
        assert!(waiting(store).is_empty());
    });
}

#[test]
fn each_target_gets_an_event_once_whichever_rules_select_it() {
    const OTHER: &str = "other";
    on_every_backend(|store| {
        let other = |prefix| NotificationRule {
            target: OTHER.to_owned(),
            ..rule(&["ObjectCreated:*"], prefix)
        };
        let mine = rule(&["ObjectCreated:*"], "");
        notify(store, vec![other("in/"), mine, other("")]);
        put(store, "in/a", b"1");
        put(store, "b", b"1");
        let of = |target| {
            let events = store.queued_events(target, None, 1000).expect("a queue");
            let events = events.into_iter().map(|queued| queued.event.expect("whole"));
            events.map(|event| (event.rule, event.key)).collect::<Vec<_>>()
        };
        let told = |rule: &str, key: &str| (rule.to_owned(), key.to_owned());
        let test = told("", "");
        let (all, below) = ("rule of \"\"", "rule of \"in/\"");
        assert_eq!(of(TARGET), [test.clone(), told(all, "in/a"), told(all, "b")]);
        assert_eq!(of(OTHER), [test, told(below, "in/a"), told(all, "b")]);
    });
}

#[test]
fn the_sender_of_the_request_is_told() {
    on_every_backend(|store| {
        everything(store);
        take(store);
        let requester = Requester {
            principal_id: "alice".to_owned(),
            source_address: "192.0.2.1".to_owned(),
            request_id: "1".to_owned(),
            host_id: "2".to_owned(),
            user_agent: String::new(),
        };
        let cause = Cause::Request(Box::new(requester));
        let options = PutOptions { cause: cause.clone(), ..PutOptions::default() };
        try_put(store, "a", b"1", options).expect("put");
        assert_eq!(waiting(store)[0].cause, cause);
    });
}

#[test]
fn queues_keep_the_metadata_and_the_client_only_where_asked() {
    for keeps in [false, true] {
        let config = StoreConfig { events_keep_details: keeps, ..config(1) };
        let store = Store::open(config).expect("memory");
        create_bucket(&store, "bucket");
        everything(&store);
        take(&store);
        let agent = "camera/1".to_owned();
        let requester = Requester { user_agent: agent.clone(), ..Requester::default() };
        let cause = Cause::Request(Box::new(requester));
        let mut options = PutOptions { cause, ..PutOptions::default() };
        options.metadata.user = vec![("colour".to_owned(), "red".to_owned())];
        try_put(&store, "a", b"1", options).expect("put");
        let event = waiting(&store).remove(0);
        let user = event.metadata.map(|metadata| metadata.user);
        assert_eq!(user.is_some(), keeps);
        assert_eq!(user.unwrap_or_default().is_empty(), !keeps);
        let Cause::Request(requester) = event.cause else { panic!("{:?}", event.cause) };
        assert_eq!(requester.user_agent == agent, keeps);
    }
}

#[test]
fn what_a_lifecycle_rule_ends_is_told_as_such() {
    let clock = Arc::new(ManualClock::new(0));
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) };
    let store = Store::open_on(Arc::new(SimulatedDisk::new(1)), config).expect("opens");
    create_bucket(&store, "bucket");
    everything(&store);
    put(&store, "a", b"1");
    take(&store);
    let rule = LifecycleRule {
        is_enabled: true,
        expiration: Some(Expiration::Days(1)),
        ..LifecycleRule::default()
    };
    let rules = Lifecycle { rules: vec![rule], document: Vec::new() };
    let here = bucket(&store, "bucket");
    store.set_lifecycle(&here, Some(rules)).wait().expect("set");
    clock.set_ms(3 * 86_400_000);
    store.run_lifecycle().expect("a walk");
    assert_eq!(waiting(&store)[0].cause, Cause::Lifecycle);
    assert_eq!(take(&store), ["LifecycleExpiration:Delete a"]);
}

#[test]
fn a_full_queue_loses_events_and_counts_them() {
    let config = StoreConfig { events_waiting_max: 3, ..config(1) };
    let store = Store::open(config).expect("memory");
    create_bucket(&store, "bucket");
    everything(&store);
    for object in ["a", "b", "c", "d"] {
        put(&store, object, b"1");
    }
    let queue = store.outbox_state().expect("a state").queues[TARGET];
    assert_eq!((queue.waiting, queue.lost), (3, 2));
    assert_eq!(take(&store), ["TestEvent ", "ObjectCreated:Put a", "ObjectCreated:Put b"]);
    put(&store, "e", b"1");
    assert_eq!(take(&store), ["ObjectCreated:Put e"]);
    let queue = store.outbox_state().expect("a state").queues[TARGET];
    assert_eq!((queue.waiting, queue.lost), (0, 2));
}

#[test]
fn numbers_grow_through_a_restart_and_a_clock_that_is_set_back() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let clock = Arc::new(ManualClock::new(5_000_000));
    let open = || {
        let config = StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) };
        Store::open_on(Arc::clone(&disk) as _, config).expect("opens")
    };
    let store = open();
    create_bucket(&store, "bucket");
    everything(&store);
    let newest = |store: &Store| {
        put(store, "a", b"1");
        let events = store.queued_events(TARGET, None, 1000).expect("a queue");
        let number = events.last().expect("an event").number;
        take(store);
        number
    };
    let first = newest(&store);
    store.close();
    clock.set_ms(1_000);
    let store = open();
    let second = newest(&store);
    assert!(second > first, "{second} follows {first}");
}

#[test]
fn whoever_waits_for_events_is_woken_by_one() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    everything(&store);
    let seen = store.events_queued(TARGET);
    let mut wait = pin!(store.wait_for_events(TARGET, seen));
    let mut context = Context::from_waker(Waker::noop());
    assert!(wait.as_mut().poll(&mut context).is_pending());
    put(&store, "a", b"1");
    assert_eq!(wait.as_mut().poll(&mut context), Poll::Ready(()));
    assert!(store.events_queued(TARGET) > seen);
    assert_eq!(store.events_queued("another"), 0);
}

#[test]
fn events_that_wait_outlive_their_bucket_and_verify() {
    on_every_backend(|store| {
        everything(store);
        put(store, "a", b"1");
        delete(store, "a");
        delete_bucket(store, "bucket");
        let report = store.verify(&mut |_| {}).expect("verified");
        assert_eq!(report.damaged, []);
        assert_eq!(waiting(store).len(), 3);
        create_bucket(store, "bucket");
    });
}

#[test]
fn a_request_that_began_before_the_notifications_is_told() {
    on_every_backend(|store| {
        // As a request has it that receives its body meanwhile.
        let before = bucket(store, "bucket");
        everything(store);
        let body = stage(store, b"1").expect("staged");
        let put = store.put_object(&before, key("a"), body, PutOptions::default());
        put.wait().expect("put");
        assert_eq!(take(store), ["TestEvent ", "ObjectCreated:Put a"]);
        let with = bucket(store, "bucket");
        store.set_notifications(&with, None, Cause::Unknown).wait().expect("taken away");
        let body = stage(store, b"1").expect("staged");
        store.put_object(&with, key("b"), body, PutOptions::default()).wait().expect("put");
        assert!(waiting(store).is_empty());
    });
}

#[test]
fn the_queue_of_a_target_that_is_gone_can_be_dropped() {
    on_every_backend(|store| {
        everything(store);
        put(store, "a", b"1");
        assert_eq!(store.drop_events("another").expect("nothing"), 0);
        assert_eq!(store.drop_events(TARGET).expect("dropped"), 2);
        assert!(waiting(store).is_empty());
        assert!(store.outbox_state().expect("a state").queues.is_empty());
        put(store, "b", b"1");
        assert_eq!(take(store), ["ObjectCreated:Put b"]);
    });
}

/// Keeps what it is told.
#[derive(Debug, Default)]
struct Kept(std::sync::Mutex<Vec<String>>);

impl EventObserver for Kept {
    fn told(&self, event: &Arc<Event>) {
        self.0.lock().expect("no panic").push(format!("{} {}", event.kind.name(), event.key));
    }
}

#[test]
fn an_observer_is_told_what_has_happened_before_the_answer_and_costs_no_write() {
    let kept = Arc::new(Kept::default());
    let config = StoreConfig { event_observer: Some(Arc::clone(&kept) as _), ..config(1) };
    let store = Store::open(config).expect("memory");
    create_bucket(&store, "bucket");
    let commits = |store: &Store| store.stats().kv;
    let before = commits(&store);
    put(&store, "a", b"1");
    delete(&store, "a");
    let after = commits(&store);
    assert_eq!(
        *kept.0.lock().expect("no panic"),
        ["ObjectCreated:Put a", "ObjectRemoved:Delete a"]
    );
    assert_eq!(after.updates - before.updates, 2, "{after:?}");
    assert!(store.outbox_state().expect("readable").queues.is_empty());
    let only_new =
        WriteConditions { if_none_match: Some(EtagCondition::Any), ..WriteConditions::default() };
    put(&store, "b", b"1");
    let options = PutOptions { conditions: only_new, ..PutOptions::default() };
    try_put(&store, "b", b"2", options).expect_err("it is there");
    assert_eq!(kept.0.lock().expect("no panic").len(), 3);
    // Rules of the bucket are followed beside it.
    everything(&store);
    put(&store, "c", b"1");
    assert_eq!(take(&store), ["TestEvent ", "ObjectCreated:Put c"]);
    assert_eq!(kept.0.lock().expect("no panic").len(), 4);
}

#[test]
fn retentions_and_event_holds_are_told_and_legal_holds_are_not() {
    on_every_backend(|store| {
        everything(store);
        store.set_versioning(&bucket(store, "bucket"), Versioning::Enabled).wait().expect("set");
        store.set_object_lock(&bucket(store, "bucket"), None).wait().expect("set");
        put(store, "a", b"1");
        take(store);
        let mode = RetentionMode::Governance;
        let hold = |duration| VersionChange::EventHold {
            change: EventHoldChange { mode, duration, until_ms: None },
            bypasses_governance: false,
        };
        let retention = Some(Retention { mode, until_ms: u64::MAX / 2 });
        let retention = VersionChange::Retention { retention, bypasses_governance: false };
        let on = hold(Some(RetentionPeriod::Days(1)));
        for change in [on, hold(None), retention, VersionChange::LegalHold(true)] {
            let here = bucket(store, "bucket");
            let changed = store.change_object(&here, key("a"), None, change, Cause::Unknown);
            changed.wait().expect("changed");
        }
        assert_eq!(take(store), ["ObjectRetention:Put a"; 3]);
    });
}
