//! A fetch: its wants as parameters, and its rows as answers.

use std::time::{SystemTime, UNIX_EPOCH};

use liteio_kv::database::{Answer, Entry, Fetched, Row, Want};
use liteio_kv::{COUNTS, Counts, KvError};
use tokio_postgres::types::{FromSql, Type};

use crate::error::damaged;
use crate::limits;
use crate::session::{Parameter, Session};
use crate::statements::Kind;

/// The wants of a fetch, as parameters.
pub(crate) struct Request<'a> {
    wants: &'a [Want],
    /// Stands for the end of all keys.
    end: Vec<u8>,
    share: i64,
}

/// Keys and the wants that they answer.
#[derive(Default)]
struct Keys<'a> {
    wants: Vec<i32>,
    keys: Vec<&'a [u8]>,
}

impl<'a> Keys<'a> {
    fn push(&mut self, want: i32, key: &'a [u8]) {
        self.wants.push(want);
        self.keys.push(key);
    }

    fn parameters(&self) -> [Parameter<'_>; 2] {
        [(&self.wants, Type::INT4_ARRAY), (&self.keys, Type::BYTEA_ARRAY)]
    }
}

/// Ranges and the wants that they answer.
#[derive(Default)]
struct Ranges<'a> {
    wants: Vec<i32>,
    lowers: Vec<&'a [u8]>,
    uppers: Vec<&'a [u8]>,
    most: Vec<i64>,
    bytes: Vec<i64>,
}

impl<'a> Ranges<'a> {
    fn push(&mut self, want: i32, lower: &'a [u8], upper: &'a [u8], most: usize, bytes: i64) {
        self.wants.push(want);
        self.lowers.push(lower);
        self.uppers.push(upper);
        self.most.push(most.clamp(1, limits::ROWS_MAX) as i64);
        self.bytes.push(bytes);
    }

    fn parameters(&self) -> [Parameter<'_>; 5] {
        [
            (&self.wants, Type::INT4_ARRAY),
            (&self.lowers, Type::BYTEA_ARRAY),
            (&self.uppers, Type::BYTEA_ARRAY),
            (&self.most, Type::INT8_ARRAY),
            (&self.bytes, Type::INT8_ARRAY),
        ]
    }
}

/// Grouped ranges and the wants that they answer.
#[derive(Default)]
struct Groups<'a> {
    wants: Vec<i32>,
    lowers: Vec<&'a [u8]>,
    uppers: Vec<&'a [u8]>,
    delimiters: Vec<&'a [u8]>,
    skips: Vec<i32>,
    text_ends: Vec<&'a [u8]>,
    most: Vec<i32>,
    bytes: Vec<i64>,
}

impl Groups<'_> {
    fn parameters(&self) -> [Parameter<'_>; 8] {
        [
            (&self.wants, Type::INT4_ARRAY),
            (&self.lowers, Type::BYTEA_ARRAY),
            (&self.uppers, Type::BYTEA_ARRAY),
            (&self.delimiters, Type::BYTEA_ARRAY),
            (&self.skips, Type::INT4_ARRAY),
            (&self.text_ends, Type::BYTEA_ARRAY),
            (&self.most, Type::INT4_ARRAY),
            (&self.bytes, Type::INT8_ARRAY),
        ]
    }
}

impl<'a> Request<'a> {
    pub(crate) fn new(wants: &'a [Want]) -> Self {
        let is_range = |want: &&Want| matches!(want, Want::Rows { .. } | Want::Entries { .. });
        let ranges = wants.iter().filter(is_range).count().max(1) as i64;
        let share = (limits::ANSWER_BYTES / ranges).max(limits::ANSWER_BYTES_MIN);
        Self { wants, end: vec![0xFF; limits::KEY_BYTES_MAX + 1], share }
    }

