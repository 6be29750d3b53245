//! Histogram: times of very many operations in bounded memory.

use std::time::Duration;

use crate::samples::PERCENTILES;

/// Bits of precision: a bucket is at most 1/128 of its times wide.
const PRECISION_BITS: u32 = 7;
const BUCKETS: usize = (64 - PRECISION_BITS as usize + 1) << PRECISION_BITS;

/// Times of operations in buckets whose widths grow with the times. To record one is an addition,
/// so that an operation of a microsecond is disturbed only by the clock.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], count: 0, max: 0 }
    }

    pub(crate) fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanoseconds)] += 1;
        self.count += 1;
        self.max = self.max.max(nanoseconds);
    }

    /// The percentiles of reports with their identifiers. Each is at most 1/128 below a recorded
    /// time; the maximum is exact. `None` without times.
    pub(crate) fn percentiles(&self) -> Vec<(&'static str, f64)> {
        if self.count == 0 {
            return Vec::new();
        }
        PERCENTILES.map(|(id, share)| (id, self.percentile(share))).into()
    }

    fn percentile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        if rank >= self.count {
            return self.max as f64;
        }
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(0.0, |bucket| lowest(bucket) as f64)
    }
}

/// Bucket of a time: a time below 128 has its own, and each power of two above has 128 buckets.
fn bucket(nanoseconds: u64) -> usize {
    let shift = (u64::BITS - PRECISION_BITS - 1).saturating_sub(nanoseconds.leading_zeros());
    ((shift as usize) << PRECISION_BITS) + (nanoseconds >> shift) as usize
}

/// Lowest time of a bucket.
fn lowest(bucket: usize) -> u64 {
    let shift = (bucket >> PRECISION_BITS).saturating_sub(1);
    ((bucket - (shift << PRECISION_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_narrow_and_begins_at_or_below_its_times() {
        let mut last = 0;
        let times =
            (0..10_000).chain((14..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, 3 << (bit - 1)]));
        for time in times.chain([u64::MAX]) {
            let (bucket, low) = (bucket(time), lowest(bucket(time)));
            assert!(bucket < BUCKETS && low <= time, "{time}: {bucket} from {low}");
            assert!(time - low <= time / 128, "{time}: {bucket} from {low}");
            last = last.max(bucket);
        }
        assert_eq!(last, BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_all_times() {
        let mut histogram = Histogram::new();
        assert!(histogram.percentiles().is_empty());
        (1..=1_000).rev().for_each(|time| histogram.record(Duration::from_micros(time)));
        let near = |share: f64, microseconds: f64| {
            let found = histogram.percentile(share) / 1e3;
            assert!(found <= microseconds && found >= microseconds * 0.99, "{share}: {found}");
        };
        near(0.5, 500.0);
        near(0.99, 990.0);
        near(0.999, 999.0);
        assert_eq!(histogram.percentile(1.0), 1e6);
    }
}
