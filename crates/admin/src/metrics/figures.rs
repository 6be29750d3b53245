//! [`Figures`]: all values of a metrics page, read once per scrape.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_store::vectors::VectorFigures;
use liteio_store::{
    BucketUsage, ClusterFigures, LifecycleState, OutboxState, ScrubState, Store, StoreError,
    StoreHealth, StoreStats, Usage,
};

use super::process::Process;
use super::requests::Figures as RequestFigures;
use super::tiers::TierValues;
use super::traffic::{Moved, Traffic};
use super::{BackupFigures, Metrics, ReportFigures, StandbyFigures, TableFigures};
use liteio_wire::budget::Resource;

/// Buckets with samples of their own: the ones with the most bytes. The others are summed up, which
/// bounds the label cardinality.
const BUCKETS_MAX: usize = 1_000;
/// Deletions waiting are counted up to this number.
const DELETIONS_MAX: usize = 100_000;

/// The label of the sum of the other buckets. It is not a valid bucket name.
const REST: &str = "_others";

/// The buckets that a page names: one account's, by its canonical ID, or all.
pub(super) type Owner = Option<String>;

/// All values of a metrics page. Unreadable ones are left out.
pub(super) struct Figures {
    pub(super) requests: Vec<RequestFigures>,
    pub(super) rejected: u64,
    /// Name, used amount and limit of each resource.
    pub(super) budget: Vec<(&'static str, u64, u64)>,
    /// The second since 1970 in which the first certificate expires.
    pub(super) certificate_end: Option<u64>,
    /// The number of certificates whose changed files are not usable.
    pub(super) certificates_refused: Option<u64>,
    /// The changed credentials file is not usable.
    pub(super) is_credentials_file_refused: bool,
    /// Secrets that no key of the server opens.
    pub(super) unopened_secrets: u64,
    /// Name and lost records of the audit log and the exporter of spans.
    pub(super) lost: Vec<(&'static str, u64)>,
    pub(super) failing_targets: usize,
    pub(super) backup: Option<BackupFigures>,
    pub(super) reports: ReportFigures,
    pub(super) tables: TableFigures,
    pub(super) standby: Option<StandbyFigures>,
    /// Targets of replication, by ARN. None on the pages of accounts but the first, since ARNs are of all.
    pub(super) replication: Vec<Replicated>,
    /// None on the pages of accounts but the first, which manages tiers.
    pub(super) tiers: TierValues,
    pub(super) process: Process,
    pub(super) store: StoreFigures,
}

/// The values of a target of replication.
pub(super) struct Replicated {
    pub(super) target: String,
    pub(super) waiting: u64,
    /// Age of the oldest row that waits.
    pub(super) oldest_seconds: f64,
    pub(super) copied: u64,
    pub(super) bytes: u64,
    pub(super) failures: u64,
    pub(super) is_failing: bool,
}

/// The store's values.
pub(super) struct StoreFigures {
    pub(super) is_ready: bool,
    pub(super) is_in_place: bool,
    /// Writes are refused: without the lease of the backup, or the database of several servers.
    is_suspended: bool,
    pub(super) stats: StoreStats,
    /// Free bytes and all bytes of the device.
    pub(super) space: Option<(u64, u64)>,
    pub(super) deletions: Option<usize>,
    /// Number of these that a backup or a copy needs still.
    pub(super) held: Option<usize>,
    pub(super) lifecycle: Option<LifecycleState>,
    pub(super) scrub: Option<ScrubState>,
    pub(super) outbox: Option<OutboxState>,
    pub(super) vectors: Option<VectorFigures>,
    pub(super) buckets: Buckets,
    /// The state among several servers.
    pub(super) cluster: Option<ClusterFigures>,
}

/// The values of buckets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Buckets {
    pub(super) count: u64,
    /// The number of buckets whose objects are still being counted.
    pub(super) uncounted: u64,
    /// The usage of all buckets.
    pub(super) total: Usage,
    /// Name and usage of the buckets with samples of their own, sorted by name.
    pub(super) named: Vec<(String, Usage)>,
    /// The usage of the remaining buckets, if there are any.
    pub(super) rest: Option<Usage>,
    /// Name and quota in bytes of the named buckets that have one.
    pub(super) quotas: Vec<(String, u64)>,
    /// Label and traffic of the buckets that have had any.
    pub(super) traffic: Vec<(String, Moved)>,
}

impl Figures {
    /// Reads the current values.
    ///
    /// # Errors
    /// The store cannot be read at all.
    pub(super) async fn gather(metrics: &Metrics, owner: Owner) -> Result<Figures, StoreError> {
        // On a blocking thread, because both read files: the process statistics need one call per
        // open file.
        let directory = metrics.app.directory.now();
        let first = directory.first_account().map(|account| account.canonical_id.as_str());
        let shows_remote = owner.as_deref().is_none_or(|owner| first == Some(owner));
        let targets = if shows_remote { metrics.app.remote_targets.all() } else { Vec::new() };
        let counters = Arc::clone(&metrics.counters);
        let figures = metrics.app.blocking(move |store| -> Result<_, StoreError> {
            let queues = store.replication_queues().unwrap_or_default();
            let tier_queues = store.tier_queues().unwrap_or_default();
            let store_figures = StoreFigures::of(store, owner, &counters.traffic)?;
            Ok((store_figures, Process::now(), queues, tier_queues, store.now_ms()))
        });
        let (mut store, process, queues, tier_queues, now_ms) = figures.await?;
        let replicated = targets.into_iter().map(|(target, figures)| {
            let queue = queues.get(&target.arn).copied().unwrap_or_default();
            let age_ms = queue.oldest_ms.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms));
            Replicated {
                target: target.arn.clone(),
                waiting: queue.waiting,
                oldest_seconds: age_ms as f64 / 1_000.0,
                copied: figures.copied.load(Ordering::Relaxed),
                bytes: figures.bytes.load(Ordering::Relaxed),
                failures: figures.failed.load(Ordering::Relaxed),
                is_failing: figures.is_failing.load(Ordering::Relaxed),
            }
        });
        let tiers = match shows_remote {
            true => TierValues::of(&metrics.app.tiers, tier_queues),
            false => TierValues::default(),
        };
        let budget = metrics.counters.budget.get();
        let budget = budget.into_iter().flat_map(|budget| {
            Resource::ALL
                .map(|(resource, name)| (name, budget.used(resource), budget.limit(resource)))
        });
        let certificates = metrics.counters.certificates.get();
        let certificate_end = certificates.and_then(|it| u64::try_from(it.first_end()?).ok());
        let followers = metrics.counters.followers.get().into_iter().flat_map(|it| it.iter());
        let lost = followers.map(|it| (it.name(), it.lost()));
        let of_backup = metrics.backup.as_ref().map(|figures| figures());
        let (backup, standby) = of_backup.unwrap_or_default();
        // A standby refuses writes as long as it is one, and is ready for what it is there for.
        store.is_ready &= standby.is_some() || !store.is_suspended;
        Ok(Figures {
            requests: metrics.counters.requests.figures(),
            rejected: metrics.counters.requests.rejected_count(),
            budget: budget.collect(),
            certificate_end,
            certificates_refused: certificates.map(|it| it.refused() as u64),
            is_credentials_file_refused: metrics.app.directory.is_file_refused(),
            unopened_secrets: metrics.app.directory.unopened(),
            lost: lost.collect(),
            failing_targets: (metrics.failing_targets)(),
            backup,
            standby,
            reports: (metrics.reports)(),
            tables: (metrics.tables)(),
            replication: replicated.collect(),
            tiers,
            process,
            store,
        })
    }
}