    /// The statement that answers these wants.
    pub(crate) fn kind(&self) -> Kind {
        match self.wants {
            [Want::Key(_)] => Kind::FetchKey,
            wants if wants.iter().all(|want| matches!(want, Want::Key(_))) => Kind::FetchKeys,
            _ => Kind::Fetch,
        }
    }

    /// Runs the statement, which is prepared.
    pub(crate) async fn run(
        &self,
        session: &Session,
    ) -> Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
        if let [Want::Key(key)] = self.wants {
            return session.run(Kind::FetchKey, &[(key, Type::BYTEA)]).await;
        }
        let (mut keys, mut counters) = (Keys::default(), Keys::default());
        let (mut forward, mut backward) = (Ranges::default(), Ranges::default());
        let mut groups = Groups::default();
        for (want, index) in self.wants.iter().zip(0..) {
            match want {
                Want::Key(key) => keys.push(index, key),
                Want::Counter(key) => counters.push(index, key),
                Want::Rows { lower, upper, max, is_backward } => {
                    let ranges = if *is_backward { &mut backward } else { &mut forward };
                    ranges.push(
                        index,
                        lower,
                        upper.as_ref().unwrap_or(&self.end),
                        *max,
                        self.share,
                    );
                }
                Want::Entries { lower, upper, delimiter, max, .. } if delimiter.is_empty() => {
                    forward.push(index, lower, upper, *max, self.share);
                }
                Want::Entries { lower, upper, delimiter, text, text_end, max } => {
                    groups.wants.push(index);
                    groups.lowers.push(lower);
                    groups.uppers.push(upper);
                    groups.delimiters.push(delimiter);
                    // Behind the end of every key there is no delimiter.
                    groups.skips.push((*text).min(limits::KEY_BYTES_MAX) as i32);
                    groups.text_ends.push(text_end);
                    groups.most.push((*max).clamp(1, limits::ROWS_MAX) as i32 + 1);
                    groups.bytes.push(self.share);
                }
            }
        }
        if self.kind() == Kind::FetchKeys {
            return session.run(Kind::FetchKeys, &keys.parameters()[1..]).await;
        }
        let parameters = [
            &keys.parameters()[..],
            &counters.parameters(),
            &forward.parameters(),
            &backward.parameters(),
            &groups.parameters(),
        ];
        session.run(Kind::Fetch, &parameters.concat()).await
    }

    /// The answers in the rows of the statement.
    pub(crate) fn answers(&self, rows: &[tokio_postgres::Row]) -> Result<Fetched, KvError> {
        let mut fetched =
            Fetched { now_ms: 0, epochs: [0; 2], answers: self.wants.iter().map(empty).collect() };
        match self.kind() {
            Kind::FetchKey | Kind::FetchKeys => {
                let first = rows.first().ok_or_else(|| damaged("no epochs"))?;
                fetched.epochs = [positive(first, 0)?, positive(first, 1)?];
                let now = column::<SystemTime>(first, 2)?.duration_since(UNIX_EPOCH);
                let now = now.map_err(|_| damaged("a time before 1970"))?;
                fetched.now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
                for row in rows {
                    // Numbers begin with 1 there. Without wants there is no number.
                    let Some(number) = column::<Option<i32>>(row, 3)? else { continue };
                    if column::<Option<i64>>(row, 4)?.is_some() {
                        let found = Answer::Row(Some(row_of(row, 4, 5)?));
                        *self.answer(&mut fetched, number - 1)? = found;
                    }
                }
            }
            _ => {
                let mut told = 0;
                for row in rows {
                    let want: i32 = column(row, 0)?;
                    let epoch = match want {
                        -1 => &mut fetched.epochs[0],
                        -2 => &mut fetched.epochs[1],
                        -3 => &mut fetched.now_ms,
                        _ => {
                            add(self.answer(&mut fetched, want)?, row)?;
                            continue;
                        }
                    };
                    *epoch = positive(row, 2)?;
                    told += 1;
                }
                if told != 3 {
                    return Err(damaged("no epochs"));
                }
                for (answer, want) in fetched.answers.iter_mut().zip(self.wants) {
                    finish(answer, want)?;
                }
            }
        }
        Ok(fetched)
    }

    fn answer<'f>(&self, fetched: &'f mut Fetched, want: i32) -> Result<&'f mut Answer, KvError> {
        let answer = usize::try_from(want).ok().and_then(|want| fetched.answers.get_mut(want));
        answer.ok_or_else(|| damaged("a row that answers nothing"))
    }
}

