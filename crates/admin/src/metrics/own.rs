//! LiteIO's own metrics. `docs/metrics.md` describes each of them.

use liteio_store::vectors::MirrorFigures;
use liteio_store::{StoreStats, Usage};

use super::figures::{Buckets, Figures, Replicated, StoreFigures};
use super::page::{Column, Format, Kind, Label, Metric, Page};
use super::process::Process;
use super::requests::{CLASSES, ENDS, Figures as RequestFigures};
use super::{BackupFigures, ReportFigures, StandbyFigures, TableFigures};

/// All metrics of LiteIO.
pub(super) fn page(figures: &Figures, format: Format) -> String {
    let mut page = Page::new(format);
    write_requests(&mut page, &figures.requests);
    page.counter(
        "liteio_rejected_total",
        "Answers to bytes that never became a request.",
        figures.rejected,
    );
    let mut used = page.metric("liteio_budget_used", Kind::Gauge, "Use by all clients now.");
    figures.budget.iter().for_each(|(name, now, _)| used.sample(&[("resource", name)], now));
    let mut limit =
        page.metric("liteio_budget_limit", Kind::Gauge, "Limit for all clients together.");
    figures.budget.iter().for_each(|(name, _, max)| limit.sample(&[("resource", name)], max));
    write_certificates(&mut page, figures);
    let help = "1 while the changed credentials file is not usable: the former users stay.";
    let refused = u64::from(figures.is_credentials_file_refused);
    page.gauge("liteio_credentials_file_refused", help, refused);
    let help =
        "Secrets of access keys, targets and tiers sealed by a master key that the server lacks.";
    page.gauge("liteio_unopened_secrets", help, figures.unopened_secrets);
    write_lost(&mut page, &figures.lost);
    write_store(&mut page, &figures.store);
    write_cluster(&mut page, &figures.store);
    write_background(&mut page, figures);
    write_backup(&mut page, figures.backup.as_ref());
    write_reports(&mut page, &figures.reports);
    write_tables(&mut page, &figures.tables);
    write_standby(&mut page, figures.standby.as_ref());
    write_replication(&mut page, &figures.replication);
    super::tiers::write(&mut page, &figures.tiers);
    write_vectors(&mut page, &figures.store);
    write_buckets(&mut page, &figures.store.buckets);
    write_process(&mut page, &figures.process);
    page.finish()
}

fn write_requests(page: &mut Page, requests: &[RequestFigures]) {
    let help = "Requests that ended, by operation and class of status; none: the client went away.";
    let mut metric = page.metric("liteio_requests_total", Kind::Counter, help);
    for figures in requests {
        for (class, count) in CLASSES.iter().zip(figures.classes).filter(|(_, count)| *count > 0) {
            metric.sample(&[("operation", figures.operation), ("status", class)], count);
        }
    }
    let help = "Answers with an error, by operation and code.";
    let mut metric = page.metric("liteio_request_errors_total", Kind::Counter, help);
    for figures in requests {
        for (code, count) in &figures.errors {
            metric.sample(&[("operation", figures.operation), ("code", code)], count);
        }
    }
    let help = "Time from the head of a request to the end of its answer.";
    let mut metric = page.metric("liteio_request_duration_seconds", Kind::Histogram, help);
    for figures in requests {
        write_times(&mut metric, figures.operation, figures.durations, figures.seconds);
    }
    let help = "Time from the head of a request to the head of its answer.";
    let mut metric = page.metric("liteio_request_first_byte_seconds", Kind::Histogram, help);
    for figures in requests {
        let (times, seconds) = (figures.first_bytes, figures.first_byte_seconds);
        write_times(&mut metric, figures.operation, times, seconds);
    }
    let help = "Bytes of bodies of requests.";
    let mut metric = page.metric("liteio_received_bytes_total", Kind::Counter, help);
    for figures in requests {
        metric.sample(&[("operation", figures.operation)], figures.bytes_in);
    }
    let help = "Bytes of bodies of answers.";
    let mut metric = page.metric("liteio_sent_bytes_total", Kind::Counter, help);
    for figures in requests {
        metric.sample(&[("operation", figures.operation)], figures.bytes_out);
    }
}

