//! Restores of archived versions, and their events, through power cuts and clocks that jump.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::SimulatedDisk;
use liteio_kv::database::SimulatedDatabase;
use liteio_store::{
    ArchiveAccess, Cause, DeleteTarget, GetOptions, ManualClock, NotificationRule, Notifications,
    ObjectMetadata, PutOptions, RestoreRequest, RestoreState, RetrievalTier, Store, StoreConfig,
    StoreError, VersionChange,
};

use crate::harness::*;

const DAY_MS: u64 = 86_400_000;
/// Noon.
const START_MS: u64 = 19_700 * DAY_MS + DAY_MS / 2;
const TARGET: &str = "target";

struct Site {
    disk: Arc<SimulatedDisk>,
    clock: Arc<ManualClock>,
    store: Store,
}

fn open(disk: &Arc<SimulatedDisk>, clock: &Arc<ManualClock>) -> Store {
    let config = StoreConfig {
        clock: Arc::clone(clock) as _,
        restore_delay: Duration::from_secs(60),
        ..config(7)
    };
    Store::open_on(Arc::clone(disk) as _, config).expect("it opens")
}

impl Site {
    fn new() -> Site {
        let clock = Arc::new(ManualClock::new(START_MS));
        let disk = Arc::new(SimulatedDisk::new(1));
        let store = open(&disk, &clock);
        create_bucket(&store, "bucket");
        let rule = NotificationRule {
            id: "rule".to_owned(),
            target: TARGET.to_owned(),
            events: vec!["ObjectRestore:*".to_owned()],
            prefix: String::new(),
            suffix: String::new(),
        };
        let rules = Notifications { rules: vec![rule], document: b"document".to_vec() };
        let bucket = bucket(&store, "bucket");
        store.set_notifications(&bucket, Some(rules), Cause::Unknown).wait().expect("set");
        Site { disk, clock, store }
    }

    fn put(&self, name: &str) {
        let metadata = ObjectMetadata {
            storage_class: Some("GLACIER".to_owned()),
            ..ObjectMetadata::default()
        };
        let options = PutOptions { metadata, ..PutOptions::default() };
        try_put(&self.store, name, b"body", options).expect("put");
    }

    fn restore(&self, name: &str, days: u32) -> Result<(), StoreError> {
        let change = VersionChange::Restore(RestoreRequest { days, tier: RetrievalTier::Standard });
        let bucket = bucket(&self.store, "bucket");
        self.store.change_object(&bucket, key(name), None, change, Cause::Unknown).wait().map(drop)
    }

    fn state(&self, name: &str) -> Option<RestoreState> {
        let bucket = bucket(&self.store, "bucket");
        let object = head_object(&self.store, &bucket, &key(name), None).expect("an object");
        self.store.restore_state(&object)
    }

    fn is_readable(&self, name: &str) -> bool {
        let options = GetOptions { archive: ArchiveAccess::Restored, ..GetOptions::default() };
        match self.store.get_object(&bucket(&self.store, "bucket"), &key(name), &options) {
            Ok(_) => true,
            Err(error) => match StoreError::from(error) {
                StoreError::Archived { class } if class == "GLACIER" => false,
                error => panic!("{error}"),
            },
        }
    }

    /// The events since the last call, as `name key`.
    fn take(&self) -> Vec<String> {
        let queued = self.store.queued_events(TARGET, None, 1000).expect("a queue");
        let numbers = queued.iter().map(|event| event.number).collect();
        self.store.forget_events(TARGET, numbers).wait().expect("forgotten");
        let events = queued.into_iter().map(|queued| queued.event.expect("whole"));
        events.map(|it| format!("{} {}", it.kind.name(), it.key)).collect()
    }

    /// Cuts the power, and opens the store again.
    fn cut(&mut self) {
        self.disk = Arc::new(self.disk.crash());
        self.store = open(&self.disk, &self.clock);
    }
}

