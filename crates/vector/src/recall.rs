//! The running estimate of recall, and the limit of excesses that keeps it above its goal.
//!
//! Two kinds of samples, both taken in the background:
//! - *Calibration*: vectors of the index, and queries, are searched among all codes. The excesses
//!   of the partitions that have their neighbours tell how far a search must go ([`Probe`]): to the
//!   quantile that misses a small share of the neighbours. If that is most partitions, as among
//!   unrelated vectors, no partition is left out, because scanning everything without order takes
//!   less time.
//! - *Recall*: an occasional query is answered exactly and compared with the answer of a search. If
//!   the mean of the latest recalls is below the goal, the share that may be missed shrinks, until
//!   no partition is left out. While the mean is well above the goal, the share grows again, also
//!   beyond its first value.
//!
//! ```text
//!             calibrated: limits = quantile(1 − MISSED · tolerance)
//!                  │
//!                  ▼
//!   ┌──── mean recall of RECALLS_MIN samples ────┐
//!   │ below the goal                             │ good, on queries
//!   ▼                                            ▼
//! tolerance · 0.7 (below 1/32: probe all)     tolerance · 1.2 (at most 1.5)
//! ```
//!
//! The mean is taken over many samples: one query may miss most of its neighbours while others miss
//! none. Among eight samples a single one with seven of ten found makes 0.96.
//!
//! Behind a filter that passes one in f vectors, neighbours are as far as in a search for f times as
//! many without a filter. So limits are kept for several numbers of neighbours.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::codes::{Notes, Probe};
use crate::limits::{RECALL_AT_10_MIN, RECALL_AT_100_MIN};

/// Numbers of neighbours for which limits are kept.
pub(crate) const DEPTHS: [usize; 4] = [1, 10, 100, 1_000];

/// Share of neighbours that may be in left-out partitions, for each depth, before recall is
/// measured.
const MISSED: [f64; 4] = [0.002, 0.002, 0.005, 0.01];

/// Share of probed partitions above which scanning all of them without order takes less time.
const PROBED_MAX: f64 = 0.5;

/// Largest depth at which the limits are used. They say nothing beyond the last of [`DEPTHS`], but
/// are still good a little further.
const DEPTH_MAX: usize = 4_000;

/// Samples kept of each kind, and samples needed for a limit or a mean. A calibration takes all its
/// samples at once: a search of all codes takes a tenth of an exact one.
const SAMPLES_MAX: usize = 160;
const SAMPLES_MIN: usize = 64;
const RECALLS_MAX: usize = 64;
const RECALLS_MIN: usize = 32;

/// Least number of recalls measured after a calibration.
const RECALLS_AGAIN: usize = 8;

/// Bounds and steps of the tolerance. Below the minimum no partition is left out. At the maximum
/// recall can still exceed 0.99 and 0.98, if the codes themselves miss little; `RECALL_GOOD` tells
/// that they do.
const TOLERANCE_MIN: f64 = 1.0 / 32.0;
const TOLERANCE_MAX: f64 = 1.5;
const TOLERANCE_DOWN: f64 = 0.7;
const TOLERANCE_UP: f64 = 1.2;
const RECALL_GOOD: [f64; 2] = [0.996, 0.9925];

/// The origin of a measured query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A query of a client.
    Query,
    /// A vector of the index. Calibration uses such vectors, so their recall says nothing new about
    /// queries.
    Stored,
}

/// The recall of searches, as measured by answering some of them exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recall {
    /// Mean share of the ten nearest neighbours that were found.
    pub at_10: f64,
    /// Mean share of the hundred nearest neighbours that were found.
    pub at_100: f64,
    /// Number of the latest queries that were answered exactly.
    pub samples: usize,
}

/// Multiple of the median squared distance of the nearest centroid beyond which a query is unlike
/// the measured ones. It probes all partitions, and does not enter the limits.
const UNUSUAL: f64 = 9.0;

/// The observation of one calibration query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Squared distance of its nearest centroid.
    pub(crate) nearest: f64,
    pub(crate) at: [Excesses; DEPTHS.len()],
}

/// Excesses of one query at one depth.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excesses {
    /// Excesses of the partitions that have its neighbours.
    pub(crate) of_neighbours: Vec<f32>,
    /// Excesses of all partitions, or of an even selection.
    pub(crate) of_partitions: Vec<f32>,
}

