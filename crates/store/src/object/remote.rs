//! Reading a body in a tier, verified against the digests that were kept here.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use crate::meta::remote::{BLOCK_BYTES, PieceRow, RemoteBody};
use crate::process::TierReader;
use crate::store::Store;

/// Bytes that are fetched at a time. Each reader may hold as many.
const WINDOW_BYTES: u64 = 8 * BLOCK_BYTES;

/// The stored bytes of one body in a tier, which the readers of its parts share.
#[derive(Clone, Debug)]
pub(crate) struct RemoteSource(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    store: Store,
    body: RemoteBody,
    /// The digests of the piece that was read last.
    row: Option<(u32, PieceRow)>,
    /// Offset of the bytes that were fetched last, and these bytes, which are verified.
    window: (u64, Bytes),
    _reader: TierReader,
}

/// A reader of a range of the stored bytes.
#[derive(Debug)]
pub(crate) struct RemoteReader {
    source: RemoteSource,
    rest: Range<u64>,
}

/// The name of a remote object, behind the prefix of its tier.
pub(crate) fn remote_name(id: &[u8; 16], piece: u32) -> String {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}/{hex}/{piece:05}", &hex[..2])
}

/// The digests of the blocks of a piece.
pub(crate) fn digests(piece: &[u8]) -> Vec<[u8; 16]> {
    piece.chunks(BLOCK_BYTES as usize).map(digest).collect()
}

fn digest(block: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(block)[..16]);
    half
}

impl RemoteSource {
    /// The bytes of a body. The caller is in a section of
    /// [`Cluster::reading`](crate::process::Cluster::reading).
    pub(crate) fn open(store: &Store, body: &RemoteBody) -> Result<Self, StoreError> {
        let reader = TierReader::new(store.shared(), body.id, &body.tier)?;
        Ok(Self(Arc::new(Mutex::new(Inner {
            store: store.clone(),
            body: body.clone(),
            row: None,
            window: (0, Bytes::new()),
            _reader: reader,
        }))))
    }

    /// A reader of `range`.
    pub(crate) fn reader(&self, range: Range<u64>) -> RemoteReader {
        RemoteReader { source: self.clone(), rest: range }
    }

    /// The bytes `range`, all of them. Up to `until` are fetched together with them.
    pub(crate) fn read(&self, range: Range<u64>, until: u64) -> Result<Bytes, StoreError> {
        let mut inner = self.0.lock();
        let first = inner.some(range.clone(), until)?;
        if first.len() as u64 == range.end - range.start {
            return Ok(first);
        }
        let mut all = first.to_vec();
        while (all.len() as u64) < range.end - range.start {
            let more = inner.some(range.start + all.len() as u64..range.end, until)?;
            all.extend_from_slice(&more);
        }
        Ok(all.into())
    }
}

impl Inner {
    /// The first of the bytes `range` that are at hand, if any are.
    fn at_hand(&self, range: &Range<u64>) -> Option<Bytes> {
        let (start, bytes) = &self.window;
        let end = range.end.min(start + bytes.len() as u64);
        let is_there = range.start >= *start && range.start < end;
        is_there.then(|| bytes.slice((range.start - start) as usize..(end - start) as usize))
    }

    /// At least one of the bytes `range`, from its start.
    fn some(&mut self, range: Range<u64>, until: u64) -> Result<Bytes, StoreError> {
        if let Some(bytes) = self.at_hand(&range) {
            return Ok(bytes);
        }
        let whole = self.body.bytes;
        if range.start >= range.end || range.end > whole {
            return Err(StoreError::corrupt("a body in a tier is shorter than its object"));
        }
        let piece_bytes = self.body.piece_bytes;
        let piece = range.start / piece_bytes;
        let piece_start = piece * piece_bytes;
        // Whole blocks, since a part of one cannot be verified.
        let start = range.start / BLOCK_BYTES * BLOCK_BYTES;
        let wanted = until.max(range.end).div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
        let end = wanted.min(start + WINDOW_BYTES).min(piece_start + piece_bytes).min(whole);
        let number = u32::try_from(piece).map_err(|_| StoreError::corrupt("a piece of a body"))?;
        let row = match self.row.take() {
            Some((known, row)) if known == number => row,
            _ => PieceRow::of(&self.store.snapshot()?, &self.body.id, number)?,
        };
        let (name, tier) = (remote_name(&self.body.id, number), self.body.tier.clone());
        let within = start - piece_start..end - piece_start;
        let fetched = self.store.shared().tiers.read(&tier, &name, within.clone())?;
        let first = (within.start / BLOCK_BYTES) as usize;
        let blocks = row.blocks.get(first..).unwrap_or_default();
        let is_whole = fetched.len() as u64 == end - start;
        let count = (end - start).div_ceil(BLOCK_BYTES) as usize;
        if !is_whole || blocks.get(..count).is_none_or(|blocks| digests(&fetched) != blocks) {
            let what = format!("the tier {tier} has other bytes in {name} than were moved there");
            return Err(StoreError::corrupt(what));
        }
        self.row = Some((number, row));
        self.window = (start, fetched);
        self.at_hand(&range).ok_or_else(|| StoreError::corrupt("a body in a tier"))
    }
}

impl RemoteReader {
    /// Bytes not returned yet.
    pub(crate) fn remaining(&self) -> u64 {
        self.rest.end - self.rest.start
    }

    /// The next bytes, at most `bytes_max`, if they are at hand.
    pub(crate) fn try_next(&mut self, bytes_max: u64) -> Option<Bytes> {
        let range = self.next_range(bytes_max);
        // Another reader may be waiting for the network with the lock.
        let bytes = self.source.0.try_lock()?.at_hand(&range)?;
        self.rest.start += bytes.len() as u64;
        Some(bytes)
    }

    /// The next bytes, at most `bytes_max`. May wait for the network.
    pub(crate) fn next(&mut self, bytes_max: u64) -> Result<Option<Bytes>, StoreError> {
        let range = self.next_range(bytes_max);
        let bytes = self.source.0.lock().some(range, self.rest.end)?;
        self.rest.start += bytes.len() as u64;
        Ok(Some(bytes))
    }

    fn next_range(&self, bytes_max: u64) -> Range<u64> {
        let bytes_max = bytes_max.min(BLOCK_BYTES);
        self.rest.start..self.rest.end.min(self.rest.start.saturating_add(bytes_max))
    }
}
