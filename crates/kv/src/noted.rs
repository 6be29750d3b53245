//! The attachments that the updates of a group note.

use liteio_disk::Durability;

use crate::{Attachments, KvError};

/// The attachments of a group, to be written before its record is appended.
#[derive(Debug, Default)]
pub(super) struct Noted {
    names: Vec<Box<[u8]>>,
    /// Number of those that must be durable before the record.
    unsynced: usize,
}

/// A position in the attachments of a group, to roll back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotedFill {
    names: usize,
    unsynced: usize,
}

impl Noted {
    /// Adds an attachment. `false` if it is durable before the record, which then need not note it:
    /// at [`Durability::Fsync`] without contents.
    pub(super) fn add(&mut self, name: &[u8], contents: &[u8], durability: Durability) -> bool {
        let is_synced = durability == Durability::Fsync && contents.is_empty();
        self.names.push(name.into());
        self.unsynced += usize::from(is_synced);
        !is_synced
    }

    /// Writes them, and syncs them if one must be durable.
    pub(super) fn write(&self, attachments: &dyn Attachments) -> Result<(), KvError> {
        if self.names.is_empty() {
            return Ok(());
        }
        let names: Vec<&[u8]> = self.names.iter().map(AsRef::as_ref).collect();
        Ok(attachments.write_with_record(&names, self.unsynced > 0)?)
    }

    pub(super) fn fill(&self) -> NotedFill {
        NotedFill { names: self.names.len(), unsynced: self.unsynced }
    }

    pub(super) fn truncate(&mut self, fill: NotedFill) {
        self.names.truncate(fill.names);
        self.unsynced = fill.unsynced;
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.unsynced = 0;
    }
}
