//! Commits: new metadata and locations of tables and views, all or none.

use std::collections::BTreeSet;
use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use super::namespace::require;
use super::table::{claim, places_of_new, require_free};
use super::{CatalogError, Table, TableKind, TableName, beside, changes as noted};
use crate::error::StoreError;
use crate::limits::COMMITTED_TABLES_MAX;
use crate::meta::TableSettings;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::table::TableRecord;
use crate::name::ObjectKey;
use crate::object::body::NewBody;
use crate::object::publish::{self, NewVersion, Slot};
use crate::object::quota;
use crate::object::{PutOptions, StagedBody};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::{Shared, Store};

/// The state of a table or view that a change was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Neither a table nor a view has the name.
    Missing,
    /// Its metadata have this location.
    Location(String),
}

/// A new state of a table or view.
#[derive(Debug)]
pub struct TableChange {
    kind: TableKind,
    name: TableName,
    expected: Expected,
    uuid: [u8; 16],
    location: String,
    settings: TableSettings,
    metadata: Option<NewMetadata>,
}

/// The file of new metadata, to be written with the change.
#[derive(Debug)]
pub struct NewMetadata {
    /// Its key in the bucket. The key must be free: metadata never change.
    pub key: ObjectKey,
    /// Its content.
    pub body: StagedBody,
    /// Its metadata, checksum and owner.
    pub options: PutOptions,
}

impl TableChange {
    /// A change to the metadata at `location`, which exist. `uuid` is the id of a new table or view: one that exists keeps
    /// its own.
    #[must_use]
    pub fn new(
        kind: TableKind,
        name: TableName,
        expected: Expected,
        uuid: [u8; 16],
        location: String,
    ) -> Self {
        let settings = TableSettings::default();
        Self { kind, name, expected, uuid, location, settings, metadata: None }
    }

    /// The same, with the settings of a table that is new.
    #[must_use]
    pub fn with_settings(self, settings: TableSettings) -> Self {
        Self { settings, ..self }
    }

    /// The same, with the file at the location.
    #[must_use]
    pub fn with_metadata(self, metadata: NewMetadata) -> Self {
        Self { metadata: Some(metadata), ..self }
    }
}

/// A change whose closure can run again.
struct Change {
    kind: TableKind,
    name: TableName,
    expected: Expected,
    uuid: [u8; 16],
    location: String,
    settings: TableSettings,
    file: Option<(ObjectKey, NewBody, PutOptions)>,
}

impl Store {
    /// Makes all of the changes, or none, together with the files of their metadata.
    ///
    /// Fails with [`CatalogError::Changed`] if a table is not as expected, [`CatalogError::NoSuchTable`] or
    /// [`CatalogError::NoSuchView`] if it is gone, [`CatalogError::TableExists`], [`CatalogError::ViewExists`] or
    /// [`CatalogError::NameTaken`] if a new one exists, [`CatalogError::IdTaken`] if another table has the id of a new
    /// one, [`CatalogError::NoSuchNamespace`], [`CatalogError::InvalidCommit`], and the errors of
    /// [`Store::put_object`].
    pub fn commit_tables(
        &self,
        bucket: &Arc<Bucket>,
        changes: Vec<TableChange>,
    ) -> Pending<Vec<Table>> {
        if let Err(error) = check(&changes) {
            return Pending::ready(Err(error));
        }
        let mut blobs = Vec::new();
        let apart = |change: TableChange| {
            let TableChange { kind, name, expected, uuid, location, settings, metadata } = change;
            let file = metadata.map(|NewMetadata { key, body, options }| {
                let (body, blob) = body.into_parts();
                blobs.extend(blob);
                (key, body, options)
            });
            Change { kind, name, expected, uuid, location, settings, file }
        };
        let mut changes: Vec<_> = changes.into_iter().map(apart).collect();
        // Two commits of the same tables claim them in the same order.
        changes.sort_by(|one, other| one.name.cmp(&other.name));
        let bucket = Arc::clone(bucket);
        self.update_with_blobs(blobs, move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            for Change { name, .. } in &changes {
                write.claim(Claim::Namespace(bucket.id, name.namespace().path()))?;
                claim(write, bucket.id, name)?;
            }
            let is_new = |change: &&Change| {
                change.kind == TableKind::Table && change.expected == Expected::Missing
            };
            let ids: BTreeSet<_> = changes.iter().filter(is_new).map(|it| it.uuid).collect();
            for id in &ids {
                write.claim(Claim::TableId(bucket.id, id))?;
            }
            noted::claim(write)?;
            quota::ahead(write, &bucket);
            let keys = changes.iter().filter_map(|change| Some(&change.file.as_ref()?.0));
            let places = changes.iter().flat_map(|it| places_of_new(bucket.id, it.kind, &it.name));
            let places = places.chain([space::CATALOG_WATCH_KEY.to_vec()]);
            publish::fetch(write, &bucket, keys, places)?;
            let state = bucket.state(write)?;
            let (mut tables, mut guards) = (Vec::with_capacity(changes.len()), Vec::new());
            for change in &changes {
                tables.push(change.apply(write, shared, &bucket, state)?);
            }
            for change in &changes {
                guards.extend(change.write_file(write, shared, &bucket, state)?);
            }
            Ok(Committed::with_guard(tables, guards))
        })
    }
}

