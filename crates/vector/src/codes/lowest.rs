//! The k lowest of many bounds.

use super::scan::{Bounds, Scanner};

/// Finds the limit that the `count` lowest of all offered bounds do not exceed, without sorting all
/// of them.
#[derive(Debug, Default)]
pub(crate) struct Lowest {
    count: usize,
    /// Candidates: the lowest bounds so far, and others; at most about twice `count`.
    kept: Vec<f32>,
    /// No bound above it is among the lowest.
    limit: f32,
}

impl Lowest {
    /// Starts again, for the `count` lowest bounds that are at most `limit`.
    pub(crate) fn begin(&mut self, count: usize, limit: f32) {
        self.kept.clear();
        (self.count, self.limit) = (count, limit);
    }

    #[inline]
    pub(crate) fn offer(&mut self, bounds: &Bounds, scanner: Scanner) {
        // Most segments have no bound below the limit.
        let lower = scanner.not_above(bounds, self.limit);
        if lower != 0 {
            self.keep(bounds, lower);
        }
    }

    fn keep(&mut self, bounds: &Bounds, mut lower: u64) {
        while lower != 0 {
            let bound = bounds[lower.trailing_zeros() as usize];
            lower &= lower - 1;
            // The mask also has bits for NaN, which is no bound.
            if bound <= self.limit {
                self.kept.push(bound);
            }
        }
        // Amortized: a selection costs time linear in `kept`, and happens once per `count` kept
        // bounds.
        if self.kept.len() >= 2 * self.count + bounds.len() {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let (_, last, _) = self.kept.select_nth_unstable_by(self.count - 1, f32::total_cmp);
        self.limit = *last;
        self.kept.truncate(self.count);
    }

    /// The highest of the lowest bounds; the initial limit if fewer were offered.
    pub(crate) fn last(&mut self) -> f32 {
        if self.kept.len() > self.count {
            self.shrink();
        }
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::SEGMENT;

    #[test]
    fn the_last_of_the_lowest_is_found_in_whatever_order_they_come() {
        let mut lowest = Lowest::default();
        for factor in [1, 37, 641] {
            lowest.begin(100, f32::INFINITY);
            for first in (0..6_400).step_by(SEGMENT) {
                let bound = |index| ((first + index) * factor % 6_400) as f32;
                lowest.offer(&std::array::from_fn(bound), Scanner::best());
            }
            assert_eq!(lowest.last(), 99.0, "{factor}");
        }
        lowest.begin(100, 50.0);
        lowest.offer(&std::array::from_fn(|index| index as f32), Scanner::best());
        assert_eq!(lowest.last(), 50.0, "there are fewer below the limit");
    }
}
