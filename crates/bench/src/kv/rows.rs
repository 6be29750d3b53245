//! The jobs, each in a process of its own, and the rows that they fill.

use super::engine::Synced;
use crate::report::{Better, Metric, Unit};
use crate::run::job::filtered;
use crate::run::{Job, RATE, RowFilter, RowPlan, TIME};

/// The metric of rows that count what is gone.
pub(crate) const LOST: &str = "lost";

/// The amounts of a run.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Entries that are put one by one, and as many are read.
    pub entries: u64,
    /// Scans of [`SCAN_ENTRIES`].
    pub scans: u64,
    /// Entries that are there before writers, transactions and a kill.
    pub preload: u64,
    /// Threads, and the entries that they put together.
    pub writers: Vec<(u64, u64)>,
    /// Entries in a transaction, and in all of them.
    pub batches: Vec<(u64, u64)>,
    /// Puts before a kill: not synced, and synced.
    pub kill: (u64, u64),
}

/// Entries in a scan.
pub(crate) const SCAN_ENTRIES: u64 = 1_000;
/// Puts that may be on their way in the row that does not wait for each.
pub(crate) const WINDOW: u64 = 1_000;

impl Sizes {
    /// The published test.
    pub fn full() -> Sizes {
        Sizes {
            entries: 1_000_000,
            scans: 2_000,
            preload: 100_000,
            writers: vec![(1, 2_000), (8, 8_000), (64, 32_000)],
            batches: vec![
                (10, 20_000),
                (100, 50_000),
                (1_000, 100_000),
                (10_000, 200_000),
                (100_000, 400_000),
            ],
            kill: (200_000, 2_000),
        }
    }

    /// A tenth of it.
    pub fn quick() -> Sizes {
        Sizes {
            entries: 100_000,
            scans: 500,
            preload: 20_000,
            writers: vec![(1, 500), (8, 2_000), (64, 8_000)],
            batches: vec![
                (10, 2_000),
                (100, 10_000),
                (1_000, 20_000),
                (10_000, 50_000),
                (100_000, 100_000),
            ],
            kill: (20_000, 500),
        }
    }
}

/// The work of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Exercise {
    pub(crate) sync: Synced,
    pub(crate) kind: Kind,
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Puts, gets and scans of one thread.
    Single,
    /// Puts that are not waited for one by one.
    Ahead,
    /// Number of puts of several threads together.
    Writers { writers: u64, puts: u64 },
    /// Number of puts in transactions of a size.
    Batches { size: u64, puts: u64 },
    /// Number of puts until `kill -9`, and opening what is left.
    Kill { puts: u64 },
}

/// All jobs that fill a row whose name or group contains one of `filters`, with those rows only.
pub(crate) fn jobs(sizes: &Sizes, filters: &[String]) -> Vec<Job<Exercise>> {
    filtered(all(sizes), &RowFilter::new(filters))
}