/// Checks the number of changes, and that no name is there twice.
fn check(changes: &[TableChange]) -> Result<(), StoreError> {
    if !(1..=COMMITTED_TABLES_MAX).contains(&changes.len()) {
        let message =
            format!("a commit has 1 to {COMMITTED_TABLES_MAX} tables, not {}", changes.len());
        return Err(CatalogError::InvalidCommit(message).into());
    }
    let mut names: Vec<_> = changes.iter().map(|change| &change.name).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(CatalogError::InvalidCommit(format!("the commit has {} twice", pair[0])).into())
        }
        None => Ok(()),
    }
}

impl Change {
    /// Compares the state with the expected one, and moves the location.
    fn apply(
        &self,
        write: &mut Transaction<'_>,
        shared: &Arc<Shared>,
        bucket: &Bucket,
        state: BucketState,
    ) -> Result<Table, StoreError> {
        let Self { kind, name, expected, uuid, location, .. } = self;
        let place = kind.place(state.id, name);
        let now_ms = shared.config.clock.now_ms();
        debug_assert_eq!(bucket.id, state.id, "the state is of the bucket");
        let (uuid, created_ms) = match expected {
            Expected::Missing => {
                require(write, state.id, name.namespace())?;
                require_free(write, state.id, *kind, name)?;
                if *kind == TableKind::Table {
                    beside::require_free(write, state.id, name, uuid)?;
                    beside::begin(write, state.id, name, uuid)?;
                    self.settings.write(write, &beside::place_of(state.id, name))?;
                }
                (*uuid, now_ms)
            }
            Expected::Location(expected) => {
                let record = TableRecord::read(write, &place)?;
                let record = record.ok_or_else(|| kind.missing(name))?;
                if record.location != *expected {
                    return Err(CatalogError::Changed { name: name.to_string() }.into());
                }
                (record.uuid, record.created_ms)
            }
        };
        let location = location.clone();
        let record = TableRecord { uuid, location, created_ms, updated_ms: now_ms };
        record.write(write, &place)?;
        noted::note(write, &place, &record)?;
        Ok(Table::new(name, record))
    }

    /// Writes the file of the metadata.
    fn write_file(
        &self,
        write: &mut Transaction<'_>,
        shared: &Arc<Shared>,
        bucket: &Bucket,
        state: BucketState,
    ) -> Result<Option<publish::Wakes>, StoreError> {
        let Some((key, body, options)) = &self.file else { return Ok(None) };
        let slot = Slot::open_in(write, shared, bucket, state, key)?;
        slot.check(&options.conditions)?;
        let (_, wakes) = slot.publish(write, NewVersion::of_body(body, options)?)?;
        Ok(Some(wakes))
    }
}
