//! The details of health checks: the state of background work, without names.

use serde_json::{Map, Value, json};

use crate::backup::{BackupState, StandbyState};
use liteio_access::state::App;
use liteio_observe::events::Senders;
use liteio_store::Store;

/// The state of the standby, without its reason and place, for health checks.
pub(super) fn standby_details(state: &StandbyState) -> Value {
    json!({
        "seconds_behind": state.behind.as_secs(),
        "applied_ms": state.applied_ms,
        "failing": state.is_failing,
        "left_out": state.left_out,
    })
}

/// The state of the backup, without its reason and place, for health checks.
pub(super) fn backup_details(state: &BackupState) -> Value {
    json!({
        "seconds_behind": state.behind.as_secs(),
        "last_base_ms": state.base_ms,
        "failing": state.is_failing,
        "unreadable": state.unreadable,
        "verified_ms": state.verification.map(|it| it.time_ms),
        "verified_damaged": state.verification.map(|it| it.damaged),
    })
}

/// The state of background work, without names, for health checks.
pub(super) async fn details(app: &App, senders: &Senders) -> Map<String, Value> {
    let mut told = Map::new();
    if let Some(scrub) = app.store.scrub_state() {
        let scrub = json!({
            "running": scrub.begun_ms.is_some(),
            "ended_ms": scrub.ended_ms,
            "records": scrub.records,
            "damaged": scrub.damaged,
            "keyless": scrub.keyless,
        });
        told.insert("scrub".to_owned(), scrub);
    }
    if let outstanding @ 1.. = app.store.outstanding() {
        told.insert("lazy".to_owned(), json!({ "outstanding": outstanding }));
    }
    let outbox = app.look(Store::outbox_state).await.unwrap_or_default();
    if !(app.event_targets.is_empty() && outbox.queues.is_empty()) {
        let events = json!({
            "waiting": outbox.queues.values().map(|queue| queue.waiting).sum::<u64>(),
            "lost": outbox.lost(),
            "failing_targets": senders.failing(),
        });
        told.insert("events".to_owned(), events);
    }
    told
}
