//! Replication: rows for changes, copies in any order of arrival, walks over what is there.

use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::{
    Cause, DeleteTarget, ETag, EtagCondition, Job, ListVersionsQuery, ManualClock, NewResync,
    PutOptions, QueuedReplication, Replica, Replication, ReplicationOutcome, ReplicationResult,
    ReplicationRule, ReplicationStatus, ReplicationTask, Several, Store, StoreConfig, StoreError,
    VersionChange, VersionEntry, VersionId, Versioning, WriteConditions,
};

use crate::harness::*;

const TARGET: &str = "arn:aws:s3:::copies";

fn rule(prefix: &str) -> ReplicationRule {
    ReplicationRule {
        id: prefix.to_owned(),
        is_enabled: true,
        prefix: prefix.to_owned(),
        target: TARGET.to_owned(),
        copies_markers: true,
        copies_deletions: true,
        copies_existing: true,
        copies_changed_replicas: true,
        ..ReplicationRule::default()
    }
}

fn set(store: &Store, rules: Vec<ReplicationRule>) {
    let here = bucket(store, "bucket");
    store.set_versioning(&here, Versioning::Enabled).wait().expect("enabled");
    let replication = Replication { rules, document: b"document".to_vec() };
    store.set_replication(&here, Some(replication), Vec::new()).wait().expect("set");
}

fn rows(store: &Store) -> Vec<QueuedReplication> {
    store.replication_rows(TARGET, None, 1000).expect("a queue")
}

/// The rows as keys, with `-` before a deletion.
fn told(store: &Store) -> Vec<String> {
    let told = |queued: QueuedReplication| {
        let row = queued.row.expect("whole");
        match row.task {
            ReplicationTask::Version { .. } => row.key,
            ReplicationTask::Delete { .. } => format!("-{}", row.key),
        }
    };
    rows(store).into_iter().map(told).collect()
}

fn settle(store: &Store, result: &ReplicationResult) {
    let outcome =
        |row: QueuedReplication| ReplicationOutcome { number: row.number, result: result.clone() };
    let outcomes = rows(store).into_iter().map(outcome).collect();
    store.settle_replication(TARGET, outcomes).wait().expect("settled");
}

fn status(store: &Store, object: &str) -> Option<ReplicationStatus> {
    store.find_object(&bucket(store, "bucket"), &key(object), None).expect("there").replication
}

const DONE: ReplicationResult = ReplicationResult::Done { version: None };

fn change(store: &Store, object: &str, change: VersionChange) -> Result<(), StoreError> {
    let here = bucket(store, "bucket");
    store.change_object(&here, key(object), None, change, Cause::Unknown).wait().map(drop)
}

fn tags(value: &str) -> VersionChange {
    VersionChange::Tags(vec![("k".to_owned(), value.to_owned())])
}

#[test]
fn a_change_has_a_row_exactly_if_it_happens_and_a_rule_selects_it() {
    on_every_backend(|store| {
        put(store, "in/before", b"1");
        set(store, vec![rule("in/")]);
        assert!(rows(store).is_empty());
        put(store, "out", b"1");
        put(store, "in/a", b"1");
        put(store, "in/a", b"2");
        let refused = PutOptions {
            conditions: WriteConditions {
                if_none_match: Some(EtagCondition::Any),
                ..WriteConditions::default()
            },
            ..PutOptions::default()
        };
        try_put(store, "in/a", b"3", refused).expect_err("there is one");
        change(store, "in/a", tags("v")).expect("changed");
        let acl = VersionChange::Acl { acl: None, seen_owner_id: String::new(), seen_acl: None };
        let _ = change(store, "in/a", acl);
        delete(store, "in/a");
        let versions = store.versions_of_key(&bucket(store, "bucket"), &key("in/a"));
        let oldest = versions.expect("versions").last().expect("one").version_id;
        let target = DeleteTarget::new(key("in/a"), Some(oldest));
        store.delete_object(&bucket(store, "bucket"), target).wait().expect("deleted");
        delete(store, "out");
        assert_eq!(told(store), ["in/a", "in/a", "in/a", "in/a", "-in/a"]);
        let queues = store.replication_queues().expect("queues");
        assert_eq!(queues[TARGET].waiting, 5);
        assert_eq!(queues[TARGET].oldest_ms, Some(store.now_ms()));
        settle(store, &DONE);
        assert!(store.replication_queues().expect("queues").is_empty());
    });
}

