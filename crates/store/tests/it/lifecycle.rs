//! Lifecycle rules, executed. What the rules say is tested beside them.

use std::sync::Arc;

use liteio_disk::{Fault, SimulatedDisk};
use liteio_store::{
    Cause, EventHoldChange, Expiration, Lifecycle, LifecycleFilter, LifecycleRule,
    ListUploadsQuery, ListVersionsQuery, ManualClock, NewBucket, NoncurrentExpiration,
    NoncurrentTransition, ObjectLock, ObjectMetadata, PutOptions, Retention, RetentionMode,
    RetentionPeriod, Store, StoreConfig, Transition, VersionChange, VersionEntry, Versioning,
};

use crate::harness::*;

const DAY_MS: u64 = 86_400_000;
/// A midnight.
const START_MS: u64 = 19_700 * DAY_MS;

fn open() -> (Store, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(START_MS));
    // Without threads: the test says when a walk is done.
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) };
    let disk = Arc::new(SimulatedDisk::new(1));
    let store = Store::open_on(disk, config).expect("opens");
    create_bucket(&store, "bucket");
    (store, clock)
}

fn rule(prefix: &str) -> LifecycleRule {
    LifecycleRule {
        id: format!("rule of {prefix}"),
        is_enabled: true,
        filter: LifecycleFilter { prefix: prefix.to_owned(), ..LifecycleFilter::default() },
        ..LifecycleRule::default()
    }
}

fn set(store: &Store, rules: Vec<LifecycleRule>) {
    let lifecycle = Lifecycle { rules, document: b"document".to_vec() };
    store.set_lifecycle(&bucket(store, "bucket"), Some(lifecycle)).wait().expect("set");
}

/// Sets the clock to the begin of a day, and does what is due.
fn run_on_day(store: &Store, clock: &ManualClock, day: u64) -> u64 {
    clock.set_ms(START_MS + day * DAY_MS);
    store.run_lifecycle().expect("a walk").ended
}

/// Versions as `key=body`, delete markers as `key!`, newest first within a key.
fn listed(store: &Store) -> Vec<String> {
    let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
    let page = store.list_versions(&bucket(store, "bucket"), &query).expect("listed");
    let line = |entry| match entry {
        VersionEntry::Version(it) => format!("{}={}", it.key, it.bytes),
        VersionEntry::DeleteMarker(it) => format!("{}!", it.key),
        VersionEntry::Prefix(prefix) => prefix,
    };
    page.entries.into_iter().map(line).collect()
}

#[test]
fn a_page_of_versions_that_are_all_due_ends_on_every_backend() {
    on_every_backend(|store| {
        let at = Some(Expiration::At(1));
        set(store, vec![LifecycleRule { expiration: at, ..rule("") }]);
        for number in 0..100 {
            put(store, &format!("object {number}"), &bytes(1, 300));
        }
        assert_eq!(store.run_lifecycle().expect("a walk").ended, 100);
        assert_eq!(listed(store), Vec::<String>::new());
    });
}

#[test]
fn objects_end_by_days_date_prefix_tags_and_size() {
    let (store, clock) = open();
    let tag = ("k".to_owned(), "v".to_owned());
    set(
        &store,
        vec![
            LifecycleRule { expiration: Some(Expiration::Days(2)), ..rule("days/") },
            LifecycleRule {
                expiration: Some(Expiration::At(START_MS + 3 * DAY_MS)),
                ..rule("date/")
            },
            LifecycleRule {
                expiration: Some(Expiration::Days(1)),
                filter: LifecycleFilter {
                    prefix: "tags/".to_owned(),
                    tags: vec![tag.clone()],
                    larger_than: Some(1),
                    smaller_than: Some(3),
                },
                ..rule("")
            },
            LifecycleRule {
                expiration: Some(Expiration::Days(1)),
                is_enabled: false,
                ..rule("off/")
            },
        ],
    );
    for object in ["date/a", "days/a", "off/a", "tags/none"] {
        put(&store, object, b"xx");
    }
    for (object, body) in [("tags/small", &b"x"[..]), ("tags/some", b"xx"), ("tags/large", b"xxx")]
    {
        put(&store, object, body);
        let tags = VersionChange::Tags(vec![("a".to_owned(), "b".to_owned()), tag.clone()]);
        store
            .change_object(&bucket(&store, "bucket"), key(object), None, tags, Cause::Unknown)
            .wait()
            .expect("set");
    }
    assert_eq!(run_on_day(&store, &clock, 0), 0);
    assert_eq!(run_on_day(&store, &clock, 1), 1);
    let left = ["date/a=2", "days/a=2", "off/a=2", "tags/large=3", "tags/none=2", "tags/small=1"];
    assert_eq!(listed(&store), left);
    assert_eq!(run_on_day(&store, &clock, 2), 1);
    assert_eq!(run_on_day(&store, &clock, 3), 1);
    assert_eq!(listed(&store), left[2..]);
    store.set_lifecycle(&bucket(&store, "bucket"), None).wait().expect("set");
    assert_eq!(run_on_day(&store, &clock, 100), 0);
}

