//! Moves of versions into a tier.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use liteio_kv::{Read, Transaction, Write as _};

use super::may_move;
use super::stored::StoredReader;
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::remote::{
    MoveRow, PIECE_BYTES, PieceRow, RemoteBody, RemoteDeletion, RemoteParts,
};
use crate::meta::upload::PartRecord;
use crate::meta::{reference, space};
use crate::name::{ObjectKey, UploadId};
use crate::object::remote::{digests, remote_name};
use crate::pending::{Committed, Pending};
use crate::process::WakeReclaimer;
use crate::replication::find;
use crate::store::{Shared, Store};

/// The row of a version that is to move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoveId(Vec<u8>);

/// A row, and the storage class that its version is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMove {
    /// The row.
    pub id: MoveId,
    /// The storage class; `None` for a damaged row.
    pub class: Option<String>,
}

/// The state of a row.
#[derive(Debug)]
pub enum TierMoveState {
    /// The move can begin, or goes on.
    Ready(Box<TierMove>),
    /// There is nothing to move any more; the row is gone.
    Gone,
    /// The storage class stands for no tier now. The row waits.
    NoTier {
        /// The storage class.
        class: String,
    },
}

/// A move that has begun.
#[derive(Debug)]
pub struct TierMove {
    id: MoveId,
    body: RemoteBody,
    reader: StoredReader,
    next: u32,
}

/// A piece of a body.
#[derive(Clone, Debug)]
pub struct TierPiece {
    /// Name of the remote object, behind the prefix of the tier.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// `true` if it was uploaded before: only its presence is to be verified.
    pub is_uploaded: bool,
    number: u32,
}

impl TierMove {
    /// Name of the tier.
    #[must_use]
    pub fn tier(&self) -> &str {
        &self.body.tier
    }

    /// Length of the stored bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.body.bytes
    }
}

impl Store {
    /// The first `max` rows of versions that are to move, after the row `after`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if metadata cannot be read.
    pub fn tier_moves(
        &self,
        after: Option<&MoveId>,
        max: usize,
    ) -> Result<Vec<QueuedMove>, StoreError> {
        let snapshot = self.snapshot()?;
        let end = successor(space::ALL_TIER_MOVES).unwrap_or_default();
        let start = match after {
            Some(MoveId(place)) => Bound::Excluded(place.as_slice()),
            None => Bound::Included(space::ALL_TIER_MOVES),
        };
        let mut cursor = snapshot.cursor(start, Bound::Excluded(&end))?;
        let mut found = Vec::new();
        while found.len() < max
            && let Some((place, value)) = cursor.next()?
        {
            // A damaged row stays for verify and repair, and does not block the others.
            let class = MoveRow::decode(place, value).ok().map(|row| row.class);
            found.push(QueuedMove { id: MoveId(place.to_vec()), class });
        }
        Ok(found)
    }

    /// Begins a move, or goes on with one that was interrupted: notes the id of the upload, and opens
    /// the body. Waits for the disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read; the errors of a
    /// write.
    pub fn begin_tier_move(&self, id: &MoveId) -> Result<TierMoveState, StoreError> {
        let place = id.0.clone();
        // A move frees space, so it goes on when the disk is full.
        let begun = self.update_freeing(move |write, shared| begin(write, shared, &place));
        let body = match begun.wait()? {
            Begun::Noted(body) => body,
            Begun::Gone => return Ok(TierMoveState::Gone),
            Begun::NoTier(class) => return Ok(TierMoveState::NoTier { class }),
        };
        // Held until the content is kept, as by a read.
        let section = self.shared().cluster.reading();
        let snapshot = self.snapshot()?;
        let row = MoveRow::read(&snapshot, &id.0)?;
        let found = row.map(|row| {
            let key = ObjectKey::new(row.key)?;
            find(&snapshot, row.bucket, &key, &row.stamp)
        });
        let Some((_, record)) = found.transpose()?.flatten() else {
            // The next look removes the row.
            return Ok(TierMoveState::Gone);
        };
        let reader = StoredReader::open(self, &record.content)?;
        drop(section);
        Ok(TierMoveState::Ready(Box::new(TierMove { id: id.clone(), body, reader, next: 0 })))
    }

