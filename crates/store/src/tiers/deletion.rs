//! Deletions of remote objects.

use std::ops::Bound;

use liteio_kv::{Read as _, Write as _};

use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::remote::RemoteDeletion;
use crate::meta::space;
use crate::object::remote::remote_name;
use crate::pending::Committed;
use crate::store::Store;

/// Rows deleted per transaction.
const ROWS_AT_ONCE: u32 = 1000;

/// A body whose remote objects are to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierDeletion {
    /// Name of the tier.
    pub tier: String,
    id: [u8; 16],
    pieces: u32,
}

impl TierDeletion {
    /// The names of the remote objects, behind the prefix of the tier. Some may not exist.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        let (id, pieces) = (self.id, self.pieces);
        (0..pieces).map(move |piece| remote_name(&id, piece))
    }
}

impl Store {
    /// The first `max` bodies to delete after `after`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn tier_deletions(
        &self,
        after: Option<&TierDeletion>,
        max: usize,
    ) -> Result<Vec<TierDeletion>, StoreError> {
        let end = successor(space::ALL_REMOTE_DELETIONS).unwrap_or_default();
        let after = after.map(|deletion| space::remote_deletion(&deletion.id));
        let start = match &after {
            Some(place) => Bound::Excluded(place.as_slice()),
            None => Bound::Included(space::ALL_REMOTE_DELETIONS),
        };
        let snapshot = self.snapshot()?;
        let mut cursor = snapshot.cursor(start, Bound::Excluded(&end))?;
        let mut found = Vec::new();
        while found.len() < max
            && let Some((place, value)) = cursor.next()?
        {
            let id = space::split_remote_deletion(place);
            let id = id.ok_or_else(|| StoreError::corrupt("the key of a deletion in a tier"))?;
            let RemoteDeletion { tier, pieces } = RemoteDeletion::decode(place, value)?;
            found.push(TierDeletion { tier, id, pieces });
        }
        Ok(found)
    }

    /// `true` while the body is still read. Ask before its remote objects are deleted.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if another server deletes them.
    pub fn is_tier_body_read(&self, deletion: &TierDeletion) -> Result<bool, StoreError> {
        self.check_term()?;
        let at = self.kv()?.primary();
        Ok(!self.shared().cluster.may_delete_in_tier(&deletion.id, at)?)
    }

    /// Forgets a body whose remote objects are gone. Waits for the disk.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn finish_tier_deletion(&self, deletion: &TierDeletion) -> Result<(), StoreError> {
        let mut first = 0;
        loop {
            let (id, pieces) = (deletion.id, deletion.pieces);
            let end = pieces.min(first + ROWS_AT_ONCE);
            let deleted = self.update_freeing(move |write, _| {
                for number in first..end {
                    write.delete(&space::piece(&id, number))?;
                }
                if end == pieces {
                    write.delete(&space::remote_deletion(&id))?;
                }
                Ok(Committed::new(()))
            });
            deleted.wait()?;
            if end == pieces {
                return Ok(());
            }
            first = end;
        }
    }
}
