//! The rows that servers fill.

use crate::filter::RowFilter;
use crate::report::{Curve, Unit};
use crate::vector::rows::{Sizes, VECTORS};
use crate::worker::RATE;

/// Neighbours that a query asks for.
pub const TOP_K: usize = 10;
/// Vectors that one GetVectors asks for: its limit.
pub const GET_VECTORS: u32 = 100;

/// One row.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its heading.
    pub group: String,
    /// Its name.
    pub name: String,
    /// What is done.
    pub work: Work,
    /// Clients, each with a connection.
    pub clients: usize,
}

/// What is done in a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Work {
    /// So many PutVectors requests into a new index.
    Put {
        /// Requests.
        requests: u32,
        /// Vectors in each.
        vectors: u32,
    },
    /// QueryVectors in an index of so many vectors.
    Query {
        /// Vectors.
        indexed: u32,
    },
    /// GetVectors in an index of so many vectors.
    Get {
        /// Vectors.
        indexed: u32,
    },
}

impl Work {
    /// The metric that decides it.
    pub fn metric(self) -> &'static str {
        match self {
            Work::Put { .. } => VECTORS,
            Work::Query { .. } | Work::Get { .. } => RATE,
        }
    }

    /// The vectors that must be there.
    pub fn indexed(self) -> Option<u32> {
        match self {
            Work::Put { .. } => None,
            Work::Query { indexed } | Work::Get { indexed } => Some(indexed),
        }
    }
}

impl Case {
    fn new(name: String, work: Work, clients: usize) -> Case {
        let group = "S3 Vectors through the server".to_owned();
        let plural = if clients == 1 { "" } else { "s" };
        Case { group, name: format!("{name}, {clients} client{plural}"), work, clients }
    }

    /// What a reader must know.
    pub fn note(&self) -> String {
        match self.work {
            Work::Put { requests, vectors } => format!(
                "vectors per second; {requests} requests of {vectors} with metadata into a new index"
            ),
            Work::Query { .. } => format!("top {TOP_K} with distances"),
            Work::Get { .. } => "with their elements".to_owned(),
        }
    }

    /// Its place in a chart.
    pub fn curve(&self) -> Option<Curve> {
        let title = match self.work {
            Work::Query { indexed } => {
                format!("QueryVectors in {} by clients", Unit::Count.format(f64::from(indexed)))
            }
            Work::Put { .. } | Work::Get { .. } => return None,
        };
        Some(Curve { title, axis: "clients".to_owned(), x: self.clients as f64 })
    }
}

/// All rows that the filter lets through.
pub fn cases(sizes: &Sizes, filter: &RowFilter) -> Vec<Case> {
    let put = Work::Put { requests: sizes.put_requests, vectors: sizes.put_vectors };
    let name = format!("PutVectors, {} each", sizes.put_vectors);
    let mut cases = vec![Case::new(name.clone(), put, 1), Case::new(name, put, 4)];
    for indexed in sizes.searched.iter().copied() {
        let shown = Unit::Count.format(f64::from(indexed));
        for clients in [1, 16] {
            let name = format!("QueryVectors in {shown}");
            cases.push(Case::new(name, Work::Query { indexed }, clients));
        }
        let name = format!("GetVectors, {GET_VECTORS} of {shown}");
        cases.push(Case::new(name, Work::Get { indexed }, 1));
    }
    cases.retain(|case| filter.lets(&case.group, &case.name));
    cases
}
