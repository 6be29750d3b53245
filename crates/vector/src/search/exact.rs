//! Comparing every candidate.

use super::Search;
use super::top_k::{Candidate, TopK};
use crate::distance::Query;
use crate::error::VectorError;
use crate::slot::{Slot, bits};
use crate::slots::{Reader, View};

/// Offers all vectors that may be found.
pub(super) fn scan(
    view: &View,
    search: &Search<'_>,
    query: &Query<'_>,
    top: &mut TopK<f64>,
) -> Result<(), VectorError> {
    let words = (view.slot_count() as usize).div_ceil(64);
    let slots = (0..words).flat_map(|index| bits(index, search.word(view, index)));
    offer_all(&mut Reader::new(view), query, slots.map(Slot::number), top)
}

/// Compares the vectors in `slots` exactly.
pub(super) fn offer_all(
    reader: &mut Reader<'_>,
    query: &Query<'_>,
    slots: impl Iterator<Item = u32>,
    top: &mut TopK<f64>,
) -> Result<(), VectorError> {
    reader.read_all(slots, |slot, vector| top.offer(Candidate { rank: query.rank(vector), slot }))
}

/// Compares one vector exactly. One that was freed since it was chosen is left out.
#[inline]
pub(super) fn offer(
    reader: &mut Reader<'_>,
    query: &Query<'_>,
    slot: u32,
    top: &mut TopK<f64>,
) -> Result<(), VectorError> {
    if let Some(vector) = reader.read(slot)? {
        top.offer(Candidate { rank: query.rank(vector), slot });
    }
    Ok(())
}
