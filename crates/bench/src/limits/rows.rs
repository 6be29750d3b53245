//! The rows of the limits.

use crate::report::Unit;
use crate::run::job::filtered;
use crate::run::metrics::{MEMORY, MEMORY_PEAK, PUT_FACTOR, RATE, TIME};
use crate::run::{Job, RowFilter, RowPlan};
use crate::s3::case::{Case, KeyShape, ROW, Work, counted, job};

/// Bytes of the large objects.
pub(super) const LARGE_BYTES: usize = 10 << 20;
/// Bytes of the parts of a multipart upload.
pub(super) const PART_BYTES: usize = 5 << 20;
/// Phases of jobs with several rows.
pub(super) const RESTART: &str = "restart";
pub(super) const LIST_KEYS: &str = "list_keys";
pub(super) const LIST_PREFIXES: &str = "list_prefixes";
pub(super) const AT_REST: &str = "at_rest";
pub(super) const CONNECTION: &str = "connection";
pub(super) const COMMIT: &str = "commit";
pub(super) const COMMIT_PUT: &str = "commit_put";
pub(super) const COMMIT_FACTOR: &str = "commit_factor";
pub(super) const LIST_TABLES: &str = "list_tables";

/// The work of a job.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// A row of the S3 benchmark, on permanently running servers.
    Case(Case),
    /// MD5 of a large object.
    Hash,
    /// The start of a server without data.
    Start,
    /// The start after `kill -9` with this many objects, and their listing.
    Many { objects: usize },
    /// A catalog with this many tables in a namespace: commits, and listings.
    Tables { tables: usize },
    /// An idle server with this many connections.
    Idle { connections: usize },
    /// Concurrent uploads of this many MiB each.
    Uploads { clients: usize, mebibytes: usize },
}

/// A row about bodies that the machine receives, too.
fn received(job: Job<Case>) -> Job<Case> {
    noted(
        job,
        "the machine: received, hashed by MD5 and SHA-256, written past the page cache, fdatasync",
    )
}

/// A row about short requests that the machine answers, too.
fn answered(job: Job<Case>) -> Job<Case> {
    noted(job, "the machine: read and answered over the socket")
}

fn noted(mut job: Job<Case>, note: &str) -> Job<Case> {
    job.rows.iter_mut().for_each(|row| row.note = Some(note.to_owned()));
    job
}

/// All jobs with a row that passes the filter.
pub(super) fn jobs(quick: bool, filter: &RowFilter) -> Vec<Job<Task>> {
    let (kb, large) = (1 << 10, LARGE_BYTES);
    let put = |bytes| Work::Put { bytes, key: KeyShape::Plain, metadata: 0 };
    let mut cases = vec![
        job("Disk", "Write 1 KB, 1 client".to_owned(), 1, put(kb)),
        job("Disk", "Write 10 MB".to_owned(), 1, put(large)),
        job("Socket", "Read 10 MB".to_owned(), 1, Work::Get { bytes: large }),
        job("Socket", "Read 10 MB from the disk".to_owned(), 1, Work::GetCold { bytes: large }),
    ];
    cases[0].rows[0].note = Some("the machine: a page of a file, and fdatasync".to_owned());
    cases[1].rows[0].note = Some("the machine: a new file, and fdatasync".to_owned());
    for case in &mut cases[2..4] {
        case.rows[0].note = Some("the machine: a file through a socket by hand".to_owned());
    }
    if !quick {
        for clients in [2, 16] {
            let name = format!("Write 10 MB, {}", counted(clients));
            cases.push(received(job("Disk", name, clients, put(large))));
        }
    }
    let multipart = Work::Multipart { parts: 3, bytes: PART_BYTES };
    cases.push(received(job("Disk", "Multipart 15 MB in 3 parts".to_owned(), 1, multipart)));
    for clients in [8, 64] {
        cases.push(job("Disk", format!("Write 1 KB, {}", counted(clients)), clients, put(kb)));
    }
    for (shown, bytes) in [("1 KB", kb), ("64 KB", 64 * kb)] {
        for clients in [1, 16] {
            let name = format!("Read {shown}, {}", counted(clients));
            cases.push(answered(job("Processor", name, clients, Work::Get { bytes })));
        }
    }
    for clients in [1, 16] {
        let name = format!("Stat, {}", counted(clients));
        cases.push(answered(job("Processor", name, clients, Work::Head { existing: true })));
    }
    let case = |job: Job<Case>| Job {
        work: Task::Case(job.work),
        rows: job.rows,
        rounds_max: job.rounds_max,
        writes: job.writes,
    };
    let mut jobs: Vec<Job<Task>> = cases.into_iter().map(case).collect();
    let hash = RowPlan::new("Processor", "MD5 of 10 MB", ROW, RATE);
    let start = RowPlan::new("Start", "Start on an empty directory", ROW, TIME);
    jobs.push(Job::new(Task::Hash, vec![hash.note("the ETag of a write")]));
    jobs.push(Job::new(Task::Start, vec![start.note("until its first answer")]));
    let objects = if quick { 20_000 } else { 1_000_000 };
    let shown = Unit::Count.format(objects as f64);
    jobs.push(Job {
        rounds_max: 1,
        ..Job::new(
            Task::Many { objects },
            vec![
                RowPlan::new(
                    "Start",
                    format!("Start after kill -9, {shown} objects"),
                    RESTART,
                    TIME,
                ),
                RowPlan::new("List", format!("List 1,000 of {shown}"), LIST_KEYS, TIME),
                RowPlan::new("List", format!("List the folders of {shown}"), LIST_PREFIXES, TIME)
                    .note("1,000 keys in each"),
            ],
        )
    });
    let tables = if quick { 2_000 } else { 100_000 };
    let shown = Unit::Count.format(tables as f64);
    jobs.push(Job {
        rounds_max: 1,
        ..Job::new(
            Task::Tables { tables },
            vec![
                RowPlan::new("Tables", "Commit to a table", COMMIT, TIME)
                    .note("through the Iceberg REST catalog"),
                RowPlan::new("Tables", "PUT of its metadata file", COMMIT_PUT, TIME)
                    .note("as long, in turn with the commits"),
                RowPlan::new("Tables", "Commit per PUT", COMMIT_FACTOR, PUT_FACTOR)
                    .note("medians; the goal is 1.5 at most"),
                RowPlan::new("Tables", format!("List 1,000 of {shown} tables"), LIST_TABLES, TIME)
                    .note("the goal is 10 ms"),
            ],
        )
    });
    let connections = if quick { 1_000 } else { 10_000 };
    let shown = Unit::Count.format(connections as f64);
    jobs.push(Job::new(
        Task::Idle { connections },
        vec![
            RowPlan::new("Memory", "Memory at rest", AT_REST, MEMORY),
            RowPlan::new("Memory", "Memory of an idle connection", CONNECTION, MEMORY)
                .note(format!("of {shown}")),
        ],
    ));
    let (clients, mebibytes) = (16, if quick { 64 } else { 1024 });
    let name = format!("{clients} uploads of {mebibytes} MiB");
    let uploads = Task::Uploads { clients, mebibytes };
    jobs.push(Job {
        rounds_max: 1,
        ..Job::new(uploads, vec![RowPlan::new("Memory", name, ROW, MEMORY_PEAK)])
    });
    filtered(jobs, filter)
}