#[test]
fn a_status_is_completed_when_the_last_change_has_arrived() {
    on_every_backend(|store| {
        set(store, vec![rule("")]);
        put(store, "a", b"1");
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Pending));
        let first = rows(store).remove(0);
        change(store, "a", tags("v")).expect("changed");
        let outcome = |result| vec![ReplicationOutcome { number: first.number, result }];
        store.settle_replication(TARGET, outcome(DONE)).wait().expect("settled");
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Pending));
        settle(store, &ReplicationResult::Refused);
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Failed));
        let row = rows(store).remove(0).row.expect("whole");
        let version = store.version_to_replicate(&row, TARGET).expect("read").expect("there");
        assert!(version.is_sent && version.changes.tags_ms > 0);
        settle(store, &DONE);
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Completed));
        // A bucket that gets the name later has nothing to do with the rows.
        put(store, "a", b"2");
        let row = rows(store).remove(0).row.expect("whole");
        let here = bucket(store, "bucket");
        for known in store.versions_of_key(&here, &key("a")).expect("versions") {
            let target = DeleteTarget::new(key("a"), Some(known.version_id));
            store.delete_object(&here, target).wait().expect("deleted");
        }
        delete_bucket(store, "bucket");
        create_bucket(store, "bucket");
        set(store, vec![rule("")]);
        put(store, "a", b"3");
        assert!(store.version_to_replicate(&row, TARGET).expect("read").is_none());
    });
}

/// A stamp of that many milliseconds behind the clock of the tests.
fn stamp(behind_ms: u64) -> [u8; 16] {
    let time = !((1_700_000_000_000 - behind_ms) << 16);
    [time.to_be_bytes(), [7; 8]].concat().try_into().expect("16 bytes")
}

fn replica(behind_ms: u64, is_null: bool) -> Replica {
    let modified_ms = 1_700_000_000_000 - behind_ms;
    Replica { stamp: stamp(behind_ms), is_null, modified_ms, etag: None }
}

fn arrive(store: &Store, version: &Replica, body: Option<&[u8]>) -> Result<(), StoreError> {
    match body {
        Some(body) => {
            let options = PutOptions { replica: Some(version.clone()), ..PutOptions::default() };
            try_put(store, "a", body, options).map(drop)
        }
        None => {
            let here = bucket(store, "bucket");
            store
                .replicate_marker(&here, key("a"), version.clone(), Cause::Unknown)
                .wait()
                .map(drop)
        }
    }
}

/// The versions of the key, newest first, as a client sees them.
fn versions(store: &Store) -> Vec<String> {
    let query = ListVersionsQuery { max: 100, ..ListVersionsQuery::default() };
    let page = store.list_versions(&bucket(store, "bucket"), &query).expect("a list");
    let shown = |entry: VersionEntry| match entry {
        VersionEntry::Version(it) => format!("{} {} {}", it.version_id, it.is_latest, it.etag),
        VersionEntry::DeleteMarker(it) => format!("{} {} marker", it.version_id, it.is_latest),
        VersionEntry::Prefix(prefix) => prefix,
    };
    page.entries.into_iter().map(shown).collect()
}

#[test]
fn copies_have_the_same_order_whatever_the_order_of_their_arrival() {
    let long = bytes(1, 100);
    let all: [(Replica, Option<&[u8]>); 5] = [
        (replica(5, true), Some(b"null")),
        (replica(4, false), Some(b"first")),
        (replica(3, true), Some(&long)),
        (replica(2, false), None),
        (replica(1, false), Some(&long)),
    ];
    let mut expected = Vec::new();
    for turn in 0..120 {
        // The permutation with this number.
        let (mut left, mut number) = ((0..5).collect::<Vec<usize>>(), turn);
        let order: Vec<usize> = (1..=5)
            .rev()
            .map(|base| {
                let place = number % base;
                number /= base;
                left.remove(place)
            })
            .collect();
        let store = Store::open(config(1)).expect("memory");
        create_bucket(&store, "bucket");
        set(&store, vec![rule("")]);
        for place in order.iter().chain(&order) {
            arrive(&store, &all[*place].0, all[*place].1).expect("it arrives, also twice");
        }
        let found = versions(&store);
        if expected.is_empty() {
            assert_eq!(found.len(), 4, "{found:?}");
            expected.clone_from(&found);
        }
        assert_eq!(found, expected, "{order:?}");
        assert_eq!(get(&store, "a"), long);
        assert!(rows(&store).is_empty(), "copies are not copied back");
        store.reclaim().expect("reclaimed");
        let report = store.verify(&mut |_| {}).expect("verified");
        assert!(report.damaged.is_empty() && report.orphans == 0, "{order:?}: {report:?}");
        assert_eq!(blobs(&store), 1 + 1, "what arrived twice is kept once: {order:?}");
    }
}

