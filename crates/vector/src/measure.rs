//! Measurements for [`recall`](crate::recall).

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use crate::codes::{Partition, Probe, Table};
use crate::distance::Kernels;
use crate::error::VectorError;
use crate::metric::Metric;
use crate::recall::{DEPTHS, Excesses, Sample};
use crate::search::{Neighbour, Search, search_coded, search_exactly_in_pieces};
use crate::slot::{Slot, SlotSet};
use crate::slots::View;

/// Most partitions per sample whose excesses are kept.
const PARTITIONS_KEPT: usize = 64;

/// A visible vector with its slot; another one for each `nth`.
pub(crate) fn nth_vector(view: &View, nth: usize) -> Result<Option<(Slot, Vec<f32>)>, VectorError> {
    let vectors = view.vector_count().max(1);
    // Multiples of the golden ratio are evenly spread over the slots, however many are taken.
    let place = (nth as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let place = ((u128::from(place) * vectors as u128) >> 64) as usize;
    let Some(slot) = view.slots().nth(place) else { return Ok(None) };
    match view.vector(slot) {
        Ok(vector) => Ok(Some((slot, vector.into_owned()))),
        // Freed meanwhile.
        Err(VectorError::NoSuchSlot(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The excesses of the partitions that have the neighbours of a query, found by a search of all
/// codes. `own` is the slot of the query, if it is a vector of the index; it is not its own
/// neighbour.
pub(crate) fn excesses(
    view: &View,
    table: &Table,
    without_code: &SlotSet,
    query: &[f32],
    own: Option<Slot>,
) -> Result<Sample, VectorError> {
    let deepest = DEPTHS[DEPTHS.len() - 1];
    // One more than needed, since the query may find itself.
    let search = Search::new(query, deepest + 1);
    let found =
        search_coded(view, &search, table, |_| Probe::ALL, without_code, &AtomicU64::new(0))?;
    let found: Vec<Neighbour> =
        found.neighbours.into_iter().filter(|it| Some(it.slot) != own).collect();
    let partition_of = table.partitions_of(&found.iter().map(|it| it.slot).collect());
    let mut rotated = Vec::new();
    table.encoder.rotate(query, &mut rotated);
    let kernels = Kernels::best();
    let square_of = |partition: &Partition| kernels.square(&rotated, &partition.centroid);
    let squares: HashMap<u32, f64> =
        table.all().map(|(number, partition)| (number, square_of(partition))).collect();
    let unit = f64::from(table.encoder.unit());
    // The inverse of `Scan::square_of`: from a distance to a square in the space of codes.
    let threshold_of = |last: &Neighbour| match view.shape().metric() {
        Metric::Cosine => 2.0 * last.distance,
        Metric::Euclidean => (last.distance * unit).powi(2),
    };
    let excesses_at = |depth: usize| {
        let nearest = &found[..depth.min(found.len())];
        let Some(last) = nearest.last() else { return Excesses::default() };
        let threshold = threshold_of(last);
        let excess = |square: &f64| (square - threshold) as f32;
        // At most about a hundred per sample: the limits are quantiles over many samples.
        let some = nearest.iter().step_by(depth.div_ceil(100));
        let numbers = some.filter_map(|neighbour| partition_of.get(&neighbour.slot.number()));
        Excesses {
            of_neighbours: numbers.filter_map(|it| squares.get(it)).map(excess).collect(),
            of_partitions: spread(squares.values().map(excess).collect()),
        }
    };
    let nearest = squares.values().copied().fold(f64::INFINITY, f64::min);
    Ok(Sample { nearest, at: DEPTHS.map(excesses_at) })
}

/// At most [`PARTITIONS_KEPT`] of them, evenly spread from the lowest to the highest.
fn spread(mut all: Vec<f32>) -> Vec<f32> {
    all.sort_unstable_by(f32::total_cmp);
    let step = all.len().div_ceil(PARTITIONS_KEPT).max(1);
    all.into_iter().step_by(step).collect()
}

/// The shares of the exact 10 and 100 nearest that `find` finds. `None` if `is_over` turned `true`
/// before the exact answer was known.
pub(crate) fn recalls(
    view: &View,
    query: &[f32],
    own: Option<Slot>,
    is_over: &dyn Fn() -> bool,
    find: impl Fn(&Search<'_>) -> Result<Vec<Neighbour>, VectorError>,
) -> Result<Option<[f64; 2]>, VectorError> {
    let others = |found: Vec<Neighbour>| -> Vec<Neighbour> {
        found.into_iter().filter(|it| Some(it.slot) != own).collect()
    };
    let Some(exact) = search_exactly_in_pieces(view, &Search::new(query, 101), is_over)? else {
        return Ok(None);
    };
    let exact = others(exact.neighbours);
    let mut recalls = [1.0; 2];
    for (recall, depth) in recalls.iter_mut().zip([10, 100]) {
        let found = others(find(&Search::new(query, depth + 1))?);
        let exact = &exact[..depth.min(exact.len())];
        let Some(last) = exact.last() else { continue };
        // Compared by distance, not by slot: a vector as near as the last one is as good.
        let hits = found.iter().take(depth).filter(|it| it.distance <= last.distance).count();
        *recall = hits as f64 / exact.len() as f64;
    }
    Ok(Some(recalls))
}
