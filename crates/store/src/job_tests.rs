//! Jobs in the background of one server of several: a job whose term is over commits nothing more,
//! and goes on where it was when this server does it again.

use std::sync::Arc;
use std::thread;

use liteio_disk::{ManualClock, SimulatedDisk};
use liteio_kv::Write as _;

use crate::meta::space;
use crate::pending::Committed;
use crate::{
    BodyOptions, Bucket, BucketName, CompletePart, DeleteTarget, Encryption, EncryptionKey,
    Expiration, GetOptions, Job, KeyRing, Lifecycle, LifecycleFilter, LifecycleRule, NewBucket,
    ObjectKey, Owner, PartNumber, Rewrapped, Several, StagedBody, Store, StoreConfig, StoreError,
    UploadOptions, Versioning,
};

const DAY_MS: u64 = 86_400_000;

/// One server of several on a simulated disk, without threads.
struct Server {
    store: Store,
    several: Several,
    disk: SimulatedDisk,
}

impl Server {
    fn new(config: StoreConfig) -> Self {
        Self::on(SimulatedDisk::new(1), config)
    }

    fn on(disk: SimulatedDisk, config: StoreConfig) -> Self {
        let several = Several::default();
        // Short bodies are blobs.
        let config =
            StoreConfig { inline_bytes_max: 10, reserve_bytes: 0, part_bytes_min: 1, ..config };
        let store = Store::open_on_among(Arc::new(disk.clone()), config, &several);
        Self { store: store.expect("opens"), several, disk }
    }

    fn bucket(&self, name: &str) -> Arc<Bucket> {
        let name = BucketName::new(name).expect("a name");
        if self.store.bucket(&name).is_err() {
            let new = NewBucket::new(name.clone(), Owner::default(), String::new());
            self.store.create_bucket(new).wait().expect("new");
        }
        self.store.bucket(&name).expect("there")
    }

    fn stage(&self, options: BodyOptions) -> StagedBody {
        let mut body = self.store.begin_body(options).expect("body");
        body.write(&[1; 100]).expect("write");
        body.finish().expect("staged")
    }

    fn put(&self, bucket: &Arc<Bucket>, name: &str) {
        let body = self.stage(BodyOptions::default());
        self.store.put_object(bucket, key(name), body, Default::default()).wait().expect("put");
    }

    fn delete(&self, bucket: &Arc<Bucket>, name: &str) {
        let target = DeleteTarget::new(key(name), None);
        self.store.delete_object(bucket, target).wait().expect("deleted");
    }

    fn check(&self) {
        let report = self.store.verify(&mut |_| {}).expect("verified");
        assert!(report.damaged.is_empty() && report.orphans == 0, "{report:?}");
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(name).expect("a key")
}

fn check_over<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Suspended { .. })), "{result:?}");
}

#[test]
fn a_term_ends_between_two_updates_and_no_later_one_commits() {
    let server = Server::new(StoreConfig::memory());
    let put = |store: &Store, name: u8| {
        let written = store.update(move |write, _| {
            write.put(&[0xf8, name], b"")?;
            Ok(Committed::new(()))
        });
        written.wait()
    };
    let job = server.store.for_job(Job::Tiers).expect("asked").expect("granted");
    put(&job, 1).expect("admitted");
    job.check_term().expect("still granted");
    // Another server takes over by a commit. Nobody tells this one.
    let row = Several::row(&Job::Tiers);
    let taken = server.store.update(move |write, _| {
        write.put(&row, b"")?;
        Ok(Committed::new(()))
    });
    taken.wait().expect("taken");
    check_over(put(&job, 2));
    check_over(job.check_term());
    assert!(server.store.for_job(Job::Tiers).expect("asked").is_none());
    // Other jobs, and requests, go on.
    put(&server.store, 3).expect("admitted");
    let other = server.store.for_job(Job::Resync).expect("asked").expect("granted");
    put(&other, 4).expect("admitted");
    let found = server.store.snapshot().expect("a snapshot");
    let is_there = |name| {
        let found = liteio_kv::Read::get(&found, &[0xf8, name]).expect("readable");
        found.is_some()
    };
    assert_eq!([1, 2, 3, 4].map(is_there), [true, false, true, true]);
    // An old term is not valid again when the job comes back.
    server.several.give(Job::Tiers);
    check_over(job.check_term());
}

#[test]
fn no_job_is_granted_while_updates_are_suspended() {
    let server = Server::new(StoreConfig::memory());
    let jobs = [Job::Reclaim, Job::Events("target".to_owned()), Job::Inventories];
    let granted =
        |store: &Store| jobs.clone().map(|job| store.for_job(job).expect("asked").is_some());
    for store in [&server.store, &Store::open(StoreConfig::memory()).expect("opens")] {
        assert_eq!(granted(store), [true; 3]);
        store.suspend("another one is the primary").expect("suspended");
        assert_eq!(granted(store), [false; 3]);
        let refused = store.run_lifecycle().expect_err("suspended");
        assert_eq!(refused.to_string(), "another one is the primary");
        store.resume();
        assert_eq!(granted(store), [true; 3]);
    }
}