/// The answer of which no row has come yet.
fn empty(want: &Want) -> Answer {
    match want {
        Want::Key(_) => Answer::Row(None),
        Want::Rows { .. } => Answer::Rows { rows: Vec::new(), is_whole: true },
        Want::Entries { .. } => Answer::Entries { entries: Vec::new(), is_whole: true },
        Want::Counter(_) => Answer::Counts(Counts::NONE),
    }
}

/// Adds a row of [`Kind::Fetch`] to an answer.
fn add(answer: &mut Answer, row: &tokio_postgres::Row) -> Result<(), KvError> {
    match answer {
        Answer::Row(found) => *found = Some(row_of(row, 2, 3)?),
        Answer::Counts(counts) => {
            let bytes: &[u8] = column(row, 3)?;
            let (numbers, rest) = bytes.as_chunks::<8>();
            if numbers.len() != COUNTS || !rest.is_empty() {
                return Err(damaged("a counter of another length"));
            }
            for (count, bytes) in counts.0.iter_mut().zip(numbers) {
                *count = i64::from_be_bytes(*bytes);
            }
        }
        Answer::Rows { rows, is_whole } => match column::<Option<&[u8]>>(row, 3)? {
            Some(_) => rows.push((column::<&[u8]>(row, 1)?.to_vec(), row_of(row, 2, 3)?)),
            None => *is_whole = false,
        },
        Answer::Entries { entries, is_whole } => {
            let key = column::<Option<&[u8]>>(row, 1)?;
            let version = column::<Option<i64>>(row, 2)?;
            let value = column::<Option<&[u8]>>(row, 3)?;
            match (key, version, value) {
                (Some(key), None, None) => entries.push(Entry::Group(key.to_vec())),
                (Some(key), Some(_), Some(_)) => {
                    entries.push(Entry::Row(key.to_vec(), row_of(row, 2, 3)?));
                }
                _ => *is_whole = false,
            }
        }
    }
    Ok(())
}

/// Leaves out what is more than was asked for, and checks the order: the statement runs in one process of the
/// database, part by part, which is no promise of SQL.
fn finish(answer: &mut Answer, want: &Want) -> Result<(), KvError> {
    match (answer, want) {
        (Answer::Rows { rows, .. }, Want::Rows { is_backward, .. })
            if !rows.is_sorted_by(|a, b| if *is_backward { a.0 > b.0 } else { a.0 < b.0 }) =>
        {
            return Err(damaged("rows out of order"));
        }
        (Answer::Entries { entries, is_whole }, Want::Entries { max, .. }) => {
            let max = (*max).clamp(1, limits::ROWS_MAX);
            if entries.len() > max {
                entries.truncate(max);
                *is_whole = false;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A column, if it has this type.
pub(crate) fn column<'a, T: FromSql<'a>>(
    row: &'a tokio_postgres::Row,
    index: usize,
) -> Result<T, KvError> {
    row.try_get(index).map_err(|error| damaged(&format!("column {index}: {error}")))
}

/// A number that is not negative.
pub(crate) fn positive(row: &tokio_postgres::Row, index: usize) -> Result<u64, KvError> {
    u64::try_from(column::<i64>(row, index)?).map_err(|_| damaged("a negative number"))
}

/// The row in a version's and a value's column.
pub(crate) fn row_of(
    row: &tokio_postgres::Row,
    version: usize,
    value: usize,
) -> Result<Row, KvError> {
    Ok(Row { version: positive(row, version)?, value: column::<&[u8]>(row, value)?.to_vec() })
}
