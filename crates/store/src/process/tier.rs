//! Tiers: remote services that hold bodies of versions.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use super::Shared;
use crate::error::StoreError;

/// Bodies in tiers that are read at a time. Each may hold a thread and a window of its bytes.
const READERS_MAX: usize = 64;

/// The tiers of a process. Implemented above the store, which knows no network.
pub trait TierBodies: fmt::Debug + Send + Sync {
    /// The tier that a storage class stands for; `None` for a class without one.
    fn tier_of(&self, class: &str) -> Option<String>;

    /// The bytes `range` of the remote object `name` of a tier. It may wait for the network.
    ///
    /// # Errors
    /// [`TierError`].
    fn read(&self, tier: &str, name: &str, range: Range<u64>) -> Result<Bytes, TierError>;
}

/// The failure of a read in a tier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TierError {
    /// The tier does not answer, or does not accept the request: the same read may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// The tier answers, and does not have the object.
    #[error("{0}")]
    Missing(String),
}

/// The tiers, and the bodies in them that are being read.
#[derive(Debug, Default)]
pub(crate) struct TierState {
    bodies: RwLock<Option<Arc<dyn TierBodies>>>,
    /// Number of readers by the id of the body; absent at 0.
    readers: Mutex<HashMap<[u8; 16], usize>>,
}

impl TierState {
    /// Sets the tiers, in place of others.
    pub(crate) fn set(&self, bodies: Arc<dyn TierBodies>) {
        *self.bodies.write() = Some(bodies);
    }

    /// The tier that a storage class stands for.
    pub(crate) fn tier_of(&self, class: &str) -> Option<String> {
        self.bodies.read().as_ref()?.tier_of(class)
    }

    /// Reads from a tier.
    pub(crate) fn read(
        &self,
        tier: &str,
        name: &str,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        let unavailable =
            |reason: String| StoreError::TierUnavailable { tier: tier.to_owned(), reason };
        let bodies = self.bodies.read().clone();
        let bodies = bodies.ok_or_else(|| unavailable("it is not configured".to_owned()))?;
        bodies.read(tier, name, range).map_err(|error| match error {
            TierError::Unavailable(reason) => unavailable(reason),
            TierError::Missing(reason) => {
                StoreError::corrupt(format!("the tier {tier} has lost {name}: {reason}"))
            }
        })
    }

    /// `true` while the body with this id is read.
    pub(super) fn is_read(&self, id: &[u8; 16]) -> bool {
        self.readers.lock().contains_key(id)
    }
}

/// Keeps the remote objects of a body from deletion until dropped.
#[derive(Debug)]
pub(crate) struct TierReader {
    shared: Arc<Shared>,
    id: [u8; 16],
}

impl TierReader {
    /// The reader of a body. The caller is in a section of
    /// [`Cluster::reading`](super::Cluster::reading).
    ///
    /// # Errors
    /// [`StoreError::TierUnavailable`] if too many bodies are being read.
    pub(crate) fn new(shared: &Arc<Shared>, id: [u8; 16], tier: &str) -> Result<Self, StoreError> {
        let mut readers = shared.tiers.readers.lock();
        if readers.values().sum::<usize>() >= READERS_MAX {
            let reason = format!("{READERS_MAX} objects are being read from tiers already");
            return Err(StoreError::TierUnavailable { tier: tier.to_owned(), reason });
        }
        *readers.entry(id).or_default() += 1;
        drop(readers);
        Ok(Self { shared: Arc::clone(shared), id })
    }
}

impl Drop for TierReader {
    fn drop(&mut self) {
        let mut readers = self.shared.tiers.readers.lock();
        if let Some(count) = readers.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.id);
            }
        }
    }
}