    /// The next piece of a body; `None` behind the last. Waits for the disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    pub fn next_tier_piece(&self, of: &mut TierMove) -> Result<Option<TierPiece>, StoreError> {
        if of.next >= of.body.pieces() {
            return Ok(None);
        }
        let (number, start) = (of.next, u64::from(of.next) * of.body.piece_bytes);
        let bytes = of.reader.next(of.body.piece_bytes)?;
        if bytes.len() as u64 != of.body.piece_bytes.min(of.body.bytes - start) {
            return Err(StoreError::corrupt("a body is shorter than its record says"));
        }
        of.next += 1;
        let place = space::piece(&of.body.id, number);
        let known = PieceRow::read(&self.snapshot()?, &place)?;
        let is_uploaded = known.is_some_and(|row| row.blocks == digests(&bytes));
        let name = remote_name(&of.body.id, number);
        Ok(Some(TierPiece { name, bytes, is_uploaded, number }))
    }

    /// Notes that a piece is in the tier. `false` if the row of the move is gone.
    pub fn note_tier_piece(&self, of: &TierMove, piece: &TierPiece) -> Pending<bool> {
        let row = PieceRow { bytes: piece.bytes.len() as u64, blocks: digests(&piece.bytes) };
        let (id, body, number) = (of.id.clone(), of.body.clone(), piece.number);
        self.update_freeing(move |write, _| {
            let known = MoveRow::read(write, &id.0)?;
            if known.is_none_or(|known| known.begun.as_ref() != Some(&body)) {
                return Ok(Committed::new(false));
            }
            let place = space::piece(&body.id, number);
            write.put(&place, &row.encode(&place))?;
            Ok(Committed::new(true))
        })
    }

    /// Ends a move whose pieces are all in the tier and noted: the record names them, and the local
    /// body is deleted. `false` if the version does not exist any more: its pieces are queued for
    /// deletion.
    pub fn finish_tier_move(&self, of: &TierMove) -> Pending<bool> {
        let (id, body) = (of.id.clone(), of.body.clone());
        self.update_freeing(move |write, shared| {
            let Some(row) = MoveRow::read(write, &id.0)? else {
                return Ok(Committed::with_guard(false, WakeReclaimer::if_queued(false, shared)));
            };
            if row.begun.as_ref() != Some(&body) {
                return Ok(Committed::with_guard(false, WakeReclaimer::if_queued(false, shared)));
            }
            write.delete(&id.0)?;
            let key = ObjectKey::new(row.key)?;
            write.claim(Claim::Bucket(row.bucket))?;
            write.claim(Claim::Key(row.bucket, key.as_str()))?;
            let found = find(write, row.bucket, &key, &row.stamp)?;
            let Some((place, record)) = found.filter(|(_, record)| is_of(record, &body)) else {
                delete_later(write, &body)?;
                return Ok(Committed::with_guard(false, WakeReclaimer::if_queued(false, shared)));
            };
            let wake = replace(write, shared, (&place, record), &body, row.class)?;
            Ok(Committed::with_guard(true, wake))
        })
    }
}

/// The result of the first transaction.
enum Begun {
    Noted(RemoteBody),
    Gone,
    NoTier(String),
}