#[test]
fn reclaiming_stops_and_goes_on() {
    let server = Server::new(StoreConfig::memory());
    let bucket = server.bucket("bucket");
    for name in ["a", "b"] {
        server.put(&bucket, name);
        server.delete(&bucket, name);
    }
    let upload = server.store.create_upload(&bucket, key("c"), UploadOptions::default());
    let upload = upload.wait().expect("begun").id;
    let number = PartNumber::new(1).expect("a number");
    let body = server.stage(BodyOptions::default());
    let part = server.store.put_part(&bucket, &key("c"), &upload, number, body, None);
    part.wait().expect("put");
    let part = CompletePart { number, etag: None, checksum: None };
    let completed =
        server.store.complete_upload(&bucket, &key("c"), &upload, vec![part], Default::default());
    completed.wait().expect("completed");
    server.delete(&bucket, "c");

    server.several.take(Job::Reclaim);
    check_over(server.store.reclaim());
    assert_eq!(server.store.stats().blobs_deleted, 0);
    // In the middle: the first step commits, and the next one does not.
    server.several.give(Job::Reclaim);
    server.several.take_after(Job::Reclaim, 1);
    check_over(server.store.reclaim());
    assert!(server.store.deletions_waiting(10).expect("counted") > 0);
    server.check();
    server.several.give(Job::Reclaim);
    server.store.reclaim().expect("reclaimed");
    assert_eq!(server.store.deletions_waiting(10).expect("counted"), 0);
    server.check();
}

#[test]
fn the_thread_that_reclaims_waits_for_its_turn_and_deletes_what_was_abandoned_here() {
    let server = Server::new(StoreConfig::memory());
    let bucket = server.bucket("bucket");
    server.several.take(Job::Reclaim);
    server.store.start_reclaimer().expect("starts");
    server.put(&bucket, "a");
    server.delete(&bucket, "a");
    drop(server.stage(BodyOptions::default()));
    while server.store.stats().blobs_deleted == 0 {
        thread::yield_now();
    }
    // It has asked after the delete, since the body was abandoned later.
    assert_eq!(server.store.deletions_waiting(10).expect("counted"), 1);
    assert_eq!(server.store.stats().blobs_deleted, 1);
    server.several.give(Job::Reclaim);
    while server.store.deletions_waiting(10).expect("counted") > 0 {
        thread::yield_now();
    }
    assert_eq!(server.store.stats().blobs_deleted, 2);
    server.check();
}

#[test]
fn orphans_are_swept_by_the_server_whose_turn_it_is() {
    let server = Server::new(StoreConfig::memory());
    let bucket = server.bucket("bucket");
    server.put(&bucket, "kept");
    let _orphan = server.stage(BodyOptions::default());
    // As by a commit that the kill cuts short.
    server.store.shared().blobs.write_all().expect("written");
    let server = Server::on(server.disk.kill(), StoreConfig::memory());
    server.several.take(Job::Sweep);
    check_over(server.store.sweep());
    server.store.start_reclaimer().expect("starts");
    // It asks again, since its own start was not clean.
    while server.several.seen(&Job::Sweep).0 < 3 {
        thread::yield_now();
    }
    assert_eq!(server.store.stats().orphans_swept, 0);
    server.several.give(Job::Sweep);
    while server.store.stats().orphans_swept == 0 {
        thread::yield_now();
    }
    let bucket = server.bucket("bucket");
    server.store.get_object(&bucket, &key("kept"), &GetOptions::default()).expect("there");
    server.check();
}

#[test]
fn a_scrub_stops_and_goes_on() {
    let server = Server::new(StoreConfig { scrub_interval: None, ..StoreConfig::memory() });
    let bucket = server.bucket("bucket");
    server.put(&bucket, "a");
    // It notes that it begins, and cannot note that it has ended.
    server.several.take_after(Job::Scrub, 1);
    server.store.start_scrubber().expect("starts");
    server.store.scrub_now();
    while server.several.seen(&Job::Scrub).1 == 0 {
        thread::yield_now();
    }
    // Asked for while another server does it: that is not forgotten.
    server.store.scrub_now();
    let saved = || {
        let snapshot = server.store.snapshot().expect("a snapshot");
        let saved = liteio_kv::Read::get(&snapshot, space::SCRUB_KEY).expect("readable");
        crate::ScrubState::decode(&saved.expect("begun")).expect("whole")
    };
    assert!(saved().begun_ms.is_some() && saved().ended_ms.is_none(), "{:?}", saved());
    server.several.give(Job::Scrub);
    server.store.scrub_now();
    while saved().ended_ms.is_none() {
        thread::yield_now();
    }
    assert_eq!(saved().begun_ms, None);
}