#[derive(Debug, Default)]
pub(crate) struct Steering {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    samples: VecDeque<Sample>,
    /// The latest recalls, for reports.
    recalls: VecDeque<[f64; 2]>,
    /// Number of the latest recalls that count for the next change of the tolerance. Recalls from
    /// before the last change say nothing about the current limits.
    counted: usize,
    /// Factor of the shares that may be missed, see [`MISSED`].
    tolerance: f64,
    limits: [f64; DEPTHS.len()],
    nearest_max: f64,
    /// Number of vectors at the last calibration.
    calibrated_at: usize,
    calibrated_with: u64,
    to_calibrate: usize,
    to_measure: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            samples: VecDeque::new(),
            recalls: VecDeque::new(),
            counted: 0,
            tolerance: 1.0,
            limits: [f64::INFINITY; DEPTHS.len()],
            nearest_max: f64::INFINITY,
            calibrated_at: 0,
            calibrated_with: 0,
            to_calibrate: 0,
            to_measure: 0,
        }
    }
}

/// The kind of measurement that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Calibration,
    Recall,
    Nothing,
}

impl Steering {
    /// The rule for a search for `neighbours`, where a filter allows `allowed` of `vectors`
    /// vectors.
    pub(crate) fn probe(&self, neighbours: usize, allowed: usize, vectors: usize) -> Probe {
        // A filter that passes one in f vectors multiplies the depth by f.
        let depth = neighbours as f64 * vectors as f64 / allowed.max(1) as f64;
        let state = self.state.lock();
        // The limit of a depth applies from half of it to 1.5 times it; between two depths the
        // higher limit applies.
        let index = DEPTHS.iter().position(|it| depth <= *it as f64 * 1.5);
        let excess_max = match index {
            Some(index) if depth >= DEPTHS[index] as f64 * 0.5 => state.limits[index],
            Some(index) => state.limits[index].max(state.limits[index.saturating_sub(1)]),
            None if depth <= DEPTH_MAX as f64 => {
                state.limits.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            }
            None => f64::INFINITY,
        };
        Probe { excess_max, nearest_max: state.nearest_max }
    }

    /// `true` if it is known that searches probe most partitions, so that large partitions are
    /// better.
    pub(crate) fn leaves_nothing_out(&self) -> bool {
        let state = self.state.lock();
        let is_known = |sample: &Sample| !sample.at[0].of_neighbours.is_empty();
        let known = state.samples.iter().filter(|sample| is_known(sample)).count();
        // At the lowest tolerance it is the codes that miss neighbours, which larger partitions do
        // not change.
        let is_tolerant = state.tolerance >= TOLERANCE_MIN;
        let is_all = || state.limits.iter().all(|limit| limit.is_infinite());
        known >= SAMPLES_MIN && is_tolerant && is_all()
    }

    /// The estimate, once there are enough samples.
    pub(crate) fn recall(&self) -> Option<Recall> {
        let state = self.state.lock();
        let samples = state.recalls.len();
        (samples >= RECALLS_MIN).then(|| {
            let [at_10, at_100] = state.mean_of_latest(samples);
            Recall { at_10, at_100, samples }
        })
    }

    /// The measurement that is due for an index of `vectors` vectors, for which `made` codes were
    /// made since it was opened. Calibration is due again after a third of the vectors was added,
    /// or half of them deleted.
    pub(crate) fn due(&self, vectors: usize, made: u64) -> Due {
        let mut state = self.state.lock();
        let is_new = made.saturating_sub(state.calibrated_with) > state.calibrated_at as u64 / 3;
        if state.calibrated_at == 0 || is_new || vectors < state.calibrated_at / 2 {
            (state.to_calibrate, state.to_measure) = (SAMPLES_MAX, state.recalls_wanted());
            (state.calibrated_at, state.calibrated_with) = (vectors.max(1), made);
            // The old samples describe where neighbours were then.
            state.samples.clear();
        }
        match (state.to_calibrate, state.to_measure) {
            (1.., _) => Due::Calibration,
            (_, 1..) => Due::Recall,
            _ => Due::Nothing,
        }
    }

    /// The limits, and the number of vectors that they are for, for saving.
    pub(crate) fn notes(&self) -> Notes {
        let state = self.state.lock();
        let [one, ten, hundred, thousand] = state.limits;
        [one, ten, hundred, thousand, state.calibrated_at as f64]
    }

