//! Releasing the content of records that are gone.

use std::sync::Arc;

use crate::error::StoreError;
use crate::kv::Write;
use crate::meta::content::Content;
use crate::meta::reference;
use crate::store::Shared;

/// Releases content whose record is gone. The guard must live until the commit.
pub(crate) fn release<'a>(
    write: &mut impl Write,
    shared: &Arc<Shared>,
    contents: impl IntoIterator<Item = &'a Content>,
) -> Result<WakeReclaimer, StoreError> {
    let mut is_queued = false;
    for content in contents {
        is_queued |= reference::release(content, write)?;
    }
    Ok(WakeReclaimer { shared: is_queued.then(|| Arc::clone(shared)) })
}

/// Wakes the reclaimer when dropped, if there is something in its queue.
#[derive(Debug)]
pub(crate) struct WakeReclaimer {
    shared: Option<Arc<Shared>>,
}

impl WakeReclaimer {
    /// For a transaction that has put something into the queue.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Some(Arc::clone(shared)) }
    }
}

impl Drop for WakeReclaimer {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.work.wake();
        }
    }
}
