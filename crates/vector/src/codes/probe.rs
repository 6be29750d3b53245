//! The rule that selects the partitions that a query probes.
//!
//! The *excess* of a partition is the squared distance of its centroid from the query minus the
//! squared distance of the farthest neighbour. Neighbours are in partitions with a small excess;
//! how small is a property of the data, and is measured. The rule adapts to the query: behind a
//! filter that passes only far vectors the farthest neighbour is far, so more partitions are
//! probed.
//!
//! A query that is much farther from every centroid than the measured queries probes all
//! partitions, since the limit says nothing about it.

/// Nearest partitions that are always probed: a vector may be in another partition than the nearest
/// centroid's.
pub(crate) const PROBES_MIN: usize = 8;

/// The rule: partitions beyond `excess_max` are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Largest excess of a probed partition.
    pub(crate) excess_max: f64,
    /// Largest squared distance of the nearest centroid at which `excess_max` is valid.
    pub(crate) nearest_max: f64,
}

impl Probe {
    /// Probes all partitions.
    pub(crate) const ALL: Self = Self { excess_max: f64::INFINITY, nearest_max: f64::INFINITY };

    /// `true` if no partition is left out.
    pub(crate) fn is_all(self) -> bool {
        self.excess_max == f64::INFINITY
    }
}
