//! Pages of records, and a table by its id: for listings that tell more than names.

use std::ops::Bound;

use liteio_kv::Read as _;

use super::namespace::require;
use super::{Namespace, NamespaceName, Table, TableKind, TableName};
use crate::error::StoreError;
use crate::limits::{LIST_TABLES_MAX, WALKED_TABLES_MAX};
use crate::meta::key::successor;
use crate::meta::space;
use crate::meta::table::{NamespaceRecord, TableRecord};
use crate::process::Bucket;
use crate::store::Store;

/// Selection of the tables of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWalk {
    /// The namespace; `None` for all, in the order of their paths.
    pub namespace: Option<NamespaceName>,
    /// Prefix of the names of tables.
    pub prefix: String,
    /// Tables after this one, exclusive.
    pub after: Option<TableName>,
    /// Limit of tables on the page, from 1 to [`LIST_TABLES_MAX`].
    pub max: usize,
}

/// Tables of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkedTables {
    /// The tables; fewer than asked for, even none, if many had another prefix.
    pub tables: Vec<Table>,
    /// Tables whose records cannot be read.
    pub unreadable: Vec<TableName>,
    /// [`TableWalk::after`] of the next page, if there is one.
    pub next: Option<TableName>,
}

/// Selection of the namespaces of a page: those of the first level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceWalk {
    /// Prefix of the names.
    pub prefix: String,
    /// Names after this one, exclusive.
    pub after: Option<String>,
    /// Limit of namespaces on the page, from 1 to [`LIST_TABLES_MAX`].
    pub max: usize,
}

/// Namespaces of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedNamespaces {
    /// The namespaces.
    pub namespaces: Vec<Namespace>,
    /// [`NamespaceWalk::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl Store {
    /// A page of the tables of a namespace, or of all namespaces.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`]; [`CatalogError::NoSuchNamespace`](super::CatalogError::NoSuchNamespace).
    pub fn walk_tables(
        &self,
        bucket: &Bucket,
        walk: &TableWalk,
    ) -> Result<WalkedTables, StoreError> {
        let snapshot = self.snapshot()?;
        let id = bucket.require(&snapshot)?;
        let within = match &walk.namespace {
            Some(namespace) => {
                require(&snapshot, id, namespace)?;
                space::table(id, namespace.path(), &walk.prefix)
            }
            None => {
                let [_, tables, _] = space::catalog_of(id);
                tables
            }
        };
        let after = walk.after.as_ref().map(|name| TableKind::Table.place(id, name));
        let from = first_after(&within, after);
        let upper = successor(&within);
        // The position may come from a listing of another namespace.
        if upper.as_ref().is_some_and(|upper| from >= *upper) {
            return Ok(WalkedTables::default());
        }
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let max = walk.max.clamp(1, LIST_TABLES_MAX);
        let (mut page, mut last) = (WalkedTables::default(), None);
        let mut walked = 0;
        while let Some((place, value)) = cursor.next()? {
            if page.tables.len() >= max || walked >= WALKED_TABLES_MAX {
                return Ok(WalkedTables { next: last, ..page });
            }
            let name = name_of(place)?;
            if name.name().starts_with(&walk.prefix) {
                match TableRecord::decode(place, value) {
                    Ok(record) => page.tables.push(Table::new(&name, record)),
                    Err(_) => page.unreadable.push(name.clone()),
                }
            }
            last = Some(name);
            walked += 1;
        }
        Ok(page)
    }

    /// A page of the namespaces of the first level.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn walk_namespaces(
        &self,
        bucket: &Bucket,
        walk: &NamespaceWalk,
    ) -> Result<WalkedNamespaces, StoreError> {
        let snapshot = self.snapshot()?;
        let id = bucket.require(&snapshot)?;
        let root = space::namespaces_in(id, "");
        let within = space::namespace(id, "", &walk.prefix);
        let after = walk.after.as_ref().map(|name| space::namespace(id, "", name));
        let upper = successor(&within);
        let from = first_after(&within, after);
        if upper.as_ref().is_some_and(|upper| from >= *upper) {
            return Ok(WalkedNamespaces { namespaces: Vec::new(), next: None });
        }
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let max = walk.max.clamp(1, LIST_TABLES_MAX);
        let mut namespaces: Vec<Namespace> = Vec::new();
        while let Some((place, value)) = cursor.next()? {
            if namespaces.len() >= max {
                let next = namespaces.last().map(|it| it.name.path().to_owned());
                return Ok(WalkedNamespaces { namespaces, next });
            }
            let name = place.strip_prefix(&root[..]).and_then(|it| std::str::from_utf8(it).ok());
            let name = name.ok_or_else(|| StoreError::corrupt("a name in a catalog"))?;
            let name = NamespaceName::child(None, name)?;
            let record = NamespaceRecord::decode(place, value)?;
            let NamespaceRecord { created_ms, updated_ms, properties } = record;
            namespaces.push(Namespace { name, properties, created_ms, updated_ms });
        }
        Ok(WalkedNamespaces { namespaces, next: None })
    }

    /// The table of a bucket with an id, the first one if several have it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn table_by_id(&self, bucket: &Bucket, id: &[u8; 16]) -> Result<Option<Table>, StoreError> {
        let snapshot = self.snapshot()?;
        let bucket = bucket.require(&snapshot)?;
        let mut cursor = space::within(&snapshot, &space::tables_with_id(bucket, id))?;
        let Some((place, _)) = cursor.next()? else { return Ok(None) };
        let (_, _, path, name) =
            space::split_table_id(place).ok_or_else(|| StoreError::corrupt("the id of a table"))?;
        let name = TableName::new(NamespaceName::of_path(&path)?, name.to_owned())?;
        drop(cursor);
        let record = TableRecord::read(&snapshot, &TableKind::Table.place(bucket, &name))?;
        let record = record.filter(|record| record.uuid == *id);
        let record = record.ok_or_else(|| StoreError::corrupt("the id of a table"))?;
        Ok(Some(Table::new(&name, record)))
    }
}

/// The first key of a walk of `within`: behind `after`, which may be a key elsewhere.
fn first_after(within: &[u8], after: Option<Vec<u8>>) -> Vec<u8> {
    let Some(mut after) = after else { return within.to_vec() };
    after.push(0);
    after.max(within.to_vec())
}

/// The name of a table by the key of its record.
fn name_of(place: &[u8]) -> Result<TableName, StoreError> {
    let (_, path, name) =
        space::split_catalog(place).ok_or_else(|| StoreError::corrupt("the name of a table"))?;
    TableName::new(NamespaceName::of_path(&path)?, name.to_owned())
}
