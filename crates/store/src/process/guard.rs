//! [`Guard`]: a value that a transaction returns with its result, and that acts after the commit.

use std::fmt;

/// A value that a transaction returns with its result. It is dropped after the commit and before
/// the acknowledgement, or when the transaction fails.
pub(crate) trait Guard: Send {
    /// Called once the transaction has committed.
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
