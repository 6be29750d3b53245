//! Keys of bodies in tiers: moves, deletions, pieces, and restores of archived versions.

use super::{PIECE, REMOTE_DELETION, RESTORE, TIER_MOVE, of_bucket};
use crate::name::BucketId;

/// The prefix of all keys of moves into tiers.
pub(crate) const ALL_TIER_MOVES: &[u8] = &[TIER_MOVE];
/// The prefix of all keys of deletions in tiers.
pub(crate) const ALL_REMOTE_DELETIONS: &[u8] = &[REMOTE_DELETION];

/// The prefix of all keys of rows of restores.
pub(crate) const ALL_RESTORES: &[u8] = &[RESTORE];

/// A version that is to move into a tier.
pub(crate) fn tier_move(bucket: BucketId, stamp: &[u8; 16]) -> Vec<u8> {
    let mut bytes = of_bucket(TIER_MOVE, bucket, stamp.len());
    bytes.extend_from_slice(stamp);
    bytes
}

/// `true` for a key made by [`tier_move`].
pub(crate) fn is_tier_move(bytes: &[u8]) -> bool {
    bytes.first() == Some(&TIER_MOVE)
}

/// The remote objects of a body to delete.
pub(crate) fn remote_deletion(id: &[u8; 16]) -> Vec<u8> {
    [&[REMOTE_DELETION], &id[..]].concat()
}

/// The id in a key made by [`remote_deletion`].
pub(crate) fn split_remote_deletion(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[REMOTE_DELETION])?.try_into().ok()
}

/// The digests of a piece of a body in a tier.
pub(crate) fn piece(id: &[u8; 16], number: u32) -> Vec<u8> {
    [&[PIECE], &id[..], &number.to_be_bytes()].concat()
}

/// The end of a restore that a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoreStep {
    /// The version becomes readable.
    Completes = 0,
    /// The restored copy expires.
    Expires = 1,
}

/// The prefix of all rows of a step.
pub(crate) fn restores_of(step: RestoreStep) -> [u8; 2] {
    [RESTORE, step as u8]
}

/// The row of a restore with a step at `at_ms`.
pub(crate) fn restore(
    step: RestoreStep,
    at_ms: u64,
    bucket: BucketId,
    stamp: &[u8; 16],
) -> Vec<u8> {
    [&restores_of(step)[..], &at_ms.to_be_bytes(), &bucket.0.to_be_bytes(), stamp].concat()
}

/// Step, time, bucket and stamp in a key made by [`restore`].
pub(crate) fn split_restore(bytes: &[u8]) -> Option<(RestoreStep, u64, BucketId, [u8; 16])> {
    let (step, rest) = bytes.strip_prefix(&[RESTORE])?.split_first()?;
    let step = match step {
        0 => RestoreStep::Completes,
        1 => RestoreStep::Expires,
        _ => return None,
    };
    let (at_ms, rest) = rest.split_first_chunk()?;
    let (bucket, stamp) = rest.split_first_chunk()?;
    let bucket = BucketId(u32::from_be_bytes(*bucket));
    Some((step, u64::from_be_bytes(*at_ms), bucket, stamp.try_into().ok()?))
}
