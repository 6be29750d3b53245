//! Stores over one database: what one of them acknowledges, all others see.

use std::sync::Arc;
use std::time::Duration;

use liteio_kv::database::{Faults, SimulatedDatabase};
use liteio_store::{
    Cause, ClusterBackend, ClusterBlobs, DeleteTarget, Expiration, IdentityEntry, Job, Lifecycle,
    LifecycleRule, ManualClock, NewBucket, NotificationRule, Notifications, ObjectLock, PutOptions,
    Quota, Retention, RetentionMode, Selection, Store, StoreConfig, StoreError,
};

use crate::harness::{
    bucket, complete, config, create_bucket, create_upload, delete, delete_bucket, get, key, name,
    now, owner, put, put_part, stage, try_get, try_put,
};

/// A body that has a blob.
const LONG: &[u8] = &[7; 500];

/// The handles of so many servers at one database, and their stores.
fn servers(number: u64) -> Vec<(Arc<SimulatedDatabase>, Store)> {
    servers_by(number, &Arc::new(ManualClock::new(1_700_000_000_000)))
}

/// The same, with this clock for all of them.
fn servers_by(number: u64, clock: &Arc<ManualClock>) -> Vec<(Arc<SimulatedDatabase>, Store)> {
    let first = SimulatedDatabase::new();
    let blobs = ClusterBlobs::memory();
    let open = |server: u64| {
        let database = if server == 1 { Arc::clone(&first) } else { first.server() };
        let store = open_server(server, &database, &blobs, clock, Duration::ZERO);
        (database, store)
    };
    (1..=number).map(open).collect()
}

fn open_server(
    server: u64,
    database: &Arc<SimulatedDatabase>,
    blobs: &ClusterBlobs,
    clock: &Arc<ManualClock>,
    deletion_grace: Duration,
) -> Store {
    let backend = ClusterBackend {
        database: Arc::clone(database) as _,
        blobs: blobs.clone(),
        server_name: format!("server {server}"),
        deletion_grace,
    };
    let StoreConfig { backend, .. } = StoreConfig::cluster(backend);
    let clock = Arc::clone(clock) as _;
    let config = config(server);
    let config = StoreConfig { backend, clock, runs_twice: false, runs_in_pieces: false, ..config };
    Store::open(config).expect("opens")
}

/// The agreement that each request begins with.
fn agree(store: &Store) {
    now(store.agree(None)).expect("the database answers");
}

#[test]
fn a_quota_is_of_all_servers_together() {
    let servers = servers(2);
    let [one, two] = [0, 1].map(|server| &servers[server].1);
    create_bucket(one, "bucket");
    let quota = Some(Quota { bytes: 1_000 });
    one.set_quota(&bucket(one, "bucket"), quota).wait().expect("set");
    agree(two);
    put(two, "a", LONG);
    put(one, "b", LONG);
    for store in [one, two] {
        agree(store);
        let refused = try_put(store, "c", b"1", PutOptions::default());
        assert!(matches!(refused, Err(StoreError::QuotaExceeded { .. })), "{refused:?}");
    }
    delete(one, "a");
    put(two, "c", LONG);
}

#[test]
fn every_server_sees_what_another_one_has_acknowledged() {
    let servers = servers(3);
    let [one, two, three] = [0, 1, 2].map(|server| &servers[server].1);
    create_bucket(one, "bucket");
    for (round, (writer, reader)) in
        [(one, two), (two, three), (three, one)].into_iter().enumerate()
    {
        for body in [b"short".as_slice(), LONG] {
            let object = format!("object {round} {}", body.len());
            put(writer, &object, body);
            assert_eq!(get(reader, &object), body);
            put(reader, &object, b"another");
            assert_eq!(get(writer, &object), b"another");
            delete(writer, &object);
            assert!(try_get(reader, &object, Selection::Whole).is_err());
        }
    }
    // Parts from two servers, completed by a third one.
    let upload = create_upload(one, "parts");
    put_part(two, "parts", &upload, 1, LONG).expect("a part");
    put_part(three, "parts", &upload, 2, b"the end").expect("a part");
    complete(one, "parts", &upload, &[1, 2]).expect("completed");
    assert_eq!(get(two, "parts"), [LONG, b"the end"].concat());
    // The usage of the bucket, to which all of them have added, is that of its objects.
    put(three, "object", LONG);
    let report = two.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.objects, report.damaged), (2, Vec::new()));
}

#[test]
fn a_bucket_that_another_server_deletes_or_makes_anew_is_no_longer_remembered() {
    let servers = servers(2);
    let [one, two] = [0, 1].map(|server| &servers[server].1);
    create_bucket(one, "bucket");
    let seen = two.bucket(&name("bucket")).expect("there is one");
    delete_bucket(one, "bucket");
    agree(two);
    assert!(matches!(two.bucket(&name("bucket")), Err(StoreError::NoSuchBucket { .. })));
    create_bucket(one, "bucket");
    agree(two);
    assert_ne!(two.bucket(&name("bucket")).expect("there is one").id, seen.id);
}