impl StoreFigures {
    fn of(store: &Store, owner: Owner, traffic: &Traffic) -> Result<StoreFigures, StoreError> {
        Ok(StoreFigures {
            is_ready: store.health() == StoreHealth::Ready,
            is_in_place: store.is_in_place(),
            is_suspended: store.suspended().is_some(),
            cluster: store.cluster_figures(),
            stats: store.stats(),
            space: store.space().ok().flatten(),
            deletions: store.deletions_waiting(DELETIONS_MAX).ok(),
            held: store.deletions_held(DELETIONS_MAX).ok(),
            lifecycle: store.lifecycle_state().ok(),
            scrub: store.scrub_state(),
            outbox: store.outbox_state().ok(),
            vectors: store.vector_figures().ok(),
            buckets: Buckets::of(store.usage()?, owner, BUCKETS_MAX, traffic),
        })
    }
}

impl Buckets {
    /// Labels and usage of all visible buckets; their sum is the total.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (&str, &Usage)> {
        let named = self.named.iter().map(|(name, usage)| (&**name, usage));
        named.chain(self.rest.iter().map(|usage| (REST, usage)))
    }

    fn of(mut usage: Vec<BucketUsage>, owner: Owner, max: usize, traffic: &Traffic) -> Buckets {
        let names: HashSet<_> = usage.iter().map(|bucket| bucket.name.as_str()).collect();
        let (mut moved, uncounted) = traffic.figures(|name| names.contains(name));
        drop(names);
        // The sum of buckets without counters belongs to no account.
        let mut rest_moved = if owner.is_none() { uncounted } else { Moved::default() };
        let mut buckets = Buckets { count: usage.len() as u64, ..Buckets::default() };
        for bucket in &usage {
            buckets.uncounted += u64::from(!bucket.is_complete);
            add(&mut buckets.total, &bucket.usage);
        }
        usage.retain(|bucket| owner.as_ref().is_none_or(|owner| *owner == bucket.owner_id));
        if usage.len() > max {
            usage.sort_by_key(|bucket| Reverse(bucket.usage.bytes));
            let rest = buckets.rest.insert(Usage::default());
            for bucket in usage.drain(max..) {
                add(rest, &bucket.usage);
                let of = moved.remove(bucket.name.as_str()).unwrap_or_default();
                rest_moved = rest_moved.plus(of);
            }
            usage.sort_by(|one, other| one.name.cmp(&other.name));
        }
        for bucket in &usage {
            let name = bucket.name.as_str();
            buckets.quotas.extend(bucket.quota_bytes.map(|bytes| (name.to_owned(), bytes)));
            buckets.traffic.extend(moved.remove(name).map(|of| (name.to_owned(), of)));
        }
        if rest_moved != Moved::default() {
            buckets.traffic.push((REST.to_owned(), rest_moved));
        }
        let named = usage.into_iter().map(|it| (it.name.as_str().to_owned(), it.usage));
        buckets.named = named.collect();
        buckets
    }
}

