//! Writes to the log of an index, where several servers share a database.

use liteio_kv::{Read as _, Snapshot, Write as _};

use crate::error::StoreError;
use crate::indexes::Index;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::vector_log::{Change, LogHead};
use crate::pending::Committed;
use crate::store::{MirrorStore, Store};

impl Store {
    /// Appends changes of one request to the log of an index, in one commit.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`]; the errors of an update.
    pub(super) fn append_to_log(
        &self,
        to: &MirrorStore,
        index: &Index,
        changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        let mut commit = [0; 16];
        self.shared().config.random.fill(&mut commit)?;
        let own = index.clone();
        let appended = self.update(move |write, _| {
            // With other numbers in between it runs again.
            write.claim(Claim::Index(own.id))?;
            write.fetch(rows_of(&own))?;
            own.require(write)?;
            let mut head = LogHead::read(write, own.id)?;
            head.position.commit = commit;
            for change in &changes {
                head.position.number += 1;
                let place = space::vector_change(own.id, head.position.number);
                write.put(&place, &change.encode(&place, &commit))?;
            }
            head.write(write, own.id)?;
            Ok(Committed::new(head))
        });
        let head = appended.wait()?;
        self.note_head(to, index, &head);
        Ok(())
    }

    /// The head of the log of an index, by one fetch.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`]; the errors of a read.
    pub(super) fn head_of_log(&self, index: &Index) -> Result<LogHead, StoreError> {
        self.log_at_once(index).map(|(_, head)| head)
    }

    /// The head of the log of an index, in a snapshot of one moment, for reads of the log behind it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`]; the errors of a read.
    pub(super) fn log_at_once(&self, index: &Index) -> Result<(Snapshot, LogHead), StoreError> {
        let snapshot = self.snapshot()?;
        snapshot.fetch(rows_of(index))?;
        index.require(&snapshot)?;
        let head = LogHead::read(&snapshot, index.id)?;
        Ok((snapshot, head))
    }

    /// Calls the thread that writes snapshots if one of the index is due.
    pub(super) fn note_head(&self, to: &MirrorStore, index: &Index, head: &LogHead) {
        if to.mirrors.note_head(index, head)
            && let Some(thread) = &*to.thread.lock()
        {
            thread.calls().ask();
        }
    }
}

/// The rows of an index that each operation on its log reads: its record, and the head.
fn rows_of(index: &Index) -> [Vec<u8>; 2] {
    [space::index(index.bucket_id, index.name.as_str()), space::vector_log(index.id)]
}
