//! Indexes: creation, listing, settings, deletion.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use liteio_kv::{Read, Snapshot, Write};

use super::bucket::VectorBucket;
use super::check;
use crate::error::StoreError;
use crate::indexes::{Index, VectorName};
use crate::limits::{CONFIGURED_KEYS_MAX, DIMENSION_MAX, LIST_INDEXES_MAX};
use crate::meta::bucket::StoreRecord;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::space;
use crate::meta::vector::{
    DistanceMetric, Encryption, IndexMode, IndexRecord, TagsRecord, TextSearch, VectorBucketRecord,
};
use crate::name::IndexId;
use crate::pending::{Committed, Pending};
use crate::process::WakeReclaimer;
use crate::store::Store;

/// Options of a new index.
#[derive(Clone, Debug)]
pub struct CreateIndex {
    /// Number of elements of a vector.
    pub dimension: u32,
    /// Distance by which vectors are compared.
    pub metric: DistanceMetric,
    /// Metadata keys that filters may not use.
    pub non_filterable: Vec<String>,
    /// Metadata keys with text search.
    pub text_search: Vec<TextSearch>,
    /// Encryption settings; `None` for the settings of the vector bucket.
    pub encryption: Option<Encryption>,
    /// Tags of the index.
    pub tags: Vec<(String, String)>,
}

/// Selection of the indexes to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListIndexes {
    /// Prefix of the names.
    pub prefix: String,
    /// Names after this one, exclusive.
    pub after: Option<String>,
    /// Limit of indexes on the page, from 1 to [`LIST_INDEXES_MAX`].
    pub max: usize,
}

/// Indexes in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPage {
    /// The indexes.
    pub indexes: Vec<Index>,
    /// [`ListIndexes::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl CreateIndex {
    /// An index without further options.
    #[must_use]
    pub fn new(dimension: u32, metric: DistanceMetric) -> Self {
        Self {
            dimension,
            metric,
            non_filterable: Vec::new(),
            text_search: Vec::new(),
            encryption: None,
            tags: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        if !(1..=DIMENSION_MAX).contains(&self.dimension) {
            let range = 1..=u64::from(DIMENSION_MAX);
            return Err(StoreError::out_of_range("/dimension", &range));
        }
        let path = "/metadataConfiguration/nonFilterableMetadataKeys";
        check_keys(path, "", self.non_filterable.iter())?;
        let keys = self.text_search.iter().map(|search| &search.key);
        check_keys(TEXT_SEARCH_FIELD, METADATA_KEY, keys)
    }
}

const TEXT_SEARCH_FIELD: &str = "/metadataConfiguration/textSearchConfigurations";
/// The field of a text search that has its key.
const METADATA_KEY: &str = "/metadataKey";

/// Checks keys: at most ten, valid, and each once. `field` is the path of the key in its item of
/// the list at `path`.
fn check_keys<'a>(
    path: &str,
    field: &str,
    keys: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), StoreError> {
    let count = keys.clone().count();
    if count > CONFIGURED_KEYS_MAX {
        let range = 0..=CONFIGURED_KEYS_MAX as u64;
        return Err(StoreError::wrong_length(path, count, &range));
    }
    let mut seen = HashSet::new();
    for (position, key) in keys.enumerate() {
        let path = || format!("{path}/{position}{field}");
        check::metadata_key(key, path)?;
        if !seen.insert(key) {
            return Err(StoreError::field(path(), format!("the key {key:?} is there twice")));
        }
    }
    Ok(())
}

impl Index {
    /// All indexes, by their number.
    pub(crate) fn all(store: &Store) -> Result<HashMap<IndexId, Self>, StoreError> {
        Self::all_in(store, &store.snapshot()?)
    }