#[test]
fn a_copy_that_cannot_be_one_is_refused() {
    on_every_backend(|store| {
        let refused = arrive(store, &replica(1, false), Some(b"1"));
        assert!(matches!(refused, Err(StoreError::InvalidBucketState { .. })), "{refused:?}");
        set(store, vec![rule("")]);
        let far = Replica { stamp: [0; 16], ..replica(0, false) };
        let refused = arrive(store, &far, Some(b"1"));
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
        let kept = Replica {
            etag: ETag::parse("0123456789abcdef0123456789abcdef-7"),
            ..replica(1, false)
        };
        arrive(store, &kept, Some(b"1")).expect("it arrives");
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Replica));
        let found = store.find_object(&bucket(store, "bucket"), &key("a"), None).expect("there");
        assert_eq!(Some(found.etag), kept.etag);
        assert_eq!(found.version_id, VersionId::Id(kept.stamp));
        // A local write is newer.
        put(store, "a", b"2");
        assert_eq!(get(store, "a"), b"2");
    });
}

#[test]
fn of_two_changes_the_later_one_counts_on_both_sides() {
    on_every_backend(|store| {
        set(store, vec![rule("")]);
        arrive(store, &replica(1, false), Some(b"1")).expect("it arrives");
        let from =
            |at_ms, value| VersionChange::Replicated { at_ms, change: Box::new(tags(value)) };
        let value = || {
            let here = bucket(store, "bucket");
            let found = store.find_object(&here, &key("a"), None).expect("there");
            found.metadata.tags.first().map(|(_, value)| value.clone()).unwrap_or_default()
        };
        for (at_ms, sent, expected) in
            [(20, "b", "b"), (10, "c", "b"), (20, "a", "b"), (20, "c", "c"), (30, "a", "a")]
        {
            change(store, "a", from(at_ms, sent)).expect("taken");
            assert_eq!(value(), expected, "{at_ms} {sent}");
        }
        assert!(rows(store).is_empty(), "changes from elsewhere are not sent back");
        change(store, "a", tags("here")).expect("changed");
        assert_eq!(told(store), ["a"]);
        change(store, "a", from(40, "old")).expect("taken");
        assert_eq!(value(), "here");
    });
}

#[test]
fn a_cancelled_walk_queues_nothing_more_even_after_a_restart() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let open = || Store::open_on(Arc::clone(&disk) as _, config(1)).expect("opens");
    let store = open();
    create_bucket(&store, "bucket");
    let here = bucket(&store, "bucket");
    store.set_versioning(&here, Versioning::Enabled).wait().expect("enabled");
    for number in 0..600 {
        put(&store, &format!("{number:03}"), b"1");
    }
    set(&store, vec![rule("")]);
    let new = |id: &str| NewResync {
        id: id.to_owned(),
        target: TARGET.to_owned(),
        again: true,
        before_ms: u64::MAX,
    };
    let here = bucket(&store, "bucket");
    store.begin_resync(&here, new("first")).wait().expect("begun");
    let running = store.resyncs().expect("read").remove(0).1;
    // The history is empty, so the second step queues the first page of current versions.
    for _ in 0..2 {
        assert!(!store.step_resync(&running).expect("a step"));
    }
    let queued = rows(&store).len();
    assert!((1..600).contains(&queued), "{queued}");
    let cancel = |store: &Store, target: Option<&str>| {
        store.cancel_resync(&here, target.map(str::to_owned)).wait().expect("cancelled")
    };
    assert!(cancel(&store, Some("arn:other")).is_empty());
    assert_eq!(cancel(&store, Some(TARGET)), ["first"]);
    assert!(cancel(&store, None).is_empty(), "it runs no more");
    // A step that was planned before.
    assert!(store.step_resync(&running).expect("no step"));
    store.close();
    let store = open();
    let found = store.resyncs().expect("read").remove(0).1;
    assert!(found.is_cancelled && found.is_done, "{found:?}");
    assert_eq!(rows(&store).len(), queued, "what was queued is sent");
    // Another one begins anew, for all targets at once.
    let here = bucket(&store, "bucket");
    store.begin_resync(&here, new("second")).wait().expect("begun");
    assert!(!store.resyncs().expect("read").remove(0).1.is_cancelled);
    assert_eq!(store.cancel_resync(&here, None).wait().expect("cancelled"), ["second"]);
}

