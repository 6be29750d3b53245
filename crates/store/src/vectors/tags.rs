//! Tags of vector buckets and indexes.

use std::collections::BTreeMap;

use crate::error::StoreError;
use crate::indexes::name::VectorName;
use crate::kv::{Read, Write};
use crate::limits::RESOURCE_TAGS_MAX;
use crate::meta::vector::{IndexRecord, TagsRecord, VectorBucketRecord};
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// What has tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// A vector bucket.
    pub bucket: VectorName,
    /// One of its indexes, if not the vector bucket itself.
    pub index: Option<VectorName>,
}

impl Tagged {
    fn id(&self, from: &impl Read) -> Result<u32, StoreError> {
        let bucket = VectorBucketRecord::require(from, self.bucket.as_str())?;
        let Some(index) = &self.index else { return Ok(bucket.id.0) };
        let record = IndexRecord::read(from, bucket.id, index.as_str())?;
        let record = record.ok_or_else(|| StoreError::NoSuchIndex {
            bucket: self.bucket.to_string(),
            index: index.to_string(),
        })?;
        Ok(record.id.0)
    }
}

/// Adds tags, or changes them.
pub(super) fn add(
    write: &mut impl Write,
    resource: u32,
    tags: &[(String, String)],
) -> Result<(), StoreError> {
    if tags.is_empty() {
        return Ok(());
    }
    let mut record = TagsRecord::read(write, resource)?;
    record.0.extend(tags.iter().cloned());
    if record.0.len() > RESOURCE_TAGS_MAX {
        let message = format!("a resource has at most {RESOURCE_TAGS_MAX} tags");
        return Err(StoreError::field("tags", message));
    }
    record.write(write, resource)
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

    /// Adds tags, or changes those that are there.
    ///
    /// Fails as [`Store::vector_tags`], and with [`StoreError::InvalidField`] for more than
    /// [`RESOURCE_TAGS_MAX`].
    pub fn add_vector_tags(&self, tagged: Tagged, tags: Vec<(String, String)>) -> Pending<()> {
        self.update(move |write, _| {
            let id = tagged.id(write)?;
            add(write, id, &tags)?;
            Ok(Committed::new(()))
        })
    }

    /// Removes tags; those that are not there are fine.
    ///
    /// Fails as [`Store::vector_tags`].
    pub fn remove_vector_tags(&self, tagged: Tagged, keys: Vec<String>) -> Pending<()> {
        self.update_freeing(move |write, _| {
            let id = tagged.id(write)?;
            let mut record = TagsRecord::read(write, id)?;
            keys.iter().for_each(|key| drop(record.0.remove(key)));
            record.write(write, id)?;
            Ok(Committed::new(()))
        })
    }
}
