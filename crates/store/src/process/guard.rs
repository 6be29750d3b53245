//! [`Guard`]: what a transaction returns beside its result, and what it does after the commit.

use std::fmt;

/// Something that a transaction returns beside its result. It is dropped after the commit and before the
/// acknowledgement, or without a commit.
pub(crate) trait Guard: Send {
    /// The transaction has committed.
    fn committed(&self) {}
}

impl fmt::Debug for dyn Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl<G: Guard> Guard for Option<G> {
    fn committed(&self) {
        self.iter().for_each(Guard::committed);
    }
}

impl<G: Guard> Guard for Vec<G> {
    fn committed(&self) {
        self.iter().for_each(Guard::committed);
    }
}

impl<G: Guard, H: Guard> Guard for (G, H) {
    fn committed(&self) {
        self.0.committed();
        self.1.committed();
    }
}
