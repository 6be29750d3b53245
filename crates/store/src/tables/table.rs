//! Tables and views: reading, listing, renaming, dropping. A [commit](super::commit) creates and changes them.

use std::sync::Arc;

use liteio_kv::{Read as _, Transaction, Write as _};

use super::namespace::{page, place_of as place_of_namespace, require};
use super::{CatalogError, NameRange, NamespaceName, Purge, TableName, beside, changes};
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::table::TableRecord;
use crate::name::BucketId;
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

/// The kind of a named thing in a namespace. Both kinds share their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// A table.
    Table,
    /// A view.
    View,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: TableName,
    /// The id that it has had since its creation: that in its first metadata, if these came with it.
    pub uuid: [u8; 16],
    /// The URI of its current metadata.
    pub location: String,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last commit, in milliseconds since 1970.
    pub updated_ms: u64,
}

/// Conditions and consequences of the drop of a table or view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDrop {
    /// The location that its metadata must have.
    pub expected: Option<String>,
    /// Its files, which the caller deletes afterwards. The purge is noted until [`Store::end_purge`].
    pub purge: Option<Purge>,
}

/// The names of tables or views of a namespace, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePage {
    /// The names in the namespace.
    pub names: Vec<String>,
    /// [`NameRange::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl TableKind {
    fn other(self) -> Self {
        match self {
            Self::Table => Self::View,
            Self::View => Self::Table,
        }
    }

    /// The key of the record.
    pub(super) fn place(self, bucket: BucketId, name: &TableName) -> Vec<u8> {
        let path = name.namespace().path();
        match self {
            Self::Table => space::table(bucket, path, name.name()),
            Self::View => space::view(bucket, path, name.name()),
        }
    }

    /// The error for a name that nothing of the kind has.
    pub(super) fn missing(self, name: &TableName) -> StoreError {
        let name = name.to_string();
        match self {
            Self::Table => CatalogError::NoSuchTable { table: name }.into(),
            Self::View => CatalogError::NoSuchView { view: name }.into(),
        }
    }

    /// The error for a new thing of the kind whose name the other kind has.
    fn taken(self, name: &TableName) -> StoreError {
        let by = if self == Self::Table { "view" } else { "table" };
        CatalogError::NameTaken { name: name.to_string(), by }.into()
    }

    /// The error for a name that something of the kind has.
    pub(super) fn exists(self, name: &TableName) -> StoreError {
        let name = name.to_string();
        match self {
            Self::Table => CatalogError::TableExists { name }.into(),
            Self::View => CatalogError::ViewExists { name }.into(),
        }
    }
}

impl Table {
    pub(super) fn new(name: &TableName, record: TableRecord) -> Self {
        let TableRecord { uuid, location, created_ms, updated_ms } = record;
        Self { name: name.clone(), uuid, location, created_ms, updated_ms }
    }
}

impl Store {
    /// The table or view with a name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`]; [`CatalogError::NoSuchTable`] or [`CatalogError::NoSuchView`], also if the
    /// namespace does not exist.
    pub fn table(
        &self,
        bucket: &Bucket,
        kind: TableKind,
        name: &TableName,
    ) -> Result<Table, StoreError> {
        let snapshot = self.snapshot()?;
        let place = kind.place(bucket.id, name);
        snapshot.fetch([&space::bucket(bucket.name.as_str()), &place])?;
        bucket.require(&snapshot)?;
        let record = TableRecord::read(&snapshot, &place)?;
        record.map(|record| Table::new(name, record)).ok_or_else(|| kind.missing(name))
    }

