//! The rounds of a command that looks again and again, until it is interrupted.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::session::Session;

/// Time between two rounds.
const PAUSE: Duration = Duration::from_secs(2);

/// The rounds after the first. A failure does not end them: the service may be restarting.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The failure of the round before; empty if it had none.
    told: String,
}

impl Rounds {
    /// Waits for the next round. The pause is what a user gets: no service has to tell of changes.
    pub(super) async fn next(&self) {
        tokio::time::sleep(PAUSE).await;
    }

    /// Notes a round without a failure.
    pub(super) fn passed(&mut self) {
        self.told.clear();
    }

    /// Prints the failure of a round, once for rounds that fail alike.
    pub(super) fn failed(&mut self, session: &Arc<Session>, title: &str, error: &Error) {
        let line = error.to_string();
        if self.told != line {
            session.output.failure(title, error);
            self.told = line;
        }
    }
}
