//! Moves of bodies into tiers, step by step, with a tier in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::SimulatedDisk;
use liteio_store::{
    DeleteTarget, Expiration, GetOptions, Job, Lifecycle, LifecycleRule, ManualClock, MoveId,
    PutOptions, Several, Store, StoreConfig, StoreError, TierBodies, TierError, TierMove,
    TierMoveState, TierQueues, Transition,
};
use parking_lot::Mutex;

use crate::harness::*;

const START_MS: u64 = 19_700 * 86_400_000;
/// A body in a file of its own, in more than one window of a read.
const LARGE: usize = 5 << 20;

/// A tier `COLD` that can be down.
#[derive(Debug, Default)]
struct Tier {
    objects: Mutex<BTreeMap<String, Bytes>>,
    is_down: Mutex<bool>,
}

impl TierBodies for Tier {
    fn tier_of(&self, class: &str) -> Option<String> {
        (class == "COLD").then(|| class.to_owned())
    }

    fn read(&self, tier: &str, name: &str, range: Range<u64>) -> Result<Bytes, TierError> {
        assert_eq!(tier, "COLD");
        if *self.is_down.lock() {
            return Err(TierError::Unavailable("down".to_owned()));
        }
        let objects = self.objects.lock();
        let object = objects.get(name).ok_or_else(|| TierError::Missing("gone".to_owned()))?;
        let end = (range.end as usize).min(object.len());
        Ok(object.slice((range.start as usize).min(end)..end))
    }
}

struct Site {
    disk: Arc<SimulatedDisk>,
    clock: Arc<ManualClock>,
    tier: Arc<Tier>,
    several: Several,
    store: Store,
}

impl Site {
    fn new() -> Site {
        let clock = Arc::new(ManualClock::new(START_MS));
        let (disk, tier) = (Arc::new(SimulatedDisk::new(1)), Arc::new(Tier::default()));
        let several = Several::default();
        let store = open(&disk, &clock, &tier, &several);
        create_bucket(&store, "bucket");
        let transition =
            Transition { at: Expiration::Days(0), class: "COLD".to_owned(), bytes_min: 1 };
        let rule = LifecycleRule {
            id: "move".to_owned(),
            is_enabled: true,
            transitions: vec![transition],
            ..LifecycleRule::default()
        };
        let lifecycle = Lifecycle { rules: vec![rule], document: b"document".to_vec() };
        store.set_lifecycle(&bucket(&store, "bucket"), Some(lifecycle)).wait().expect("set");
        Site { disk, clock, tier, several, store }
    }

    /// Closes the store, and opens it again.
    fn again(&mut self) {
        self.store.close();
        self.store = open(&self.disk, &self.clock, &self.tier, &self.several);
    }

    fn put(&self, name: &str, body: &[u8]) {
        let bucket = bucket(&self.store, "bucket");
        let body = stage(&self.store, body).expect("staged");
        self.store.put_object(&bucket, key(name), body, PutOptions::default()).wait().expect("put");
    }