    /// The first table or view of a bucket that fits, by its kind, name and location. It walks all of them.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn find_table(
        &self,
        bucket: &Bucket,
        fits: &dyn Fn(TableKind, &TableName, &str) -> bool,
    ) -> Result<Option<TableName>, StoreError> {
        let snapshot = self.snapshot()?;
        let [_, tables, views] = space::catalog_of(bucket.require(&snapshot)?);
        for (kind, prefix) in [(TableKind::Table, tables), (TableKind::View, views)] {
            let mut cursor = space::within(&snapshot, &prefix)?;
            while let Some((place, value)) = cursor.next()? {
                let record = TableRecord::decode(place, value)?;
                let split = space::split_catalog(place);
                let (_, path, name) =
                    split.ok_or_else(|| StoreError::corrupt("the name of a table"))?;
                let name = TableName::new(NamespaceName::of_path(&path)?, name.to_owned())?;
                if fits(kind, &name, &record.location) {
                    return Ok(Some(name));
                }
            }
        }
        Ok(None)
    }

    /// A page of the tables or views in a namespace.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`CatalogError::NoSuchNamespace`].
    pub fn list_tables(
        &self,
        bucket: &Bucket,
        kind: TableKind,
        namespace: &NamespaceName,
        range: &NameRange,
    ) -> Result<TablePage, StoreError> {
        let snapshot = self.snapshot()?;
        let id = bucket.require(&snapshot)?;
        require(&snapshot, id, namespace)?;
        let prefix = match kind {
            TableKind::Table => space::table(id, namespace.path(), ""),
            TableKind::View => space::view(id, namespace.path(), ""),
        };
        let (names, next) = page(&snapshot, &prefix, range)?;
        Ok(TablePage { names, next })
    }

    /// Drops a table or view, and returns its last state. Its files stay.
    ///
    /// Fails with [`CatalogError::NoSuchTable`] or [`CatalogError::NoSuchView`].
    pub fn drop_table(
        &self,
        bucket: &Arc<Bucket>,
        kind: TableKind,
        name: TableName,
    ) -> Pending<Table> {
        self.drop_table_at(bucket, kind, name, TableDrop::default())
    }

    /// Drops a table or view as [`Store::drop_table`] does, if its metadata are still at the expected location, and notes
    /// the purge of its files.
    ///
    /// Fails with [`CatalogError::Changed`], too.
    pub fn drop_table_at(
        &self,
        bucket: &Arc<Bucket>,
        kind: TableKind,
        name: TableName,
        TableDrop { expected, purge }: TableDrop,
    ) -> Pending<Table> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, _| {
            write.claim(Claim::Bucket(bucket.id))?;
            // A drop of the namespace reads what is in it.
            write.claim(Claim::Namespace(bucket.id, name.namespace().path()))?;
            claim(write, bucket.id, &name)?;
            let place = kind.place(bucket.id, &name);
            write.fetch([&space::bucket(bucket.name.as_str()), &place])?;
            bucket.require(write)?;
            let record = TableRecord::read(write, &place)?.ok_or_else(|| kind.missing(&name))?;
            require_at(&record, &name, expected.as_deref())?;
            write.delete(&place)?;
            if kind == TableKind::Table {
                write.claim(Claim::TableId(bucket.id, &record.uuid))?;
                beside::end(write, bucket.id, &name, &record.uuid)?;
            }
            if let Some((place, value)) = purge.as_ref().map(Purge::row) {
                write.put(&place, &value)?;
            }
            Ok(Committed::new(Table::new(&name, record)))
        })
    }

    /// Renames a table or view, also into another namespace.
    ///
    /// Fails with [`CatalogError::NoSuchTable`] or [`CatalogError::NoSuchView`],
    /// [`CatalogError::NoSuchNamespace`] for the new one, and [`CatalogError::RenameTaken`].
    pub fn rename_table(
        &self,
        bucket: &Arc<Bucket>,
        kind: TableKind,
        from: TableName,
        to: TableName,
    ) -> Pending<()> {
        self.rename_table_at(bucket, kind, (from, to), None)
    }

    /// Renames a table or view as [`Store::rename_table`] does, if its metadata are still at `expected`.
    ///
    /// Fails with [`CatalogError::Changed`], too.
    pub fn rename_table_at(
        &self,
        bucket: &Arc<Bucket>,
        kind: TableKind,
        (from, to): (TableName, TableName),
        expected: Option<String>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, _| {
            let id = bucket.id;
            write.claim(Claim::Bucket(id))?;
            for namespace in [from.namespace(), to.namespace()] {
                write.claim(Claim::Namespace(id, namespace.path()))?;
            }
            for name in [(&from).min(&to), (&from).max(&to)] {
                claim(write, id, name)?;
            }
            changes::claim(write)?;
            let source = kind.place(id, &from);
            write.fetch([
                &space::bucket(bucket.name.as_str()),
                space::CATALOG_WATCH_KEY,
                &source,
                &kind.place(id, &to),
                &kind.other().place(id, &to),
                &place_of_namespace(id, to.namespace()),
                &beside::place_of(id, &from),
            ])?;
            bucket.require(write)?;
            let record = TableRecord::read(write, &source)?.ok_or_else(|| kind.missing(&from))?;
            require_at(&record, &from, expected.as_deref())?;
            require(write, id, to.namespace())?;
            for by in [kind, kind.other()] {
                if write.get(&by.place(id, &to))?.is_some() {
                    let (from, to) = (from.to_string(), to.to_string());
                    let by = if by == TableKind::Table { "Table" } else { "View" };
                    return Err(CatalogError::RenameTaken { from, to, by }.into());
                }
            }
            write.delete(&source)?;
            let target = kind.place(id, &to);
            record.write(write, &target)?;
            changes::note(write, &target, &record)?;
            if kind == TableKind::Table {
                write.claim(Claim::TableId(id, &record.uuid))?;
                beside::rename(write, id, (&from, &to), &record.uuid)?;
            }
            Ok(Committed::new(()))
        })
    }
}

/// Checks that metadata are at an expected location.
///
/// # Errors
/// [`CatalogError::Changed`].
fn require_at(
    record: &TableRecord,
    name: &TableName,
    expected: Option<&str>,
) -> Result<(), CatalogError> {
    match expected {
        Some(expected) if record.location != expected => {
            Err(CatalogError::Changed { name: name.to_string() })
        }
        _ => Ok(()),
    }
}

/// Claims the name of a table or view.
pub(super) fn claim(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    name: &TableName,
) -> Result<(), StoreError> {
    Ok(write.claim(Claim::Table(bucket, name.namespace().path(), name.name()))?)
}

/// The rows that [`require_free`] and the creation of a table read.
pub(super) fn places_of_new(bucket: BucketId, kind: TableKind, name: &TableName) -> [Vec<u8>; 3] {
    [
        kind.place(bucket, name),
        kind.other().place(bucket, name),
        place_of_namespace(bucket, name.namespace()),
    ]
}

/// Checks that neither a table nor a view has the name.
///
/// # Errors
/// [`CatalogError::TableExists`], [`CatalogError::ViewExists`] or [`CatalogError::NameTaken`].
pub(super) fn require_free(
    write: &Transaction<'_>,
    bucket: BucketId,
    kind: TableKind,
    name: &TableName,
) -> Result<(), StoreError> {
    if write.get(&kind.place(bucket, name))?.is_some() {
        return Err(kind.exists(name));
    }
    match write.get(&kind.other().place(bucket, name))?.is_some() {
        true => Err(kind.taken(name)),
        false => Ok(()),
    }
}
