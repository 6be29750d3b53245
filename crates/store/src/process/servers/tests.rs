use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use liteio_blob::{BlobError, BlobId, MemoryBlobStore};
use liteio_disk::Clock;
use liteio_kv::database::{DatabaseConfig, SimulatedDatabase};
use liteio_kv::{Kv, KvConfig, Read as _, Write as _};

use super::probe::PROBED_WITHIN;
use super::{ENDED_AFTER, HEARD_FOR, LEASE, SUSPENDED_AFTER, Servers, ServersConfig, ms};
use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::meta::content::{Content, ContentId, Extent};
use crate::meta::space;
use crate::process::cluster::{Cluster, Job, Opened, Term};
use crate::process::{Shared, Staging};

/// The database, and the time that all servers know.
struct Rig {
    kv: Kv,
    clock: Arc<Ticks>,
}

#[derive(Debug, Default)]
struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000 + self.monotonic_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Server {
    kv: Kv,
    shared: Arc<Shared>,
    servers: Arc<Servers>,
}

impl Rig {
    fn new() -> Self {
        let kv = Kv::memory(KvConfig { runs_twice: true, ..KvConfig::default() });
        Self { kv: kv.expect("memory"), clock: Arc::default() }
    }

    fn pass(&self, time: Duration) {
        self.clock.0.fetch_add(ms(time), Ordering::Relaxed);
    }

    fn server(&self, run: u32) -> Server {
        self.server_over(run, self.kv.clone())
    }

    fn server_over(&self, run: u32, kv: Kv) -> Server {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let config = StoreConfig { clock, ..StoreConfig::memory() };
        let name = format!("server {run}");
        let part = ServersConfig { run, name, deletion_grace: Duration::ZERO };
        let (shared, servers) = Shared::one_of(config, Arc::new(MemoryBlobStore::new()), part);
        servers.join(&kv).expect("joined");
        Server { kv, shared: Arc::new(shared), servers }
    }
}

impl Server {
    fn has_one_primary(&self) -> bool {
        self.servers.has_one_primary(self.kv.primary())
    }

    fn beat(&self) {
        self.servers.beat(&self.kv).expect("a beat");
    }

    /// Beats while time passes.
    fn beat_through(&self, rig: &Rig, time: Duration) {
        for _ in 0..=ms(time) / 5_000 {
            rig.pass(Duration::from_secs(5));
            self.beat();
        }
    }

    fn term(&self, job: &Job) -> Option<Term> {
        self.servers.lease(job).expect("asked")
    }

    /// Asks for a job, and gets it with the next beat, if nobody has it.
    fn take(&self, job: &Job) -> Option<Term> {
        self.term(job);
        self.beat();
        self.term(job)
    }

    fn commit(&self, term: Option<Term>) -> Result<(), StoreError> {
        let servers = Arc::clone(&self.servers);
        let update = self.kv.update(move |write| {
            servers.admit(term.as_ref(), write)?;
            Ok::<_, StoreError>(write.put(b"\xf0test", b"value")?)
        });
        update.wait()
    }
}

fn is_suspended<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Suspended { .. }))
}

#[test]
fn a_job_has_one_server_and_another_one_after_its_lease() {
    let rig = Rig::new();
    let (first, second) = (rig.server(1), rig.server(2));
    let job = Job::Events("a".to_owned());
    let term = first.take(&job).expect("nobody has it");
    assert_eq!(second.take(&job), None);
    assert!(second.take(&Job::Events("b".to_owned())).is_some());
    first.commit(Some(term.clone())).expect("its term");
    // It is renewed, and stays the same term.
    rig.pass(LEASE / 2);
    first.beat();
    second.beat();
    rig.pass(LEASE / 2);
    first.beat();
    assert_eq!(first.term(&job), Some(term.clone()));
    // The first one sleeps, in the middle of the job.
    rig.pass(LEASE + Duration::from_secs(1));
    let next = second.take(&job).expect("it is over");
    assert!(is_suspended(first.commit(Some(term.clone()))));
    first.beat();
    assert_eq!(first.term(&job), None);
    assert!(is_suspended(first.commit(Some(term))));
    first.commit(None).expect("it may do everything else");
    second.commit(Some(next)).expect("the new term");
    // An orderly end gives jobs back at once.
    second.servers.leave(&rig.kv).expect("left");
    assert!(first.take(&job).is_some());
}

