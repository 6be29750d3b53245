//! Releasing the content of removed records.

use std::sync::Arc;

use liteio_kv::Write;

use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::reference;
use crate::process::WakeReclaimer;
use crate::store::Shared;

/// Drops one reference to each content, and queues for deletion what has none left. The guard must
/// live until the commit.
pub(crate) fn release<'a>(
    write: &mut impl Write,
    shared: &Arc<Shared>,
    contents: impl IntoIterator<Item = &'a Content>,
) -> Result<WakeReclaimer, StoreError> {
    let mut is_queued = false;
    for content in contents {
        is_queued |= reference::release(content, write)?;
    }
    Ok(WakeReclaimer::if_queued(is_queued, shared))
}
