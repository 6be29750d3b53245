//! What is known not to hold yet. A row is removed once it does.

use liteio_store::Durability;

use super::case::{Case, Moment};
use super::strike::{Damage, Target};

/// Cells of the matrix that may fail, and why.
pub(super) struct Gap {
    target: Target,
    damage: &'static [Damage],
    moment: &'static [Moment],
    durability: &'static [Durability],
    pub(super) reason: &'static str,
}

const BOTH: &[Durability] = &[Durability::Fsync, Durability::Os];
const BEFORE_A_REPLAY: &[Moment] = &[Moment::AfterKill, Moment::WhileRunning];

const GAPS: &[Gap] = &[Gap {
    target: Target::Log,
    damage: &[Damage::Truncated],
    moment: BEFORE_A_REPLAY,
    durability: BOTH,
    reason: "a cut at the end of a record looks as if the log ended there",
}];

/// The row that a case is of, if any.
pub(super) fn of(case: &Case) -> Option<&'static Gap> {
    let is_of = |gap: &&Gap| {
        gap.target == case.target
            && gap.damage.contains(&case.damage)
            && gap.moment.contains(&case.moment)
            && gap.durability.contains(&case.durability)
    };
    GAPS.iter().find(is_of)
}
