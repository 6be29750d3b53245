//! Namespaces of a catalog.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Snapshot, Transaction, Write};

use super::{CatalogError, NameRange, NamespaceName};
use crate::error::StoreError;
use crate::limits::LIST_TABLES_MAX;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::space;
use crate::meta::table::NamespaceRecord;
use crate::name::BucketId;
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

/// A namespace with its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: NamespaceName,
    /// Properties, which the store does not interpret.
    pub properties: BTreeMap<String, String>,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_ms: u64,
}

/// Namespaces in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePage {
    /// The namespaces.
    pub namespaces: Vec<NamespaceName>,
    /// [`NameRange::after`] of the next page, if there is one.
    pub next: Option<String>,
}

/// A change of the properties of a namespace: the removals, then the updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyChange {
    /// Properties to remove; missing ones are fine.
    pub removals: Vec<String>,
    /// Properties to set.
    pub updates: BTreeMap<String, String>,
}

impl Store {
    /// Creates a namespace, whose parent exists.
    ///
    /// Fails with [`CatalogError::NamespaceExists`], or [`CatalogError::NoSuchNamespace`] for the parent.
    pub fn create_namespace(
        &self,
        bucket: &Arc<Bucket>,
        name: NamespaceName,
        properties: BTreeMap<String, String>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            write.claim(Claim::NamespaceAlone(bucket.id, name.path()))?;
            let parent = name.parent();
            if let Some(parent) = &parent {
                write.claim(Claim::Namespace(bucket.id, parent.path()))?;
            }
            let place = place_of(bucket.id, &name);
            let of_parent = parent.as_ref().map(|parent| place_of(bucket.id, parent));
            let of_bucket = space::bucket(bucket.name.as_str());
            write.fetch([of_bucket, place.clone()].into_iter().chain(of_parent))?;
            let id = bucket.require(write)?;
            if let Some(parent) = &parent {
                require(write, id, parent)?;
            }
            if write.get(&place)?.is_some() {
                let namespace = name.to_string();
                return Err(CatalogError::NamespaceExists { namespace }.into());
            }
            let now_ms = shared.config.clock.now_ms();
            let properties = properties.clone();
            let record = NamespaceRecord { created_ms: now_ms, updated_ms: now_ms, properties };
            record.write(write, &place)?;
            Ok(Committed::new(()))
        })
    }

    /// The namespace with a name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`CatalogError::NoSuchNamespace`].
    pub fn namespace(
        &self,
        bucket: &Bucket,
        name: &NamespaceName,
    ) -> Result<Namespace, StoreError> {
        let snapshot = self.snapshot()?;
        let record = require(&snapshot, bucket.require(&snapshot)?, name)?;
        let NamespaceRecord { created_ms, updated_ms, properties } = record;
        Ok(Namespace { name: name.clone(), properties, created_ms, updated_ms })
    }

    /// A page of the namespaces directly in `parent`, or in the root.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`CatalogError::NoSuchNamespace`] for the parent.
    pub fn list_namespaces(
        &self,
        bucket: &Bucket,
        parent: Option<&NamespaceName>,
        range: &NameRange,
    ) -> Result<NamespacePage, StoreError> {
        let snapshot = self.snapshot()?;
        let id = bucket.require(&snapshot)?;
        if let Some(parent) = parent {
            require(&snapshot, id, parent)?;
        }
        let prefix = space::namespaces_in(id, parent.map_or("", NamespaceName::path));
        let (names, next) = page(&snapshot, &prefix, range)?;
        let names = names.iter().map(|name| NamespaceName::child(parent, name));
        Ok(NamespacePage { namespaces: names.collect::<Result<_, _>>()?, next })
    }

    /// Changes the properties of a namespace, and returns the removed ones that existed.
    ///
    /// Fails with [`CatalogError::NoSuchNamespace`].
    pub fn set_namespace_properties(
        &self,
        bucket: &Arc<Bucket>,
        name: NamespaceName,
        change: PropertyChange,
    ) -> Pending<Vec<String>> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            write.claim(Claim::NamespaceAlone(bucket.id, name.path()))?;
            let place = place_of(bucket.id, &name);
            write.fetch([space::bucket(bucket.name.as_str()), place.clone()])?;
            let mut record = require(write, bucket.require(write)?, &name)?;
            let is_removed = |key: &&String| record.properties.remove(*key).is_some();
            let removed = change.removals.iter().filter(is_removed).cloned().collect();
            record.properties.extend(change.updates.clone());
            record.updated_ms = shared.config.clock.now_ms();
            record.write(write, &place)?;
            Ok(Committed::new(removed))
        })
    }

    /// Drops an empty namespace.
    ///
    /// Fails with [`CatalogError::NoSuchNamespace`] or [`CatalogError::NamespaceNotEmpty`].
    pub fn drop_namespace(&self, bucket: &Arc<Bucket>, name: NamespaceName) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, _| {
            write.claim(Claim::Bucket(bucket.id))?;
            write.claim(Claim::NamespaceAlone(bucket.id, name.path()))?;
            // A drop of the parent reads what is in it.
            if let Some(parent) = name.parent() {
                write.claim(Claim::Namespace(bucket.id, parent.path()))?;
            }
            let place = place_of(bucket.id, &name);
            write.fetch([space::bucket(bucket.name.as_str()), place.clone()])?;
            let id = bucket.require(write)?;
            require(write, id, &name)?;
            let path = name.path();
            let contents = [
                space::namespaces_in(id, path),
                space::table(id, path, ""),
                space::view(id, path, ""),
            ];
            for prefix in contents {
                if has_keys(write, &prefix)? {
                    let namespace = name.to_string();
                    return Err(CatalogError::NamespaceNotEmpty { namespace }.into());
                }
            }
            write.delete(&place)?;
            Ok(Committed::new(()))
        })
    }
}

