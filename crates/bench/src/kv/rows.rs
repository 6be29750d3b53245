//! The jobs, each in a process of its own, and their rows.

use super::engine::Synced;
use super::floor::RECORD_BYTES;
use super::task::{Exercise, Floor, Order, Work};
use crate::report::Unit;
use crate::run::job::filtered;
use crate::run::metrics::{DISK, LONGEST, LOST, P999, PASSED, RATE, TIME};
use crate::run::{Job, RowFilter, RowPlan};

/// Amounts of a run.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Number of entries put one by one; as many are read.
    pub entries: u64,
    /// Scans of [`SCAN_ENTRIES`].
    pub scans: u64,
    /// Number of entries before writers, transactions and a kill.
    pub preload: u64,
    /// Numbers of threads, with the entries that they put together.
    pub writers: Vec<(u64, u64)>,
    /// Entries in a transaction, with the total.
    pub batches: Vec<(u64, u64)>,
    /// Number of puts before a kill: unsynced, and synced.
    pub kill: (u64, u64),
    /// Longest wait for the return of space, in seconds.
    pub idle_seconds: u64,
}

/// Number of entries in a scan.
const SCAN_ENTRIES: u64 = 1_000;
/// Number of puts in flight in the row that does not wait for each.
const WINDOW: u64 = 1_000;
/// Length of a value in the rows about space.
const LARGE_VALUE_BYTES: u64 = 1 << 10;
/// Number of puts gathered before a tree of pages is changed, and of such batches: as many as
/// LiteIO has room for by default while others are moved into the tree.
const TREE_BATCH: u64 = 500_000;
const TREE_BATCHES: u64 = 4;
/// File with the number of acknowledged puts, in the directory of all data.
const ACKNOWLEDGED: &str = "acknowledged";

impl Sizes {
    /// The published test.
    pub(crate) fn full() -> Sizes {
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
            idle_seconds: 60,
        }
    }

    /// A tenth of it.
    pub(crate) fn quick() -> Sizes {
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
            idle_seconds: 20,
        }
    }
}

/// All jobs that fill a row that the filter lets through, with those rows only.
pub(crate) fn jobs(sizes: &Sizes, filter: &RowFilter) -> Vec<Job<Exercise>> {
    let mut jobs = filtered(all(sizes), filter);
    for job in &mut jobs {
        let (needs_get, needs_scan) = (job.needs("get"), job.needs("scan"));
        if let Work::Single { gets, scans, .. } = &mut job.work.work {
            *gets *= u64::from(needs_get);
            *scans *= u64::from(needs_scan);
        }
    }
    jobs
}

fn all(sizes: &Sizes) -> Vec<Job<Exercise>> {
    // Below 100 the unit shows decimals.
    let shown = |count: u64| match count {
        0..100 => count.to_string(),
        _ => Unit::Count.format(count as f64),
    };
    let Sizes { entries: puts, scans, preload, .. } = *sizes;
    let (entries, scan_entries) = (shown(puts), SCAN_ENTRIES);
    let job = |sync, work, rows| Job::new(Exercise { sync, work }, rows);
    let single = "Not synced, one thread";
    let mut jobs = vec![
        job(
            Synced::No,
            Work::Single { puts, gets: puts, scans, scan_entries },
            vec![
                RowPlan::new(single, "Put", "put", TIME)
                    .note(format!("{entries} entries in random order, one transaction each")),
                RowPlan::new(single, "Get at random", "get", TIME).note(format!(
                    "{entries} of them, each in a transaction or snapshot of its own"
                )),
                RowPlan::new(single, "Scan 1,000 in order", "scan", TIME)
                    .note("from a random key, every value read"),
            ],
        ),
        job(
            Synced::No,
            Work::Timed { puts },
            vec![RowPlan::new(single, "Put, each timed", "timed", P999).note(
                "the same puts; its time per put minus the time of Put is the cost of the clock",
            )],
        ),
        job(
            Synced::No,
            Work::Ahead { puts, window: WINDOW },
            vec![RowPlan::new(single, "Put, 1,000 on their way", "ahead", TIME).note(
                "a transaction each, but the next does not wait for the last to be acknowledged",
            )],
        ),
    ];
    for (writers, puts) in sizes.writers.iter().copied() {
        let threads = if writers == 1 { "writer" } else { "writers" };
        let name = format!("Synced put, {writers} {threads}");
        let row = RowPlan::new("Synced, one put each", name, "writers", RATE);
        let row = row.curve("Synced puts by writers", "writers", writers as f64);
        jobs.push(job(Synced::Each, Work::Writers { preload, writers, puts }, vec![row]));
    }
    for (sync, word) in [(Synced::No, "not synced"), (Synced::Each, "synced")] {
        let each = if sync == Synced::Each { "each " } else { "" };
        for (size, puts) in sizes.batches.iter().copied() {
            let group = format!("Transactions, {each}{word}");
            let title = format!("Time per put by size of transaction, {word}");
            let row = RowPlan::new(
                group,
                format!("{} a transaction, {word}", shown(size)),
                "batch",
                TIME,
            )
            .curve(&title, "puts in a transaction", size as f64)
            .note(format!("per put; {} in all", shown(puts)));
            jobs.push(job(sync, Work::Batches { preload, size, puts }, vec![row]));
        }
    }
    for (sync, word, puts) in
        [(Synced::No, "not synced", sizes.kill.0), (Synced::Each, "synced", sizes.kill.1)]
    {
        let work = Work::UntilKilled { preload, acknowledged: ACKNOWLEDGED.to_owned(), puts };
        let note = format!(
            "until the first get is answered; killed while it puts, after {} puts",
            shown(puts)
        );
        let gone = format!("Acknowledged puts gone, {word}");
        jobs.push(job(
            sync,
            work,
            vec![
                RowPlan::new("kill -9", format!("Reopen, {word}"), "reopen", TIME).note(note),
                RowPlan::new("kill -9", gone, "reopen", LOST)
                    .note("of those that had returned when it was killed"),
            ],
        ));
    }
    jobs.extend([space(sizes, &shown), trickle(sizes, &shown)]);
    jobs.extend(floors(sizes, &shown));
    jobs
}