#[test]
fn versions_end_one_after_the_other_and_the_marker_last() {
    let (store, clock) = open();
    store.set_versioning(&bucket(&store, "bucket"), Versioning::Enabled).wait().expect("set");
    let noncurrent = Some(NoncurrentExpiration { days: 3, keep_newest: 1 });
    set(
        &store,
        vec![
            LifecycleRule { expiration: Some(Expiration::Days(1)), noncurrent, ..rule("a") },
            LifecycleRule {
                expires_delete_markers: true,
                noncurrent: Some(NoncurrentExpiration { days: 1, keep_newest: 0 }),
                ..rule("b")
            },
        ],
    );
    for (body, day) in [(&b"1"[..], 0), (b"22", 0), (b"333", 0)] {
        clock.set_ms(START_MS + day * DAY_MS);
        put(&store, "a", body);
        put(&store, "b", body);
    }
    delete(&store, "b");
    // The current version of a gets a delete marker. b loses all but its marker, which goes next.
    run_on_day(&store, &clock, 1);
    assert_eq!(listed(&store), ["a!", "a=3", "a=2", "a=1", "b!"]);
    run_on_day(&store, &clock, 2);
    assert_eq!(listed(&store), ["a!", "a=3", "a=2", "a=1"], "one noncurrent version stays anyway");
    run_on_day(&store, &clock, 3);
    assert_eq!(listed(&store), ["a!", "a=3"]);
    run_on_day(&store, &clock, 9);
    assert_eq!(listed(&store), ["a!", "a=3"], "the newest stays");
}

#[test]
fn a_transition_to_a_class_without_a_tier_sets_the_class() {
    let (store, clock) = open();
    store.set_versioning(&bucket(&store, "bucket"), Versioning::Enabled).wait().expect("set");
    let to = |days, class: &str| Transition {
        at: Expiration::Days(days),
        class: class.to_owned(),
        bytes_min: 3,
    };
    let noncurrent_transitions = vec![NoncurrentTransition {
        at: NoncurrentExpiration { days: 30, keep_newest: 0 },
        class: "ONEZONE_IA".to_owned(),
        bytes_min: 0,
    }];
    let transitions = vec![to(30, "STANDARD_IA"), to(60, "GLACIER_IR"), to(90, "DEEP_ARCHIVE")];
    set(&store, vec![LifecycleRule { transitions, noncurrent_transitions, ..rule("") }]);
    put(&store, "a", b"old");
    let new = put(&store, "a", b"body");
    put(&store, "small", b"x");
    let metadata =
        ObjectMetadata { storage_class: Some("GLACIER".to_owned()), ..ObjectMetadata::default() };
    let options = PutOptions { metadata, ..PutOptions::default() };
    try_put(&store, "cold", b"body", options).expect("put");
    let classes = |day| {
        assert_eq!(run_on_day(&store, &clock, day), 0, "nothing ends");
        let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
        let page = store.list_versions(&bucket(&store, "bucket"), &query).expect("listed");
        let class = |entry| match entry {
            VersionEntry::Version(it) => it.storage_class.unwrap_or_default(),
            other => panic!("{other:?}"),
        };
        page.entries.into_iter().map(class).collect::<Vec<_>>()
    };
    assert_eq!(classes(29), ["", "", "GLACIER", ""]);
    assert_eq!(classes(30), ["STANDARD_IA", "ONEZONE_IA", "GLACIER", ""]);
    assert_eq!(classes(31), ["STANDARD_IA", "ONEZONE_IA", "GLACIER", ""]);
    assert_eq!(classes(60), ["GLACIER_IR", "ONEZONE_IA", "GLACIER", ""], "never a faster class");
    let head = head_object(&store, &bucket(&store, "bucket"), &key("a"), None).expect("an object");
    assert_eq!((head.modified_ms, head.etag), (new.modified_ms, new.etag));
    assert_eq!(get(&store, "a"), b"body");
    assert_eq!(classes(90), ["DEEP_ARCHIVE", "ONEZONE_IA", "DEEP_ARCHIVE", ""]);
}

