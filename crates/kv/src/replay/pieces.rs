//! Closures over what was fetched from the local engine, for tests.

use std::ops::Bound;

use crate::database::{Answer, EPOCHS, Fetched, Row, Want};
use crate::fetched::{
    Changes, FetchedTransaction, Fetching, Known, Numbers, PAGE_MAX, Place, UpdateFetches,
};
use crate::local::LocalTransaction;
use crate::queue::Job;
use crate::transaction::Transaction;
use crate::{Counts, KvError, Read};

/// Most fetches of one update: more than any closure needs that ends.
const FETCHES_MAX: usize = 20_000;
/// The version of all rows. Nothing changes between a fetch and the end of the update.
const VERSION: u64 = 1;

/// The numbers that the rows of the queues give.
struct OfRows;

impl Numbers for OfRows {
    fn take(&self, floor: u64) -> Result<u64, KvError> {
        Ok(floor)
    }
}

/// Runs a job piece by piece. What it writes is applied to `transaction`, which has begun.
///
/// # Errors
/// The reason why the job fails, if it is not its own.
pub(crate) fn run(
    fetching: &Fetching,
    job: &mut dyn Job,
    transaction: &mut Transaction<'_>,
) -> Result<bool, KvError> {
    let mut fetches = 0;
    let mut known = Known::default();
    let mut last = None;
    loop {
        let mut changes = Changes::default();
        let place = Place { known: &known, numbers: &OfRows, page: PAGE_MAX };
        let piece = FetchedTransaction::new(place, &mut changes).in_steps();
        let mut piece = Transaction::fetched(piece);
        let keeps = job.run(&mut piece);
        let ran = piece.into_fetched().end();
        let steps = ran.steps.unwrap_or_default();
        let wants = ran.seen.wants;
        if wants.is_empty() {
            // Once more, as after the change of another process: it must do the same.
            let outline = (keeps, steps.outline());
            match last.replace(outline.clone()) {
                None => continue,
                Some(last) if last != outline => {
                    return Err(KvError::Corrupt("a closure did something else again".into()));
                }
                Some(_) => {}
            }
            fetching.of_update(UpdateFetches { fetches, claims: steps.claims() });
            if keeps {
                steps.apply(transaction.local_mut())?;
            }
            return Ok(keeps);
        }
        fetches += 1;
        if fetches > FETCHES_MAX {
            return Err(KvError::Corrupt("a closure reads other keys in each run".into()));
        }
        let fetched = fetch(&wants, transaction.local_mut())?;
        known.learn(wants, fetched)?;
    }
}

fn fetch(wants: &[Want], from: &LocalTransaction<'_>) -> Result<Fetched, KvError> {
    let answers = wants.iter().map(|want| answer(want, from)).collect::<Result<_, KvError>>()?;
    Ok(Fetched { now_ms: 0, epochs: [0; EPOCHS], answers })
}

fn answer(want: &Want, from: &LocalTransaction<'_>) -> Result<Answer, KvError> {
    let row = |value: &[u8]| Row { version: VERSION, value: value.to_vec() };
    match want {
        Want::Key(key) => Ok(Answer::Row(from.get(key)?.map(|value| row(&value)))),
        Want::Rows { lower, upper, max, is_backward } => {
            let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut cursor = from.cursor(Bound::Included(lower), upper)?;
            if *is_backward {
                cursor.seek_end()?;
            }
            let mut rows = Vec::new();
            while rows.len() < *max {
                let pair = if *is_backward { cursor.previous() } else { cursor.next() };
                let Some((key, value)) = pair? else { break };
                rows.push((key.to_vec(), row(value)));
            }
            let is_whole = rows.len() < *max;
            Ok(Answer::Rows { rows, is_whole })
        }
        // The rows of counters have everything.
        Want::Counter(_) => Ok(Answer::Counts(Counts::NONE)),
        Want::Entries { .. } => Err(KvError::Corrupt("a closure reads groups by cursors".into())),
    }
}
