//! The metrics of vectors.

/// The distance function between two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// 1 − the cosine of the angle: 0 for the same direction, 1 at a right angle, 2 for opposite
    /// directions. Vectors of length zero have no direction and are refused.
    Cosine,
    /// The Euclidean distance, the square root of the sum of the squared differences.
    Euclidean,
}