#[test]
fn of_transitions_of_one_day_the_coldest_counts() {
    let (store, clock) = open();
    let to = |class: &str| Transition {
        at: Expiration::Days(30),
        class: class.to_owned(),
        bytes_min: 0,
    };
    let transitions = vec![to("GLACIER_IR"), to("STANDARD_IA")];
    set(&store, vec![LifecycleRule { transitions, ..rule("") }]);
    put(&store, "a", b"body");
    assert_eq!(run_on_day(&store, &clock, 31), 0);
    let head = head_object(&store, &bucket(&store, "bucket"), &key("a"), None).expect("an object");
    assert_eq!(head.metadata.storage_class.as_deref(), Some("GLACIER_IR"));
}

#[test]
fn locked_versions_stay_until_their_lock_ends() {
    let (store, clock) = open();
    let new = NewBucket::new(name("locked"), owner(), String::new());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    let locked = bucket(&store, "locked");
    let until_ms = START_MS + 5 * DAY_MS;
    let retention = Some(Retention { mode: RetentionMode::Governance, until_ms });
    let lock = ObjectLock { retention, ..ObjectLock::default() };
    for body in [b"1", b"2"] {
        let body = stage(&store, body).expect("staged");
        let options = PutOptions { lock, ..PutOptions::default() };
        store.put_object(&locked, key("a"), body, options).wait().expect("put");
    }
    let noncurrent = Some(NoncurrentExpiration { days: 1, keep_newest: 0 });
    let rules = vec![LifecycleRule { noncurrent, ..rule("") }];
    let lifecycle = Lifecycle { rules, document: Vec::new() };
    store.set_lifecycle(&locked, Some(lifecycle)).wait().expect("set");
    assert_eq!([1, 2, 4].map(|day| run_on_day(&store, &clock, day)), [0, 0, 0]);
    assert_eq!(run_on_day(&store, &clock, 6), 1);
    // An event hold, too, until its duration behind the release.
    let (mode, duration) = (RetentionMode::Governance, Some(RetentionPeriod::Days(2)));
    let change = |duration| {
        let change = EventHoldChange { mode, duration, until_ms: None };
        let change = VersionChange::EventHold { change, bypasses_governance: false };
        store.change_object(&locked, key("a"), None, change, Cause::Unknown).wait()
    };
    change(duration).expect("held");
    let body = stage(&store, b"3").expect("staged");
    let held = change(duration).expect("held").version_id;
    store.put_object(&locked, key("a"), body, PutOptions::default()).wait().expect("put");
    assert_eq!([8, 20].map(|day| run_on_day(&store, &clock, day)), [0, 0]);
    let change = EventHoldChange { mode, duration: None, until_ms: None };
    let change = VersionChange::EventHold { change, bypasses_governance: false };
    let released = store.change_object(&locked, key("a"), Some(held), change, Cause::Unknown);
    released.wait().expect("released");
    assert_eq!([21, 23].map(|day| run_on_day(&store, &clock, day)), [0, 1]);
}

