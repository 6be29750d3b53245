//! The settings of a bucket, as one value.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::Read;
use parking_lot::Mutex;

use super::document::{self, DocumentKind};
use super::key::successor;
use super::lifecycle::Lifecycle;
use super::lock::DefaultRetention;
use super::notification::Notifications;
use super::quota::Quota;
use super::replication::Replication;
use super::space;
use crate::encryption::DefaultEncryption;
use crate::error::StoreError;
use crate::name::BucketId;

/// Settings of a bucket: all its documents, from one snapshot. Settings that the store acts on are
/// decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Default retention of new versions, if versions may be locked.
    pub default_retention: Option<DefaultRetention>,
    /// Lifecycle rules.
    pub lifecycle: Option<Arc<Lifecycle>>,
    /// Encryption of new objects that name none.
    pub default_encryption: Option<DefaultEncryption>,
    /// `true` if new objects with keys of customers (SSE-C) are refused; `None` if nobody said so
    /// or said that they are not.
    pub blocks_customer_keys: Option<bool>,
    /// Event notifications.
    pub notifications: Option<Arc<Notifications>>,
    /// Replication rules.
    pub replication: Option<Arc<Replication>>,
    /// The quota.
    pub quota: Option<Quota>,
    documents: BTreeMap<DocumentKind, Arc<[u8]>>,
    parsed: Parsed,
    bytes: usize,
}

/// Cache of documents as their readers have parsed them. It follows from the documents.
#[derive(Default)]
struct Parsed(Mutex<BTreeMap<DocumentKind, Arc<dyn Any + Send + Sync>>>);

impl fmt::Debug for Parsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.lock().keys()).finish()
    }
}

impl Clone for Parsed {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl PartialEq for Parsed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Parsed {}

impl Settings {
    /// The document of a kind, if the bucket has one.
    #[must_use]
    pub fn document(&self, kind: DocumentKind) -> Option<&[u8]> {
        self.documents.get(&kind).map(AsRef::as_ref)
    }

    /// The document of a kind as `parse` reads it. It is parsed once for these settings.
    ///
    /// # Errors
    /// The errors of `parse`.
    pub fn parsed<T, E>(
        &self,
        kind: DocumentKind,
        parse: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<Option<Arc<T>>, E>
    where
        T: Send + Sync + 'static,
    {
        let Some(document) = self.document(kind) else { return Ok(None) };
        let known = self.parsed.0.lock().get(&kind).cloned();
        if let Some(Ok(known)) = known.map(Arc::downcast) {
            return Ok(Some(known));
        }
        let parsed = Arc::new(parse(document)?);
        self.parsed.0.lock().insert(kind, Arc::clone(&parsed) as _);
        Ok(Some(parsed))
    }

    /// Reads all documents of a bucket.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and [`StoreError::FormatTooNew`] for a document of a kind that this
    /// version does not know: without it the bucket would do what it must not.
    pub(crate) fn read(from: &impl Read, bucket: BucketId) -> Result<Self, StoreError> {
        let prefix = space::documents(bucket);
        let upper = successor(&prefix);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = from.cursor(Bound::Included(&prefix), upper)?;
        let mut settings = Self::default();
        while let Some((place, value)) = cursor.next()? {
            let (_, number) = space::split_document(place)
                .ok_or_else(|| StoreError::corrupt("the key of a document"))?;
            settings.take(number, document::decode(place, value)?)?;
        }
        Ok(settings)
    }

    fn take(&mut self, number: u8, document: &[u8]) -> Result<(), StoreError> {
        self.bytes += document.len();
        match (number, DocumentKind::of_number(number)) {
            (document::OBJECT_LOCK, _) => {
                self.default_retention = Some(DefaultRetention::decode(document)?);
            }
            (document::LIFECYCLE, _) => {
                self.lifecycle = Some(Arc::new(Lifecycle::decode(document)?));
            }
            (document::NOTIFICATION, _) => {
                self.notifications = Some(Arc::new(document::decode_setting(document)?));
            }
            (document::REPLICATION, _) => {
                self.replication = Some(Arc::new(document::decode_setting(document)?));
            }
            (document::QUOTA, _) => {
                self.quota = Some(document::decode_setting(document)?);
            }
            (document::ENCRYPTION, _) => {
                self.default_encryption = Some(document::decode_setting(document)?);
            }
            (document::BLOCKED_ENCRYPTION, _) => {
                self.blocks_customer_keys = Some(document::decode_setting(document)?);
            }
            (_, Some(kind)) => {
                self.documents.insert(kind, document.into());
            }
            (_, None) => return Err(StoreError::FormatTooNew { found: number.into(), known: 27 }),
        }
        Ok(())
    }

    /// Size of all documents, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
