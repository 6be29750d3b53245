//! The partitions that a query probes.
//!
//! For a query at the distance D from a centroid, a vector r from that centroid is nearer than √T if
//! ⟨r, q⟩ ÷ (|r|·D) > (D² + |r|² − T) ÷ (2·|r|·D). The right side, with the mean of |r|², is the *priority* of
//! the partition: the cosine that one of its vectors must have with the query's direction to be a neighbour.
//! It takes the distances of this query, the size of the partition and the threshold that it has found into
//! account; how far neighbours go is a property of the vectors, which is measured.

/// The rule by which a query leaves out partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Partitions with a higher priority are not probed.
    pub(crate) priority_max: f64,
}

impl Probe {
    /// All partitions.
    pub(crate) const ALL: Self = Self { priority_max: f64::INFINITY };

    /// `true` if no partition is left out.
    pub(crate) fn is_all(self) -> bool {
        self.priority_max == f64::INFINITY
    }

    /// See the module. The lower, the more likely there are neighbours; −1 if every vector may be one.
    pub(crate) fn priority(self, distance_square: f64, mean_square: f64, threshold: f64) -> f64 {
        let over = distance_square + mean_square - threshold;
        if over.is_nan() || over <= 0.0 {
            return -1.0;
        }
        let sides = 2.0 * (distance_square * mean_square).sqrt();
        if sides > 0.0 { over / sides } else { f64::MAX }
    }
}
