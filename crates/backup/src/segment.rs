//! Segments: the records of the log between two moments, with the places of the blobs that they name.
//!
//! The contents of an object `log/N`: the number of the record before the first (8), the number of the last (8), the
//! time in milliseconds since 1970 by which all of them were written (8), places, and each record with its number (8)
//! and its changes behind their length (8). The segments of a generation are a chain: each begins where the one before
//! ends, and none is missing.

use bytes::Bytes;
use liteio_store::backup::BackupRecord;

use crate::Error;
use crate::code::{Decoder, Encoder};
use crate::place::{self, Placed};
use crate::seal::Content;

/// A segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// The number of the last complete record before.
    pub(crate) after: u64,
    /// The number of the last complete record.
    pub(crate) through: u64,
    /// All records were written by then, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    pub(crate) placed: Vec<Placed>,
    pub(crate) records: Vec<BackupRecord>,
}

impl Segment {
    pub(crate) fn encode(&self) -> Content {
        let records = self.records.iter().map(|record| 16 + record.changes.len());
        let bytes = 64 * (1 + self.placed.len()) + records.sum::<usize>();
        // In memory of its own at once: it would be copied some times while it grows.
        let mut encoder = Encoder::with_capacity(bytes);
        encoder.u64(self.after);
        encoder.u64(self.through);
        encoder.u64(self.time_ms);
        place::encode(&self.placed, &mut encoder);
        for record in &self.records {
            encoder.u64(record.number);
            encoder.bytes(&record.changes);
        }
        encoder.end()
    }

    /// The segment in the contents of the object `name`.
    pub(crate) fn decode(name: &str, contents: &[u8], backup: [u8; 16]) -> Result<Self, Error> {
        let mut decoder = Decoder::new(name, contents);
        let (after, through, time_ms) = (decoder.u64()?, decoder.u64()?, decoder.u64()?);
        let placed = place::decode(&mut decoder, backup)?;
        let mut records = Vec::new();
        while !decoder.is_empty() {
            let (number, changes) = (decoder.u64()?, Bytes::copy_from_slice(decoder.bytes()?));
            records.push(BackupRecord { number, changes });
        }
        Ok(Self { after, through, time_ms, placed, records })
    }
}

/// Cuts the records of a batch into segments of about `bytes` bytes of changes: the records of each, and the number of
/// its last complete record. The elements of a record may be in the segment before its changes.
pub(crate) fn cut(
    records: Vec<BackupRecord>,
    through: u64,
    bytes: usize,
) -> Vec<(Vec<BackupRecord>, u64)> {
    let mut cut = Vec::new();
    let mut current = Vec::new();
    let mut filled = 0;
    let mut records = records.into_iter().peekable();
    while let Some(record) = records.next() {
        filled += record.changes.len();
        let number = record.number;
        current.push(record);
        if filled >= bytes
            && let Some(next) = records.peek()
        {
            let complete = if next.number == number { number - 1 } else { number };
            cut.push((std::mem::take(&mut current), complete));
            filled = 0;
        }
    }
    cut.push((current, through));
    cut
}

#[cfg(test)]
mod tests {
    use liteio_store::backup::{BackupBlob, BackupPlace};

    use super::*;

    fn record(number: u64, bytes: usize) -> BackupRecord {
        BackupRecord { number, changes: vec![number as u8; bytes].into() }
    }

    #[test]
    fn a_segment_survives_and_a_cut_one_is_refused() {
        let backup = [3; 16];
        let place = BackupPlace { backup, generation: 1, pack: 2, offset: 3, crc: 4 };
        let blob = BackupBlob { id: [9; 16], bytes: 5 };
        let placed = vec![(blob, place)];
        let segment =
            Segment { after: 1, through: 4, time_ms: 7, placed, records: vec![record(4, 3)] };
        let encoded = segment.encode();
        let encoded = encoded.as_slice();
        let decoded = Segment::decode("log", encoded, backup).expect("own bytes");
        assert_eq!((decoded.after, decoded.through, decoded.time_ms), (1, 4, 7));
        assert_eq!(decoded.placed, segment.placed);
        assert_eq!((decoded.records[0].number, &*decoded.records[0].changes), (4, &[4, 4, 4][..]));
        // Without its last record it is another segment, which its object's name and checksum do not let through.
        let whole = encoded.len() - 19;
        for length in (0..encoded.len()).filter(|length| *length != whole) {
            Segment::decode("log", &encoded[..length], backup).expect_err("cut");
        }
    }

    #[test]
    fn records_are_cut_where_they_are_many_and_none_is_complete_before_its_end() {
        let records = vec![record(2, 10), record(3, 10), record(3, 10), record(5, 1)];
        let cut = cut(records, 9, 15);
        let found: Vec<_> = cut
            .iter()
            .map(|(records, through)| {
                (records.iter().map(|it| it.number).collect::<Vec<_>>(), *through)
            })
            .collect();
        assert_eq!(found, [(vec![2, 3], 2), (vec![3, 5], 9)]);
    }
}
