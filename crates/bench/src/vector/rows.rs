//! The jobs, each in a process of its own, and their rows.

use super::data::{DIMENSION, Distribution};
use super::search::{BUILD, TOPS};
use crate::report::Unit;
use crate::run::job::filtered;
use crate::run::metrics::{MEMORY_MAPPED, MEMORY_OWN, RATE, RECALL, TIME};
use crate::run::{Job, RowFilter, RowPlan};

/// Amounts of a run.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Number of vectors after which a file is made anew.
    pub file_vectors: u32,
    /// Number of vectors in the file of cold reads.
    pub cold_vectors: u32,
    /// Numbers of vectors that are searched, here and through a server.
    pub searched: Vec<u32>,
    /// Number of elements of the vectors searched here.
    pub dimension: usize,
    /// Number of queries with known answers.
    pub queries: u32,
    /// Number of requests of a row that puts vectors.
    pub put_requests: u32,
    /// Number of vectors in each of them.
    pub put_vectors: u32,
}

impl Sizes {
    /// The full amounts.
    pub(crate) fn full() -> Sizes {
        Sizes {
            file_vectors: 20_000,
            cold_vectors: 10_000,
            searched: vec![20_000, 100_000],
            dimension: DIMENSION,
            queries: 100,
            put_requests: 40,
            put_vectors: 500,
        }
    }

    /// Amounts for a run of some minutes.
    pub(crate) fn quick() -> Sizes {
        Sizes { searched: vec![20_000], put_requests: 20, ..Sizes::full() }
    }
}

/// The place of files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The file system of the data directory.
    Disk,
    /// Memory.
    Memory,
}

/// The work of a job.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Files of vectors.
    Slots(Place),
    /// Searches among this many vectors.
    Search { distribution: Distribution, vectors: u32 },
}

/// A phase of files of vectors.
pub(crate) struct SlotPhase {
    /// Identifier in an outcome.
    pub(crate) id: &'static str,
    title: &'static str,
    /// Meaning of the time.
    note: &'static str,
    /// Published medians of Chassis in nanoseconds, on ext4 and on tmpfs.
    pub(crate) published: (f64, Option<f64>),
}

/// All phases, in the order of reports.
pub(crate) const SLOT_PHASES: [SlotPhase; 11] = [
    slot(
        ("raw_insert", "Raw insert"),
        "per vector; no commit, so nothing of it is durable yet",
        (144e3, Some(12.1e3)),
    ),
    slot(("insert_commit", "Insert with commit"), "one vector, durable", (259e3, Some(13.1e3))),
    slot(("batch_10", "Batch of 10 with commit"), BATCH, (1.66e6, None)),
    slot(("batch_100", "Batch of 100 with commit"), BATCH, (13.8e6, None)),
    slot(("batch_1000", "Batch of 1,000 with commit"), BATCH, (158e6, None)),
    slot(("hot_copied", "Hot read, copied"), HOT, (54.8, None)),
    slot(("hot_borrowed", "Hot read, borrowed"), HOT, (7.5, None)),
    slot(
        ("cold_read", "Cold read"),
        "open the file, copy one vector, close; the page cache has the file",
        (25.6e3, None),
    ),
    slot(("sequential_copied", "Sequential read of 1,000, copied"), SEQUENTIAL, (67e3, None)),
    slot(("sequential_borrowed", "Sequential read of 1,000, borrowed"), SEQUENTIAL, (3.28e3, None)),
    slot(
        ("growth", "Growth from empty to 1,000"),
        "make the file, append 1,000 one by one, one commit",
        (149e6, Some(12.2e6)),
    ),
];

const BATCH: &str = "the whole batch, durable";
const HOT: &str = "the same vector again and again";
const SEQUENTIAL: &str = "all 1,000 together";

const fn slot(
    (id, title): (&'static str, &'static str),
    note: &'static str,
    published: (f64, Option<f64>),
) -> SlotPhase {
    SlotPhase { id, title, note, published }
}

/// All jobs with a row that passes the filter, with only such rows. Without `memory` there are no
/// rows on tmpfs.
pub(crate) fn jobs(sizes: &Sizes, filter: &RowFilter, memory: bool) -> Vec<Job<Kind>> {
    let mut jobs = vec![slots(Place::Disk)];
    if memory {
        jobs.push(slots(Place::Memory));
    }
    for vectors in &sizes.searched {
        for distribution in [Distribution::Clustered, Distribution::Topics, Distribution::Hard] {
            jobs.push(search(distribution, *vectors));
        }
    }
    filtered(jobs, filter)
}

fn slots(place: Place) -> Job<Kind> {
    let (group, shown) = match place {
        Place::Disk => ("Files of vectors, on the disk", "disk"),
        Place::Memory => ("Files of vectors, on tmpfs", "tmpfs"),
    };
    let row = |phase: &SlotPhase| {
        RowPlan::new(group, format!("{}, {shown}", phase.title), phase.id, TIME).note(phase.note)
    };
    Job::new(Kind::Slots(place), SLOT_PHASES.iter().map(row).collect())
}

fn search(distribution: Distribution, vectors: u32) -> Job<Kind> {
    let shown = Unit::Count.format(f64::from(vectors));
    let word = match distribution {
        Distribution::Clustered => "clustered",
        Distribution::Topics => "topics",
        Distribution::Hard => "hard",
    };
    let group = format!("Search, {shown} {word} vectors");
    let row = |title: &str, phase: &str, metric| {
        RowPlan::new(group.as_str(), format!("{title}, {shown} {word}"), phase, metric)
    };
    let note = "per vector, until it can be searched";
    let mut rows = vec![row("Build", BUILD, TIME).note(note)];
    for top in TOPS {
        let rate = row(&top.title(), &top.id(), RATE);
        let filtered = "the share of vectors that the filter lets through; one thread";
        rows.push(if top.every > 1 { rate.note(filtered) } else { rate });
        if top.threads == 1 && top.every == 1 {
            let recall = row(&format!("Recall@{}", top.neighbours), &top.id(), RECALL);
            rows.push(recall.note("the share of the exact neighbours that were found"));
        }
    }
    Job::new(Kind::Search { distribution, vectors }, rows)
}

/// `true` if a value of a phase is shown in a row.
pub(super) fn shows(row: &RowPlan, id: &str) -> bool {
    match id {
        RECALL => true,
        MEMORY_OWN | MEMORY_MAPPED => row.metric == TIME,
        // Other processes count no allocations, and files are made and checked in between.
        "allocations" | "allocated_bytes" | "written_bytes" => false,
        _ => row.metric != RECALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::metrics::metrics;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_name_and_a_metric_of_its_own() {
        let jobs = jobs(&Sizes::full(), &RowFilter::new(&[]), true);
        let rows: Vec<&RowPlan> = jobs.iter().flat_map(|job| &job.rows).collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), 2 * 11 + 6 * 9);
        assert!(names.contains("Recall@100, 100,000 hard"), "{names:?}");
        let metrics = metrics();
        assert!(rows.iter().all(|row| metrics.iter().any(|metric| metric.id == row.metric)));
    }

    #[test]
    fn a_job_does_only_what_its_rows_need() {
        let filter = RowFilter::new(&["cold read".to_owned(), "recall@10,".to_owned()]);
        let jobs = jobs(&Sizes::quick(), &filter, false);
        let phases: Vec<Vec<String>> = jobs.iter().map(Job::phases).collect();
        let top = "top_10_threads_1_every_1";
        assert_eq!(
            phases,
            [["cold_read"], [top], [top], [top]],
            "one of files, three of searching"
        );
    }
}
