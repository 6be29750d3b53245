//! The health of the server: readiness with its reasons.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_store::{ListBuckets, RESERVE_BYTES, Store, StoreHealth};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::details::{backup_details, details, standby_details};
use crate::backup::Pair;
use crate::spaces::Spaces;
use liteio_access::state::App;
use liteio_admin::operational::{Health, Readiness};
use liteio_observe::delivery::Follower;

/// The future of a callback.
type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The health of the main space, with the server-wide state.
pub(super) fn of(
    spaces: &Spaces,
    stopping: &Arc<AtomicBool>,
    followers: &Arc<[Arc<dyn Follower>]>,
    pair: &Arc<Pair>,
) -> Health {
    let readiness = {
        let (spaces, stopping) = (spaces.clone(), Arc::clone(stopping));
        let logged = Mutex::default();
        let outbox = spaces.main().app.store.outbox_state();
        let lost_at_start = outbox.map_or(0, |outbox| outbox.lost());
        let (followers, pair) = (Arc::clone(followers), Arc::clone(pair));
        move || {
            let app = &spaces.main().app;
            // At once: everything else asks the database.
            let figures = app.store.cluster_figures();
            if let Some(reason) = figures.and_then(|it| it.suspended.or(it.blobs_failure)) {
                return Readiness::NotReady(reason.into());
            }
            let unopened = spaces.main().users.unopened();
            let ready = readiness(app, &stopping, &logged, lost_at_start, &followers, unopened);
            match (ready, app.store.suspended()) {
                // A standby is ready for what it is there for.
                (Readiness::Ready, Some(reason)) if pair.standby_state().is_none() => {
                    Readiness::Degraded(reason.to_string().into())
                }
                // The reason names the place of the backup, so it is in the log only.
                (Readiness::Ready, None)
                    if pair.backup_state().is_some_and(|backup| backup.is_failing) =>
                {
                    Readiness::Degraded("the backup fails: the log has the reason".into())
                }
                (ready, _) => ready,
            }
        }
    };
    let details = {
        let spaces = spaces.clone();
        let (followers, pair) = (Arc::clone(followers), Arc::clone(pair));
        move || -> Later<Map<String, Value>> {
            let space = spaces.main();
            let (followers, pair) = (Arc::clone(&followers), Arc::clone(&pair));
            Box::pin(async move {
                let figures = space.app.store.cluster_figures();
                if figures.is_some_and(|it| it.suspended.is_some()) {
                    return Map::new();
                }
                let mut told = details(&space.app, &space.senders).await;
                told.extend(followers.iter().map(|it| (it.name().to_owned(), it.state())));
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
    let reads = store.stats().keyless_reads;
    let told = "reads have met encrypted objects whose keys the server lacks:";
    (reads > 0).then(|| format!("{reads} {told} {advice}"))
}

/// The users who cannot sign in, because the server lacks the key of their secrets.
fn unopened_secrets(count: u64) -> Option<String> {
    let told = "secrets of access keys, targets or tiers are sealed by a master key that the server lacks, so that \
                their users cannot sign in: start it with all keys";
    (count > 0).then(|| format!("{count} {told}"))
}

fn readiness(
    app: &App,
    stopping: &AtomicBool,
    logged: &Mutex<String>,
    lost_at_start: u64,
    followers: &[Arc<dyn Follower>],
    unopened: u64,
) -> Readiness {
    if stopping.load(Ordering::Relaxed) {
        return Readiness::NotReady("stopping".into());
    }
    match app.store.health() {
        StoreHealth::Ready => {
            let told = found_damage(&app.store, logged);
            let told = told.or_else(|| missing_keys(&app.store));
            let told = told.or_else(|| lost_events(&app.store, lost_at_start));
            let told = told.or_else(|| lost_commits(&app.store));
            let told = told.or_else(|| followers.iter().find_map(|it| it.loss()));
            let told = told.or_else(|| unopened_secrets(unopened));
            told.map_or(Readiness::Ready, |told| Readiness::Degraded(told.into()))
        }
        StoreHealth::ReadOnly { reason } => Readiness::Degraded(reason.into()),
        StoreHealth::Full => Readiness::Degraded(
            format!("the storage device is full: {} MiB are kept free", RESERVE_BYTES >> 20).into(),
        ),
    }
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