#[test]
fn a_walk_queues_every_version_once_and_goes_on_after_a_restart() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let open = || {
        let config = StoreConfig { clock: Arc::clone(&clock) as _, ..config(1) };
        Store::open_on(Arc::clone(&disk) as _, config).expect("opens")
    };
    let mut store = open();
    create_bucket(&store, "bucket");
    put(&store, "before", b"null");
    let here = bucket(&store, "bucket");
    store.set_versioning(&here, Versioning::Enabled).wait().expect("enabled");
    for number in 0..600 {
        put(&store, &format!("{:03}", number % 400), b"1");
    }
    delete(&store, "007");
    set(&store, vec![rule("")]);
    put(&store, "after", b"1");
    let new = NewResync {
        id: "first".to_owned(),
        target: TARGET.to_owned(),
        again: false,
        before_ms: u64::MAX,
    };
    store.begin_resync(&bucket(&store, "bucket"), new).wait().expect("begun");
    let mut steps = 0;
    loop {
        steps += 1;
        let resync = store.resyncs().expect("read").remove(0).1;
        if store.step_resync(&resync).expect("a step") {
            break;
        }
        // A version that becomes history meanwhile is not passed over.
        if steps == 2 {
            put(&store, "399", b"2");
        }
        store.close();
        store = open();
    }
    assert!(steps > 3);
    let mut found = std::collections::BTreeSet::new();
    for queued in store.replication_rows(TARGET, None, 5000).expect("a queue") {
        let row = queued.row.expect("whole");
        assert!(found.insert((row.key, row.stamp)), "queued once");
    }
    assert_eq!(found.len(), 1 + 600 + 1 + 1 + 1);
    assert_eq!(status(&store, "before"), Some(ReplicationStatus::Pending));
    let resync = store.resyncs_of(&bucket(&store, "bucket")).expect("read").remove(0);
    assert!(resync.is_done && resync.queued >= 602, "{resync:?}");
    assert_eq!(store.drop_replication(TARGET).expect("dropped"), found.len() as u64);
    assert!(rows(&store).is_empty());
}

#[test]
fn only_a_walk_after_a_loss_sends_copies_back_to_where_they_came_from() {
    on_every_backend(|store| {
        set(store, vec![rule("")]);
        arrive(store, &replica(1, false), Some(b"1")).expect("it arrives");
        for again in [false, true] {
            let new = NewResync {
                id: again.to_string(),
                target: TARGET.to_owned(),
                again,
                before_ms: u64::MAX,
            };
            store.begin_resync(&bucket(store, "bucket"), new).wait().expect("begun");
            while !store.step_resync(&store.resyncs().expect("read")[0].1).expect("a step") {}
            assert_eq!(told(store).len(), usize::from(again));
        }
        settle(store, &DONE);
        assert_eq!(status(store, "a"), Some(ReplicationStatus::Replica));
    });
}

/// Versions of the bucket that are not copied, with their key and stamp, and the rows of versions.
type Sides =
    (std::collections::BTreeSet<(String, String)>, std::collections::BTreeSet<(String, String)>);

fn sides(store: &Store) -> Sides {
    let Ok(here) = store.bucket(&name("bucket")) else { return Sides::default() };
    let mut pending = std::collections::BTreeSet::new();
    for object in ["a", "b"] {
        for known in store.versions_of_key(&here, &key(object)).expect("versions") {
            // A delete marker cannot be read; its row is compared below.
            let found = store.find_object(&here, &key(object), Some(&known.version_id));
            if found.is_ok_and(|it| it.replication == Some(ReplicationStatus::Pending)) {
                pending.insert((object.to_owned(), known.version_id.to_string()));
            }
        }
    }
    let mut queued = std::collections::BTreeSet::new();
    for row in rows(store) {
        let row = row.row.expect("whole");
        let version = store.version_to_replicate(&row, TARGET).expect("read");
        if version.is_some_and(|version| version.object.is_some()) {
            queued.insert((row.key, VersionId::Id(row.stamp).to_string()));
        }
    }
    (pending, queued)
}

