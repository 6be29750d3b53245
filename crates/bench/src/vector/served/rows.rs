//! Rows of servers.

use crate::report::Unit;
use crate::run::job::filtered;
use crate::run::metrics::{RATE, VECTORS};
use crate::run::{Job, RowFilter, RowPlan};
use crate::s3::case::{ROW, counted};
use crate::vector::rows::Sizes;

/// Number of neighbours in a query.
pub(crate) const TOP_K: usize = 10;
/// Number of vectors in one GetVectors: its limit.
pub(crate) const GET_VECTORS: u32 = 100;

/// An operation of several clients, each with a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) clients: usize,
    pub(crate) work: Work,
}

/// The operation of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Work {
    /// PutVectors requests into a new index.
    Put { requests: u32, vectors: u32 },
    /// QueryVectors in an index of this many vectors.
    Query { indexed: u32 },
    /// GetVectors in an index of this many vectors.
    Get { indexed: u32 },
}

impl Work {
    /// Number of vectors that must exist.
    pub(crate) fn indexed(self) -> Option<u32> {
        match self {
            Work::Put { .. } => None,
            Work::Query { indexed } | Work::Get { indexed } => Some(indexed),
        }
    }
}

fn job(name: &str, work: Work, clients: usize) -> Job<Case> {
    let name = format!("{name}, {}", counted(clients));
    let metric = if work.indexed().is_some() { RATE } else { VECTORS };
    let row = RowPlan::new("S3 Vectors through the server", name, ROW, metric);
    let row = match work {
        Work::Put { requests, vectors } => row.note(format!(
            "vectors per second; {requests} requests of {vectors} with metadata into a new index"
        )),
        Work::Query { indexed } => {
            let shown = Unit::Count.format(f64::from(indexed));
            row.note(format!("top {TOP_K} with distances")).curve(
                &format!("QueryVectors in {shown} by clients"),
                "clients",
                clients as f64,
            )
        }
        Work::Get { .. } => row.note("with their elements"),
    };
    Job::new(Case { clients, work }, vec![row])
}

/// All rows that pass the filter.
pub(crate) fn jobs(sizes: &Sizes, filter: &RowFilter) -> Vec<Job<Case>> {
    let put = Work::Put { requests: sizes.put_requests, vectors: sizes.put_vectors };
    let name = format!("PutVectors, {} each", sizes.put_vectors);
    let mut jobs = vec![job(&name, put, 1), job(&name, put, 4)];
    for indexed in sizes.searched.iter().copied() {
        let shown = Unit::Count.format(f64::from(indexed));
        for clients in [1, 16] {
            let name = format!("QueryVectors in {shown}");
            jobs.push(job(&name, Work::Query { indexed }, clients));
        }
        let name = format!("GetVectors, {GET_VECTORS} of {shown}");
        jobs.push(job(&name, Work::Get { indexed }, 1));
    }
    filtered(jobs, filter)
}
