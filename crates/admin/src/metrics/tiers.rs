//! The values of tiers.

use std::sync::atomic::Ordering;

use liteio_access::tiers::{TierFigures, Tiers};
use liteio_store::TierQueues;

use super::page::{Column, Kind, Page};

/// The values of all tiers.
#[derive(Default)]
pub(super) struct TierValues {
    pub(super) queues: TierQueues,
    pub(super) tiers: Vec<TierValue>,
}

/// The values of a tier.
pub(super) struct TierValue {
    name: String,
    moved: u64,
    moved_bytes: u64,
    read_bytes: u64,
    deleted: u64,
    failed: u64,
    is_failing: bool,
}

impl TierValues {
    pub(super) fn of(tiers: &Tiers, queues: TierQueues) -> TierValues {
        let value = |name: String, figures: &TierFigures| TierValue {
            name,
            moved: figures.moved.load(Ordering::Relaxed),
            moved_bytes: figures.moved_bytes.load(Ordering::Relaxed),
            read_bytes: figures.read_bytes.load(Ordering::Relaxed),
            deleted: figures.deleted.load(Ordering::Relaxed),
            failed: figures.failed.load(Ordering::Relaxed),
            is_failing: figures.is_failing.load(Ordering::Relaxed),
        };
        let tiers = tiers.all();
        let tiers = tiers.iter().map(|(tier, figures)| value(tier.name.clone(), figures));
        TierValues { queues, tiers: tiers.collect() }
    }
}

pub(super) fn write(page: &mut Page, values: &TierValues) {
    let queues = [
        ("liteio_tier_moves_waiting", "Versions that are to move.", values.queues.moves),
        ("liteio_tier_deletions_waiting", "Bodies to delete at tiers.", values.queues.deletions),
    ];
    for (name, help, value) in queues {
        page.metric(name, Kind::Gauge, help).sample(&[], value);
    }
    let counters: [Column<TierValue>; 5] = [
        ("liteio_tier_moved_total", "Versions that have moved.", |it| it.moved),
        ("liteio_tier_moved_bytes_total", "Bytes that have moved.", |it| it.moved_bytes),
        ("liteio_tier_read_bytes_total", "Bytes that were read at the tier.", |it| it.read_bytes),
        ("liteio_tier_deleted_total", "Bodies that were deleted at the tier.", |it| it.deleted),
        ("liteio_tier_failures_total", "Requests that failed.", |it| it.failed),
    ];
    for (name, help, value) in counters {
        let mut metric = page.metric(name, Kind::Counter, help);
        for tier in &values.tiers {
            metric.sample(&[("tier", &tier.name)], value(tier));
        }
    }
    let help = "1 while the tier cannot be used.";
    let mut metric = page.metric("liteio_tier_failing", Kind::Gauge, help);
    for tier in &values.tiers {
        metric.sample(&[("tier", &tier.name)], u64::from(tier.is_failing));
    }
}