#[test]
fn after_a_power_cut_at_any_operation_there_is_a_row_for_each_version_and_no_other() {
    let work = |store: &Store| -> Result<(), StoreError> {
        if store.bucket(&name("bucket")).is_err() {
            return Ok(());
        }
        let here = bucket(store, "bucket");
        for number in 0..4_u8 {
            let body = stage(store, &[number; 70])?;
            let options = PutOptions::default();
            store.put_object(&here, key("a"), body, options).wait()?;
            let body = stage(store, &[number; 3])?;
            store.put_object(&here, key("b"), body, PutOptions::default()).wait()?;
            let settled =
                |row: &QueuedReplication| ReplicationOutcome { number: row.number, result: DONE };
            let first = store.replication_rows(TARGET, None, 1)?;
            store.settle_replication(TARGET, first.iter().map(settled).collect()).wait()?;
            let here = here.clone();
            store.change_object(&here, key("b"), None, tags("v"), Cause::Unknown).wait()?;
            store.delete_object(&here, DeleteTarget::new(key("a"), None)).wait()?;
        }
        Ok(())
    };
    let begin = || {
        let disk = Arc::new(SimulatedDisk::new(1));
        let store = Store::open_on(Arc::clone(&disk) as _, config(1)).expect("opens");
        create_bucket(&store, "bucket");
        set(&store, vec![rule("")]);
        (disk, store)
    };
    let (disk, store) = begin();
    let first = disk.operations();
    work(&store).expect("no fault");
    let last = disk.operations();
    drop(store);
    for operation in (first..last).step_by(3) {
        let (disk, store) = begin();
        disk.set_fault(operation, liteio_disk::Fault::Crash);
        let _ = work(&store);
        drop(store);
        let after = Arc::new(disk.crash());
        let store = Store::open_on(after as _, config(2)).expect("it recovers");
        let (pending, queued) = sides(&store);
        assert_eq!(pending, queued, "operation {operation}");
        work(&store).expect("it goes on");
        let (pending, queued) = sides(&store);
        assert_eq!(pending, queued, "operation {operation}, later");
        let report = store.verify(&mut |_| {}).expect("verified");
        assert!(report.damaged.is_empty(), "operation {operation}: {report:?}");
    }
}

fn check_over<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Suspended { .. })), "{result:?}");
}

#[test]
fn rows_are_settled_by_the_server_whose_turn_it_is() {
    let several = Several::default();
    let store = Store::open_among(StoreConfig::memory(), &several).expect("memory");
    create_bucket(&store, "bucket");
    set(&store, vec![rule("")]);
    put(&store, "a", b"1");
    let job = Job::Replication(TARGET.to_owned());
    let begun = store.for_job(job.clone()).expect("asked").expect("granted");
    several.take(job.clone());
    assert!(store.for_job(job.clone()).expect("asked").is_none());
    let settled = |store: &Store| {
        let result = DONE;
        let outcome = ReplicationOutcome { number: rows(store)[0].number, result };
        store.settle_replication(TARGET, vec![outcome]).wait()
    };
    check_over(settled(&begun));
    assert_eq!(told(&store), ["a"]);
    assert_eq!(status(&store, "a"), Some(ReplicationStatus::Pending));
    several.give(job.clone());
    check_over(settled(&begun));
    let again = store.for_job(job).expect("asked").expect("granted");
    settled(&again).expect("settled");
    assert!(rows(&store).is_empty());
    assert_eq!(status(&store, "a"), Some(ReplicationStatus::Completed));
}

#[test]
fn a_walk_stops_and_goes_on() {
    let several = Several::default();
    let store = Store::open_among(StoreConfig::memory(), &several).expect("memory");
    create_bucket(&store, "bucket");
    for number in 0..600 {
        put(&store, &format!("{number:03}"), b"1");
    }
    set(&store, vec![rule("")]);
    let new = NewResync {
        id: "first".to_owned(),
        target: TARGET.to_owned(),
        again: false,
        before_ms: u64::MAX,
    };
    store.begin_resync(&bucket(&store, "bucket"), new).wait().expect("begun");
    let job = store.for_job(Job::Resync).expect("asked").expect("granted");
    several.take_after(Job::Resync, 2);
    let step = |store: &Store| store.step_resync(&store.resyncs().expect("read")[0].1);
    while step(&job).is_ok_and(|is_done| !is_done) {}
    check_over(step(&job));
    let queued = rows(&store).len();
    assert!(queued < 600, "{queued}");
    several.give(Job::Resync);
    let job = store.for_job(Job::Resync).expect("asked").expect("granted");
    while !step(&job).expect("a step") {}
    let found: std::collections::BTreeSet<String> = told(&store).into_iter().collect();
    assert_eq!((found.len(), rows(&store).len()), (600, 600), "each once");
}