#[test]
fn a_server_without_the_database_stops_to_answer_and_ends_when_others_say_so() {
    let rig = Rig::new();
    let (first, second) = (rig.server(1), rig.server(2));
    first.servers.serving().expect("it has joined");
    rig.pass(SUSPENDED_AFTER - Duration::from_millis(1));
    first.servers.serving().expect("not yet");
    rig.pass(Duration::from_millis(1));
    assert!(is_suspended(first.servers.serving()) && is_suspended(first.commit(None)));
    first.beat();
    first.commit(None).expect("it has the database again");
    second.beat_through(&rig, ENDED_AFTER + Duration::from_secs(1));
    // It wakes up in the middle of a transaction: the row says no, whatever it thinks.
    first.servers.state.lock().beat_ms = Some(rig.clock.monotonic_ms());
    assert!(is_suspended(first.commit(None)));
    assert!(is_suspended(first.servers.beat(&rig.kv)));
    assert!(is_suspended(first.servers.serving()));
    second.commit(None).expect("it goes on");
}

#[test]
fn a_server_that_others_have_ended_is_over_and_one_without_the_database_is_not() {
    let rig = Rig::new();
    let (first, second) = (rig.server(1), rig.server(2));
    rig.pass(SUSPENDED_AFTER);
    assert!(is_suspended(first.servers.serving()) && !first.servers.is_over());
    second.beat_through(&rig, ENDED_AFTER + Duration::from_secs(1));
    assert!(is_suspended(first.servers.beat(&rig.kv)));
    assert!(first.servers.is_over() && !second.servers.is_over());
}

#[test]
fn the_blobs_count_as_away_without_a_probe_of_the_last_half_minute() {
    let rig = Rig::new();
    let server = rig.server(1);
    let servers = &server.servers;
    let now = || rig.clock.monotonic_ms();
    let away = || BlobError::Unavailable { reason: "It is away.".to_owned() };
    // One that was begun and has not ended says nothing.
    let begun = now();
    rig.pass(PROBED_WITHIN - Duration::from_millis(1));
    servers.probed(now(), Err(away()));
    assert_eq!(servers.blobs_failure(), None);
    rig.pass(Duration::from_millis(1));
    assert_eq!(servers.blobs_failure().as_deref(), Some("It is away."));
    servers.probed(begun, Ok(()));
    assert_eq!(
        servers.blobs_failure().as_deref(),
        Some("The blob store has not answered for 30 s.")
    );
    servers.probed(now(), Ok(()));
    assert_eq!(servers.blobs_failure(), None);
}

#[test]
fn an_outage_of_the_database_ends_no_server_and_a_death_meanwhile_is_noticed_later() {
    let rig = Rig::new();
    let [first, second, dead] = [1, 2, 3].map(|run| rig.server(run));
    for server in [&first, &second, &dead] {
        server.beat();
    }
    // Nobody reaches the database, and one of them never will again.
    rig.pass(ENDED_AFTER * 2);
    first.beat();
    rig.pass(HEARD_FOR - Duration::from_secs(6));
    first.beat();
    second.beat();
    second.commit(None).expect("the outage was not its fault");
    first.beat_through(&rig, HEARD_FOR);
    assert!(is_suspended(dead.servers.beat(&rig.kv)));
    second.beat();
    second.commit(None).expect("it has beaten since");
}

#[test]
fn content_is_deleted_once_no_reader_of_any_server_needs_it() {
    let rig = Rig::new();
    let (first, second) = (rig.server(1), rig.server(2));
    let [old, new] = [1, 2].map(|id| ContentId::Blob([id; 16]));
    let extent = |blob| Extent { blob, offset: 0, bytes: 1, blob_bytes: 1 };
    let reading = second.servers.reading();
    let content = Content::Extents(vec![extent([1; 16])]);
    let kept = second.servers.keep(&content, Opened::Whole);
    drop(reading);
    second.beat();
    let deletable = |queued: &[ContentId]| {
        let mut queued = queued.to_vec();
        first.servers.may_delete(&mut queued, None).expect("asked");
        queued
    };
    let beat = || {
        rig.pass(Duration::from_secs(3));
        second.beat();
        first.beat();
    };
    beat();
    assert_eq!(deletable(&[old]), []);
    // A download may take hours.
    for _ in 0..100 {
        beat();
        assert_eq!(deletable(&[old]), []);
    }
    drop(kept);
    beat();
    assert_eq!(deletable(&[old, new]), [old]);
    assert_eq!(deletable(&[new]), []);
    beat();
    assert_eq!(deletable(&[new]), [new]);
    // Readers of a server that is silent do not count for ever: it has cut them.
    let kept = second.servers.keep(&content, Opened::Whole);
    second.beat();
    second.servers.still_keeping(&kept).expect("all know of it");
    assert_eq!(deletable(&[old]), []);
    for _ in 0..3 {
        rig.pass(Duration::from_secs(8));
        first.beat();
    }
    assert!(is_suspended(second.servers.serving()));
    assert_eq!(deletable(&[old]), [old]);
    // It serves again, and what it had open may be gone.
    second.beat();
    second.servers.serving().expect("it has beaten");
    assert!(is_suspended(second.servers.still_keeping(&kept)));
    let kept = second.servers.keep(&content, Opened::Whole);
    second.servers.still_keeping(&kept).expect("it is new");
}

