//! The health of the server: readiness with its reasons.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_store::{ListBuckets, RESERVE_BYTES, Store, StoreHealth, StoreStats};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::details::{backup_details, details, standby_details};
use crate::backup::Pair;
use crate::spaces::Spaces;
use crate::watch::MOVED;
use liteio_admin::metrics::Counters;
use liteio_admin::operational::{Health, Readiness};
use liteio_observe::delivery::Follower;

/// The future of a callback.
type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The decision about readiness: one computation, for health checks and for the service manager.
pub(super) struct Judge {
    spaces: Spaces,
    stopping: Arc<AtomicBool>,
    followers: Arc<[Arc<dyn Follower>]>,
    pair: Arc<Pair>,
    /// The damage that was logged.
    logged: Mutex<String>,
    lost_at_start: u64,
}

impl Judge {
    pub(super) fn new(
        spaces: &Spaces,
        stopping: &Arc<AtomicBool>,
        followers: &Arc<[Arc<dyn Follower>]>,
        pair: &Arc<Pair>,
    ) -> Judge {
        let outbox = spaces.main().app.store.outbox_state();
        Judge {
            spaces: spaces.clone(),
            stopping: Arc::clone(stopping),
            followers: Arc::clone(followers),
            pair: Arc::clone(pair),
            logged: Mutex::default(),
            lost_at_start: outbox.map_or(0, |outbox| outbox.lost()),
        }
    }

    /// The readiness, with the first reason against it: what ends everything, what stops writes, and the rest. Events are in
    /// the key space, which is read if it `reads`.
    fn readiness(&self, reads: bool) -> Readiness {
        let space = self.spaces.main();
        let store = &space.app.store;
        // At once: everything else asks the database.
        if let Some(reason) = out_of_reach(store) {
            return Readiness::NotReady(reason.into());
        }
        if self.stopping.load(Ordering::Relaxed) {
            return Readiness::NotReady("stopping".into());
        }
        let unopened = space.users.current().unopened();
        let told = self.stopped_writes(store).or_else(|| self.flaw(store, unopened, reads));
        told.map_or(Readiness::Ready, |told| Readiness::Degraded(told.into()))
    }

    /// The reason why the server refuses every write.
    fn stopped_writes(&self, store: &Store) -> Option<String> {
        // A standby is ready for what it is there for.
        let suspended = store.suspended().filter(|_| self.pair.standby_state().is_none());
        suspended.map(|reason| reason.to_string()).or_else(|| match store.health() {
            StoreHealth::Ready => None,
            StoreHealth::ReadOnly { reason } => Some(reason),
            StoreHealth::Full => Some(format!(
                "the storage device is full: {} MiB are kept free",
                RESERVE_BYTES >> 20
            )),
        })
    }

    /// The first fault that leaves writes working, and a failing backup.
    fn flaw(&self, store: &Store, unopened: u64, reads: bool) -> Option<String> {
        let told = moved(store).or_else(|| found_damage(store, &self.logged));
        let told = told.or_else(|| missing_keys(store)).or_else(|| missing_backup(store));
        let told = told.or_else(|| reads.then(|| lost_events(store, self.lost_at_start))?);
        let told = told.or_else(|| lost_commits(store));
        let told = told.or_else(|| self.followers.iter().find_map(|it| it.loss()));
        let told = told.or_else(|| unopened_secrets(unopened));
        // The reason names the place of the backup, so it is in the log only.
        let is_failing = || self.pair.backup_state().is_some_and(|backup| backup.is_failing);
        // Told beside another fault, which would hide it: what is lost then is not in the backup.
        let backup = is_failing().then(|| "the backup fails: the log has the reason".to_owned());
        match (told, backup) {
            (Some(told), Some(backup)) => Some(format!("{told}; {backup}")),
            (told, backup) => told.or(backup),
        }
    }

    /// The readiness in a few words, for the service manager. It reads a record, so it returns only if the store answers.
    /// The database of several servers is not asked: a start would not bring it back.
    pub(super) fn condition(&self) -> String {
        let store = &self.spaces.main().app.store;
        let is_alone = store.cluster_figures().is_none();
        let one = ListBuckets { max: 1, ..ListBuckets::default() };
        let failure = if is_alone { store.list_buckets(&one).err() } else { None };
        match self.readiness(is_alone) {
            Readiness::Ready => failure.map_or("ready".to_owned(), |error| error.to_string()),
            Readiness::Degraded(reason) | Readiness::NotReady(reason) => reason.into_owned(),
        }
    }
}

/// The reason why one of several servers reaches neither its database nor its place of bodies.
fn out_of_reach(store: &Store) -> Option<String> {
    store.cluster_figures().and_then(|it| it.suspended.or(it.blobs_failure))
}