fn all(sizes: &Sizes) -> Vec<Job<Exercise>> {
    // Below 100 the unit shows digits behind the point.
    let shown = |count: u64| match count {
        0..100 => count.to_string(),
        _ => Unit::Count.format(count as f64),
    };
    let entries = shown(sizes.entries);
    let job = |sync, kind, rows| Job::new(Exercise { sync, kind }, rows);
    let mut jobs = vec![
        job(
            Synced::No,
            Kind::Single,
            vec![
                row("Not synced, one thread", "Put", "put", TIME)
                    .note(format!("{entries} entries in random order, one transaction each")),
                row("Not synced, one thread", "Get at random", "get", TIME).note(format!(
                    "{entries} of them, each in a transaction or snapshot of its own"
                )),
                row("Not synced, one thread", "Scan 1,000 in order", "scan", TIME)
                    .note("from a random key, every value read"),
            ],
        ),
        job(
            Synced::No,
            Kind::Ahead,
            vec![row("Not synced, one thread", "Put, 1,000 on their way", "ahead", TIME).note(
                "a transaction each, but the next does not wait for the last to be acknowledged",
            )],
        ),
    ];
    for (writers, puts) in sizes.writers.iter().copied() {
        let threads = if writers == 1 { "writer" } else { "writers" };
        let name = format!("Synced put, {writers} {threads}");
        let row = row("Synced, one put each", &name, "writers", RATE);
        let row = row.curve("Synced puts by writers", "writers", writers as f64);
        jobs.push(job(Synced::Each, Kind::Writers { writers, puts }, vec![row]));
    }
    for (sync, group, title) in [
        (Synced::No, "Transactions, not synced", "Time per put by size of transaction, not synced"),
        (Synced::Each, "Transactions, each synced", "Time per put by size of transaction, synced"),
    ] {
        let word = if sync == Synced::No { "not synced" } else { "synced" };
        for (size, puts) in sizes.batches.iter().copied() {
            let name = format!("{} a transaction, {word}", shown(size));
            let row = row(group, &name, "batch", TIME)
                .curve(title, "puts in a transaction", size as f64)
                .note(format!("per put; {} in all", shown(puts)));
            jobs.push(job(sync, Kind::Batches { size, puts }, vec![row]));
        }
    }
    for (sync, word, puts) in
        [(Synced::No, "not synced", sizes.kill.0), (Synced::Each, "synced", sizes.kill.1)]
    {
        let group = "kill -9";
        jobs.push(job(
            sync,
            Kind::Kill { puts },
            vec![
                row(group, &format!("Reopen, {word}"), "reopen", TIME).note(format!(
                    "until the first get is answered; killed while it puts, after {} puts",
                    shown(puts)
                )),
                row(group, &format!("Acknowledged puts gone, {word}"), "reopen", LOST)
                    .note("of those that had returned when it was killed"),
            ],
        ));
    }
    jobs
}

fn row(group: &str, name: &str, phase: &str, metric: &'static str) -> RowPlan {
    RowPlan::new(group, name, phase, metric)
}

/// The metrics of rows and of targets.
pub(crate) fn metrics() -> Vec<Metric> {
    let mut metrics = vec![
        Metric::new(TIME, "Time per operation", Unit::Nanoseconds, Better::Lower),
        Metric::new(RATE, "Operations per second", Unit::OperationsPerSecond, Better::Higher),
        Metric::new(LOST, "Acknowledged puts that are gone", Unit::Count, Better::Lower),
    ];
    metrics.extend(Metric::percentiles());
    for (id, title, unit) in [
        ("allocations", "allocations per operation", Unit::Count),
        ("allocated_bytes", "bytes allocated per operation", Unit::Bytes),
        ("written_bytes", "bytes written per operation", Unit::Bytes),
        ("memory_peak", "Memory at the most", Unit::Bytes),
        ("disk", "Disk used", Unit::Bytes),
        ("disk_factor", "… per byte put", Unit::Factor),
    ] {
        metrics.push(Metric::new(id, title, unit, Better::Lower));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_and_a_metric_of_its_own() {
        for sizes in [Sizes::full(), Sizes::quick()] {
            let rows: Vec<RowPlan> =
                jobs(&sizes, &[]).into_iter().flat_map(|job| job.rows).collect();
            let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), rows.len());
            assert_eq!(rows.len(), 4 + 3 + 10 + 4);
            let metrics = metrics();
            assert!(names.contains("10 a transaction, synced"), "{names:?}");
            assert!(rows.iter().all(|row| metrics.iter().any(|metric| metric.id == row.metric)));
        }
    }

    #[test]
    fn a_filter_leaves_the_jobs_that_it_needs() {
        let jobs = jobs(&Sizes::quick(), &["GET".to_owned(), "64 writers".to_owned()]);
        let kinds: Vec<&Kind> = jobs.iter().map(|job| &job.work.kind).collect();
        assert_eq!(kinds, [&Kind::Single, &Kind::Writers { writers: 64, puts: 8_000 }]);
        assert_eq!(jobs[0].rows.len(), 1);
    }

    #[test]
    fn transactions_divide_what_they_put() {
        for sizes in [Sizes::full(), Sizes::quick()] {
            assert!(sizes.batches.iter().all(|(size, puts)| puts % size == 0 && puts >= size));
        }
    }
}