    fn delete(&self, name: &str) {
        let target = DeleteTarget::new(key(name), None);
        self.store.delete_object(&bucket(&self.store, "bucket"), target).wait().expect("deleted");
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let bucket = bucket(&self.store, "bucket");
        let mut opened = self.store.get_object(&bucket, &key(name), &GetOptions::default())?;
        let mut body = Vec::new();
        while let Some(bytes) = opened.reader.next()? {
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// Runs the lifecycle of a later day, and returns what is to move.
    fn queued(&self) -> Vec<MoveId> {
        self.clock.set_ms(self.store.now_ms() + 86_400_000);
        self.store.run_lifecycle().expect("a walk");
        let moves = self.store.tier_moves(None, 100).expect("rows");
        assert!(moves.iter().all(|queued| queued.class.as_deref() == Some("COLD")));
        moves.into_iter().map(|queued| queued.id).collect()
    }

    fn begin(&self, id: &MoveId) -> TierMoveState {
        self.store.begin_tier_move(id).expect("begins")
    }

    /// Uploads all pieces.
    fn upload(&self, of: &mut TierMove) {
        while let Some(piece) = self.store.next_tier_piece(of).expect("a piece") {
            self.tier.objects.lock().insert(piece.name.clone(), piece.bytes.clone());
            assert!(self.store.note_tier_piece(of, &piece).wait().expect("noted"));
        }
    }

    fn move_all(&self) {
        for id in self.queued() {
            let TierMoveState::Ready(mut begun) = self.begin(&id) else { continue };
            self.upload(&mut begun);
            self.store.finish_tier_move(&begun).wait().expect("finished");
        }
    }

    /// Deletes what is queued for deletion, and returns the number of bodies.
    fn delete_queued(&self) -> usize {
        let deletions = self.store.tier_deletions(None, 100).expect("rows");
        let mut deleted = 0;
        for deletion in
            deletions.iter().filter(|it| !self.store.is_tier_body_read(it).expect("asked"))
        {
            deletion.names().for_each(|name| drop(self.tier.objects.lock().remove(&name)));
            self.store.finish_tier_deletion(deletion).expect("forgotten");
            deleted += 1;
        }
        deleted
    }

    fn queues(&self) -> (u64, u64) {
        let TierQueues { moves, deletions } = self.store.tier_queues().expect("counted");
        (moves, deletions)
    }

    fn check_sound(&self) {
        let report = self.store.verify(&mut |_| {});
        let report = report.expect("verified");
        assert!(report.damaged.is_empty(), "{:?}", report.damaged);
    }
}

fn open(
    disk: &Arc<SimulatedDisk>,
    clock: &Arc<ManualClock>,
    tier: &Arc<Tier>,
    several: &Several,
) -> Store {
    let config = StoreConfig { clock: Arc::clone(clock) as _, ..config(1) };
    let store = Store::open_on_among(Arc::clone(disk) as _, config, several).expect("opens");
    store.set_tiers(Arc::clone(tier) as _);
    store
}

fn large(seed: u8) -> Vec<u8> {
    (0..LARGE).map(|place| (place / 777) as u8 ^ (place as u8).wrapping_mul(seed)).collect()
}

#[test]
fn a_body_moves_once_is_verified_and_goes_with_its_version() {
    let mut site = Site::new();
    site.put("a", &large(3));
    site.put("row", b"in the key space");
    site.move_all();
    assert_eq!(site.queues(), (0, 0));
    assert_eq!(site.tier.objects.lock().len(), 1, "one piece of one body");
    assert!(site.queued().is_empty(), "a body moves once");
    site.again();
    assert!(site.read("a").expect("read through") == large(3));
    site.check_sound();
    *site.tier.is_down.lock() = true;
    let down = site.read("a").expect_err("down");
    assert!(matches!(down, StoreError::TierUnavailable { .. }), "{down}");
    *site.tier.is_down.lock() = false;
    let sound = site.tier.objects.lock().clone();
    for (_, object) in site.tier.objects.lock().iter_mut() {
        let mut damaged = object.to_vec();
        damaged[LARGE - 1] ^= 0x80;
        *object = damaged.into();
    }
    let before = site.store.stats().damaged_reads;
    let damaged = site.read("a").expect_err("other bytes");
    assert!(matches!(damaged, StoreError::Corrupt { .. }), "{damaged}");
    assert_eq!(site.store.stats().damaged_reads, before + 1);
    *site.tier.objects.lock() = sound;
    site.put("a", b"another");
    assert_eq!(site.queues(), (0, 1));
    assert_eq!(site.delete_queued(), 1);
    assert_eq!((site.queues(), site.tier.objects.lock().len()), ((0, 0), 0));
    site.check_sound();
}

#[test]
fn a_version_that_goes_during_its_move_leaves_nothing_at_the_tier() {
    let mut site = Site::new();
    for name in ["before", "begun", "uploaded"] {
        site.put(name, &large(5));
    }
    let queued = site.queued();
    assert_eq!(queued.len(), 3);
    let mut begun: Vec<TierMove> = queued[..2]
        .iter()
        .map(|id| match site.begin(id) {
            TierMoveState::Ready(begun) => *begun,
            other => panic!("{other:?}"),
        })
        .collect();
    site.upload(&mut begun[1]);
    for name in ["before", "begun", "uploaded"] {
        site.delete(name);
    }
    assert!(!site.store.finish_tier_move(&begun[1]).wait().expect("finished"));
    drop(begun);
    // As after a crash: the others are found by their rows.
    site.again();
    for id in site.store.tier_moves(None, 100).expect("rows") {
        assert!(matches!(site.begin(&id.id), TierMoveState::Gone));
    }
    assert_eq!(site.queues(), (0, 2), "what was begun may have been uploaded");
    assert_eq!(site.delete_queued(), 2);
    assert_eq!((site.queues(), site.tier.objects.lock().len()), ((0, 0), 0));
}

#[test]
fn a_move_goes_on_after_a_restart_under_the_same_names() {
    let mut site = Site::new();
    site.put("a", &large(7));
    let id = site.queued().remove(0);
    let TierMoveState::Ready(mut begun) = site.begin(&id) else { panic!("it is there") };
    site.upload(&mut begun);
    drop(begun);
    site.again();
    assert!(site.read("a").expect("still here") == large(7));
    let TierMoveState::Ready(mut begun) = site.begin(&id) else { panic!("it goes on") };
    let piece = site.store.next_tier_piece(&mut begun).expect("read").expect("a piece");
    assert!(piece.is_uploaded);
    assert!(site.tier.objects.lock().contains_key(&piece.name));
    assert!(site.store.finish_tier_move(&begun).wait().expect("finished"));
    assert_eq!((site.queues(), site.tier.objects.lock().len()), ((0, 0), 1));
    assert!(site.read("a").expect("read through") == large(7));
}

#[test]
fn a_body_that_is_read_is_deleted_afterwards() {
    let site = Site::new();
    site.put("a", &large(9));
    site.move_all();
    let of = bucket(&site.store, "bucket");
    let opened = site.store.get_object(&of, &key("a"), &GetOptions::default());
    let mut opened = opened.expect("opens");
    site.delete("a");
    assert_eq!(site.delete_queued(), 0, "it is being read");
    let mut body = Vec::new();
    while let Some(bytes) = opened.reader.next().expect("read through") {
        body.extend_from_slice(&bytes);
    }
    assert!(body == large(9));
    drop(opened);
    assert_eq!(site.delete_queued(), 1);
}

fn check_over<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Suspended { .. })), "{result:?}");
}

