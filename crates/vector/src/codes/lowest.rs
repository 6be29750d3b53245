//! The lowest bounds of many.

use super::scan::{Bounds, Scanner};

/// The limit below which the lowest of all offered bounds are.
#[derive(Debug, Default)]
pub(crate) struct Lowest {
    count: usize,
    /// At most twice as many as are wanted, the lowest among them.
    kept: Vec<f32>,
    /// None above it is among the lowest.
    limit: f32,
}

impl Lowest {
    /// Begins anew, for the `count` lowest of those that are not above `limit`.
    pub(crate) fn begin(&mut self, count: usize, limit: f32) {
        self.kept.clear();
        (self.count, self.limit) = (count, limit);
    }

    #[inline]
    pub(crate) fn offer(&mut self, bounds: &Bounds, scanner: Scanner) {
        // Most have none.
        let lower = scanner.not_above(bounds, self.limit);
        if lower != 0 {
            self.keep(bounds, lower);
        }
    }

    fn keep(&mut self, bounds: &Bounds, mut lower: u64) {
        while lower != 0 {
            let bound = bounds[lower.trailing_zeros() as usize];
            lower &= lower - 1;
            // Not one that cannot be compared.
            if bound <= self.limit {
                self.kept.push(bound);
            }
        }
        if self.kept.len() >= 2 * self.count + bounds.len() {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let (_, last, _) = self.kept.select_nth_unstable_by(self.count - 1, f32::total_cmp);
        self.limit = *last;
        self.kept.truncate(self.count);
    }

    /// The highest of the lowest, or the limit if there are fewer.
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
