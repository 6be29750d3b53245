//! Content that open readers need, whatever happens to its records.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::Shared;
use crate::meta::content::ContentId;

/// The content that is being read.
///
/// A reader that opens one blob holds its file, which needs no pin. Lists of parts, whose blobs are
/// opened one after the other, are pinned.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// Held for reading from the look at a record until the content it names is pinned or open.
    sections: RwLock<()>,
    pinned: Mutex<HashMap<ContentId, usize>>,
}

impl Pins {
    /// To be held from before the snapshot until the content is pinned or open.
    pub(crate) fn section(&self) -> RwLockReadGuard<'_, ()> {
        self.sections.read()
    }

    /// Pins content that a record of a snapshot taken within a section names.
    pub(crate) fn pin(shared: &Arc<Shared>, content: Vec<ContentId>) -> Pin {
        let mut pinned = shared.pins.pinned.lock();
        for id in &content {
            *pinned.entry(*id).or_default() += 1;
        }
        drop(pinned);
        Pin { shared: Arc::clone(shared), content }
    }

    /// Waits until every reader of an older snapshot has pinned the content it needs.
    pub(crate) fn wait_for_sections(&self) {
        drop(self.sections.write());
    }

    pub(crate) fn contains(&self, id: &ContentId) -> bool {
        self.pinned.lock().contains_key(id)
    }
}

/// Keeps content from being deleted, until dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    shared: Arc<Shared>,
    content: Vec<ContentId>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pinned = self.shared.pins.pinned.lock();
        for id in &self.content {
            if let Some(count) = pinned.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    pinned.remove(id);
                }
            }
        }
        drop(pinned);
        // It may have been waited for.
        self.shared.work.wake_if_waiting();
    }
}
