//! The column of one metadata key: a code for each slot, and the slots of each value.
//!
//! ```text
//! codes[slot] = 0          the column does not know the slot
//!               1          the vector has no value
//!               2 + n      it has the value with number n in `values`
//!               2³¹ + m    it has the list with number m in `lists`
//!
//! postings[n] = the slots with value n, alone or in a list
//! absent      = the slots without a value
//! ```
//! A condition that names values is answered with their sets of slots. If only a few slots are in
//! question, each is tested by its code.

use liteio_vector::{Slot, SlotSet};

use super::dictionary::Dictionary;
use super::filter::Condition;
use super::posting::{Postings, SLOTS_END};
use super::scalar;
use super::selection::Selection;
use crate::meta::vector_metadata::MetadataValue;

/// The slot has no code yet.
const UNKNOWN: u32 = 0;
/// The vector has no value.
const ABSENT: u32 = 1;
/// Code of the first value.
const FIRST: u32 = 2;
/// Bit that marks the code of a list. The other bits are its number in the dictionary of lists.
const LIST: u32 = 1 << 31;

/// Number of the only set in `absent`.
const ONLY: u32 = 0;

/// Part of all slots up to which a selection is a sorted list, not a bitmap: one in this many.
const FEW_PART: usize = 64;
/// Length up to which a selection is a sorted list in any case.
const FEW_MIN: usize = 64;

/// The values of one metadata key.
#[derive(Debug, Default)]
pub(crate) struct Column {
    codes: Vec<u32>,
    /// Values, encoded by [`scalar::encode`].
    values: Dictionary,
    /// Slots by the number of their value.
    postings: Postings,
    absent: Postings,
    /// Lists of at least two value numbers, ascending, of 4 bytes each; or the empty list.
    lists: Dictionary,
    /// Number of slots with each list.
    list_uses: Vec<u32>,
    /// Number of slots with a code.
    known: usize,
    /// End of the slots that are in `postings` or `absent`; [`SLOTS_END`] once the column is ready.
    /// Sets are made in the order of the slots, because an insertion into the middle of a set takes
    /// ten times as long as one at its end.
    posted_end: u32,
    scratch: Scratch,
}

/// Buffers, kept between calls.
#[derive(Debug, Default)]
struct Scratch {
    bytes: Vec<u8>,
    numbers: Vec<u32>,
}

/// A condition, prepared for one column.
#[derive(Debug)]
pub(crate) enum Test<'condition> {
    /// Any of the values with these numbers, ascending.
    Any(Vec<u32>),
    /// None of them, or no value.
    None(Vec<u32>),
    Exists(bool),
    /// A comparison or a prefix, for which every distinct value is tested.
    Each(&'condition Condition),
}

impl Column {
    /// Sets the value of a slot. `false` if the number of the slot is too high for the column.
    pub(crate) fn set(&mut self, slot: Slot, value: Option<&MetadataValue>) -> bool {
        // The maker of the column may have read the record before the put tells of it.
        self.forget(slot);
        if slot.number() >= SLOTS_END {
            return false;
        }
        let code = match value {
            None => ABSENT,
            Some(value) => self.code_of(value),
        };
        // Slots from `posted_end` on are posted by `post_next`, in their order.
        if slot.number() < self.posted_end {
            self.post(slot.number(), code);
        }
        let place = slot.number() as usize;
        if self.codes.len() <= place {
            self.codes.resize(place + 1, UNKNOWN);
        }
        self.codes[place] = code;
        self.known += 1;
        true
    }

    /// Sets the value of a slot that has no code yet.
    pub(crate) fn set_unknown(&mut self, slot: Slot, value: Option<&MetadataValue>) -> bool {
        self.code(slot) != UNKNOWN || self.set(slot, value)
    }

    /// Posts the next `count` slots; `false` if no slot is left.
    pub(crate) fn post_next(&mut self, count: u32) -> bool {
        let start = self.posted_end;
        let end = start.saturating_add(count).min(self.codes.len() as u32);
        for slot in start..end {
            self.post(slot, self.codes[slot as usize]);
        }
        self.posted_end = end;
        if (end as usize) < self.codes.len() {
            return true;
        }
        // From here on `set` posts each slot itself.
        self.posted_end = SLOTS_END;
        false
    }

