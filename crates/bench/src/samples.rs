//! Times of single operations.

use std::time::Duration;

/// The percentiles that reports show, with the identifiers of their metrics.
pub(crate) const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.50), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// Times of operations, kept one by one, so that percentiles are exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    nanoseconds: Vec<u64>,
    sorted: bool,
}

impl Samples {
    pub(crate) fn new() -> Samples {
        Samples::default()
    }

    pub(crate) fn record(&mut self, time: Duration) {
        self.nanoseconds.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.sorted = false;
    }

    /// Adds all times of another recorder.
    pub(crate) fn merge(&mut self, other: Samples) {
        self.nanoseconds.extend(other.nanoseconds);
        self.sorted = false;
    }

    /// The number of times.
    pub(crate) fn len(&self) -> usize {
        self.nanoseconds.len()
    }

    /// The smallest time that at least `share` (0 to 1) of all times do not exceed, in nanoseconds:
    /// always a recorded time, never interpolated. `None` without times.
    pub(crate) fn percentile(&mut self, share: f64) -> Option<f64> {
        if !self.sorted {
            self.nanoseconds.sort_unstable();
            self.sorted = true;
        }
        let count = self.nanoseconds.len();
        let rank = (share.clamp(0.0, 1.0) * count as f64).ceil() as usize;
        let time = self.nanoseconds.get(rank.max(1) - 1)?;
        Some(*time as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(nanoseconds: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::new();
        nanoseconds.into_iter().for_each(|time| samples.record(Duration::from_nanos(time)));
        samples
    }

    #[test]
    fn a_percentile_is_the_smallest_time_that_so_many_do_not_exceed() {
        let mut hundred = samples((1..=100).rev());
        for (share, expected) in
            [(0.0, 1.0), (0.01, 1.0), (0.5, 50.0), (0.95, 95.0), (0.99, 99.0), (0.999, 100.0)]
        {
            assert_eq!(hundred.percentile(share), Some(expected), "share {share}");
        }
        assert_eq!(samples([7]).percentile(0.999), Some(7.0));
        assert_eq!(samples([1, 2]).percentile(0.5), Some(1.0));
        assert_eq!(samples([]).percentile(0.5), None);
    }

    #[test]
    fn times_may_come_from_several_recorders() {
        let mut all = samples([30, 10]);
        assert_eq!(all.percentile(1.0), Some(30.0));
        all.merge(samples([20, 40]));
        assert_eq!(all.percentile(0.5), Some(20.0));
        assert_eq!(all.percentile(1.0), Some(40.0));
        assert_eq!((all.len(), all.percentile(0.5)), (4, Some(20.0)));
    }
}