/// The health of the main space, with the server-wide state.
pub(super) fn of(judge: &Arc<Judge>, counters: &Arc<Counters>) -> Health {
    let Judge { spaces, followers, pair, .. } = &**judge;
    let readiness = {
        let judge = Arc::clone(judge);
        move || judge.readiness(true)
    };
    let details = {
        let spaces = spaces.clone();
        let (followers, pair) = (Arc::clone(followers), Arc::clone(pair));
        let counters = Arc::clone(counters);
        move || -> Later<Map<String, Value>> {
            let space = spaces.main();
            let (followers, pair) = (Arc::clone(&followers), Arc::clone(&pair));
            let counters = Arc::clone(&counters);
            Box::pin(async move {
                let figures = space.app.store.cluster_figures();
                if figures.is_some_and(|it| it.suspended.is_some()) {
                    return Map::new();
                }
                let mut told = details(&space.app, &space.senders).await;
                told.extend(followers.iter().map(|it| (it.name().to_owned(), it.state())));
                // What was there before stays in use, so they are no reason against readiness.
                let is_refused = space.users.current().is_file_refused();
                told.extend(
                    is_refused.then(|| ("credentials_file_refused".to_owned(), true.into())),
                );
                let refused = counters.refused_certificates();
                told.extend(
                    (refused > 0).then(|| ("certificates_refused".to_owned(), refused.into())),
                );
                told.extend(pair.role().map(|role| ("role".to_owned(), role.into())));
                let backup = pair.backup_state().as_ref().map(backup_details);
                told.extend(backup.map(|it| ("backup".to_owned(), it)));
                let standby = pair.standby_state().as_ref().map(standby_details);
                told.extend(standby.map(|it| ("standby".to_owned(), it)));
                told
            })
        }
    };
    let has_buckets = {
        let spaces = spaces.clone();
        move || -> Later<bool> {
            let space = spaces.main();
            Box::pin(async move { space.app.look(has_buckets).await })
        }
    };
    let over = {
        let spaces = spaces.clone();
        move || spaces.main().app.store.cluster_figures().filter(|it| it.is_over)?.suspended
    };
    Health::new(readiness, details, has_buckets).with_over(over)
}

/// True if a bucket exists.
fn has_buckets(store: &Store) -> bool {
    let one = ListBuckets { max: 1, ..ListBuckets::default() };
    store.list_buckets(&one).is_ok_and(|page| !page.buckets.is_empty())
}

/// Describes a data directory that is not at its path any more.
fn moved(store: &Store) -> Option<String> {
    (!store.is_in_place()).then(|| MOVED.to_owned())
}

/// The damage found so far, without names, because health checks are unauthenticated. The details
/// are logged once, and remembered in `logged`.
fn found_damage(store: &Store, logged: &Mutex<String>) -> Option<String> {
    let log = |what: String| {
        let mut logged = logged.lock();
        if *logged != what {
            tracing::error!(what, "damage was found, run `liteio verify`");
            *logged = what;
        }
    };
    if let Some(reason) = store.sweep_failure() {
        log(format!("orphans are not swept: {reason}"));
        return Some("orphans are not swept, because of damage: run `liteio verify`".to_owned());
    }
    if let Some(reason) = store.denied_read() {
        let mut logged = logged.lock();
        if *logged != reason {
            let advice =
                "give all files of the data directory to the user of the server: chown -R USER DIR";
            tracing::error!(reason, advice, "a file of the data directory cannot be read");
            *logged = reason;
        }
        let told = "files of the data directory cannot be read: Permission denied; give them to the user of the server";
        return Some(format!("{told} (chown -R)"));
    }
    if let Some(scrub) = store.scrub_state().filter(|scrub| scrub.damaged > 0) {
        log(format!("first damage found by the scrub: {}", scrub.first_damage.unwrap_or_default()));
        let damaged = scrub.damaged;
        return Some(format!("the scrub has found damage ({damaged}): run `liteio verify`"));
    }
    let reads = store.stats().damaged_reads;
    let told = "reads have found damaged or missing data since the start: run `liteio verify`";
    (reads > 0).then(|| format!("{reads} {told} to find it"))
}

/// The encrypted objects that nobody can read, because the server lacks their keys.
fn missing_keys(store: &Store) -> Option<String> {
    let advice = "start it with all keys that the directory needs; `liteio verify` names them";
    if let Some(scrub) = store.scrub_state().filter(|scrub| scrub.keyless > 0) {
        let keyless = scrub.keyless;
        return Some(format!(
            "the scrub has found {keyless} encrypted objects whose keys the server lacked: {advice}"
        ));
    }
    let StoreStats { keyless_reads: reads, missing_keys: keys, .. } = store.stats();
    if keys > 0 {
        return Some(format!(
            "the server lacks {keys} keys that objects are encrypted with: {advice}"
        ));
    }
    let told = "reads have met encrypted objects whose keys the server lacks:";
    (reads > 0).then(|| format!("{reads} {told} {advice}"))
}

/// The bodies that a lazy restore has left in a backup that the server was not started with.
fn missing_backup(store: &Store) -> Option<String> {
    let told = "bodies of a lazy restore are only in the backup: start the server with --backup at the location that \
                was restored from";
    store.lacks_backup().then(|| format!("{} {told}", store.outstanding()))
}

/// The users who cannot sign in, because the server lacks the key of their secrets.
fn unopened_secrets(count: u64) -> Option<String> {
    let told = "secrets of access keys, targets or tiers are sealed by a master key that the server lacks, so that \
                their users cannot sign in: start it with all keys";
    (count > 0).then(|| format!("{count} {told}"))
}

/// Describes the loss of commits that the database had acknowledged.
fn lost_commits(store: &Store) -> Option<String> {
    let lost = store.stats().kv.commits_lost;
    let advice = "its failover went to a standby that lagged behind: see docs/cluster.md";
    (lost > 0).then(|| format!("the database has lost {lost} acknowledged commits: {advice}"))
}

/// Describes the loss of events: current, or since the start, at which `lost_at_start` had been
/// lost; `None` if there is none.
fn lost_events(store: &Store, lost_at_start: u64) -> Option<String> {
    let outbox = match store.outbox_state() {
        Ok(outbox) => outbox,
        Err(error) => return Some(format!("the outbox of events cannot be read: {error}")),
    };
    if let full @ 1.. = store.full_event_queues(&outbox) {
        let told =
            "queues of events are full, and new events are lost: a target does not accept them";
        return Some(format!("{full} {told}"));
    }
    let lost = outbox.lost().saturating_sub(lost_at_start);
    let told = "events were lost since the start, because the queue of a target was full";
    (lost > 0).then(|| format!("{lost} {told}"))
}