    fn post(&mut self, slot: u32, code: u32) {
        match code {
            UNKNOWN => {}
            ABSENT => self.absent.insert(ONLY, slot),
            code => {
                let mut numbers = std::mem::take(&mut self.scratch.numbers);
                numbers.clear();
                self.each_number(code, |number| numbers.push(number));
                numbers.iter().for_each(|number| self.postings.insert(*number, slot));
                self.scratch.numbers = numbers;
            }
        }
    }

    /// Removes a slot.
    pub(crate) fn forget(&mut self, slot: Slot) {
        let Some(code) = self.codes.get_mut(slot.number() as usize) else { return };
        let code = std::mem::replace(code, UNKNOWN);
        let is_posted = slot.number() < self.posted_end;
        match code {
            UNKNOWN => return,
            ABSENT if is_posted => drop(self.absent.remove(ONLY, slot.number())),
            ABSENT => {}
            code => {
                let mut numbers = std::mem::take(&mut self.scratch.numbers);
                numbers.clear();
                self.each_number(code, |number| numbers.push(number));
                for number in numbers.iter().filter(|_| is_posted) {
                    let is_unused = self.postings.remove(*number, slot.number());
                    // Slots that are not posted yet may have the value, too.
                    if is_unused && self.posted_end == SLOTS_END {
                        self.values.remove(*number);
                    }
                }
                self.scratch.numbers = numbers;
                if let Some(list) = list_of(code) {
                    let uses = &mut self.list_uses[list as usize];
                    *uses -= 1;
                    if *uses == 0 {
                        self.lists.remove(list);
                    }
                }
            }
        }
        self.known -= 1;
    }

    /// Number of slots with a code.
    pub(crate) fn known(&self) -> usize {
        self.known
    }

