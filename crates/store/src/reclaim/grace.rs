//! The time for which content stays in the deletion queue, beyond its readers.
//!
//! An asynchronous standby may not have the transaction that removed the last record of some content, and a
//! restored database has the records of its time. Where that may happen, content is kept for so long that its records
//! may come back. The time counts from the first look of a reclaimer at an entry, which it notes in the
//! entry: it is the same for whichever server works the queue off.

use liteio_kv::{Read as _, Write as _};

use super::Queued;
use crate::error::StoreError;
use crate::meta::content::ContentId;
use crate::meta::space;
use crate::pending::Committed;
use crate::store::Store;

impl Store {
    /// The entries that have been in the queue for the grace. The others are told when it has begun.
    pub(super) fn out_of_grace(&self, batch: Vec<Queued>) -> Result<Vec<ContentId>, StoreError> {
        let grace = self.shared().cluster.deletion_grace();
        if grace.is_zero() {
            return Ok(batch.into_iter().map(|(id, _)| id).collect());
        }
        let now_ms = self.shared().config.clock.now_ms();
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let (mut over, mut new) = (Vec::new(), Vec::new());
        for (id, since_ms) in batch {
            match since_ms {
                Some(since_ms) if since_ms.saturating_add(grace_ms) < now_ms => over.push(id),
                Some(_) => {}
                None => new.push(id),
            }
        }
        self.note_since(new, now_ms)?;
        Ok(over)
    }

    /// Notes of content that is in the queue since when it is there.
    fn note_since(&self, ids: Vec<ContentId>, now_ms: u64) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let noted = self.update_freeing(move |write, _| {
            let entries: Vec<_> = ids.iter().map(space::deletion).collect();
            write.fetch(&entries)?;
            for entry in &entries {
                // A failover may have lost the entry since it was read, and with it the end of the last record: the
                // content is in use.
                if write.get(entry)?.is_some() {
                    write.put(entry, &now_ms.to_be_bytes())?;
                }
            }
            Ok(Committed::new(()))
        });
        noted.wait()
    }
}
