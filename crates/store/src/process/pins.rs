//! Reference counts of content that open readers need, even after its records are gone.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::Work;
use crate::meta::content::ContentId;

/// The content that is being read.
///
/// A reader of one blob holds its open file, which needs no pin. Part lists, whose blobs are opened
/// one after the other, are pinned.
///
/// ```text
///  reader:     section { snapshot ─► pin or open }          read …          unpin
///  reclaimer:                   wait_for_sections ─► not pinned? delete │ pinned? later
/// ```
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// Held shared from before a snapshot until the content that its record references is pinned or
    /// open.
    sections: RwLock<()>,
    /// Number of pins by content; absent at 0.
    pinned: Mutex<HashMap<ContentId, usize>>,
}

impl Pins {
    /// The guard to hold from before the snapshot until the content is pinned or open.
    pub(super) fn section(&self) -> RwLockReadGuard<'_, ()> {
        self.sections.read()
    }

    /// Pins the content of a record that was read from a snapshot taken within a section.
    pub(super) fn pin(pins: &Arc<Self>, work: &Arc<Work>, content: Vec<ContentId>) -> Pin {
        let mut pinned = pins.pinned.lock();
        for id in &content {
            *pinned.entry(*id).or_default() += 1;
        }
        drop(pinned);
        Pin { pins: Arc::clone(pins), work: Arc::clone(work), content }
    }

    /// Waits until every reader with an older snapshot has pinned its content (a grace period, as
    /// in read-copy-update). Afterwards unpinned content has no reader.
    pub(super) fn wait_for_sections(&self) {
        drop(self.sections.write());
    }

    pub(super) fn contains(&self, id: &ContentId) -> bool {
        self.pinned.lock().contains_key(id)
    }
}

/// Keeps content from deletion until dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    pins: Arc<Pins>,
    work: Arc<Work>,
    content: Vec<ContentId>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pinned = self.pins.pinned.lock();
        for id in &self.content {
            if let Some(count) = pinned.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    pinned.remove(id);
                }
            }
        }
        drop(pinned);
        // Outside of the lock: the reclaimer may wait for this pin.
        self.work.wake_if_waiting();
    }
}