    /// Takes over saved limits, which hold until the next calibration is complete.
    pub(crate) fn take_notes(&self, notes: Notes) {
        let [one, ten, hundred, thousand, calibrated_at] = notes;
        let mut state = self.state.lock();
        let limits = [one, ten, hundred, thousand];
        if calibrated_at >= 1.0 && limits.iter().all(|limit| *limit > f64::NEG_INFINITY) {
            state.limits = limits;
            state.calibrated_at = calibrated_at as usize;
            (state.to_calibrate, state.to_measure) = (SAMPLES_MAX, state.recalls_wanted());
        }
    }

    /// Forgets all limits and samples: the partitions have changed.
    pub(crate) fn restart(&self) {
        *self.state.lock() = State::default();
    }

    pub(crate) fn calibrate(&self, sample: Sample) {
        let mut state = self.state.lock();
        state.to_calibrate = state.to_calibrate.saturating_sub(1);
        if state.samples.len() >= SAMPLES_MAX {
            state.samples.pop_front();
        }
        state.samples.push_back(sample);
        if state.samples.len() >= SAMPLES_MIN {
            state.set_limits();
        }
    }

    /// Adds the recall at 10 and at 100 of a query that was answered exactly.
    pub(crate) fn measured(&self, recalls: [f64; 2], origin: Origin) {
        let mut state = self.state.lock();
        state.to_measure = state.to_measure.saturating_sub(1);
        if state.recalls.len() >= RECALLS_MAX {
            state.recalls.pop_front();
        }
        state.recalls.push_back(recalls);
        state.counted = (state.counted + 1).min(RECALLS_MAX);
        if state.counted < RECALLS_MIN {
            return;
        }
        let [at_10, at_100] = state.mean_of_latest(state.counted);
        if at_10 < RECALL_AT_10_MIN || at_100 < RECALL_AT_100_MIN {
            let is_lowest = state.tolerance < TOLERANCE_MIN;
            // Stops just below the minimum, where no partition is left out: then the codes miss
            // that many, and further measurement does not help.
            state.tolerance =
                (state.tolerance * TOLERANCE_DOWN).max(TOLERANCE_MIN * TOLERANCE_DOWN);
            state.counted = 1;
            state.to_measure = if is_lowest { 0 } else { state.recalls_wanted() };
        } else if origin == Origin::Query
            && at_10 >= RECALL_GOOD[0]
            && at_100 >= RECALL_GOOD[1]
            && state.tolerance < TOLERANCE_MAX
        {
            state.tolerance = (state.tolerance * TOLERANCE_UP).min(TOLERANCE_MAX);
            // RECALLS_MIN samples with the new tolerance are needed before the next step.
            state.counted = 1;
        }
        if state.samples.len() >= SAMPLES_MIN || state.tolerance < TOLERANCE_MIN {
            state.set_limits();
        }
    }
}

impl State {
    /// Number of recalls to measure soon.
    fn recalls_wanted(&self) -> usize {
        RECALLS_MIN.saturating_sub(self.counted).max(RECALLS_AGAIN)
    }

    /// The means of the latest `count` recalls, at 10 and at 100.
    fn mean_of_latest(&self, count: usize) -> [f64; 2] {
        let latest = || self.recalls.iter().rev().take(count);
        [0, 1].map(|depth: usize| latest().map(|it| it[depth]).sum::<f64>() / count as f64)
    }