    /// All indexes in `snapshot`, by their number.
    pub(crate) fn all_in(
        store: &Store,
        snapshot: &Snapshot,
    ) -> Result<HashMap<IndexId, Self>, StoreError> {
        let mut buckets = HashMap::new();
        store.walk(snapshot, space::ALL_VECTOR_BUCKETS, &mut |key, value| {
            let name = space::vector_bucket_name(key).map(VectorName::bucket);
            let name = name.ok_or_else(|| StoreError::corrupt("a vector bucket's name"))??;
            buckets.insert(VectorBucketRecord::decode(value)?.id, name);
            Ok(())
        })?;
        let mut indexes = HashMap::new();
        store.walk(snapshot, space::ALL_INDEXES, &mut |key, value| {
            let split = space::split_index(key);
            let (id, name) = split.ok_or_else(|| StoreError::corrupt("an index's name"))?;
            let bucket = buckets.get(&id).cloned();
            let bucket =
                bucket.ok_or_else(|| StoreError::corrupt("an index without a vector bucket"))?;
            let record = IndexRecord::decode(value)?;
            indexes.insert(record.id, Self::new(bucket, id, VectorName::index(name)?, record));
            Ok(())
        })?;
        Ok(indexes)
    }
}

impl Store {
    /// Creates an index in the default mode of its vector bucket. Its files are made at its first
    /// use.
    ///
    /// Fails with [`StoreError::NoSuchVectorBucket`], [`StoreError::IndexExists`] or
    /// [`StoreError::InvalidField`].
    pub fn create_index(
        &self,
        bucket: &VectorBucket,
        name: VectorName,
        options: CreateIndex,
    ) -> Pending<Index> {
        if let Err(error) = options.check() {
            return Pending::ready(Err(error));
        }
        let bucket = bucket.clone();
        self.update(move |write, shared| {
            let parent = bucket.require(write)?;
            write.claim(Claim::Bucket(parent.id))?;
            if IndexRecord::read(write, parent.id, name.as_str())?.is_some() {
                let (bucket, index) = (bucket.name.to_string(), name.to_string());
                return Err(StoreError::IndexExists { bucket, index });
            }
            if parent.default_mode == IndexMode::Classic && !options.text_search.is_empty() {
                return Err(StoreError::field(TEXT_SEARCH_FIELD, NEEDS_ENHANCED));
            }
            let record = IndexRecord {
                id: IndexId(StoreRecord::take_id(write)?),
                created_ms: shared.config.clock.now_ms(),
                dimension: options.dimension,
                metric: options.metric,
                non_filterable: options.non_filterable.clone(),
                text_search: options.text_search.clone(),
                mode: parent.default_mode,
                encryption: options.encryption.clone().or(parent.encryption),
            };
            record.write(write, parent.id, name.as_str())?;
            TagsRecord::add(write, record.id.0, &options.tags)?;
            Ok(Committed::new(Index::new(bucket.name.clone(), parent.id, name.clone(), record)))
        })
    }

    /// The index with a name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`], [`StoreError::NoSuchIndex`].
    pub fn index(&self, bucket: &VectorBucket, name: &VectorName) -> Result<Index, StoreError> {
        let snapshot = self.snapshot()?;
        let parent = bucket.require(&snapshot)?;
        let record = IndexRecord::read(&snapshot, parent.id, name.as_str())?;
        let missing =
            || StoreError::NoSuchIndex { bucket: bucket.name.to_string(), index: name.to_string() };
        let record = record.ok_or_else(missing)?;
        Ok(Index::new(bucket.name.clone(), parent.id, name.clone(), record))
    }