fn begin(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: &[u8],
) -> Result<Committed<Begun>, StoreError> {
    let Some(row) = MoveRow::read(write, place)? else { return Ok(Committed::new(Begun::Gone)) };
    let key = ObjectKey::new(row.key.clone())?;
    write.claim(Claim::Bucket(row.bucket))?;
    write.claim(Claim::Key(row.bucket, key.as_str()))?;
    let found = find(write, row.bucket, &key, &row.stamp)?;
    let Some((_, record)) = found.filter(|(_, record)| may_move(record)) else {
        if let Some(begun) = &row.begun {
            delete_later(write, begun)?;
        }
        write.delete(place)?;
        return Ok(Committed::new(Begun::Gone));
    };
    let Some(tier) = shared.tiers.tier_of(&row.class) else {
        return Ok(Committed::new(Begun::NoTier(row.class)));
    };
    if let Some(begun) = &row.begun {
        if begun.tier == tier && is_of(&record, begun) {
            return Ok(Committed::new(Begun::Noted(begun.clone())));
        }
        // The class stands for another tier now.
        delete_later(write, begun)?;
    }
    let (parts, bytes) = match &record.content {
        Content::Parts { list, count, is_original } => {
            fetch_parts(write, list, *count)?;
            let mut bytes = 0_u64;
            for number in 1..=*count {
                let part = part(write, &record.content, number)?;
                bytes = bytes.saturating_add(part.content.bytes().unwrap_or_default());
            }
            let (upload, count, is_original) = (*list, *count, *is_original);
            (Some(RemoteParts { upload, count, is_original }), bytes)
        }
        content => (None, content.bytes().unwrap_or_default()),
    };
    let id = shared.ids.upload(&shared.config)?.0;
    let body = RemoteBody { id, tier, bytes, piece_bytes: PIECE_BYTES, parts };
    body.check()?;
    let row = MoveRow { begun: Some(body.clone()), ..row };
    write.put(place, &row.encode(place))?;
    Ok(Committed::new(Begun::Noted(body)))
}

/// `true` if `body` was made of the content of the record.
fn is_of(record: &ObjectRecord, body: &RemoteBody) -> bool {
    match (&record.content, &body.parts) {
        (Content::Parts { list, count, .. }, Some(parts)) => {
            (parts.upload, parts.count) == (*list, *count)
        }
        (Content::Extents(_), None) => record.content.bytes() == Some(body.bytes),
        _ => false,
    }
}

/// Fetches the parts of a list together.
fn fetch_parts(from: &impl Read, list: &UploadId, count: u32) -> Result<(), StoreError> {
    let numbers = 1..=u16::try_from(count).unwrap_or(u16::MAX);
    Ok(from.fetch(numbers.map(|number| space::part(list, number)))?)
}

/// Part `number` of the content of a record.
fn part(from: &impl Read, content: &Content, number: u32) -> Result<PartRecord, StoreError> {
    let missing = || StoreError::corrupt(format!("part {number} is missing"));
    let Content::Parts { list, .. } = content else { return Err(missing()) };
    let number = u16::try_from(number).map_err(|_| missing())?;
    PartRecord::read(from, list, number)?.ok_or_else(missing)
}

/// Queues the pieces of a body for deletion, uploaded or not.
fn delete_later(write: &mut Transaction<'_>, body: &RemoteBody) -> Result<(), StoreError> {
    let place = space::remote_deletion(&body.id);
    let deletion = RemoteDeletion { tier: body.tier.clone(), pieces: body.pieces() };
    Ok(write.put(&place, &deletion.encode(&place))?)
}

/// Replaces the body of a version by the one in a tier.
fn replace(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (place, mut record): (&[u8], ObjectRecord),
    body: &RemoteBody,
    class: String,
) -> Result<WakeReclaimer, StoreError> {
    write.fetch((0..body.pieces()).map(|number| space::piece(&body.id, number)))?;
    for number in 0..body.pieces() {
        if write.get(&space::piece(&body.id, number))?.is_none() {
            let what = "a body would move without the digests of its pieces".to_owned();
            return Err(StoreError::Internal { what });
        }
    }
    if let Some(parts) = &body.parts {
        if let Content::Parts { list, count, .. } = &record.content {
            fetch_parts(write, list, *count)?;
        }
        let mut offset = 0;
        for number in 1..=parts.count {
            let PartRecord { facts, extensions, content } = part(write, &record.content, number)?;
            let bytes = content.bytes().unwrap_or_default();
            let extensions = extensions.with_remote_offset(Some(offset));
            let moved = PartRecord { facts, extensions, content: Content::default() };
            moved.write(write, &body.part_list(), u16::try_from(number).unwrap_or(u16::MAX))?;
            offset += bytes;
        }
        if offset != body.bytes {
            return Err(StoreError::corrupt("the parts have other sizes than were moved"));
        }
    }
    let local = std::mem::replace(&mut record.content, Content::Remote(Box::new(body.clone())));
    record.metadata.storage_class = Some(class);
    record.write(write, place)?;
    let is_queued = reference::release(&local, write)?;
    Ok(WakeReclaimer::if_queued(is_queued, shared))
}
