//! The jobs, each in a process of its own, and the rows that they fill.

use super::data::Distribution;
use super::search::phase::SearchPhase;
use super::search::work::{MEMORY_MAPPED, MEMORY_OWN, RECALL};
use super::slots::phase::SlotPhase;
use crate::report::{Better, Metric, Unit};
use crate::run::job::filtered;
use crate::run::{Job, RATE, RowFilter, RowPlan, TIME};

/// The metric of rows that count vectors.
pub(crate) const VECTORS: &str = "vectors_per_second";

/// The amounts of a run.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Vectors after which a file is made anew.
    pub file_vectors: u32,
    /// Vectors in the file of cold reads.
    pub cold_vectors: u32,
    /// Vectors that are searched, here and through a server.
    pub searched: Vec<u32>,
    /// Queries with known answers.
    pub queries: u32,
    /// Requests of a row that puts vectors.
    pub put_requests: u32,
    /// Vectors in each of them.
    pub put_vectors: u32,
}

impl Sizes {
    /// All there is.
    pub fn full() -> Sizes {
        Sizes {
            file_vectors: 20_000,
            cold_vectors: 10_000,
            searched: vec![20_000, 100_000],
            queries: 100,
            put_requests: 40,
            put_vectors: 500,
        }
    }

    /// Less, for some minutes.
    pub fn quick() -> Sizes {
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
    /// Searches of so many vectors.
    Search { distribution: Distribution, vectors: u32 },
}

/// The phases of files that the rows of a job need.
pub(crate) fn slot_phases(job: &Job<Kind>) -> Vec<SlotPhase> {
    SlotPhase::ALL.into_iter().filter(|phase| needs(job, &phase.id())).collect()
}

/// The phases of searching that the rows of a job need.
pub(crate) fn search_phases(job: &Job<Kind>) -> Vec<SearchPhase> {
    SearchPhase::ALL.into_iter().filter(|phase| needs(job, &phase.id())).collect()
}

fn needs(job: &Job<Kind>, phase: &str) -> bool {
    job.rows.iter().any(|row| row.phase == phase)
}

/// All jobs that fill a row that the filter lets through, with those rows only. Without `memory` there
/// are no rows on tmpfs.
pub(crate) fn jobs(sizes: &Sizes, filter: &RowFilter, memory: bool) -> Vec<Job<Kind>> {
    let mut jobs = vec![slots(Place::Disk)];
    if memory {
        jobs.push(slots(Place::Memory));
    }
    for vectors in &sizes.searched {
        for distribution in [Distribution::Clustered, Distribution::Hard] {
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
    let row = |phase: SlotPhase| {
        let name = format!("{}, {shown}", phase.title());
        RowPlan::new(group, name, phase.id(), TIME).note(phase.note())
    };
    Job::new(Kind::Slots(place), SlotPhase::ALL.into_iter().map(row).collect())
}

fn search(distribution: Distribution, vectors: u32) -> Job<Kind> {
    let shown = Unit::Count.format(f64::from(vectors));
    let word = match distribution {
        Distribution::Clustered => "clustered",
        Distribution::Hard => "hard",
    };
    let group = format!("Search, {shown} {word} vectors");
    let mut rows = Vec::new();
    for phase in SearchPhase::ALL {
        let name = |title: &str| format!("{title}, {shown} {word}");
        let row =
            |title: &str, metric| RowPlan::new(group.as_str(), name(title), phase.id(), metric);
        match phase {
            SearchPhase::Build => {
                rows.push(row("Build", TIME).note("per vector, until it can be searched"));
            }
            SearchPhase::Top { neighbours, threads: 1, every: 1 } => {
                rows.push(row(&phase.title(), RATE));
                rows.push(
                    row(&format!("Recall@{neighbours}"), RECALL)
                        .note("the share of the exact neighbours that were found"),
                );
            }
            SearchPhase::Top { every, .. } if every > 1 => {
                let note = "the share of vectors that the filter lets through; one thread";
                rows.push(row(&phase.title(), RATE).note(note));
            }
            SearchPhase::Top { .. } => rows.push(row(&phase.title(), RATE)),
        }
    }
    Job::new(Kind::Search { distribution, vectors }, rows)
}

/// True if a value of a phase stands in a row.
pub(super) fn shows(row: &RowPlan, id: &str) -> bool {
    match id {
        RECALL => true,
        MEMORY_OWN | MEMORY_MAPPED => row.metric == TIME,
        // Processes of others count no allocations, and files are made and checked in between.
        "allocations" | "allocated_bytes" | "written_bytes" => false,
        _ => row.metric != RECALL,
    }
}

/// The metrics of rows and of targets.
pub(crate) fn metrics() -> Vec<Metric> {
    let mut metrics = vec![
        Metric::new(TIME, "Time", Unit::Nanoseconds, Better::Lower),
        Metric::new(RATE, "Operations per second", Unit::OperationsPerSecond, Better::Higher),
        Metric::new(VECTORS, "Vectors per second", Unit::OperationsPerSecond, Better::Higher),
        Metric::new(RECALL, "Recall", Unit::Share, Better::Higher),
    ];
    metrics.extend(Metric::percentiles());
    for (id, title, unit) in [
        (MEMORY_OWN, "Memory of its own", Unit::Bytes),
        (MEMORY_MAPPED, "Mapped pages of files", Unit::Bytes),
        ("server_cpu", "Server's processor time per request", Unit::Nanoseconds),
        ("memory_idle", "Memory at the start", Unit::Bytes),
        ("memory_peak", "Memory at the most", Unit::Bytes),
        ("cpu", "Processor time", Unit::Seconds),
        ("disk_written", "Disk written", Unit::Bytes),
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
        let jobs = jobs(&Sizes::full(), &RowFilter::new(&[]), true);
        let rows: Vec<&RowPlan> = jobs.iter().flat_map(|job| &job.rows).collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), 2 * 11 + 4 * 9);
        assert!(names.contains("Recall@100, 100,000 hard"), "{names:?}");
        let metrics = metrics();
        assert!(rows.iter().all(|row| metrics.iter().any(|metric| metric.id == row.metric)));
    }

    #[test]
    fn a_job_does_only_what_its_rows_need() {
        let filter = RowFilter::new(&["cold read".to_owned(), "recall@10,".to_owned()]);
        let jobs = jobs(&Sizes::quick(), &filter, false);
        assert_eq!(jobs.len(), 3, "one of files, two of searching");
        assert_eq!(slot_phases(&jobs[0]), [SlotPhase::ColdRead]);
        let top = SearchPhase::Top { neighbours: 10, threads: 1, every: 1 };
        assert_eq!(search_phases(&jobs[1]), [top]);
    }
}
