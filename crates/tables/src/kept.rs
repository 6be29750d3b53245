//! The number of answers that are kept for requests with an `Idempotency-Key`, which is limited for each account.
//!
//! A request beyond the limit is refused before it changes anything. To forget older answers instead would not be safe: a
//! commit that is sent again would be refused since its requirements do not hold any more, and its client would take it for
//! one that has failed, and delete the files that the table names by now.

use std::collections::HashMap;

use liteio_store::Store;
use parking_lot::Mutex;

use super::error::{ApiResult, Exception};
use super::limits::{ANSWER_KEPT_MS, ANSWERS_MAX, COUNT_AGAIN_MS};

/// The numbers of kept answers by the canonical ids of accounts, as far as this server knows them: those that it has counted
/// in the store, and one more for each request since. Answers expire in the meantime, and other servers of a cluster give
/// some, so the number is counted again when it reaches the limit.
#[derive(Debug, Default)]
pub(crate) struct KeptAnswers {
    accounts: Mutex<HashMap<String, Kept>>,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    number: usize,
    counted_ms: u64,
}

impl KeptAnswers {
    /// Counts one more answer for an account.
    ///
    /// # Errors
    /// The account has too many already.
    pub(crate) fn admit(&self, store: &Store, account: &str) -> ApiResult<()> {
        let now_ms = store.now_ms();
        match self.take(account, now_ms) {
            Taken::Yes => return Ok(()),
            Taken::Full => return Err(too_many()),
            Taken::Unknown => {}
        }
        let number =
            store.count_answers(account, now_ms.saturating_sub(ANSWER_KEPT_MS), ANSWERS_MAX)?;
        self.accounts.lock().insert(account.to_owned(), Kept { number, counted_ms: now_ms });
        match self.take(account, now_ms) {
            Taken::Yes => Ok(()),
            Taken::Full | Taken::Unknown => Err(too_many()),
        }
    }

    fn take(&self, account: &str, now_ms: u64) -> Taken {
        let mut accounts = self.accounts.lock();
        let Some(kept) = accounts.get_mut(account) else { return Taken::Unknown };
        if kept.number < ANSWERS_MAX {
            kept.number += 1;
            return Taken::Yes;
        }
        // Also behind a clock that was set back.
        match now_ms.abs_diff(kept.counted_ms) < COUNT_AGAIN_MS {
            true => Taken::Full,
            false => Taken::Unknown,
        }
    }
}

/// The outcome of an attempt to count one more answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Yes,
    Full,
    /// The number is to be counted in the store.
    Unknown,
}

fn too_many() -> Exception {
    Exception::too_many(
        60,
        format!(
            "The account has sent {ANSWERS_MAX} requests with an Idempotency-Key within half an hour, whose answers are kept \
             for that time. Send this one later, or without the header."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_account_is_counted_again_after_some_time() {
        let kept = KeptAnswers::default();
        assert_eq!(kept.take("a", 0), Taken::Unknown);
        let full = Kept { number: ANSWERS_MAX - 1, counted_ms: 1_000_000 };
        kept.accounts.lock().insert("a".to_owned(), full);
        assert_eq!(kept.take("a", 1_000_000), Taken::Yes);
        assert_eq!(kept.take("a", 1_000_000 + COUNT_AGAIN_MS - 1), Taken::Full);
        assert_eq!(kept.take("a", 1_000_000 + COUNT_AGAIN_MS), Taken::Unknown);
        assert_eq!(kept.take("a", 0), Taken::Unknown, "the clock was set back");
        assert_eq!(kept.take("b", 1_000_000), Taken::Unknown);
    }
}
