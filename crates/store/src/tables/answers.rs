//! Answers to requests that have a key: one that is sent again, because its answer was lost, is not executed again.
//!
//! An answer is written in the transaction of the change that it is about. So after a crash both are there, or neither, and of
//! two requests with one key only the first changes anything.

use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use liteio_kv::{Read as _, Write as _};

use crate::error::StoreError;
use crate::keyed_answer::KeyedAnswer;
use crate::meta::answer::AnswerRecord;
use crate::meta::key::successor;
use crate::meta::space;
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// Answers that are removed in one transaction.
const REMOVED_TOGETHER: usize = 256;

impl Store {
    /// The answer to the request with a key, if one was given.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if it cannot be read.
    pub fn answer_of(&self, key: [u8; 16]) -> Result<Option<KeyedAnswer>, StoreError> {
        let place = space::answer(&key);
        let snapshot = self.snapshot()?;
        let Some(value) = snapshot.get(&place)? else { return Ok(None) };
        let (AnswerRecord { request, .. }, answer) = AnswerRecord::decode(&place, &value)?;
        Ok(Some(KeyedAnswer { key, request, answer }))
    }

    /// Gives an answer to a request that has changed nothing.
    ///
    /// Fails with [`CatalogError::Answered`](super::CatalogError::Answered) if the key has one.
    pub fn note_answer(&self, answer: KeyedAnswer) -> Pending<()> {
        self.answering(Arc::new(answer)).update(|_, _| Ok(Committed::new(())))
    }

    /// Removes answers but those given at these times, in milliseconds since 1970: older ones, those of a clock that was ahead,
    /// and those that cannot be read.
    ///
    /// # Errors
    /// The errors of reading and writing.
    pub fn remove_answers(&self, but_ms: RangeInclusive<u64>) -> Result<(), StoreError> {
        let mut from = space::ALL_ANSWERS.to_vec();
        loop {
            let mut old = Vec::new();
            let is_last = {
                let snapshot = self.snapshot()?;
                let upper = successor(space::ALL_ANSWERS);
                let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
                loop {
                    let Some((place, value)) = cursor.next()? else { break true };
                    let read = AnswerRecord::decode(place, value);
                    if read.is_ok_and(|(record, _)| but_ms.contains(&record.at_ms)) {
                        continue;
                    }
                    old.push(place.to_vec());
                    if old.len() >= REMOVED_TOGETHER {
                        break false;
                    }
                }
            };
            let Some(last) = old.last() else { return Ok(()) };
            from = [last, &[0][..]].concat();
            let removed = self.update_freeing(move |write, _| {
                old.iter().try_for_each(|place| write.delete(place))?;
                Ok(Committed::new(()))
            });
            removed.wait()?;
            if is_last {
                return Ok(());
            }
        }
    }
}
