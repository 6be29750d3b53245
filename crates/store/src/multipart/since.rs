//! A conditional Complete of an upload whose key was written or deleted since its creation.
//!
//! AWS answers 409 `ConditionalRequestConflict`, even if the condition holds: another ETag than the
//! client knew at the start, or the same bytes written again, is a conflict, too. (Recorded on AWS in
//! LocalStack's `test_multipart_if_match_with_put_identical` and
//! `test_multipart_if_none_match_with_delete`.)

use liteio_kv::Read;

use crate::error::StoreError;
use crate::meta::object::KeyState;
use crate::object::history;
use crate::object::publish::Slot;
use crate::precondition::WriteConditions;

/// The state of the key, for the record of a new upload.
pub(super) fn key_state(slot: &Slot<'_>, from: &impl Read) -> Result<KeyState, StoreError> {
    let newest = match slot.current() {
        Some(current) => Some(current.stamp),
        None if !slot.state().has_history() => None,
        None => history::newest(from, slot.state().id, slot.key())?.map(|(_, it)| it.stamp),
    };
    Ok(KeyState { newest, is_removed: false })
}

/// Decides `conditions`, then whether the key is unchanged since `created`, the state at the
/// creation of the upload. Uploads of older programs have none.
///
/// # Errors
/// The errors of [`Slot::check`]; [`StoreError::KeyChanged`].
pub(super) fn check(
    slot: &Slot<'_>,
    from: &impl Read,
    conditions: &WriteConditions,
    created: Option<KeyState>,
) -> Result<(), StoreError> {
    if conditions.is_empty() {
        return Ok(());
    }
    slot.check(conditions)?;
    match created {
        Some(created) if created != key_state(slot, from)? => {
            Err(StoreError::KeyChanged { condition: conditions.name(), key: slot.key().clone() })
        }
        _ => Ok(()),
    }
}