/// Rows about the return of space.
fn space(sizes: &Sizes, shown: &impl Fn(u64) -> String) -> Job<Exercise> {
    let Sizes { entries, idle_seconds, .. } = *sizes;
    let work = Work::Space { puts: entries, value_bytes: LARGE_VALUE_BYTES, idle_seconds };
    let row = |name: String, phase| RowPlan::new("Space", name, phase, DISK);
    let rows = vec![
        row(format!("Disk after {} puts of 1 KiB", shown(entries)), "space_put")
            .note("1,000 a transaction, not synced"),
        row("… and all deleted".to_owned(), "space_deleted").note("1,000 a transaction"),
        row("… and idle".to_owned(), "space_idle")
            .note(format!("until a tenth is left, at most {idle_seconds} s")),
        row("… and a restart".to_owned(), "space_restart"),
    ];
    Job { rounds_max: 1, ..Job::new(Exercise { sync: Synced::No, work }, rows) }
}

/// Rows about latencies during the return of space.
fn trickle(sizes: &Sizes, shown: &impl Fn(u64) -> String) -> Job<Exercise> {
    let Sizes { entries, idle_seconds, .. } = *sizes;
    let work = Work::Trickle { puts: entries, value_bytes: LARGE_VALUE_BYTES, idle_seconds };
    let note = format!(
        "of one a millisecond after {} entries of 1 KiB were deleted, until a tenth of their space is left, at most \
         {idle_seconds} s",
        shown(entries)
    );
    let row = |name, phase| RowPlan::new("Space", name, phase, LONGEST).note(note.clone());
    let rows = vec![
        row("Longest put beside the giving back", "trickle_put"),
        row("Longest get beside the giving back", "trickle_get"),
    ];
    Job { rounds_max: 1, ..Job::new(Exercise { sync: Synced::No, work }, rows) }
}

/// Loops without an engine: the cost of the machine for every engine.
fn floors(sizes: &Sizes, shown: &impl Fn(u64) -> String) -> Vec<Job<Exercise>> {
    let entries = sizes.entries;
    let job = |sync, floor, name: String, metric| {
        let row = RowPlan::new("Floor", name, "floor", metric);
        Job::new(Exercise { sync, work: Work::Floor(floor) }, vec![row])
    };
    let mut jobs = vec![job(
        Synced::No,
        Floor::Record { puts: entries },
        format!("pwrite of {RECORD_BYTES} bytes"),
        TIME,
    )];
    for (writers, puts) in sizes.writers.iter().copied() {
        let name = format!("… and fdatasync for all that wait, {writers} at a time");
        jobs.push(job(Synced::Each, Floor::Group { writers, puts }, name, RATE));
    }
    for (order, map) in [(Order::Hash, "a hash map"), (Order::Key, "a B-tree")] {
        for (reads, name) in [(false, "Insert into"), (true, "Random read of")] {
            let name = format!("{name} {map} of {}", shown(entries));
            jobs.push(job(Synced::No, Floor::Map { order, entries, reads }, name, TIME));
        }
    }
    let page = Floor::Page { file_bytes: entries * 128, reads: entries };
    jobs.push(job(Synced::No, page, "pread of 4 KiB at random".to_owned(), TIME));
    let tree = Floor::Tree { entries, batch: TREE_BATCH, batches: TREE_BATCHES };
    let name = format!("A put into pages of a tree of {}", shown(entries));
    let mut job = job(Synced::No, tree, name, TIME);
    let note =
        format!("{} in no order are gathered for each change of the tree", shown(TREE_BATCH));
    job.rows[0] = job.rows[0].clone().note(note);
    job.rows.push(RowPlan::new("Floor", "… bytes written per byte put", "floor", PASSED));
    jobs.push(job);
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::metrics::metrics;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_and_a_metric_of_its_own() {
        for sizes in [Sizes::full(), Sizes::quick()] {
            let jobs = jobs(&sizes, &RowFilter::new(&[]));
            let rows: Vec<RowPlan> = jobs.into_iter().flat_map(|job| job.rows).collect();
            let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), rows.len());
            assert_eq!(rows.len(), 5 + 3 + 10 + 4 + 6 + 11);
            let metrics = metrics();
            assert!(names.contains("10 a transaction, synced"), "{names:?}");
            assert!(rows.iter().all(|row| metrics.iter().any(|metric| metric.id == row.metric)));
            // Transactions divide what they put.
            assert!(sizes.batches.iter().all(|(size, puts)| puts % size == 0 && puts >= size));
        }
    }

    #[test]
    fn a_filter_leaves_the_jobs_that_it_needs() {
        let filter = RowFilter::new(&["GET AT".to_owned(), "64 writers".to_owned()]);
        let jobs = jobs(&Sizes::quick(), &filter);
        let works: Vec<&Work> = jobs.iter().map(|job| &job.work.work).collect();
        let (puts, scan_entries) = (100_000, SCAN_ENTRIES);
        let single = Work::Single { puts, gets: puts, scans: 0, scan_entries };
        assert_eq!(works, [&single, &Work::Writers { preload: 20_000, writers: 64, puts: 8_000 }]);
        assert_eq!(jobs[0].rows.len(), 1);
    }
}