    fn set_limits(&mut self) {
        let mut nearest: Vec<f64> = self.samples.iter().map(|sample| sample.nearest).collect();
        let median = match nearest.len() {
            0 => f64::INFINITY,
            count => *nearest.select_nth_unstable_by(count / 2, f64::total_cmp).1,
        };
        // Queries far from every centroid have unusual excesses; limits are made of the others.
        self.nearest_max = if median > 0.0 { UNUSUAL * median } else { f64::INFINITY };
        let nearest_max = self.nearest_max;
        let is_usual = |sample: &&Sample| sample.nearest <= nearest_max;
        let usual: Vec<&Sample> = self.samples.iter().filter(is_usual).collect();
        for (depth, limit) in self.limits.iter_mut().enumerate() {
            *limit = f64::INFINITY;
            let of_depth = usual.iter().flat_map(|sample| &sample.at[depth].of_neighbours);
            let mut all: Vec<f32> = of_depth.copied().collect();
            let is_known = self.samples.len() >= SAMPLES_MIN && !all.is_empty();
            if !is_known || self.tolerance < TOLERANCE_MIN {
                continue;
            }
            // The (1 − share) quantile of the neighbours' excesses.
            let missed = (all.len() as f64 * MISSED[depth] * self.tolerance) as usize;
            let place = all.len() - 1 - missed.min(all.len() - 1);
            let (_, highest, _) = all.select_nth_unstable_by(place, f32::total_cmp);
            let partitions = || usual.iter().flat_map(|sample| &sample.at[depth].of_partitions);
            // With this limit, which share of the partitions would be probed?
            let probed = partitions().filter(|excess| **excess <= *highest).count();
            let is_most = probed as f64 > partitions().count() as f64 * PROBED_MAX;
            if !is_most && highest.is_finite() {
                *limit = f64::from(*highest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(steering: &Steering) -> f64 {
        steering.state.lock().tolerance
    }

    fn measure(steering: &Steering, count: usize, recalls: [f64; 2], origin: Origin) {
        (0..count).for_each(|_| steering.measured(recalls, origin));
    }

    #[test]
    fn more_is_left_out_only_after_as_many_good_answers_to_queries_as_less_after_bad_ones() {
        let steering = Steering::default();
        measure(&steering, RECALLS_MIN - 1, [1.0, 1.0], Origin::Query);
        assert_eq!(tolerance(&steering), 1.0);
        measure(&steering, 1, [1.0, 1.0], Origin::Query);
        assert_eq!(tolerance(&steering), TOLERANCE_UP);
        // The next step has to be earned anew.
        measure(&steering, RECALLS_MIN - 2, [1.0, 1.0], Origin::Query);
        assert_eq!(tolerance(&steering), TOLERANCE_UP);
        measure(&steering, RECALLS_MIN, [0.9, 0.9], Origin::Query);
        assert!(tolerance(&steering) < TOLERANCE_UP);
        measure(&steering, 40 * RECALLS_MIN, [1.0, 1.0], Origin::Query);
        assert_eq!(tolerance(&steering), TOLERANCE_MAX);
    }

    #[test]
    fn vectors_of_the_index_lower_what_is_left_out_and_never_raise_it() {
        let steering = Steering::default();
        measure(&steering, 10 * RECALLS_MIN, [1.0, 1.0], Origin::Stored);
        assert_eq!(tolerance(&steering), 1.0);
        measure(&steering, RECALLS_MAX, [0.9, 0.9], Origin::Stored);
        assert!(tolerance(&steering) < 1.0);
    }

    #[test]
    fn a_recall_below_the_goal_is_reported_while_less_is_left_out_because_of_it() {
        let steering = Steering::default();
        measure(&steering, RECALLS_MIN - 1, [0.9, 0.8], Origin::Query);
        assert_eq!(steering.recall(), None);
        for count in RECALLS_MIN..8 * RECALLS_MAX {
            measure(&steering, 1, [0.9, 0.8], Origin::Query);
            let Recall { at_10, at_100, samples } = steering.recall().expect("measured");
            assert!((at_10 - 0.9).abs() < 1e-9 && (at_100 - 0.8).abs() < 1e-9);
            assert_eq!(samples, count.min(RECALLS_MAX));
        }
        assert!(tolerance(&steering) < TOLERANCE_MIN, "steered all the same");
        steering.restart();
        assert_eq!(steering.recall(), None, "other partitions");
    }

    #[test]
    fn codes_that_miss_too_many_are_not_measured_for_ever() {
        let steering = Steering::default();
        assert_eq!(steering.due(1_000, 0), Due::Calibration);
        (0..SAMPLES_MAX).for_each(|_| steering.calibrate(Sample::default()));
        let mut measured = 0;
        while steering.due(1_000, 0) == Due::Recall {
            measure(&steering, 1, [0.9, 0.9], Origin::Stored);
            measured += 1;
            assert!(measured < 100 * RECALLS_MIN, "no end");
        }
        assert!(steering.recall().is_some_and(|it| it.at_10 < 0.91), "and it is told");
        assert!(steering.probe(10, 1_000, 1_000).excess_max.is_infinite(), "all is looked at");
    }
}