fn add(sum: &mut Usage, more: &Usage) {
    let Usage { objects, versions, delete_markers, bytes } = more;
    sum.objects = sum.objects.saturating_add(*objects);
    sum.versions = sum.versions.saturating_add(*versions);
    sum.delete_markers = sum.delete_markers.saturating_add(*delete_markers);
    sum.bytes = sum.bytes.saturating_add(*bytes);
}

#[cfg(test)]
mod tests {
    use liteio_store::BucketName;

    use super::*;

    fn bucket(name: &str, owner: &str, bytes: u64) -> BucketUsage {
        let usage = Usage { objects: 1, versions: 2, delete_markers: 1, bytes };
        let name = BucketName::new(name).expect("a name");
        let quota_bytes = (bytes == 9).then_some(10);
        let (owner_id, is_complete) = (owner.to_owned(), bytes != 7);
        BucketUsage { name, owner_id, usage, is_complete, quota_bytes }
    }

    #[test]
    fn the_largest_buckets_are_named_and_the_others_told_together() {
        let all = || {
            [("aaa", "me", 5), ("bbb", "me", 7), ("ccc", "you", 100), ("ddd", "me", 9)]
                .map(|(name, owner, bytes)| bucket(name, owner, bytes))
                .to_vec()
        };
        let names = |buckets: &Buckets| -> Vec<String> {
            buckets.named.iter().map(|(name, _)| name.clone()).collect()
        };
        let buckets = Buckets::of(all(), None, 10, &Traffic::default());
        assert_eq!((buckets.count, buckets.uncounted, buckets.total.bytes), (4, 1, 121));
        assert_eq!(names(&buckets), ["aaa", "bbb", "ccc", "ddd"]);
        assert_eq!(buckets.rest, None);
        let mine = Buckets::of(all(), Some("me".to_owned()), 2, &Traffic::default());
        assert_eq!(mine.quotas, [("ddd".to_owned(), 10)]);
        assert_eq!(names(&mine), ["bbb", "ddd"]);
        assert_eq!(mine.rest.map(|rest| (rest.objects, rest.bytes)), Some((1, 5)));
        let labels: Vec<_> = mine.labelled().map(|(name, usage)| (name, usage.bytes)).collect();
        assert_eq!(labels, [("bbb", 7), ("ddd", 9), (REST, 5)]);
        assert_eq!(mine.total, buckets.total, "sums have no names");
    }
}