#[test]
fn a_rule_that_one_server_has_removed_ends_nothing_at_another_one() {
    let servers = servers(2);
    let [one, two] = [0, 1].map(|server| &servers[server].1);
    create_bucket(one, "bucket");
    let rule = LifecycleRule {
        id: "rule".to_owned(),
        is_enabled: true,
        expiration: Some(Expiration::At(1)),
        ..LifecycleRule::default()
    };
    let rules = Lifecycle { rules: vec![rule], document: Vec::new() };
    let here = bucket(one, "bucket");
    let set = |rules| one.set_lifecycle(&here, rules).wait().expect("set");
    // Without a request, which would look for changes.
    let walk = || loop {
        match two.run_lifecycle() {
            Ok(state) => return state.ended,
            Err(StoreError::Suspended { .. }) => two.beat().expect("a beat"),
            Err(error) => panic!("{error}"),
        }
    };
    set(Some(rules));
    put(one, "expires", b"body");
    assert_eq!(walk(), 1);
    set(None);
    put(one, "stays", b"body");
    assert_eq!(walk(), 0);
    assert_eq!(get(one, "stays"), b"body");
}

#[test]
fn two_servers_do_not_change_users_over_each_other() {
    let servers = servers(2);
    let [one, two] = [0, 1].map(|server| &servers[server].1);
    let entry =
        |value: &[u8]| IdentityEntry { key: b"alice".to_vec(), value: Some(value.to_vec()) };
    let before = two.identities().expect("read").stamp;
    let epoch =
        |of: &Store| now(of.agree(None)).expect("the database answers").expect("a member").users;
    let before_changes = epoch(two);
    let stamp = one.change_identities(vec![entry(b"1")], Some(before)).wait().expect("changed");
    let refused = two.change_identities(vec![entry(b"2")], Some(before)).wait();
    assert!(matches!(refused, Err(StoreError::ChangedMeanwhile)));
    assert_ne!(epoch(two), before_changes);
    let seen = two.identities().expect("read");
    assert_eq!((seen.stamp, &seen.entries[..]), (stamp, &[entry(b"1")][..]));
    two.change_identities(vec![entry(b"2")], Some(stamp)).wait().expect("changed");
    // What is made once is the same for all.
    let kept = one.identity_or(b"own".to_vec(), b"one".to_vec()).wait().expect("kept");
    let other = two.identity_or(b"own".to_vec(), b"two".to_vec()).wait().expect("kept");
    assert_eq!((kept.as_slice(), other.as_slice()), (&b"one"[..], &b"one"[..]));
}

#[test]
fn what_a_failover_has_lost_is_remembered_by_nobody_who_read_it_early() {
    let servers = servers(2);
    let (database, one) = &servers[0];
    let (_, two) = &servers[1];
    create_bucket(one, "stays");
    let agreed = || now(two.agree(None)).expect("the database answers").expect("a member").users;
    let before = agreed();
    // A request of the second server that began before reads what the first one has changed meanwhile.
    let commits = database.commits();
    let entry = IdentityEntry { key: b"alice".to_vec(), value: Some(b"1".to_vec()) };
    one.change_identities(vec![entry], None).wait().expect("changed");
    create_bucket(one, "lost");
    let seen = two.identities().expect("read");
    assert_eq!(seen.entries.len(), 1);
    assert!(two.bucket(&name("lost")).is_ok());
    database.fail_over((database.commits() - commits) as usize);
    assert_eq!(agreed(), before);
    assert!(seen.epoch.is_some_and(|epoch| epoch != before));
    assert!(matches!(two.bucket(&name("lost")), Err(StoreError::NoSuchBucket { .. })));
    assert!(two.bucket(&name("stays")).is_ok());
}

#[test]
fn settings_that_a_failover_has_lost_are_not_taken_for_those_of_the_next_change() {
    let servers = servers(2);
    let (database, one) = &servers[0];
    let (_, two) = &servers[1];
    create_bucket(one, "bucket");
    put(one, "object", LONG);
    let commits = database.commits();
    let quota = Some(Quota { bytes: 1_000 });
    one.set_quota(&bucket(one, "bucket"), quota).wait().expect("set");
    agree(two);
    let seen = bucket(two, "bucket");
    database.fail_over((database.commits() - commits) as usize);
    agree(one);
    let rule = NotificationRule {
        id: "rule".to_owned(),
        target: "target".to_owned(),
        events: vec!["ObjectRemoved:*".to_owned()],
        prefix: String::new(),
        suffix: String::new(),
    };
    let notifications = Notifications { rules: vec![rule], document: b"document".to_vec() };
    let set = one.set_notifications(&bucket(one, "bucket"), Some(notifications), Cause::Unknown);
    set.wait().expect("set");
    // By a request that began before the failover.
    two.delete_object(&seen, DeleteTarget::new(key("object"), None)).wait().expect("deleted");
    let told = one.queued_events("target", None, 10).expect("a queue").into_iter();
    let told: Vec<_> = told.map(|it| it.event.expect("whole").kind.name()).collect();
    assert_eq!(told, ["TestEvent", "ObjectRemoved:Delete"]);
}

