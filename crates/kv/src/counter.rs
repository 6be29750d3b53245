//! Counters and queues: what many updates change, and none needs the exact value of.
//!
//! A change of a counter commutes with every other one ([`Write::add`]), and a queue gives its rows
//! growing numbers ([`Write::append`]). The key space decides how both are kept. This one keeps
//! a counter in one row, which an update reads and writes on its way: updates are serial here. One
//! that several processes share can keep a counter in many rows, and take numbers from a sequence.
//!
//! The bytes of the row are the caller's ([`CounterRow`]), so that they are sealed as its other
//! records are, and rows of its older programs stay readable.
//!
//! [`Write::add`]: crate::Write::add
//! [`Write::append`]: crate::Write::append

use std::fmt::Display;
use std::ops::{Add, AddAssign, Neg};

use crate::{KvError, Read};

/// The numbers that one counter counts.
pub const COUNTS: usize = 4;

/// Numbers that are counted together, or changes of them. Their meaning is the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [i64; COUNTS]);

impl Counts {
    /// Nothing.
    pub const NONE: Self = Self([0; COUNTS]);
    /// One of the first number, which in a queue counts its rows.
    pub const ONE: Self = Self([1, 0, 0, 0]);
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let mut sums = self.0;
        sums.iter_mut().zip(other.0).for_each(|(sum, it)| *sum = sum.saturating_add(it));
        Self(sums)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Neg for Counts {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.map(|it| it.saturating_neg()))
    }
}

/// The state of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The sums of all changes.
    pub counts: Counts,
    /// `false` while what was there before the counter is still being counted: the sums are too
    /// low.
    pub is_complete: bool,
}

/// A change of a counter by a row of the key space.
#[derive(Clone, Copy, Debug)]
pub struct CountChange<'a> {
    /// The key of the row that comes or goes. A counter that is still being counted leaves out the
    /// changes of rows that the count will come to.
    pub at: &'a [u8],
    /// The change.
    pub counts: Counts,
}

/// The row that keeps a counter.
pub trait CounterRow: Sized + 'static {
    /// The errors of reading it.
    type Error: From<KvError> + Display;

    /// Decodes the row with the key `key`; `None` if it is damaged and so says nothing.
    ///
    /// # Errors
    /// If it is the row of a newer program, which this one must not change.
    fn decode(key: &[u8], bytes: &[u8]) -> Result<Option<Self>, Self::Error>;

    /// The bytes for the key `key`.
    fn encode(&self, key: &[u8]) -> Vec<u8>;

    /// The state of the counter.
    fn counted(&self) -> Counted;

    /// Applies a change. `false` if it leaves the row as it is.
    fn change(&mut self, change: &CountChange<'_>) -> bool;
}

/// The row that keeps the counter of a queue, and its next number.
pub trait QueueRow: CounterRow + Default {
    /// The number of the next row, at least `floor` and greater than all before.
    fn take_number(&mut self, floor: u64) -> u64;
}

/// The keys of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'a> {
    /// The key of its counter.
    pub counter: &'a [u8],
    /// The prefix of the keys of its rows. The number of the row follows, 8 bytes, big-endian.
    pub rows: &'a [u8],
}

impl Queue<'_> {
    /// The key of the row with this number.
    #[must_use]
    pub fn key(&self, number: u64) -> Vec<u8> {
        [self.rows, &number.to_be_bytes()].concat()
    }
}

/// The row of a counter; `None` if it does not exist, or is damaged.
pub(super) fn row<R: CounterRow>(from: &impl Read, key: &[u8]) -> Result<Option<R>, R::Error> {
    match from.get(key)? {
        Some(bytes) => R::decode(key, &bytes),
        None => Ok(None),
    }
}

/// The counter in the row `key`.
pub(super) fn counter<R: CounterRow>(
    from: &impl Read,
    key: &[u8],
) -> Result<Option<Counted>, R::Error> {
    Ok(row::<R>(from, key)?.map(|row| row.counted()))
}