#[test]
fn the_time_in_a_queue_counts_anew_after_a_failover_which_may_have_lost_the_entry() {
    let rig = Rig::new();
    let server = rig.server(1);
    let content = ContentId::Blob([1; 16]);
    let may_delete = |at| {
        let mut queued = vec![content];
        server.servers.may_delete(&mut queued, at).expect("asked");
        let in_tier = server.servers.may_delete_in_tier(&[1; 16], at).expect("asked");
        assert_eq!(queued.len(), usize::from(in_tier));
        in_tier
    };
    let beat = || {
        rig.pass(Duration::from_secs(3));
        server.beat();
    };
    beat();
    assert!(!may_delete(Some(1)));
    beat();
    // It may have been in use since, and be queued again only now.
    assert!(!may_delete(Some(2)));
    beat();
    assert!(may_delete(Some(2)));
}

#[test]
fn blobs_are_in_flight_while_the_run_that_they_name_may_commit() {
    let rig = Rig::new();
    let first = rig.server(1);
    let blob = |run: u32| {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&run.to_be_bytes());
        BlobId(id)
    };
    let in_flight = |run| first.servers.in_flight(&blob(run)).expect("asked");
    // The own ones are known exactly; a newer run may have begun since the last beat.
    assert!(!in_flight(1) && in_flight(2));
    let staged = Staging::begin(&first.shared).expect("begun");
    assert!(first.shared.staging.contains(&staged.id()));
    let second = rig.server(2);
    let third = rig.server(3);
    first.beat();
    assert!(in_flight(2) && in_flight(3));
    second.servers.leave(&rig.kv).expect("left");
    first.beat();
    assert!(!in_flight(2) && in_flight(3));
    first.beat_through(&rig, ENDED_AFTER + Duration::from_secs(1));
    first.beat();
    assert!(!in_flight(3));
    assert!(is_suspended(third.servers.beat(&rig.kv)));
    let snapshot = rig.kv.snapshot().expect("a snapshot");
    assert!(snapshot.get(&space::running(3)).expect("read").is_none());
}

#[test]
fn after_a_failover_answers_wait_for_the_servers_that_may_read_at_the_former_primary() {
    let rig = Rig::new();
    let one = SimulatedDatabase::new();
    let other = one.server();
    let over = |database: &Arc<SimulatedDatabase>| {
        Kv::over(Arc::clone(database) as _, DatabaseConfig::default()).expect("a key space")
    };
    let (first, second) = (rig.server_over(1, over(&one)), rig.server_over(2, over(&other)));
    // The first one has heard nobody when it joins; the second one has.
    first.beat();
    assert!(first.has_one_primary() && second.has_one_primary());
    one.meet(2);
    first.beat();
    assert!(!first.has_one_primary());
    // The second one is idle, and meets it by a beat.
    other.meet(2);
    second.beat();
    assert!(second.has_one_primary() && !first.has_one_primary());
    first.beat();
    assert!(first.has_one_primary());
    // The second one reads at the former primary, for as long as it answers at all.
    one.meet(3);
    first.beat();
    assert!(!first.has_one_primary());
    rig.pass(SUSPENDED_AFTER - Duration::from_millis(1));
    first.beat();
    assert!(!first.has_one_primary());
    rig.pass(Duration::from_millis(1));
    assert!(first.has_one_primary() && is_suspended(second.servers.serving()));
    // One that has left is not waited for.
    second.servers.leave(&second.kv).expect("left");
    one.meet(4);
    first.beat();
    assert!(first.has_one_primary());
}