#[test]
fn a_job_is_done_by_one_server_and_its_leftovers_by_the_next() {
    let servers = servers(2);
    let [one, two] = [0, 1].map(|server| &servers[server].1);
    create_bucket(one, "bucket");
    // Asked for, and taken with the next beat.
    let takes = |store: &Store| {
        store.for_job(Job::Inventories).expect("asked");
        store.beat().expect("a beat");
        store.for_job(Job::Inventories).expect("asked").is_some()
    };
    assert!(takes(one) && !takes(two));
    one.close();
    assert!(takes(two));
}

#[test]
fn a_server_with_many_targets_takes_all_of_its_jobs() {
    let servers = servers(1);
    let store = &servers[0].1;
    let jobs: Vec<_> = (0..200).map(|target| Job::Events(format!("target {target}"))).collect();
    for job in &jobs {
        store.for_job(job.clone()).expect("asked");
    }
    store.beat().expect("a beat");
    for job in jobs {
        assert!(store.for_job(job.clone()).expect("asked").is_some(), "{job:?}");
    }
    store.close();
}

#[test]
fn a_server_that_is_cut_off_from_the_database_acknowledges_nothing() {
    let servers = servers(2);
    let (database, one) = &servers[0];
    let (_, two) = &servers[1];
    create_bucket(one, "bucket");
    put(one, "object", LONG);
    database.cut_off(true);
    assert!(now(one.agree(None)).is_err());
    put(two, "object", b"newer");
    assert!(one.identities().is_err());
    database.cut_off(false);
    agree(one);
    assert_eq!(get(one, "object"), b"newer");
}

#[test]
fn the_leftovers_of_a_server_that_died_are_swept_and_nothing_else() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let mut servers = servers_by(2, &clock);
    let (_, two) = servers.pop().expect("two");
    let (database, one) = servers.pop().expect("two");
    create_bucket(&one, "bucket");
    put(&one, "kept", LONG);
    // Sealed, and without a record when its server dies.
    let staged = stage(&one, LONG).expect("staged");
    assert_eq!(two.verify(&mut |_| {}).expect("verified").blobs, 2);
    database.cut_off(true);
    // It is killed.
    std::mem::forget((staged, one));
    two.beat().expect("a beat");
    assert_eq!(two.stats().orphans_swept, 0);
    // The others wait for a minute of its silence, in which they have heard everybody else.
    database.advance(61_000);
    for _ in 0..4 {
        clock.advance_ms(5_000);
        two.beat().expect("a beat");
    }
    while two.stats().orphans_swept == 0 {
        two.beat().expect("a beat");
        std::thread::yield_now();
    }
    assert_eq!(get(&two, "kept"), LONG);
    reclaim_until(&database, &two, |two| two.stats().blobs_deleted == 1);
    let report = two.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.blobs, report.damaged, report.orphans), (1, Vec::new(), 0));
}