    /// Memory of the column, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let sets = self.postings.memory() + self.absent.memory();
        let slots = (self.codes.capacity() + self.list_uses.capacity()) * 4;
        slots + sets + self.values.memory() + self.lists.memory()
    }

    /// Prepares a condition.
    pub(crate) fn test<'condition>(&self, condition: &'condition Condition) -> Test<'condition> {
        let numbers = |wanted: &[scalar::Scalar]| {
            let mut bytes = Vec::new();
            let mut numbers: Vec<u32> = Vec::new();
            for wanted in wanted {
                bytes.clear();
                scalar::encode(wanted, &mut bytes);
                numbers.extend(self.values.get(&bytes));
            }
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        match condition {
            Condition::Equal(wanted) => Test::Any(numbers(std::slice::from_ref(wanted))),
            Condition::NotEqual(wanted) => Test::None(numbers(std::slice::from_ref(wanted))),
            Condition::In(wanted) => Test::Any(numbers(wanted)),
            Condition::NotIn(wanted) => Test::None(numbers(wanted)),
            Condition::Exists(wanted) => Test::Exists(*wanted),
            Condition::Number(..) | Condition::StartsWith(_) => Test::Each(condition),
        }
    }

    /// Upper bound of the number of slots that pass.
    pub(crate) fn estimate(&self, test: &Test<'_>) -> usize {
        let absent = self.absent.count(ONLY);
        let some = self.known - absent;
        match test {
            Test::Any(numbers) => self.sum(numbers).min(some),
            Test::None(_) => self.known,
            Test::Exists(true) | Test::Each(_) => some,
            Test::Exists(false) => absent,
        }
    }

    /// `true` if a slot passes.
    pub(crate) fn passes(&self, slot: Slot, test: &Test<'_>) -> bool {
        let code = self.code(slot);
        let has = |numbers: &[u32]| self.any_number(code, |it| numbers.binary_search(&it).is_ok());
        match test {
            Test::Any(numbers) => has(numbers),
            Test::None(numbers) => !has(numbers),
            Test::Exists(wanted) => (code >= FIRST) == *wanted,
            Test::Each(condition) => {
                self.any_number(code, |it| scalar::meets(self.values.value(it), condition))
            }
        }
    }

    /// The slots of `slots` that pass.
    pub(crate) fn select(&self, test: &Test<'_>, slots: &SlotSet) -> Selection {
        let without = |remove: &dyn Fn(&mut SlotSet)| {
            let mut left = slots.clone();
            remove(&mut left);
            Selection::Many(left)
        };
        match test {
            Test::Any(numbers) => self.gather(&self.postings, numbers, slots),
            Test::None(numbers) => without(&|left| {
                numbers.iter().for_each(|number| self.postings.subtract_from(*number, left));
            }),
            Test::Exists(true) => without(&|left| self.absent.subtract_from(ONLY, left)),
            Test::Exists(false) => self.gather(&self.absent, &[ONLY], slots),
            Test::Each(condition) => {
                let meeting = |(number, value)| scalar::meets(value, condition).then_some(number);
                let numbers: Vec<u32> = self.values.iter().filter_map(meeting).collect();
                self.gather(&self.postings, &numbers, slots)
            }
        }
    }

    fn gather(&self, postings: &Postings, numbers: &[u32], slots: &SlotSet) -> Selection {
        // An upper bound: a slot with a list is in several sets, and some slots are not among
        // `slots`.
        let count: usize = numbers.iter().map(|number| postings.count(*number)).sum();
        if count <= FEW_MIN.max(self.codes.len() / FEW_PART) {
            let mut few = Vec::with_capacity(count);
            numbers.iter().for_each(|number| postings.collect(*number, &mut few));
            few.retain(|slot| slots.contains(*slot));
            few.sort_unstable();
            few.dedup();
            return Selection::Few(few);
        }
        let mut many = SlotSet::new();
        numbers.iter().for_each(|number| postings.unite_into(*number, &mut many));
        many.intersect(slots);
        Selection::Many(many)
    }

    fn sum(&self, numbers: &[u32]) -> usize {
        numbers.iter().map(|number| self.postings.count(*number)).sum()
    }

    fn code(&self, slot: Slot) -> u32 {
        self.codes.get(slot.number() as usize).copied().unwrap_or(UNKNOWN)
    }

    /// The code of `value`. New scalars in it are added to the dictionary.
    fn code_of(&mut self, value: &MetadataValue) -> u32 {
        let Scratch { mut bytes, mut numbers } = std::mem::take(&mut self.scratch);
        numbers.clear();
        for scalar in value.scalars() {
            bytes.clear();
            scalar::encode(scalar, &mut bytes);
            numbers.push(self.values.insert(&bytes));
        }
        numbers.sort_unstable();
        numbers.dedup();
        // A list whose elements are all equal passes the same conditions as its only value, so it
        // shares the code. An empty list keeps a code of its own: the vector has a value, which
        // equals nothing.
        let code = match &numbers[..] {
            [only] => only + FIRST,
            numbers => {
                bytes.clear();
                bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
                let list = self.lists.insert(&bytes);
                if self.list_uses.len() <= list as usize {
                    self.list_uses.resize(list as usize + 1, 0);
                }
                self.list_uses[list as usize] += 1;
                list | LIST
            }
        };
        self.scratch = Scratch { bytes, numbers };
        code
    }

    fn each_number(&self, code: u32, mut each: impl FnMut(u32)) {
        self.any_number(code, |number| {
            each(number);
            false
        });
    }

    fn any_number(&self, code: u32, mut is_wanted: impl FnMut(u32) -> bool) -> bool {
        match list_of(code) {
            Some(list) => {
                let (numbers, _) = self.lists.value(list).as_chunks::<4>();
                numbers.iter().any(|number| is_wanted(u32::from_le_bytes(*number)))
            }
            None => code.checked_sub(FIRST).is_some_and(is_wanted),
        }
    }
}

/// The number of the list, if `code` is the code of one.
fn list_of(code: u32) -> Option<u32> {
    (code & LIST != 0).then_some(code & !LIST)
}
