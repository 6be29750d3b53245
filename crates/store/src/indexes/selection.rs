//! Selections of slots. The parts of a filter are evaluated in the order in which they leave few
//! slots.

use liteio_vector::{Slot, SlotSet};

use super::column::{Column, Test};

/// The slots that a filter accepts.
#[derive(Debug)]
pub(crate) enum Selection {
    /// In ascending order.
    Few(Vec<Slot>),
    Many(SlotSet),
}

/// A filter, prepared for the columns of its keys.
#[derive(Debug)]
pub(crate) enum Part<'parts> {
    /// The most selective first.
    All(Vec<Part<'parts>>),
    Any(Vec<Part<'parts>>),
    Test(&'parts Column, Test<'parts>),
}

/// Slots to choose from.
#[derive(Clone, Copy, Debug)]
enum Among<'slots> {
    Few(&'slots [Slot]),
    Many(&'slots SlotSet),
}

impl Part<'_> {
    /// Upper bound of the number of slots that it accepts.
    pub(crate) fn estimate(&self) -> usize {
        match self {
            Self::All(parts) => parts.iter().map(Self::estimate).min().unwrap_or(usize::MAX),
            Self::Any(parts) => {
                parts.iter().map(Self::estimate).fold(0, |sum, part| sum.saturating_add(part))
            }
            Self::Test(column, test) => column.estimate(test),
        }
    }

    /// The slots of `slots` that it accepts.
    pub(crate) fn select(&self, slots: &SlotSet) -> Selection {
        self.select_among(Among::Many(slots))
    }

    fn select_among(&self, among: Among<'_>) -> Selection {
        let slots = match among {
            Among::Few(few) => {
                // A test of each slot by its codes takes less than the union of sets of slots.
                let accepted = few.iter().copied().filter(|slot| self.accepts(*slot));
                return Selection::Few(accepted.collect());
            }
            Among::Many(slots) => slots,
        };
        match self {
            Self::Test(column, test) => column.select(test, slots),
            Self::All(parts) => {
                let Some((first, others)) = parts.split_first() else {
                    return Selection::Many(slots.clone());
                };
                // Each part narrows the slots for the next one.
                let first = first.select_among(among);
                others.iter().fold(first, |left, part| part.select_among(left.among()))
            }
            Self::Any(parts) => unite(parts.iter().map(|part| part.select_among(among))),
        }
    }

    /// `true` if it accepts a slot.
    fn accepts(&self, slot: Slot) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.accepts(slot)),
            Self::Any(parts) => parts.iter().any(|part| part.accepts(slot)),
            Self::Test(column, test) => column.passes(slot, test),
        }
    }
}

impl Selection {
    pub(crate) fn into_set(self) -> SlotSet {
        match self {
            // The largest first, so that the set has its full length at once.
            Self::Few(slots) => slots.into_iter().rev().collect(),
            Self::Many(slots) => slots,
        }
    }

    fn among(&self) -> Among<'_> {
        match self {
            Self::Few(slots) => Among::Few(slots),
            Self::Many(slots) => Among::Many(slots),
        }
    }
}

/// The union of some selections.
fn unite(selections: impl Iterator<Item = Selection>) -> Selection {
    let (mut few, mut many) = (Vec::new(), None::<SlotSet>);
    for selection in selections {
        match (selection, &mut many) {
            (Selection::Few(others), _) => few.extend(others),
            (Selection::Many(others), Some(many)) => many.unite(&others),
            (Selection::Many(others), None) => many = Some(others),
        }
    }
    match many {
        Some(mut many) => {
            many.extend(few);
            Selection::Many(many)
        }
        None => {
            few.sort_unstable();
            few.dedup();
            Selection::Few(few)
        }
    }
}
