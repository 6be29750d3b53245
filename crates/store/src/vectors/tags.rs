//! Tags of vector buckets and indexes.

use std::collections::BTreeMap;

use liteio_kv::Read;

use super::bucket::VectorBucket;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::meta::vector::TagsRecord;
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// A resource with tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tagged {
    /// A vector bucket.
    Bucket(VectorBucket),
    /// An index.
    Index(Index),
}

impl Tagged {
    fn id(&self, from: &impl Read) -> Result<u32, StoreError> {
        match self {
            Tagged::Bucket(bucket) => Ok(bucket.require(from)?.id.0),
            Tagged::Index(index) => Ok(index.require(from)?.id.0),
        }
    }
}

impl Store {
    /// The tags of a vector bucket or index.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`], [`StoreError::NoSuchIndex`].
    pub fn vector_tags(&self, tagged: &Tagged) -> Result<BTreeMap<String, String>, StoreError> {
        let snapshot = self.snapshot()?;
        Ok(TagsRecord::read(&snapshot, tagged.id(&snapshot)?)?.0)
    }

    /// Adds tags, or changes existing ones.
    ///
    /// Fails as [`Store::vector_tags`], and with [`StoreError::InvalidField`] for more than
    /// [`RESOURCE_TAGS_MAX`](crate::limits::RESOURCE_TAGS_MAX).
    pub fn add_vector_tags(&self, tagged: &Tagged, tags: Vec<(String, String)>) -> Pending<()> {
        let tagged = tagged.clone();
        self.update(move |write, _| {
            let id = tagged.id(write)?;
            TagsRecord::add(write, id, &tags)?;
            Ok(Committed::new(()))
        })
    }

    /// Removes tags; missing ones are fine.
    ///
    /// Fails as [`Store::vector_tags`].
    pub fn remove_vector_tags(&self, tagged: &Tagged, keys: Vec<String>) -> Pending<()> {
        let tagged = tagged.clone();
        self.update_freeing(move |write, _| {
            let id = tagged.id(write)?;
            let mut record = TagsRecord::read(write, id)?;
            keys.iter().for_each(|key| drop(record.0.remove(key)));
            record.write(write, id)?;
            Ok(Committed::new(()))
        })
    }
}