/// The histogram of one operation.
fn write_times(
    metric: &mut Metric<'_>,
    operation: &'static str,
    times: [u64; ENDS.len() + 1],
    seconds: f64,
) {
    let operation: Label<'_> = ("operation", operation);
    let ends = ENDS.iter().map(|(_, end)| *end).chain(["+Inf"]);
    let mut count = 0;
    for (end, more) in ends.zip(times) {
        count += more;
        metric.sample_of("_bucket", &[operation, ("le", end)], count);
    }
    metric.sample_of("_sum", &[operation], seconds);
    metric.sample_of("_count", &[operation], count);
}

fn write_certificates(page: &mut Page, figures: &Figures) {
    let help = "The first end of a certificate that is served, in seconds since 1970.";
    let end = figures.certificate_end;
    optional(page, "liteio_tls_certificate_expiry_timestamp_seconds", help, end);
    let help = "Certificates whose changed files are not usable: the former ones stay in use.";
    optional(page, "liteio_tls_certificates_refused", help, figures.certificates_refused);
}

/// The lost records of followers, by their name.
fn write_lost(page: &mut Page, lost: &[(&'static str, u64)]) {
    for (follower, name, help) in [
        ("audit", "liteio_audit_entries_lost_total", "Lost entries of the audit log."),
        ("otlp", "liteio_otlp_spans_lost_total", "Lost spans."),
    ] {
        let mut metric = page.metric(name, Kind::Counter, help);
        let of_it = lost.iter().filter(|(it, _)| *it == follower);
        of_it.for_each(|(_, count)| metric.sample(&[], count));
    }
}

fn write_store(page: &mut Page, store: &StoreFigures) {
    page.gauge(
        "liteio_store_ready",
        "1 while everything can be written, else 0: the device is full, or has failed, or the lease of the backup is away.",
        u8::from(store.is_ready),
    );
    page.gauge(
        "liteio_store_in_place",
        "1 while the open data directory is at its path, else 0: a restart would not find it.",
        u8::from(store.is_in_place),
    );
    let (free, capacity) = store.space.unzip();
    optional(page, "liteio_store_free_bytes", "Free bytes of the device of the data.", free);
    optional(page, "liteio_store_capacity_bytes", "Bytes of the device of the data.", capacity);
    let kv = &store.stats.kv;
    page.counter("liteio_store_updates_total", "Updates of metadata.", kv.updates);
    page.counter("liteio_store_commits_total", "Groups of updates that were committed.", kv.groups);
    page.counter(
        "liteio_store_syncs_total",
        "Commits that waited for the device before they were acknowledged.",
        kv.syncs,
    );
    page.counter(
        "liteio_store_sync_seconds_total",
        "Time of these waits.",
        kv.sync_time.as_secs_f64(),
    );
    page.counter(
        "liteio_store_background_syncs_total",
        "Syncs after the acknowledgement.",
        kv.background_syncs,
    );
    page.gauge("liteio_store_log_bytes", "Bytes of the log in use.", kv.log_bytes);
    page.gauge("liteio_store_tables", "Tables of metadata in memory.", kv.tables);
    page.gauge("liteio_store_table_bytes", "Their bytes.", kv.table_bytes);
    page.gauge("liteio_store_runs", "Sorted files that wait for the tree.", kv.runs);
    page.gauge("liteio_store_run_bytes", "Their bytes.", kv.run_bytes);
    page.gauge("liteio_store_tree_bytes", "Bytes of the tree of metadata.", kv.tree_bytes);
    page.counter("liteio_store_drains_total", "Tables that went into the tree.", kv.drains);
    page.counter("liteio_store_spills_total", "Tables that became runs.", kv.spills);
    page.counter("liteio_store_merges_total", "Merges of runs into the tree.", kv.merges);
    page.counter("liteio_store_compactions_total", "Compactions of the tree.", kv.compactions);
    page.counter(
        "liteio_store_damaged_reads_total",
        "Reads that met damaged or missing data.",
        store.stats.damaged_reads,
    );
    page.counter(
        "liteio_store_keyless_reads_total",
        "Reads of encrypted objects whose key the server lacks.",
        store.stats.keyless_reads,
    );
    page.gauge(
        "liteio_store_missing_keys",
        "Keys that the server lacks, of a sample of the objects at its start.",
        store.stats.missing_keys,
    );
}

fn write_cluster(page: &mut Page, store: &StoreFigures) {
    let cluster = store.cluster.as_ref();
    let is_serving = cluster.map(|it| u64::from(it.suspended.is_none()));
    let help = "1 while the server reaches the database of its cluster, and so answers requests.";
    optional(page, "liteio_cluster_serving", help, is_serving);
    let help = "Runs of servers that have ended, and whose leftovers wait to be swept.";
    optional(page, "liteio_cluster_runs_waiting", help, cluster.map(|it| it.runs_waiting));
    let vectors = cluster.map(|it| &it.vectors);
    let gauges: [Column<MirrorFigures>; 3] = [
        ("liteio_cluster_vector_cache_indexes", "Indexes of vectors in the cache.", |it| {
            it.indexes
        }),
        ("liteio_cluster_vector_cache_bytes", "Their estimated bytes.", |it| it.bytes),
        (
            "liteio_cluster_vector_changes_behind",
            "Changes of vectors that the cache does not have yet, as far as the server knows of them.",
            |it| it.behind,
        ),
    ];
    for (name, help, value) in gauges {
        optional(page, name, help, vectors.map(value));
    }
    let counters: [Column<MirrorFigures>; 4] = [
        (
            "liteio_cluster_vector_changes_total",
            "Changes of vectors that the cache took from the database.",
            |it| it.changes,
        ),
        (
            "liteio_cluster_vector_loads_total",
            "Indexes of vectors that were fetched as a whole.",
            |it| it.loads,
        ),
        (
            "liteio_cluster_vector_drops_total",
            "Indexes of vectors that were dropped to make room.",
            |it| it.dropped,
        ),
        (
            "liteio_cluster_vector_snapshots_total",
            "Snapshots of indexes of vectors that this server wrote.",
            |it| it.snapshots,
        ),
    ];
    optional_counters(page, counters, vectors);
    let counters: [Column<StoreStats>; 7] = [
        ("liteio_cluster_commits_total", "Commits of the database.", |it| it.kv.groups),
        (
            "liteio_cluster_conflicts_total",
            "Commits that were repeated, because another server had changed data that they had read.",
            |it| it.kv.conflicts,
        ),
        ("liteio_cluster_fetches_total", "Round trips to the database that read.", |it| {
            it.kv.fetches
        }),
        (
            "liteio_cluster_commits_unsettled_total",
            "Commits of which it is not known whether they happened.",
            |it| it.kv.unsettled,
        ),
        (
            "liteio_cluster_commits_lost_total",
            "Acknowledged commits that the database has lost.",
            |it| it.kv.commits_lost,
        ),
        (
            "liteio_cluster_beats_missed_total",
            "Beats of the server that the database has not taken.",
            |it| it.beats_missed,
        ),
        (
            "liteio_cluster_epoch_reloads_total",
            "Times that settings of buckets, or users, were read again after a change.",
            |it| it.epoch_reloads,
        ),
    ];
    optional_counters(page, counters, cluster.map(|_| &store.stats));
}

/// Counters of figures that are not always there: without them a counter has no sample.
fn optional_counters<Figures, const N: usize>(
    page: &mut Page,
    counters: [Column<Figures>; N],
    figures: Option<&Figures>,
) {
    for (name, help, value) in counters {
        let mut metric = page.metric(name, Kind::Counter, help);
        figures.iter().for_each(|figures| metric.sample(&[], value(figures)));
    }
}

fn write_background(page: &mut Page, figures: &Figures) {
    let store = &figures.store;
    let waiting = store.deletions.map(|waiting| waiting as u64);
    let help =
        "Content that is no longer referenced and waits to be deleted, counted up to 100,000.";
    optional(page, "liteio_reclaimer_waiting", help, waiting);
    let held = store.held.map(|held| held as u64);
    let help = "Those of them that a backup or a copy needs still.";
    optional(page, "liteio_reclaimer_held", help, held);
    page.counter(
        "liteio_reclaimer_deleted_total",
        "Files of content that were deleted.",
        store.stats.blobs_deleted,
    );
    page.counter(
        "liteio_reclaimer_orphans_total",
        "Files without a record that were set aside after a crash.",
        store.stats.orphans_swept,
    );
    page.gauge("liteio_reclaimer_lost", "Files that are set aside.", store.stats.lost_blobs);
    let lifecycle = store.lifecycle.as_ref();
    let running = lifecycle.map(|it| u64::from(it.is_running));
    optional(page, "liteio_lifecycle_running", "1 while lifecycle rules are executed.", running);
    let help =
        "Versions and uploads that this execution of lifecycle rules, or the last, has looked at.";
    optional(page, "liteio_lifecycle_examined", help, lifecycle.map(|it| it.looked_at));
    let help = "Those that it has ended.";
    optional(page, "liteio_lifecycle_ended", help, lifecycle.map(|it| it.ended));
    let scrub = store.scrub.as_ref();
    let running = scrub.map(|it| u64::from(it.begun_ms.is_some()));
    optional(page, "liteio_scrub_running", "1 while everything is being read again.", running);
    let help = "Records that this scrub, or the last, has read.";
    optional(page, "liteio_scrub_records", help, scrub.map(|it| it.records));
    let help = "Damage that it has found.";
    optional(page, "liteio_scrub_damaged", help, scrub.map(|it| it.damaged));
    let help = "Encrypted objects and parts whose keys it has not found.";
    optional(page, "liteio_scrub_keyless", help, scrub.map(|it| it.keyless));
    let ended = scrub.and_then(|it| it.ended_ms).map(|ms| ms / 1_000);
    let help = "End of the last scrub, in seconds since 1970.";
    optional(page, "liteio_scrub_ended_timestamp_seconds", help, ended);
    let outbox = store.outbox.as_ref();
    let waiting = outbox.map(|it| it.queues.values().map(|queue| queue.waiting).sum());
    optional(page, "liteio_events_waiting", "Events that wait for their targets.", waiting);
    // Counted per data directory, not per process, so a restart does not reset it.
    let help = "Events that were lost because too many waited.";
    let mut lost = page.metric("liteio_events_lost_total", Kind::Counter, help);
    outbox.iter().for_each(|it| lost.sample(&[], it.lost()));
    page.gauge(
        "liteio_events_failing_targets",
        "Targets that do not take their events just now.",
        figures.failing_targets,
    );
}

fn write_backup(page: &mut Page, backup: Option<&BackupFigures>) {
    let help = "Age of the newest moment that can be restored from the backup.";
    let mut behind = page.metric("liteio_backup_seconds_behind", Kind::Gauge, help);
    backup.iter().for_each(|it| behind.sample(&[], it.seconds_behind));
    let help = "The last complete base of the backup, in seconds since 1970.";
    let base = backup.and_then(|it| it.last_base_ms).map(|ms| ms / 1_000);
    optional(page, "liteio_backup_last_base_timestamp_seconds", help, base);
    let help = "Damaged pairs and blobs that the last base and the changes since lack.";
    let mut unreadable = page.metric("liteio_backup_unreadable", Kind::Gauge, help);
    backup.iter().for_each(|it| unreadable.sample(&[], it.unreadable));
    let help = "The last verification of the backup, in seconds since 1970.";
    let verified = backup.and_then(|it| it.verified_ms).map(|ms| ms / 1_000);
    optional(page, "liteio_backup_verified_timestamp_seconds", help, verified);
    let help = "Damaged and missing objects of the backup that it has found.";
    let damaged = backup.and_then(|it| it.verified_damaged);
    optional(page, "liteio_backup_verified_damaged", help, damaged);
    let counters: [Column<BackupFigures>; 3] = [
        ("liteio_backup_sent_bytes_total", "Bytes sent to the backup.", |it| it.sent_bytes),
        ("liteio_backup_sent_objects_total", "Objects sent to the backup.", |it| it.sent_objects),
        ("liteio_backup_failures_total", "Failures of the backup.", |it| it.failures),
    ];
    for (name, help, value) in counters {
        let mut metric = page.metric(name, Kind::Counter, help);
        backup.iter().for_each(|it| metric.sample(&[], value(it)));
    }
}

fn write_reports(page: &mut Page, reports: &ReportFigures) {
    let counters = [
        (
            "liteio_access_log_objects_total",
            "Objects of access logs that were delivered.",
            reports.log_objects,
        ),
        ("liteio_access_log_lines_total", "Lines in them.", reports.log_lines),
        (
            "liteio_access_log_lines_lost_total",
            "Lines of access logs that were lost: their target did not take them, or too many waited.",
            reports.log_lines_lost,
        ),
        (
            "liteio_access_log_failures_total",
            "Failed deliveries of access logs.",
            reports.log_failures,
        ),
        ("liteio_inventories_total", "Inventories that were written.", reports.inventories),
        ("liteio_inventory_rows_total", "Rows in them.", reports.inventory_rows),
        (
            "liteio_inventory_failures_total",
            "Failed attempts to write an inventory.",
            reports.inventory_failures,
        ),
    ];
    for (name, help, value) in counters {
        page.counter(name, help, value);
    }
    let help = "Bytes of access logs that wait for their delivery.";
    page.gauge("liteio_access_log_waiting_bytes", help, reports.log_bytes_waiting);
}

fn write_tables(page: &mut Page, tables: &TableFigures) {
    let help = "Snapshots of tables that have expired.";
    page.counter("liteio_table_snapshots_expired_total", help, tables.snapshots_expired);
    let help = "Files that were deleted because no table named them.";
    page.counter("liteio_table_files_deleted_total", help, tables.files_deleted);
    page.counter("liteio_table_deleted_bytes_total", "Their bytes.", tables.bytes_deleted);
    let help = "Failures of the maintenance of tables: jobs, and records that could not be read.";
    page.counter("liteio_table_maintenance_failures_total", help, tables.failures);
}

fn write_standby(page: &mut Page, standby: Option<&StandbyFigures>) {
    let help = "Time since the standby last had everything that the backup has.";
    let mut behind = page.metric("liteio_standby_seconds_behind", Kind::Gauge, help);
    standby.iter().for_each(|it| behind.sample(&[], it.seconds_behind));
    let help = "All that the standby has was written by then, in seconds since 1970.";
    let applied = standby.map(|it| it.applied_ms / 1_000);
    optional(page, "liteio_standby_applied_timestamp_seconds", help, applied);
    let help = "Blobs and vectors that the backup does not have whole, and so the standby.";
    optional(page, "liteio_standby_left_out", help, standby.map(|it| it.left_out));
    let counters: [Column<StandbyFigures>; 2] = [
        ("liteio_standby_applied_total", "Segments and bases applied.", |it| it.applied),
        ("liteio_standby_failures_total", "Failures to follow the backup.", |it| it.failures),
    ];
    for (name, help, value) in counters {
        let mut metric = page.metric(name, Kind::Counter, help);
        standby.iter().for_each(|it| metric.sample(&[], value(it)));
    }
}

fn write_replication(page: &mut Page, targets: &[Replicated]) {
    let gauges: [Column<Replicated>; 2] = [
        ("liteio_replication_waiting", "Versions, deletions and changes that wait.", |it| {
            it.waiting
        }),
        ("liteio_replication_failing", "1 while the target refuses copies.", |it| {
            u64::from(it.is_failing)
        }),
    ];
    let counters: [Column<Replicated>; 3] = [
        ("liteio_replication_copied_total", "Those that the target has taken.", |it| it.copied),
        ("liteio_replication_copied_bytes_total", "Bytes of the copied versions.", |it| it.bytes),
        ("liteio_replication_failures_total", "Attempts that failed.", |it| it.failures),
    ];
    let columns = gauges.map(|column| (Kind::Gauge, column)).into_iter();
    for (kind, (name, help, value)) in columns.chain(counters.map(|column| (Kind::Counter, column)))
    {
        let mut metric = page.metric(name, kind, help);
        for it in targets {
            metric.sample(&[("target", &it.target)], value(it));
        }
    }
    let help = "Age of the oldest of those that wait.";
    let mut metric = page.metric("liteio_replication_oldest_seconds", Kind::Gauge, help);
    targets.iter().for_each(|it| metric.sample(&[("target", &it.target)], it.oldest_seconds));
}

fn write_vectors(page: &mut Page, store: &StoreFigures) {
    let vectors = store.vectors.as_ref();
    let mut gauge = |name, help, value: Option<u64>| optional(page, name, help, value);
    gauge("liteio_vector_buckets", "Vector buckets.", vectors.map(|it| it.buckets));
    gauge("liteio_vector_indexes", "Vector indexes.", vectors.map(|it| it.indexes));
    let help = "Vector indexes that are open: in use since the start, or filtered before it.";
    gauge("liteio_vector_open_indexes", help, vectors.map(|it| it.open_indexes));
    gauge("liteio_vector_open_vectors", "Vectors in these.", vectors.map(|it| it.open_vectors));
    let help = "Vector indexes whose codes are being made, or whose recall is measured.";
    gauge("liteio_vector_preparing", help, vectors.map(|it| it.preparing));
    let help = "The lowest measured recall of the ten nearest neighbours of an open index.";
    let mut recall = page.metric("liteio_vector_recall", Kind::Gauge, help);
    vectors.and_then(|it| it.recall_at_10).iter().for_each(|value| recall.sample(&[], value));
}

fn write_buckets(page: &mut Page, buckets: &Buckets) {
    page.gauge("liteio_buckets", "Buckets.", buckets.count);
    page.gauge(
        "liteio_buckets_counting",
        "Buckets of an older version whose objects are still being counted.",
        buckets.uncounted,
    );
    let Usage { objects, versions, delete_markers, bytes } = buckets.total;
    page.gauge("liteio_objects", "Current objects of all buckets.", objects);
    page.gauge("liteio_versions", "Versions of all buckets, with delete markers.", versions);
    page.gauge("liteio_delete_markers", "Delete markers of all buckets.", delete_markers);
    page.gauge("liteio_stored_bytes", "Bytes of all versions of all buckets.", bytes);
    let metrics: [Column<Usage>; 4] = [
        ("liteio_bucket_objects", "Current objects of a bucket.", |it| it.objects),
        ("liteio_bucket_versions", "Versions of a bucket, with delete markers.", |it| it.versions),
        ("liteio_bucket_delete_markers", "Delete markers of a bucket.", |it| it.delete_markers),
        ("liteio_bucket_bytes", "Bytes of all versions of a bucket.", |it| it.bytes),
    ];
    for (name, help, of) in metrics {
        let mut metric = page.metric(name, Kind::Gauge, help);
        for (bucket, usage) in buckets.labelled() {
            metric.sample(&[("bucket", bucket)], of(usage));
        }
    }
    let help = "Quota of a bucket; without one, there is no value.";
    let mut metric = page.metric("liteio_bucket_quota_bytes", Kind::Gauge, help);
    for (bucket, bytes) in &buckets.quotas {
        metric.sample(&[("bucket", bucket)], *bytes);
    }
    let help = "Bytes of bodies of requests to a bucket.";
    let mut metric = page.metric("liteio_bucket_received_bytes_total", Kind::Counter, help);
    for (bucket, moved) in &buckets.traffic {
        metric.sample(&[("bucket", bucket)], moved.received);
    }
    let help = "Bytes of bodies of answers about a bucket.";
    let mut metric = page.metric("liteio_bucket_sent_bytes_total", Kind::Counter, help);
    for (bucket, moved) in &buckets.traffic {
        metric.sample(&[("bucket", bucket)], moved.sent);
    }
}

fn write_process(page: &mut Page, process: &Process) {
    let version = env!("CARGO_PKG_VERSION");
    let mut info = page.metric("liteio_build_info", Kind::Gauge, "1, with the version.");
    info.sample(&[("version", version)], 1);
    page.counter(
        "process_cpu_seconds_total",
        "Time of processors that the process took.",
        process.cpu_seconds,
    );
    let mut gauge = |name, help, value: Option<u64>| optional(page, name, help, value);
    gauge("process_resident_memory_bytes", "Memory of the process.", process.resident_bytes);
    gauge("process_virtual_memory_bytes", "Addresses of the process.", process.virtual_bytes);
    gauge("process_threads", "Threads of the process.", process.threads);
    gauge("process_open_fds", "Open files and connections.", process.open_files);
    gauge("process_max_fds", "The most of them that there can be.", process.open_files_max);
    page.gauge(
        "process_start_time_seconds",
        "Start of the process, in seconds since 1970.",
        process.started_seconds,
    );
}

/// A gauge without a sample if the value is unknown.
fn optional(page: &mut Page, name: &'static str, help: &str, value: Option<u64>) {
    let mut metric = page.metric(name, Kind::Gauge, help);
    value.iter().for_each(|value| metric.sample(&[], value));
}