    /// A page of the indexes of a vector bucket.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`].
    pub fn list_indexes(
        &self,
        bucket: &VectorBucket,
        query: &ListIndexes,
    ) -> Result<IndexPage, StoreError> {
        let snapshot = self.snapshot()?;
        let parent = bucket.require(&snapshot)?;
        let prefix = space::index(parent.id, &query.prefix);
        let upper = successor(&prefix);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&prefix), upper)?;
        if let Some(after) = &query.after {
            cursor.seek(&[space::index(parent.id, after), vec![0]].concat())?;
        }
        let max = query.max.clamp(1, LIST_INDEXES_MAX);
        let mut page = IndexPage { indexes: Vec::new(), next: None };
        while let Some((key, value)) = cursor.next()? {
            if page.indexes.len() >= max {
                page.next = page.indexes.last().map(|index| index.name.to_string());
                break;
            }
            let name = space::split_index(key).map(|(_, name)| VectorName::index(name));
            let name = name.ok_or_else(|| StoreError::corrupt("an index's name"))??;
            let record = IndexRecord::decode(value)?;
            page.indexes.push(Index::new(bucket.name.clone(), parent.id, name, record));
        }
        Ok(page)
    }

    /// Deletes an index with all its vectors. They become invisible at once; the reclaimer removes
    /// files and records later.
    ///
    /// Fails with [`StoreError::NoSuchIndex`].
    pub fn delete_index(&self, index: &Index) -> Pending<()> {
        let index = index.clone();
        self.update_freeing(move |write, shared| {
            write.claim(Claim::Bucket(index.bucket_id))?;
            write.claim(Claim::Index(index.id))?;
            let record = index.require(write)?;
            // Name and tags go at once. The queue of deletions has the rest removed, also after a
            // crash.
            write.delete(&space::index(index.bucket_id, index.name.as_str()))?;
            TagsRecord::default().write(write, record.id.0)?;
            write.put(&space::index_deletion(record.id), &[])?;
            Ok(Committed::with_guard((), WakeReclaimer::new(shared)))
        })
    }

    /// Changes the mode of an index.
    ///
    /// Fails with [`StoreError::NoSuchIndex`] or [`StoreError::InvalidField`].
    pub fn set_index_mode(&self, index: &Index, mode: IndexMode) -> Pending<()> {
        let index = index.clone();
        self.update(move |write, _| {
            write.claim(Claim::Bucket(index.bucket_id))?;
            let mut record = index.require(write)?;
            let bucket = VectorBucketRecord::require(write, index.bucket.as_str())?;
            VectorBucket::check_mode(bucket.created_ms, mode, "/indexMode")?;
            record.mode = mode;
            record.write(write, index.bucket_id, index.name.as_str())?;
            Ok(Committed::new(()))
        })
    }

    /// Enables text search for more metadata keys.
    ///
    /// Fails with [`StoreError::NoSuchIndex`], [`StoreError::TextSearchExists`] or
    /// [`StoreError::InvalidField`].
    pub fn add_text_search(&self, index: &Index, added: Vec<TextSearch>) -> Pending<()> {
        let index = index.clone();
        self.update(move |write, _| {
            write.claim(Claim::Bucket(index.bucket_id))?;
            let mut record = index.require(write)?;
            require_enhanced(&record, "/add")?;
            let is_there =
                |new: &&TextSearch| record.text_search.iter().any(|old| old.key == new.key);
            if let Some(twice) = added.iter().find(is_there) {
                return Err(StoreError::TextSearchExists { key: twice.key.clone() });
            }
            record.text_search.extend(added.iter().cloned());
            let keys = record.text_search.iter().map(|search| &search.key);
            check_keys("/add/textSearchConfigurations", METADATA_KEY, keys)?;
            record.write(write, index.bucket_id, index.name.as_str())?;
            Ok(Committed::new(()))
        })
    }

    /// Disables text search for metadata keys.
    ///
    /// Fails with [`StoreError::NoSuchIndex`] or [`StoreError::InvalidField`].
    pub fn remove_text_search(&self, index: &Index, keys: Vec<String>) -> Pending<()> {
        let index = index.clone();
        self.update(move |write, _| {
            write.claim(Claim::Bucket(index.bucket_id))?;
            let mut record = index.require(write)?;
            require_enhanced(&record, "/delete")?;
            for (position, key) in keys.iter().enumerate() {
                let before = record.text_search.len();
                record.text_search.retain(|search| search.key != *key);
                if record.text_search.len() == before {
                    return Err(StoreError::field(
                        format!("/delete/textSearchConfigurations/{position}{METADATA_KEY}"),
                        format!("the key {key:?} is not configured for text search"),
                    ));
                }
            }
            record.write(write, index.bucket_id, index.name.as_str())?;
            Ok(Committed::new(()))
        })
    }
}

pub(super) const NEEDS_ENHANCED: &str = "text search needs an index in ENHANCED mode";

fn require_enhanced(record: &IndexRecord, field: &str) -> Result<(), StoreError> {
    match record.mode {
        IndexMode::Enhanced => Ok(()),
        IndexMode::Classic => Err(StoreError::field(field, NEEDS_ENHANCED)),
    }
}
