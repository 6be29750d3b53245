//! Answers to requests that have a key: one that is sent again, because its answer was lost, is not executed again.
//!
//! An answer is written in the transaction of the change that it is about. So after a crash both are there, or neither, and of
//! two requests with one key only the first changes anything.
//!
//! A row beside each answer has its account and time in its key. So old answers are found by a walk in the order of time,
//! account by account, and those of an account are counted without a look at them.

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
        let (record, answer) = AnswerRecord::decode(&place, &value)?;
        let AnswerRecord { request, account, .. } = record;
        Ok(Some(KeyedAnswer { key, account, request, answer }))
    }

    /// Gives an answer to a request that has changed nothing.
    ///
    /// Fails with [`CatalogError::Answered`](super::CatalogError::Answered) if the key has one.
    pub fn note_answer(&self, answer: KeyedAnswer) -> Pending<()> {
        self.answering(Arc::new(answer)).update(|_, _| Ok(Committed::new(())))
    }

    /// The number of answers given to an account since a time, in milliseconds since 1970, counted up to `most`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if metadata cannot be read.
    pub fn count_answers(
        &self,
        account: &str,
        since_ms: u64,
        most: usize,
    ) -> Result<usize, StoreError> {
        let snapshot = self.snapshot()?;
        let from = space::answer_time(account, since_ms, &[0; 16]);
        let upper = space::behind_answer_times_of(account);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let mut number = 0;
        while number < most && cursor.next()?.is_some() {
            number += 1;
        }
        Ok(number)
    }

    /// Removes answers but those given at these times, in milliseconds since 1970: older ones, and those of a clock that was
    /// ahead. It reads what it removes, and a row of each account.
    ///
    /// # Errors
    /// The errors of reading and writing.
    pub fn remove_answers(&self, but_ms: RangeInclusive<u64>) -> Result<(), StoreError> {
        let mut from = space::ALL_ANSWER_TIMES.to_vec();
        let mut old = Vec::new();
        while let Some((account, is_kept)) = self.next_answers(&mut from, &but_ms, &mut old)? {
            if is_kept {
                // Behind the first one to keep come those of a clock that was ahead, and the next account.
                let ahead = but_ms.end().checked_add(1);
                let ahead = ahead.map(|ms| space::answer_time(&account, ms, &[0; 16]));
                let ahead = ahead.filter(|ahead| *ahead > from);
                let Some(next) = ahead.or_else(|| space::behind_answer_times_of(&account)) else {
                    break;
                };
                from = next;
            }
            if old.len() >= REMOVED_TOGETHER {
                self.remove_answers_at(std::mem::take(&mut old))?;
            }
        }
        self.remove_answers_at(old)
    }

    /// Reads times of answers on from a key, and notes those to remove. Ends at the first one to keep (`true`), or once
    /// [`REMOVED_TOGETHER`] are noted; `None` if all were read.
    fn next_answers(
        &self,
        from: &mut Vec<u8>,
        but_ms: &RangeInclusive<u64>,
        old: &mut Vec<(Vec<u8>, [u8; 16])>,
    ) -> Result<Option<(String, bool)>, StoreError> {
        let snapshot = self.snapshot()?;
        let upper = successor(space::ALL_ANSWER_TIMES);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let start = from.clone();
        let mut cursor = snapshot.cursor(Bound::Included(&start), upper)?;
        while let Some((place, _)) = cursor.next()? {
            let split = space::split_answer_time(place);
            let (account, at_ms, key) =
                split.ok_or_else(|| StoreError::corrupt("the key of the time of an answer"))?;
            *from = [place, &[0][..]].concat();
            if but_ms.contains(&at_ms) {
                return Ok(Some((account, true)));
            }
            old.push((place.to_vec(), key));
            if old.len() >= REMOVED_TOGETHER {
                return Ok(Some((account, false)));
            }
        }
        Ok(None)
    }

    fn remove_answers_at(&self, old: Vec<(Vec<u8>, [u8; 16])>) -> Result<(), StoreError> {
        if old.is_empty() {
            return Ok(());
        }
        let removed = self.update_freeing(move |write, _| {
            let places: Vec<_> = old.iter().map(|(_, key)| space::answer(key)).collect();
            write.fetch(&places)?;
            for ((time, _), place) in old.iter().zip(&places) {
                write.delete(time)?;
                // The key may have been used again, if its first answer could not be read.
                let answer = write.get(place)?.map(|value| AnswerRecord::decode(place, &value));
                let is_newer = answer.is_some_and(|answer| {
                    answer.is_ok_and(|(record, _)| record.time(place).as_deref() != Some(&**time))
                });
                if !is_newer {
                    write.delete(place)?;
                }
            }
            Ok(Committed::new(()))
        });
        removed.wait()
    }

    /// Removes answers as [`Store::remove_answers`] does, by a look at all of them: also those that cannot be read, and
    /// those of an earlier program, which have no row with their time.
    ///
    /// # Errors
    /// The errors of reading and writing.
    pub fn sweep_answers(&self, but_ms: RangeInclusive<u64>) -> Result<(), StoreError> {
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
                    let record = read.ok().map(|(record, _)| record);
                    if record.as_ref().is_some_and(|record| but_ms.contains(&record.at_ms)) {
                        continue;
                    }
                    let time = record.and_then(|record| record.time(place));
                    old.push((place.to_vec(), time));
                    if old.len() >= REMOVED_TOGETHER {
                        break false;
                    }
                }
            };
            let Some((last, _)) = old.last() else { return Ok(()) };
            from = [last, &[0][..]].concat();
            let removed = self.update_freeing(move |write, _| {
                for (place, time) in &old {
                    write.delete(place)?;
                    time.iter().try_for_each(|time| write.delete(time))?;
                }
                Ok(Committed::new(()))
            });
            removed.wait()?;
            if is_last {
                return Ok(());
            }
        }
    }
}