/// The record of a namespace.
///
/// # Errors
/// [`CatalogError::NoSuchNamespace`].
pub(super) fn require(
    from: &impl Read,
    bucket: BucketId,
    name: &NamespaceName,
) -> Result<NamespaceRecord, StoreError> {
    NamespaceRecord::read(from, bucket, name.split())?.ok_or_else(|| name.missing())
}

/// The key of the record of a namespace.
pub(super) fn place_of(bucket: BucketId, name: &NamespaceName) -> Vec<u8> {
    let (parent, name) = name.split();
    space::namespace(bucket, parent, name)
}

/// A page of names behind `prefix`, and the name after which the next page begins.
pub(super) fn page(
    from: &Snapshot,
    prefix: &[u8],
    range: &NameRange,
) -> Result<(Vec<String>, Option<String>), StoreError> {
    let upper = successor(prefix);
    let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut cursor = from.cursor(Bound::Included(prefix), upper)?;
    if let Some(after) = &range.after {
        cursor.seek(&[prefix, after.as_bytes(), &[0]].concat())?;
    }
    let max = range.max.clamp(1, LIST_TABLES_MAX);
    let mut names = Vec::new();
    while let Some((key, _)) = cursor.next()? {
        if names.len() >= max {
            let next = names.last().cloned();
            return Ok((names, next));
        }
        let name = key.strip_prefix(prefix).and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or_else(|| StoreError::corrupt("a name in a catalog"))?;
        names.push(name.to_owned());
    }
    Ok((names, None))
}

pub(super) fn has_keys(from: &impl Read, prefix: &[u8]) -> Result<bool, StoreError> {
    let mut cursor = space::within(from, prefix)?;
    Ok(cursor.next()?.is_some())
}

/// `true` if a bucket has a namespace. All tables and views are in one.
pub(crate) fn has_catalog(from: &impl Read, bucket: BucketId) -> Result<bool, StoreError> {
    let [namespaces, ..] = space::catalog_of(bucket);
    has_keys(from, &namespaces)
}

/// Removes the catalog of a bucket that is reset, for tests.
pub(crate) fn remove_catalog(
    write: &mut Transaction<'_>,
    bucket: BucketId,
) -> Result<(), StoreError> {
    for prefix in space::catalog_of(bucket).into_iter().chain(space::of_tables_in(bucket)) {
        let mut cursor = space::within(write, &prefix)?;
        let mut keys = Vec::new();
        while let Some((key, _)) = cursor.next()? {
            keys.push(key.to_vec());
        }
        drop(cursor);
        keys.iter().try_for_each(|key| write.delete(key))?;
    }
    Ok(())
}