/// Lets a server work the deletion queue off until a condition holds, while some seconds pass at the database.
fn reclaim_until(database: &SimulatedDatabase, store: &Store, holds: impl Fn(&Store) -> bool) {
    let mut seconds = 0;
    while !holds(store) {
        assert!(seconds < 60, "it takes too long");
        store.beat().expect("a beat");
        match store.reclaim() {
            // The time passes for readers, too.
            Ok(_) => {
                database.advance(3_000);
                seconds += 3;
            }
            // It has not got the job yet.
            Err(StoreError::Suspended { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn content_is_kept_for_the_grace_also_if_the_server_changes_that_works_the_queue_off() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let grace = Duration::from_secs(3600);
    let database = SimulatedDatabase::new();
    let blobs = ClusterBlobs::memory();
    let one = open_server(1, &database, &blobs, &clock, grace);
    create_bucket(&one, "bucket");
    put(&one, "object", LONG);
    delete(&one, "object");
    let is_seen = |store: &Store| store.reclaim().is_ok_and(|report| report.waiting == 1);
    reclaim_until(&database, &one, is_seen);
    one.close();
    database.advance(59 * 60_000);
    let database = database.server();
    let two = open_server(2, &database, &blobs, &clock, grace);
    let is_tried = std::cell::Cell::new(0);
    reclaim_until(&database, &two, |store| {
        is_tried.set(is_tried.get() + u32::from(is_seen(store)));
        is_tried.get() > 5
    });
    assert_eq!(two.stats().blobs_deleted, 0);
    database.advance(60_000);
    reclaim_until(&database, &two, |two| two.stats().blobs_deleted == 1);
    assert_eq!(two.verify(&mut |_| {}).expect("verified").blobs, 0);
}

#[test]
fn orphans_are_kept_for_the_grace() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let grace = Duration::from_secs(3600);
    let first = SimulatedDatabase::new();
    let blobs = ClusterBlobs::memory();
    let one = open_server(1, &first, &blobs, &clock, grace);
    create_bucket(&one, "bucket");
    let staged = stage(&one, LONG).expect("staged");
    let database = first.server();
    let two = open_server(2, &database, &blobs, &clock, grace);
    first.cut_off(true);
    // It is killed.
    std::mem::forget((staged, one));
    two.beat().expect("a beat");
    database.advance(61_000);
    for _ in 0..4 {
        clock.advance_ms(5_000);
        two.beat().expect("a beat");
    }
    while two.stats().orphans_swept == 0 {
        two.beat().expect("a beat");
        std::thread::yield_now();
    }
    // Its record may come back with a database that had lost it.
    reclaim_until(&database, &two, |store| store.reclaim().is_ok_and(|report| report.waiting == 1));
    assert_eq!(two.verify(&mut |_| {}).expect("verified").blobs, 1);
    database.advance(3_600_000);
    reclaim_until(&database, &two, |two| two.stats().blobs_deleted == 1);
}

#[test]
fn bodies_of_a_server_whose_end_a_failover_has_lost_stay() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let grace = Duration::from_secs(3600);
    let first = SimulatedDatabase::new();
    let blobs = ClusterBlobs::memory();
    let one = open_server(1, &first, &blobs, &clock, grace);
    create_bucket(&one, "bucket");
    let staged = stage(&one, LONG).expect("staged");
    let database = first.server();
    let two = open_server(2, &database, &blobs, &clock, grace);
    first.cut_off(true);
    two.beat().expect("a beat");
    database.advance(61_000);
    // It takes over the jobs: each is asked for, and taken with the next beat.
    for _ in 0..3 {
        let _ = two.tidy();
        two.beat().expect("a beat");
    }
    let sweeps = || two.for_job(Job::Sweep).expect("asked").is_some();
    let mut commits = Vec::new();
    while two.cluster_figures().is_none_or(|figures| figures.runs_waiting == 0) {
        commits.push(database.commits());
        sweeps();
        clock.advance_ms(1_000);
        two.beat().expect("a beat");
    }
    // One beat ends it, and the next one sees that.
    let before = commits[commits.len() - 2];
    database.fail_over((database.commits() - before) as usize);
    // By what it has seen before the failover.
    assert!(sweeps());
    let _ = two.tidy();
    first.cut_off(false);
    one.beat().expect("a beat of a server that was not ended");
    let options = PutOptions::default();
    one.put_object(&bucket(&one, "bucket"), key("object"), staged, options).wait().expect("put");
    // Behind the grace it would be deleted.
    assert_eq!(one.deletions_waiting(1).expect("read"), 0);
    assert_eq!(get(&one, "object"), LONG);
}

#[test]
fn a_write_that_others_overtake_again_and_again_leaves_no_body_behind() {
    let servers = servers(1);
    let (database, store) = &servers[0];
    create_bucket(store, "bucket");
    database.set_faults(Faults { conflicts: 1000, ..Faults::default() });
    let refused = try_put(store, "object", LONG, PutOptions::default());
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    database.set_faults(Faults::default());
    // It goes in the background.
    while store.verify(&mut |_| {}).expect("verified").blobs > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn the_clock_of_a_machine_ends_no_retention() {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let servers = servers_by(1, &clock);
    let (database, store) = &servers[0];
    let new = NewBucket::new(name("bucket"), owner(), "us-east-1".to_owned());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    let retention =
        Retention { mode: RetentionMode::Compliance, until_ms: 1_700_000_000_000 + 3_600_000 };
    let lock = ObjectLock { retention: Some(retention), ..ObjectLock::default() };
    let version = try_put(store, "object", b"1", PutOptions { lock, ..PutOptions::default() });
    let version = version.expect("put").version_id;
    let delete = || {
        let target = DeleteTarget::new(key("object"), Some(version));
        store.delete_object(&bucket(store, "bucket"), target).wait()
    };
    // Somebody sets it, between two beats.
    clock.set_ms(1_800_000_000_000);
    assert!(matches!(delete(), Err(StoreError::ObjectLocked)));
    database.advance(3_600_001);
    store.beat().expect("a beat");
    clock.set_ms(0);
    delete().expect("it has ended");
}
