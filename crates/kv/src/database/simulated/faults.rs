//! [`Faults`]: the rates of what goes wrong.

/// The rates of faults, in calls of 1000, by chance from a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The seed.
    pub seed: u64,
    /// Fetches and numbers that fail.
    pub fetches: u64,
    /// Commits that are refused.
    pub refusals: u64,
    /// Commits that find a conflict where there is none.
    pub conflicts: u64,
    /// Commits that do not arrive.
    pub lost: u64,
    /// Commits that happen, and whose answer is lost.
    pub lost_answers: u64,
    /// Commits whose answer is lost and that arrive later, if nothing keeps them from it.
    pub late: u64,
    /// Settlings that fail: half of them before they happen, half of them behind.
    pub settlings: u64,
    /// Most turns that other threads get before a call.
    pub delays: u64,
}

impl Faults {
    /// A bit of everything.
    #[must_use]
    pub fn mixed(seed: u64) -> Self {
        Self {
            seed,
            fetches: 5,
            refusals: 20,
            conflicts: 30,
            lost: 30,
            lost_answers: 30,
            late: 30,
            settlings: 200,
            delays: 4,
        }
    }
}

/// Chance that follows from a seed.
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        // Never zero, where the sequence would stay.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end.max(1)
    }

    /// `true` in so many of 1000 cases.
    pub(super) fn strikes(&mut self, of_thousand: u64) -> bool {
        self.below(1000) < of_thousand
    }
}
