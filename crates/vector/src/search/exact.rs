//! Comparing every candidate.

use super::Search;
use super::top_k::{Candidate, TopK};
use crate::distance::Query;
use crate::error::VectorError;
use crate::slot::{Slot, bits};
use crate::slots::View;

/// Offers all vectors that may be found.
pub(super) fn scan(
    view: &View,
    search: &Search<'_>,
    query: &Query<'_>,
    top: &mut TopK<f64>,
) -> Result<(), VectorError> {
    let words = (view.slot_count() as usize).div_ceil(64);
    for index in 0..words {
        for slot in bits(index, search.word(view, index)) {
            offer(view, query, slot, top)?;
        }
    }
    Ok(())
}

/// Compares one vector exactly. One that was freed since it was chosen is left out.
#[inline]
pub(super) fn offer(
    view: &View,
    query: &Query<'_>,
    slot: Slot,
    top: &mut TopK<f64>,
) -> Result<(), VectorError> {
    match view.vector(slot) {
        Ok(vector) => {
            top.offer(Candidate { rank: query.rank(&vector), slot: slot.number() });
            Ok(())
        }
        Err(VectorError::NoSuchSlot(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
