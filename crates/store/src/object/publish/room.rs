//! The order of the versions of a key: room for a newer one, and the next one after a removal.

use liteio_kv::Transaction;

use super::Slot;
use crate::error::StoreError;
use crate::meta::object::ObjectRecord;
use crate::name::VersionId;
use crate::object::history;

impl Slot<'_> {
    /// Makes room for a newer version: discards the version that it replaces, and archives the
    /// current one otherwise. `is_null` tells whether the newer version is `null`.
    ///
    /// ```text
    /// newer version   current       history has `null`   effect
    /// an id           any           any                  current is archived
    /// null            null          no                   current is discarded, replaced in place
    /// null            an id, none   yes                  current is archived, old `null` discarded
    /// null            an id, none   no                   current is archived
    /// ```
    pub(in crate::object) fn make_room(
        &mut self,
        write: &mut Transaction<'_>,
        is_null: bool,
    ) -> Result<(), StoreError> {
        let current = self.current.take();
        if let Some(current) = &current {
            // If it is archived, `history::add` counts it again, at its new place.
            self.usage.removed_current(current);
        }
        match current {
            // The current object is the version `null` (a key has at most one), and the new record
            // overwrites it.
            Some(current) if is_null && current.is_null => {
                self.check_removal(&current)?;
                self.discard(current)?;
                return Ok(());
            }
            Some(current) => {
                history::add(write, self.state.id, self.key, &current, &mut self.usage)?;
            }
            None => {}
        }
        // The only `null` of the key may be in the history, from before versioning or while it was
        // suspended.
        if is_null
            && self.state.has_history()
            && let Some(found) = self.find_in_history(write, &VersionId::Null)?
        {
            self.check_removal(&found.record)?;
            let (id, usage) = (self.state.id, &mut self.usage);
            history::remove(write, id, self.key, &found.record, usage)?;
            self.discard(found.record)?;
        }
        Ok(())
    }

    /// Makes the newest version of the history current, unless it is a delete marker. Keeps the
    /// invariant that the current object is newer than the history.
    pub(super) fn promote(&mut self, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        let newest = history::newest(write, self.state.id, self.key)?;
        let Some((place, newest)) = newest else { return Ok(()) };
        if newest.is_delete_marker {
            // The marker keeps hiding the older versions: the key has no current object.
            return Ok(());
        }
        let record = ObjectRecord::read(write, &place)?;
        let record = record.ok_or_else(|| StoreError::corrupt("a version has vanished"))?;
        // The record moves unchanged: it keeps its stamp and its version id.
        history::remove(write, self.state.id, self.key, &record, &mut self.usage)?;
        record.write(write, &self.place)?;
        self.usage.added_current(&record);
        Ok(())
    }
}
