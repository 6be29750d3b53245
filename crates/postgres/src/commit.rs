//! A commit: a group as parameters, and its rows as the outcome.

use liteio_kv::KvError;
use liteio_kv::database::{CommitError, Group, RangeRead, Worker};
use tokio_postgres::types::Type;

use crate::error::failed;
use crate::fetch::{column, positive, row_of};
use crate::limits;
use crate::locks;
use crate::session::Parameter;

/// The one who commits, as the database knows it.
#[derive(Clone, Copy)]
pub(crate) struct Committer<'a> {
    pub(crate) worker: Worker,
    /// The mark of this process, which another one with the same run would not have.
    pub(crate) owner: &'a str,
    /// `true` as long as nothing of the worker is in the database.
    pub(crate) is_first: bool,
}

/// The parameters of a commit.
pub(crate) struct Request<'a> {
    committer: Committer<'a>,
    run: i32,
    index: i32,
    number: i64,
    version: i64,
    locks: Vec<i64>,
    are_shared: Vec<bool>,
    read_keys: Vec<&'a [u8]>,
    read_versions: Vec<i64>,
    ranges: Ranges<'a>,
    written_keys: Vec<&'a [u8]>,
    expected: Vec<Option<i64>>,
    /// Keys that are expected not to be there.
    new_keys: Vec<&'a [u8]>,
    new_values: Vec<&'a [u8]>,
    /// Keys that are there, or may be.
    kept_keys: Vec<&'a [u8]>,
    kept_values: Vec<&'a [u8]>,
    deleted_keys: Vec<&'a [u8]>,
    ended_counters: Vec<&'a [u8]>,
    counters: Vec<&'a [u8]>,
    shard: i32,
    changes: [Vec<i64>; 4],
    begins: [i32; 2],
}

/// The ranges that were read.
#[derive(Default)]
struct Ranges<'a> {
    lowers: Vec<&'a [u8]>,
    uppers: Vec<&'a [u8]>,
    rows: Vec<i64>,
    sums: Vec<String>,
    xors: Vec<i64>,
}

/// The end of all keys.
static END: [u8; limits::KEY_BYTES_MAX + 1] = [0xFF; limits::KEY_BYTES_MAX + 1];

impl<'a> Request<'a> {
    /// # Errors
    /// [`KvError::TooLarge`] for a key or value that the database cannot have, [`KvError::Io`] for a number.
    pub(crate) fn new(
        cluster: &str,
        committer: Committer<'a>,
        number: u64,
        group: &'a Group,
        shard: u32,
    ) -> Result<Self, KvError> {
        let signed = |number: u64| {
            i64::try_from(number).map_err(|_| failed(format!("{number} is too large a number")))
        };
        let (locks, are_shared) = locks::of_claims(cluster, &group.claims);
        let mut request = Self {
            run: int(committer.worker.run)?,
            index: int(committer.worker.index)?,
            committer,
            number: signed(number)?,
            version: signed(group.version)?,
            locks,
            are_shared,
            read_keys: group.keys.iter().map(|(key, _)| &**key).collect(),
            read_versions: group.keys.iter().map(|it| signed(it.1)).collect::<Result<_, _>>()?,
            ranges: Ranges::default(),
            written_keys: Vec::new(),
            expected: Vec::new(),
            new_keys: Vec::new(),
            new_values: Vec::new(),
            kept_keys: Vec::new(),
            kept_values: Vec::new(),
            deleted_keys: Vec::new(),
            ended_counters: Vec::new(),
            counters: Vec::new(),
            shard: int(shard)?,
            changes: [const { Vec::new() }; 4],
            begins: group.begins.map(i32::from),
        };
        for range in &group.ranges {
            request.ranges.push(range)?;
        }
        for write in &group.writes {
            check(&write.key, write.value.as_deref().unwrap_or_default())?;
            match (&write.value, write.expected) {
                // Nothing to lock: it is compared with what was read.
                (_, Some(0)) => {
                    request.read_keys.push(&write.key);
                    request.read_versions.push(0);
                }
                (_, expected) => {
                    request.written_keys.push(&write.key);
                    request.expected.push(expected.map(signed).transpose()?);
                }
            }
            match (&write.value, write.expected) {
                (None, Some(0)) => {}
                (None, _) => request.deleted_keys.push(&write.key),
                (Some(value), Some(0)) => {
                    request.new_keys.push(&write.key);
                    request.new_values.push(value);
                }
                (Some(value), _) => {
                    request.kept_keys.push(&write.key);
                    request.kept_values.push(value);
                }
            }
        }
        let mut counters: Vec<_> = group.counters.iter().collect();
        counters.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for counter in counters {
            check(&counter.key, &[])?;
            if counter.begins_anew {
                request.ended_counters.push(&counter.key);
            }
            if counter.added.0 == [0; 4] {
                continue;
            }
            request.counters.push(&counter.key);
            for (changes, change) in request.changes.iter_mut().zip(counter.added.0) {
                changes.push(change);
            }
        }
        Ok(request)
    }