#[test]
fn uploads_that_nobody_completes_end() {
    let (store, clock) = open();
    set(&store, vec![LifecycleRule { abort_uploads_days: Some(2), ..rule("a") }]);
    let ended = create_upload(&store, "a");
    put_part(&store, "a", &ended, 1, &bytes(1, 1000)).expect("a part");
    create_upload(&store, "other");
    clock.set_ms(START_MS + DAY_MS);
    create_upload(&store, "a-later");
    assert_eq!(run_on_day(&store, &clock, 2), 1);
    let query = ListUploadsQuery { max: 10, ..ListUploadsQuery::default() };
    let page = store.list_uploads(&bucket(&store, "bucket"), &query).expect("listed");
    assert_eq!(page.entries.len(), 2);
    store.reclaim().expect("reclaimed");
    assert_eq!(blobs(&store), 0, "its part is gone");
}

#[test]
fn a_walk_that_is_cut_anywhere_ends_nothing_else_and_goes_on() {
    let clock = Arc::new(ManualClock::new(START_MS));
    let open = |disk: &SimulatedDisk| {
        let config = StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) };
        Store::open_on(Arc::new(disk.clone()), config)
    };
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).expect("opens");
    let new = NewBucket::new(name("bucket"), owner(), String::new());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    let noncurrent = Some(NoncurrentExpiration { days: 1, keep_newest: 0 });
    let expiration = Some(Expiration::Days(1));
    set(
        &store,
        vec![
            LifecycleRule { noncurrent, ..rule("old") },
            LifecycleRule { expiration, ..rule("due") },
        ],
    );
    for object in ["due", "kept", "old"] {
        put(&store, object, &[1; 10]);
        put(&store, object, &[2; 1000]);
    }
    let held = VersionChange::LegalHold(true);
    let locked = bucket(&store, "bucket");
    let hold = store.change_object(&locked, key("old"), None, held, Cause::Unknown);
    hold.wait().expect("held");
    put(&store, "old", &[3; 20]);
    create_upload(&store, "kept");
    store.close();
    drop(store);
    clock.set_ms(START_MS + 2 * DAY_MS);
    let before = ["due=1000", "due=10", "kept=1000", "kept=10", "old=20", "old=1000", "old=10"];
    let after = ["due!", "due=1000", "due=10", "kept=1000", "kept=10", "old=20", "old=1000"];
    let mut outcomes = [0, 0];
    for at in 0.. {
        let disk = disk.kill();
        let store = open(&disk).expect("opens");
        disk.set_fault(disk.operations() + at, Fault::Crash);
        let is_done = store.run_lifecycle().is_ok();
        drop(store);
        let left = disk.crash();
        let store = open(&left).expect("opens");
        let found = listed(&store);
        let is_after = found == after;
        assert!(is_after || (found == before && !is_done), "cut at {at}: {found:?}");
        outcomes[usize::from(is_after)] += 1;
        store.run_lifecycle().expect("it goes on");
        assert_eq!(listed(&store), after, "cut at {at}");
        assert!(store.verify(&mut |_| {}).expect("verify").damaged.is_empty(), "cut at {at}");
        if is_done {
            break;
        }
    }
    assert!(outcomes[0] > 1 && outcomes[1] > 1, "{outcomes:?}");
}

#[test]
fn a_walk_of_many_pages_and_buckets_misses_nothing() {
    let (store, clock) = open();
    store.set_versioning(&bucket(&store, "bucket"), Versioning::Enabled).wait().expect("set");
    let noncurrent = Some(NoncurrentExpiration { days: 1, keep_newest: 2 });
    set(&store, vec![LifecycleRule { noncurrent, ..rule("") }]);
    for number in 0..2_500 {
        put(&store, "many", &bytes(number, 3));
    }
    create_bucket(&store, "other");
    for number in 0..1_200 {
        put_into(&store, "other", &format!("key-{number}"), b"x");
    }
    let expiration = Some(Expiration::Days(1));
    let rules = vec![LifecycleRule { expiration, ..rule("key-") }];
    let lifecycle = Lifecycle { rules, document: Vec::new() };
    store.set_lifecycle(&bucket(&store, "other"), Some(lifecycle)).wait().expect("set");
    clock.set_ms(START_MS + DAY_MS);
    let state = store.run_lifecycle().expect("a walk");
    assert_eq!((state.looked_at, state.ended), (2_500 + 1_200, 2_497 + 1_200));
    assert_eq!(listed(&store).len(), 3);
    assert_eq!(store.lifecycle_state().expect("kept"), state);
}
