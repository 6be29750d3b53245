//! Exact comparison of every candidate.

use super::Search;
use super::best::Best;
use crate::error::VectorError;
use crate::slot::{Slot, bits};
use crate::slots::{Reader, View};

/// Compares all candidates of a search.
pub(super) fn scan(
    view: &View,
    search: &Search<'_>,
    best: &mut Best<'_>,
) -> Result<(), VectorError> {
    let words = (view.slot_count() as usize).div_ceil(64);
    let slots = (0..words).flat_map(|index| bits(index, search.word(view, index)));
    offer_all(&mut Reader::new(view), slots.map(Slot::number), best)
}

/// Compares the vectors in `slots` exactly.
pub(super) fn offer_all(
    reader: &mut Reader<'_>,
    slots: impl Iterator<Item = u32>,
    best: &mut Best<'_>,
) -> Result<(), VectorError> {
    reader.read_all(slots, |slot, vector| best.offer(slot, vector))
}

/// Compares one vector exactly. It is skipped if it was freed since it was chosen.
#[inline]
pub(super) fn offer(
    reader: &mut Reader<'_>,
    slot: u32,
    best: &mut Best<'_>,
) -> Result<(), VectorError> {
    if let Some(vector) = reader.read(slot)? {
        best.offer(slot, vector);
    }
    Ok(())
}