    /// The parameters of the statement.
    pub(crate) fn parameters(&self) -> [Parameter<'_>; 31] {
        [
            (&self.run, Type::INT4),
            (&self.index, Type::INT4),
            (&self.committer.owner, Type::TEXT),
            (&self.number, Type::INT8),
            (&self.committer.is_first, Type::BOOL),
            (&self.version, Type::INT8),
            (&self.locks, Type::INT8_ARRAY),
            (&self.are_shared, Type::BOOL_ARRAY),
            (&self.read_keys, Type::BYTEA_ARRAY),
            (&self.read_versions, Type::INT8_ARRAY),
            (&self.ranges.lowers, Type::BYTEA_ARRAY),
            (&self.ranges.uppers, Type::BYTEA_ARRAY),
            (&self.ranges.rows, Type::INT8_ARRAY),
            (&self.ranges.sums, Type::TEXT_ARRAY),
            (&self.ranges.xors, Type::INT8_ARRAY),
            (&self.written_keys, Type::BYTEA_ARRAY),
            (&self.expected, Type::INT8_ARRAY),
            (&self.new_keys, Type::BYTEA_ARRAY),
            (&self.new_values, Type::BYTEA_ARRAY),
            (&self.kept_keys, Type::BYTEA_ARRAY),
            (&self.kept_values, Type::BYTEA_ARRAY),
            (&self.deleted_keys, Type::BYTEA_ARRAY),
            (&self.ended_counters, Type::BYTEA_ARRAY),
            (&self.counters, Type::BYTEA_ARRAY),
            (&self.shard, Type::INT4),
            (&self.changes[0], Type::INT8_ARRAY),
            (&self.changes[1], Type::INT8_ARRAY),
            (&self.changes[2], Type::INT8_ARRAY),
            (&self.changes[3], Type::INT8_ARRAY),
            (&self.begins[0], Type::INT4),
            (&self.begins[1], Type::INT4),
        ]
    }
}

impl<'a> Ranges<'a> {
    fn push(&mut self, range: &'a RangeRead) -> Result<(), KvError> {
        self.lowers.push(&range.lower);
        self.uppers.push(range.upper.as_deref().unwrap_or(&END));
        let rows = i64::try_from(range.digest.rows);
        self.rows.push(rows.map_err(|_| failed("a range has too many rows".to_owned()))?);
        self.sums.push(range.digest.sum.to_string());
        // The same bits: versions are positive there, too.
        self.xors.push(range.digest.xor.cast_signed());
        Ok(())
    }
}

/// The outcome that the rows of the statement tell.
pub(crate) fn outcome(rows: &[tokio_postgres::Row]) -> Result<(), CommitError> {
    let Some(first) = rows.first() else { return Ok(()) };
    // Rows say that nothing was written, whatever is the matter with them.
    let what: i32 = column(first, 0).map_err(CommitError::Refused)?;
    match what {
        1 => {
            let mut changed = Vec::with_capacity(rows.len());
            for row in rows {
                let key: &[u8] = column(row, 1).map_err(CommitError::Refused)?;
                let found = match positive(row, 2).map_err(CommitError::Refused)? {
                    0 => None,
                    _ => Some(row_of(row, 2, 3).map_err(CommitError::Refused)?),
                };
                changed.push((key.to_vec(), found));
            }
            Err(CommitError::Conflict(changed))
        }
        2 => Err(CommitError::Conflict(Vec::new())),
        // Somebody has taken the number, or the database has lost those before.
        _ => {
            Err(CommitError::Unknown(failed("the commit is not the worker's next one".to_owned())))
        }
    }
}

fn int(number: u32) -> Result<i32, KvError> {
    i32::try_from(number).map_err(|_| failed(format!("{number} is too large a number")))
}

fn check(key: &[u8], value: &[u8]) -> Result<(), KvError> {
    if key.len() > limits::KEY_BYTES_MAX {
        return Err(KvError::TooLarge { bytes: key.len(), bytes_max: limits::KEY_BYTES_MAX });
    }
    if value.len() > limits::VALUE_BYTES_MAX {
        return Err(KvError::TooLarge { bytes: value.len(), bytes_max: limits::VALUE_BYTES_MAX });
    }
    Ok(())
}