#[test]
fn lifecycle_rules_stop_and_go_on() {
    let clock = Arc::new(ManualClock::new(19_700 * DAY_MS));
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..StoreConfig::memory() };
    let server = Server::new(config);
    let buckets = ["one", "two", "three"].map(|name| server.bucket(name));
    for bucket in &buckets {
        let rule = LifecycleRule {
            id: "rule".to_owned(),
            is_enabled: true,
            filter: LifecycleFilter::default(),
            expiration: Some(Expiration::Days(1)),
            ..LifecycleRule::default()
        };
        let lifecycle = Lifecycle { rules: vec![rule], document: b"document".to_vec() };
        server.store.set_lifecycle(bucket, Some(lifecycle)).wait().expect("set");
        server.put(bucket, "a");
    }
    let left = || {
        let find = |bucket: &&Arc<Bucket>| {
            server.store.get_object(bucket, &key("a"), &GetOptions::default()).is_ok()
        };
        buckets.iter().filter(find).count()
    };
    clock.set_ms(19_703 * DAY_MS);
    server.several.take(Job::Lifecycle);
    check_over(server.store.run_lifecycle());
    assert_eq!(left(), 3);
    server.several.give(Job::Lifecycle);
    server.several.take_after(Job::Lifecycle, 1);
    check_over(server.store.run_lifecycle());
    assert_eq!(left(), 2);
    server.several.give(Job::Lifecycle);
    let state = server.store.run_lifecycle().expect("a walk");
    assert_eq!((left(), state.ended, state.is_running), (0, 3, false));
    server.check();
}

#[test]
fn counting_stops_and_goes_on() {
    let server = Server::new(StoreConfig::memory());
    let buckets = ["one", "two"].map(|name| server.bucket(name));
    for bucket in &buckets {
        server.put(bucket, "a");
        let id = bucket.id;
        let forgotten = server.store.update(move |write, _| {
            write.delete(&space::usage(id))?;
            Ok(Committed::new(()))
        });
        forgotten.wait().expect("forgotten");
    }
    let counted = || {
        let usage = |bucket: &&Arc<Bucket>| {
            let found = server.store.bucket_usage(bucket).expect("readable");
            found.is_complete && found.usage.objects == 1
        };
        buckets.iter().filter(usage).count()
    };
    server.several.take(Job::Usage);
    check_over(server.store.count_usage());
    assert_eq!(counted(), 0);
    server.several.give(Job::Usage);
    server.several.take_after(Job::Usage, 1);
    check_over(server.store.count_usage());
    assert_eq!(counted(), 1);
    // The thread waits for its turn, too.
    let asked = server.several.seen(&Job::Usage).0;
    server.store.start_usage().expect("starts");
    while server.several.seen(&Job::Usage).0 == asked {
        thread::yield_now();
    }
    assert_eq!(counted(), 1);
    server.several.give(Job::Usage);
    while counted() < 2 {
        thread::yield_now();
    }
    server.check();
}

#[test]
fn rewrapping_stops_and_goes_on() {
    let config = |bytes: &[u8]| {
        let keys = bytes.iter().map(|byte| EncryptionKey::new([*byte; 32])).collect();
        StoreConfig { keys: Arc::new(KeyRing::new(keys, Vec::new())), ..StoreConfig::memory() }
    };
    let server = Server::new(config(&[1]));
    let bucket = server.bucket("bucket");
    server.store.set_versioning(&bucket, Versioning::Enabled).wait().expect("set");
    let bucket = server.bucket("bucket");
    for _ in 0..2 {
        let sealing = server.store.seal_object(&Encryption::Master).expect("sealed");
        let body = server.stage(BodyOptions { sealing: Some(sealing), ..BodyOptions::default() });
        let put = server.store.put_object(&bucket, key("a"), body, Default::default());
        put.wait().expect("put");
    }
    server.store.close();
    let server = Server::on(server.disk.clone(), config(&[2, 1]));
    server.several.take(Job::Rewrap);
    check_over(server.store.rewrap_keys());
    assert_eq!(server.store.wrapping_keys().expect("looked").former, 2);
    // The current version is in one update, the noncurrent one in another.
    server.several.give(Job::Rewrap);
    server.several.take_after(Job::Rewrap, 1);
    check_over(server.store.rewrap_keys());
    assert_eq!(server.store.wrapping_keys().expect("looked").former, 1);
    server.several.give(Job::Rewrap);
    let rewrapped = server.store.rewrap_keys().expect("rewrapped");
    assert_eq!(rewrapped, Rewrapped::All { rewrapped: 1, newest: 1 });
    server.check();
}