#[test]
fn a_power_cut_loses_no_restore_and_no_event() {
    let mut site = Site::new();
    site.put("a");
    assert_eq!(site.take(), ["TestEvent "]);
    assert!(!site.is_readable("a"));
    site.restore("a", 1).expect("requested");
    assert_eq!(site.take(), ["ObjectRestore:Post a"]);
    site.cut();
    assert_eq!(site.state("a"), Some(RestoreState::Ongoing));
    site.store.run_restores().expect("nothing is due");
    assert!(site.take().is_empty());
    site.clock.set_ms(START_MS + 60_000);
    // Readable by the clock alone.
    let expires_ms = START_MS + DAY_MS + DAY_MS / 2;
    assert_eq!(site.state("a"), Some(RestoreState::Restored { expires_ms }));
    assert!(site.is_readable("a"));
    site.cut();
    site.store.run_restores().expect("completed");
    site.cut();
    assert_eq!(site.take(), ["ObjectRestore:Completed a"]);
    site.store.run_restores().expect("nothing is due");
    assert!(site.take().is_empty());
    site.clock.set_ms(expires_ms);
    assert!(!site.is_readable("a"));
    site.cut();
    site.store.run_restores().expect("expired");
    assert_eq!(site.take(), ["ObjectRestore:Delete a"]);
    assert_eq!(site.state("a"), None);
    let report = site.store.verify(&mut |_| {}).expect("verified");
    assert!(report.damaged.is_empty(), "{:?}", report.damaged);
}

#[test]
fn a_clock_that_jumps_neither_stops_nor_repeats_a_restore() {
    let site = Site::new();
    site.put("a");
    site.put("b");
    site.take();
    site.restore("a", 1).expect("requested");
    site.clock.set_ms(START_MS - 30 * DAY_MS);
    site.restore("b", 1).expect("requested");
    site.store.run_restores().expect("the one from the future");
    let told = ["ObjectRestore:Post a", "ObjectRestore:Post b", "ObjectRestore:Completed a"];
    assert_eq!(site.take(), told);
    let expires_ms = START_MS - 29 * DAY_MS + DAY_MS / 2;
    assert_eq!(site.state("a"), Some(RestoreState::Restored { expires_ms }));
    assert_eq!(site.state("b"), Some(RestoreState::Ongoing));
    // Far ahead: everything ends, in order.
    site.clock.set_ms(START_MS + 300 * DAY_MS);
    site.store.run_restores().expect("ended");
    let told = ["ObjectRestore:Completed b", "ObjectRestore:Delete a", "ObjectRestore:Delete b"];
    let mut events = site.take();
    events.sort();
    assert_eq!(events, told);
    site.clock.set_ms(START_MS);
    assert!(!site.is_readable("a") && !site.is_readable("b"));
}

#[test]
fn what_is_gone_has_no_more_events() {
    let site = Site::new();
    for name in ["deleted", "replaced"] {
        site.put(name);
        site.restore(name, 1).expect("requested");
    }
    site.take();
    let here = bucket(&site.store, "bucket");
    site.store.delete_object(&here, DeleteTarget::new(key("deleted"), None)).wait().expect("gone");
    site.put("replaced");
    site.clock.set_ms(START_MS + 60_000);
    site.store.run_restores().expect("stale");
    assert!(site.take().is_empty());
    assert!(!site.is_readable("replaced"));
    // Another bucket with the same name.
    site.restore("replaced", 1).expect("requested");
    site.store.delete_object(&here, DeleteTarget::new(key("replaced"), None)).wait().expect("gone");
    delete_bucket(&site.store, "bucket");
    create_bucket(&site.store, "bucket");
    site.clock.set_ms(START_MS + DAY_MS);
    site.store.run_restores().expect("stale");
}

#[test]
fn many_restores_end_in_several_transactions() {
    let site = Site::new();
    for number in 0..250 {
        let name = format!("{number:03}");
        site.put(&name);
        site.restore(&name, 1).expect("requested");
    }
    site.take();
    site.clock.set_ms(START_MS + 60_000);
    site.store.run_restores().expect("completed");
    assert_eq!(site.take().len(), 250);
    let repeated = site.restore("007", 2);
    repeated.expect("extended");
    put(&site.store, "plain", b"x");
    let refused = site.restore("plain", 1).expect_err("not archived");
    assert!(matches!(refused, StoreError::NotArchived { class: None }), "{refused}");
}

#[test]
fn many_restores_that_are_due_end_over_a_database() {
    let config = StoreConfig { restore_delay: Duration::ZERO, ..over(&SimulatedDatabase::new()) };
    let store = Store::open_as_only_server(config).expect("over a database");
    create_bucket(&store, "bucket");
    let (disk, clock) = (Arc::new(SimulatedDisk::new(1)), Arc::new(ManualClock::new(START_MS)));
    let site = Site { disk, clock, store };
    for number in 0..100 {
        let name = format!("object {number}");
        site.put(&name);
        site.restore(&name, 1).expect("asked for");
    }
    site.store.run_restores().expect("all of them end");
    assert!(site.is_readable("object 99"));
}
