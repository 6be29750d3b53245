//! Room in the budget for a body that is about to be read.

use std::fmt;
use std::sync::Arc;

use super::exchange::Exchange;
use super::limits::BODY_WINDOW_BYTES_MAX;
use super::slow_down;
use crate::reply::ApiError;

/// The right of a request to have room for its body. In the extensions of every request with a body.
///
/// Bodies are charged to the budget for the bytes received. An authenticated sender reserves room in
/// advance, so that it is refused before it sends the body, and not half-way. Other senders reserve nothing.
#[derive(Clone)]
pub(crate) struct Admission {
    exchange: Arc<Exchange>,
    /// The declared length of the body, if there is one.
    bytes: Option<u64>,
}

impl Admission {
    pub(super) fn new(exchange: Arc<Exchange>, bytes: Option<u64>) -> Admission {
        Admission { exchange, bytes }
    }

    /// Reserves room for the body, or for a window of it. Only for an authenticated sender.
    ///
    /// # Errors
    /// `SlowDown` if other requests hold the rest of the budget.
    pub(crate) fn admit(&self) -> Result<(), ApiError> {
        let bytes = self.bytes.unwrap_or(u64::MAX).min(BODY_WINDOW_BYTES_MAX);
        if self.exchange.charge(bytes) { Ok(()) } else { Err(slow_down()) }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Admission").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