#[test]
fn bodies_move_and_are_deleted_by_the_server_whose_turn_it_is() {
    let site = Site::new();
    site.put("a", &large(3));
    let queued = site.queued();
    let job = site.store.for_job(Job::Tiers).expect("asked").expect("granted");
    let TierMoveState::Ready(mut begun) = job.begin_tier_move(&queued[0]).expect("begins") else {
        panic!("the body is there")
    };
    site.upload(&mut begun);
    site.several.take(Job::Tiers);
    check_over(job.finish_tier_move(&begun).wait());
    check_over(job.begin_tier_move(&queued[0]).map(drop));
    assert_eq!(site.queues(), (1, 0));
    assert!(site.read("a").expect("here") == large(3));
    // Whose turn it is goes on with the same upload.
    let TierMoveState::Ready(mut begun) = site.begin(&queued[0]) else { panic!("a move") };
    site.upload(&mut begun);
    assert!(site.store.finish_tier_move(&begun).wait().expect("finished"));
    assert_eq!(site.queues(), (0, 0));
    assert!(site.read("a").expect("in the tier") == large(3));
    site.delete("a");
    let deletions = site.store.tier_deletions(None, 10).expect("rows");
    // Before anything is deleted there, and when it is forgotten.
    check_over(job.is_tier_body_read(&deletions[0]));
    check_over(job.finish_tier_deletion(&deletions[0]));
    assert_eq!(site.queues(), (0, 1));
    assert_eq!((site.delete_queued(), site.queues()), (1, (0, 0)));
    site.check_sound();
}
