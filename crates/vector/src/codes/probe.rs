//! The partitions that a query probes.
//!
//! The *excess* of a partition is the square of the distance of its centroid from the query less that of the farthest
//! neighbour. Neighbours are in partitions with a small one: how small is a property of the vectors, and is measured.
//! It takes into account how far the neighbours of this query are, also behind a filter that lets only far ones
//! through: there are more partitions to be probed then.
//!
//! A query that is much farther from every centroid than those that were measured probes all partitions: their limit
//! says nothing about it.

/// Nearest partitions that are probed in any case: a vector may be in another one than that of the nearest centroid.
pub(crate) const PROBES_MIN: usize = 8;

/// The rule by which a query leaves out partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Partitions with a larger excess are not probed.
    pub(crate) excess_max: f64,
    /// The square of the distance of the nearest centroid up to which that holds.
    pub(crate) nearest_max: f64,
}

impl Probe {
    /// All partitions.
    pub(crate) const ALL: Self = Self { excess_max: f64::INFINITY, nearest_max: f64::INFINITY };

    /// `true` if no partition is left out.
    pub(crate) fn is_all(self) -> bool {
        self.excess_max == f64::INFINITY
    }
}
