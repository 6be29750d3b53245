//! The watch over the catalogs: tables and views that change while files are deleted that no table names.
//!
//! ```text
//! maintenance   watch ──► survey of all tables ──► changes ──► these again ──► delete: no others ──► unwatch
//! clients                       commit, rename ──► a note of the table                  refused ──┐
//!                                                      ▲──────────── changes, once more ──────────┘
//! ```
//!
//! A delete and a change exclude each other, by [`Claim::CatalogsAlone`] and [`Claim::Catalogs`], so one of them comes
//! first. If it is the change, its note is there, and the delete is refused unless the caller knows that note. If it is the
//! delete, the change names a file that was gone before, which no order could avoid. So no file is deleted that a table
//! names whose change was acknowledged before. Without a watch a change costs one lookup of a key that is not there.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use liteio_kv::{Read as _, Transaction, Write as _};

use super::{CatalogError, NamespaceName, TableKind, TableName};
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::table::{ChangeRecord, TableRecord};
use crate::name::BucketId;
use crate::object::{DeleteOutcome, DeleteTarget};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

/// Tables and views that have changed since the watch began, with the locations of their metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogChanges {
    /// By the keys of the notes.
    notes: BTreeMap<Vec<u8>, ChangeRecord>,
}

/// A table or view that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogChange {
    /// The bucket.
    pub bucket: BucketId,
    /// The kind.
    pub kind: TableKind,
    /// The name.
    pub name: TableName,
    /// The location of its metadata after the last change.
    pub location: String,
}

impl CatalogChanges {
    /// Those that `known` does not have, or has from an earlier change.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn since(&self, known: &Self) -> Result<Vec<CatalogChange>, StoreError> {
        let is_new = |note: &(&Vec<u8>, &ChangeRecord)| known.notes.get(note.0) != Some(note.1);
        let change = |(key, record): (&Vec<u8>, &ChangeRecord)| {
            let (is_table, place) = space::split_catalog_change(key).ok_or_else(no_change)?;
            let (bucket, path, name) = space::split_catalog(place).ok_or_else(no_change)?;
            let kind = if is_table { TableKind::Table } else { TableKind::View };
            let name = TableName::new(NamespaceName::of_path(&path)?, name.to_owned())?;
            Ok(CatalogChange { bucket, kind, name, location: record.location.clone() })
        };
        self.notes.iter().filter(is_new).map(change).collect()
    }

    /// The location of the metadata of a table, if it has changed.
    #[must_use]
    pub fn location_of(&self, bucket: BucketId, name: &TableName) -> Option<&str> {
        let note = space::catalog_change(&TableKind::Table.place(bucket, name));
        self.notes.get(&note).map(|record| record.location.as_str())
    }

    /// `true` if they are the same but for changes in some buckets.
    fn is_same_but(&self, known: &Self, buckets: &HashSet<BucketId>) -> bool {
        let counts = |key: &[u8]| {
            let bucket = space::split_catalog_change(key)
                .and_then(|(_, place)| space::split_catalog(place))
                .map(|(bucket, ..)| bucket);
            bucket.is_none_or(|bucket| !buckets.contains(&bucket))
        };
        let of_known = known.notes.iter().filter(|(key, _)| counts(key));
        self.notes.iter().filter(|(key, _)| counts(key)).eq(of_known)
    }

    fn read(from: &impl liteio_kv::Read) -> Result<Self, StoreError> {
        let mut cursor = space::within(from, space::ALL_CATALOG_CHANGES)?;
        let mut notes = BTreeMap::new();
        while let Some((key, value)) = cursor.next()? {
            notes.insert(key.to_vec(), ChangeRecord::decode(key, value)?);
        }
        Ok(Self { notes })
    }
}

impl Store {
    /// Begins to note changes of tables and views. Earlier notes are removed.
    pub fn watch_catalogs(&self) -> Pending<()> {
        self.update_freeing(move |write, _| {
            write.claim(Claim::CatalogsAlone)?;
            remove_notes(write)?;
            write.put(space::CATALOG_WATCH_KEY, &[])?;
            Ok(Committed::new(()))
        })
    }

    /// Ends what [`Store::watch_catalogs`] began.
    pub fn unwatch_catalogs(&self) -> Pending<()> {
        self.update_freeing(move |write, _| {
            write.claim(Claim::CatalogsAlone)?;
            remove_notes(write)?;
            write.delete(space::CATALOG_WATCH_KEY)?;
            Ok(Committed::new(()))
        })
    }

    /// Tables and views that have changed since [`Store::watch_catalogs`].
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if a note cannot be read.
    pub fn catalog_changes(&self) -> Result<CatalogChanges, StoreError> {
        CatalogChanges::read(&self.snapshot()?)
    }

    /// Deletes up to [`CHANGED_TOGETHER`](crate::limits::CHANGED_TOGETHER) objects that no table names, if no table or
    /// view has changed since [`Store::watch_catalogs`] but as `known` tells. Changes in the buckets `others` do not count:
    /// they are those of other accounts. They have the outcomes of [`Store::delete_objects`].
    ///
    /// Fails with [`CatalogError::Changed`] after another change, or without a watch.
    pub fn delete_unreferenced(
        &self,
        bucket: &Arc<Bucket>,
        targets: Vec<DeleteTarget>,
        known: &Arc<CatalogChanges>,
        others: &Arc<HashSet<BucketId>>,
    ) -> Pending<Vec<Result<DeleteOutcome, StoreError>>> {
        let (known, others) = (Arc::clone(known), Arc::clone(others));
        self.delete_few(bucket, targets, move |write| {
            write.claim(Claim::CatalogsAlone)?;
            let is_watched = write.get(space::CATALOG_WATCH_KEY)?.is_some();
            let changes = CatalogChanges::read(write)?;
            match is_watched && changes.is_same_but(&known, &others) {
                true => Ok(()),
                false => {
                    let first = changes.since(&known)?.into_iter().next();
                    let name = first.map_or_else(String::new, |change| change.name.to_string());
                    Err(CatalogError::Changed { name }.into())
                }
            }
        })
    }
}

/// Claims that a table or view may change.
pub(super) fn claim(write: &mut Transaction<'_>) -> Result<(), StoreError> {
    Ok(write.claim(Claim::Catalogs)?)
}

/// Notes the new record of the table or view with this key, during a watch. [`claim`] comes before.
pub(super) fn note(
    write: &mut Transaction<'_>,
    place: &[u8],
    record: &TableRecord,
) -> Result<(), StoreError> {
    if write.get(space::CATALOG_WATCH_KEY)?.is_none() {
        return Ok(());
    }
    let note = space::catalog_change(place);
    let former = write.get(&note)?.map(|value| ChangeRecord::decode(&note, &value)).transpose()?;
    let number = former.map_or(1, |former| former.number.wrapping_add(1));
    let change = ChangeRecord { location: record.location.clone(), number };
    Ok(write.put(&note, &change.encode(&note))?)
}

fn remove_notes(write: &mut Transaction<'_>) -> Result<(), StoreError> {
    let mut cursor = space::within(write, space::ALL_CATALOG_CHANGES)?;
    let mut keys = Vec::new();
    while let Some((key, _)) = cursor.next()? {
        keys.push(key.to_vec());
    }
    drop(cursor);
    keys.iter().try_for_each(|key| Ok(write.delete(key)?))
}

fn no_change() -> StoreError {
    StoreError::corrupt("the key of a change of a table")
}
